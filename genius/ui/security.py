"""Who may open and change the page, and what the server refuses before Gradio sees it.

Gradio reads requests of any size and answers any origin and any name. `Guard` stands before all of
it: it limits the size of a request and what a client uploads, checks the Host and Origin headers,
and slows down logins. This module is free of Gradio, so that wrong arguments of the command line
are reported before anything slow is loaded.
"""

import logging
import math
import os
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from genius.errors import UserError, quoted

MAX_JSON = 4 * 2**20  # bytes of a request that is not an upload
MAX_UPLOAD = 12 * 2**20  # bytes of an upload: one picture, whose own limit is 10 MB
MAX_EDITOR_UPLOAD = 2**30  # where visitors add many pictures at once
UPLOAD_LIFETIME = 600  # seconds that an unused upload stays on disk
CLIENT_UPLOADS = 128 * 2**20  # bytes that one client may upload within that time
CLIENT_EDITOR_UPLOADS = 2 * MAX_EDITOR_UPLOAD
ALL_CLIENTS = 32  # times what one client may upload, all of them together
MAX_FAILED_LOGINS = 10  # of one client within LOGIN_WINDOW
LOGIN_WINDOW = 300  # seconds
Logins = list[tuple[str, str]]

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Policy:
    """What the guard allows."""

    editable: bool = False
    # the page is served to oneself, and editable for requests that no proxy passes on
    own: bool = False
    # names in the Host header that are answered, besides localhost and IP addresses
    hosts: tuple[str, ...] = ()
    # other sites that may embed the page and call it, such as https://example.org
    origins: tuple[str, ...] = ()


@dataclass
class Spent:
    """What a client used, since a time."""

    client: str
    amount: int
    at: float


class Budget:
    """How much each client, and all of them together, may use within a time window."""

    def __init__(self, limit: int, window: float, total: float = math.inf):
        self.limit, self.window, self.total = limit, window, total
        self.entries: deque[Spent] = deque()  # of all clients, oldest first

    def spend(self, client: str, amount: int) -> Spent:
        """The entry may be changed once it is known what was used."""
        self.entries.append(Spent(client, amount, time.monotonic()))
        return self.entries[-1]

    def exhausted(self, client: str) -> bool:
        while self.entries and time.monotonic() - self.entries[0].at > self.window:
            self.entries.popleft()
        own = sum(entry.amount for entry in self.entries if entry.client == client)
        return own >= self.limit or sum(entry.amount for entry in self.entries) >= self.total


class Guard:
    """ASGI middleware around the whole server."""

    def __init__(self, app: ASGIApp, policy: Policy, checks_host: bool = True):
        """checks_host: refuse names of this server that are not among those of the policy."""
        self.app, self.policy, self.checks_host = app, policy, checks_host
        self.max_upload = MAX_EDITOR_UPLOAD if policy.editable else MAX_UPLOAD
        each = CLIENT_EDITOR_UPLOADS if policy.editable else CLIENT_UPLOADS
        self.uploads = Budget(each, UPLOAD_LIFETIME, ALL_CLIENTS * each)
        self.failed_logins = Budget(MAX_FAILED_LOGINS, LOGIN_WINDOW)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # the life of the server; Gradio has no web sockets
            return await self.app(scope, receive, send)
        response = self.refusal(scope, Headers(scope=scope))
        if response:
            log.warning(
                "refused %s %s with status %d",
                scope["method"],
                quoted(scope["path"]),
                response.status_code,
            )
            return await response(scope, receive, send)
        await Exchange(self, scope, receive, send).run()

    def refusal(self, scope: Scope, headers: Headers) -> JSONResponse | None:
        """The answer to a request that is refused for its headers."""
        host = headers.get("host", "")
        origin = headers.get("origin")
        client = client_of(scope)
        if self.checks_host and not self.is_own_host(host):
            return json_refusal(
                421,
                f"This page is not served as {host[:100]}; its owner can allow that with "
                "--allowed-host.",
            )
        if (
            origin
            and scope["method"] not in ("GET", "HEAD", "OPTIONS")
            and not self.same_site(origin, headers)
        ):
            return json_refusal(
                403,
                "Another site may not call this page; its owner can allow that with --embed-in.",
            )
        if is_agent(scope) and scope["method"] != "POST":
            return json_refusal(
                405, "This address is for agents, which call it by POST (Model Context Protocol)."
            )
        if scope["method"] != "POST":
            return None
        if posts_to(scope, "login") and self.failed_logins.exhausted(client):
            return too_many_logins()
        if posts_to(scope, "upload") and self.uploads.exhausted(client):
            return json_refusal(
                429, f"Too many uploads; try again in {UPLOAD_LIFETIME // 60} minutes."
            )
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self.max_body(scope):
            return self.too_large(scope)
        return None

    def is_own_host(self, host: str) -> bool:
        """Whether a Host header names this server. A page of another site can make its own name
        point here (DNS rebinding) and would then share our origin, but it cannot be opened by an IP
        address of ours.
        """
        name = parse_host(host).hostname or ""
        return is_address(name) or name in ("localhost", *self.policy.hosts)

    def same_site(self, origin: str, headers: Headers) -> bool:
        """Whether the page that sends the request is ours, or of a site that may embed ours.

        Another port of an address is another program. A name of --allowed-host counts under any
        port, as a proxy may have its own.
        """
        if origin in self.policy.origins:
            return True
        origin_site = parse_host(origin.partition("://")[2])
        for name in ("host", "x-forwarded-host"):  # scripts of other sites can set neither
            own_site = parse_host(headers.get(name, ""))
            same_name = own_site.hostname and origin_site.hostname == own_site.hostname
            if own_site.netloc and origin_site.netloc.lower() == own_site.netloc.lower():
                return True
            if same_name and own_site.port is None:  # some proxies drop the port
                return True
        name = origin_site.hostname or ""
        return name in self.policy.hosts and not (is_address(name) or is_loopback(name))

    def max_body(self, scope: Scope) -> int:
        """How many bytes the request may have."""
        if not posts_to(scope, "upload"):
            return MAX_JSON
        return (
            MAX_UPLOAD
            if self.policy.own and is_passed_on(Headers(scope=scope))
            else self.max_upload
        )

    def too_large(self, scope: Scope) -> JSONResponse:
        return json_refusal(
            413, f"The request is too large; the limit is {self.max_body(scope) / 2**20:.0f} MB."
        )


class Exchange:
    """One request and its answer: counts what comes in, and failed logins."""

    def __init__(self, guard: Guard, scope: Scope, receive: Receive, send: Send):
        self.guard, self.scope, self._receive, self._send = guard, scope, receive, send
        self.received, self.started = 0, False
        self.refusal: JSONResponse | None = None  # instead of an answer that has not started

    async def run(self) -> None:
        try:
            with self.charging_upload():
                await self.guard.app(self.scope, self.receive, self.send)
        except Exception as error:
            # Gradio refuses a stream after its start
            if self.started and isinstance(error.__cause__, HTTPException):
                await self._send({"type": "http.response.body"})
            elif not self.refusal:
                raise
        if self.refusal and not self.started:
            await self.refusal(self.scope, self._receive, self._send)

    @contextmanager
    def charging_upload(self) -> Iterator[None]:
        """Charge the client for an upload; while it lasts, with all of it, so that many at once
        share a budget.
        """
        if not posts_to(self.scope, "upload"):
            yield
            return
        client = client_of(self.scope)
        length = int(
            Headers(scope=self.scope).get("content-length", self.guard.max_body(self.scope))
        )
        entry = self.guard.uploads.spend(client, length)
        try:
            yield
        finally:
            entry.amount = self.received

    async def receive(self) -> Message:
        """A body that grows beyond the limit (its length was not announced) ends as if the client
        had left.
        """
        if self.refusal:
            return {"type": "http.disconnect"}
        message = await self._receive()
        self.received += len(message.get("body", b""))
        if self.received > self.guard.max_body(self.scope):
            self.refusal = self.guard.too_large(self.scope)
            return {"type": "http.disconnect"}
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and posts_to(self.scope, "login"):
            self.count_login(message["status"])
        if self.refusal and not self.started:
            return  # `run` answers
        if message["type"] == "http.response.start":
            self.started = True
        await self._send(message)

    def count_login(self, status: int) -> None:
        """Count a failed login before it is answered. Whoever sent many at once learns no more of
        them than of as many in turn, not even which succeeded."""
        client = client_of(self.scope)
        failed = self.guard.failed_logins
        if failed.exhausted(client):
            self.refusal = too_many_logins()
        elif status in (400, 401):
            failed.spend(client, 1)


def parse_host(name: str) -> SplitResult:
    """HOST or HOST:PORT, in parts; nothing if it is invalid."""
    try:
        parts = urlsplit(f"//{name}")
        parts.port  # noqa: B018 (raises for an invalid one)
    except ValueError:
        return urlsplit("")
    return parts


def client_of(scope: Scope) -> str:
    """The client that sends a request, as `client_network` names it."""
    return client_network((scope.get("client") or ("",))[0])


def client_network(address: str) -> str:
    """The address of a client; of IPv6 the network of 64 bits, since one client may use all its
    addresses.
    """
    address = address.partition("%")[0]
    if ":" not in address or not is_address(address) or IPv6Address(address).ipv4_mapped:
        return address
    return str(ip_network((address, 64), strict=False))


def posts_to(scope: Scope, name: str) -> bool:
    """Whether a request sends something to the address of Gradio's with this name: `upload` or
    `login`. A call of an agent may hold a picture, and a login among its headers.
    """
    holds = is_agent(scope) and (name == "upload" or "authorization" in Headers(scope=scope))
    return scope["method"] == "POST" and (scope["path"].rstrip("/").endswith(f"/{name}") or holds)


def is_agent(scope: Scope) -> bool:
    """Whether a request is one of the Model Context Protocol."""
    return "/gradio_api/mcp" in scope["path"]


def is_passed_on(headers: Mapping[str, str]) -> bool:
    """Whether a proxy passed a request on, or it was sent to another address than a loopback one,
    so that its sender may be anybody. One who forges the Host header through a forwarded port
    cannot be told from the owner.
    """
    host = parse_host(headers.get("host") or "").hostname or ""
    proxied = any(
        name in headers
        for name in ("forwarded", "via", "x-real-ip", "x-forwarded-for", "x-forwarded-host")
    )
    return proxied or not is_loopback(host)


def too_many_logins() -> JSONResponse:
    return json_refusal(429, f"Too many failed logins; try again in {LOGIN_WINDOW // 60} minutes.")


def json_refusal(status: int, sentence: str) -> JSONResponse:
    """An answer for programs; Gradio's clients read `detail`."""
    return JSONResponse({"error": sentence, "detail": sentence}, status)


def read_logins(auth: str | None) -> Logins:
    """The names and passwords of `NAME:PASSWORD`, or of a file with one such line per person.

    Without `auth` (None) the list is empty, and visitors need no login. Raises UserError for an
    empty one, which an unset variable leaves, and for any other line; the message does not repeat
    passwords.
    """
    if auth is None:
        return []
    if not auth.strip():
        raise UserError(
            "--auth (or GENIUS_AUTH) is empty: give NAME:PASSWORD, or leave it out to "
            "require no login"
        )
    try:
        lines = (
            Path(auth).read_text(encoding="utf-8").splitlines() if os.path.isfile(auth) else [auth]
        )
    except (OSError, UnicodeDecodeError):
        raise UserError(
            "The file of --auth cannot be read: it must be a text in UTF-8 that this user may open"
        ) from None
    parts = [line.strip().partition(":") for line in lines if line.strip()]
    logins = [(name, password) for name, _, password in parts]
    if not logins or not all(name and password for name, password in logins):
        raise UserError("--auth takes NAME:PASSWORD, or a file with one such line per person")
    return logins


def check_editing(host: str, logins: Logins, allow_anonymous: bool) -> None:
    """Raise UserError if anyone on the network could change the run without a login."""
    if not (is_loopback(host) or logins or allow_anonymous):
        raise UserError(
            f"--editable on {host} would let anyone on the network change this run: "
            "require a login with "
            "--auth NAME:PASSWORD, or pass --allow-anonymous-editing if that is what you want"
        )


def check_origins(origins: Sequence[str]) -> None:
    """Raise UserError for an origin that no browser would send."""
    for origin in origins:
        parts = urlsplit(origin)
        if (
            parts.scheme not in ("http", "https")
            or not parts.netloc
            or origin != f"{parts.scheme}://{parts.netloc}"
        ):
            raise UserError(
                f"--embed-in takes an origin such as https://example.org, not {origin!r}"
            )


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches the address."""
    return host == "localhost" or (is_address(host) and ip_address(host.strip("[]")).is_loopback)


def is_address(host: str) -> bool:
    """Whether this is an IP address and not a name."""
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True

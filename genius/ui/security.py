"""What the server refuses before Gradio sees it.

Gradio reads requests of any size, answers any origin and any name, and lets a client guess passwords as fast as it
can. `Guard` is the outermost layer: it limits the size of a request and what a client uploads, checks the Host and
Origin headers, slows down logins, and keeps the login cookie to this site. It also knows which clients still listen,
so that the work of those who left can be dropped.
"""

from __future__ import annotations

import logging
import re
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from urllib.parse import SplitResult, parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from genius.errors import quoted
from genius.ui.access import is_address
from genius.ui.failures import json_refusal

MAX_JSON = 4 * 2**20  # bytes of a request that is not an upload
MAX_UPLOAD = 12 * 2**20  # bytes of an upload: one picture, whose own limit is 10 MB
MAX_EDITOR_UPLOAD = 256 * 2**20  # where visitors add many pictures at once
UPLOAD_LIFETIME = 600  # seconds that an unused upload stays on disk
CLIENT_UPLOADS = 128 * 2**20  # bytes that one client may upload within that time
CLIENT_EDITOR_UPLOADS = 2 * MAX_EDITOR_UPLOAD
MAX_FAILED_LOGINS = 10  # of one client within LOGIN_WINDOW
LOGIN_WINDOW = 300  # seconds
CLOSED_PATHS = re.compile(  # addresses of Gradio's that this page has no use for; some fetch links, or write files
    r"/gradio_api/(proxy=|stream/|deep_link|component_server|custom_component|process_recording|vibe-|run-history)"
)
GRACE = 60  # seconds until a client that asked something must listen for the answer
PATIENCE = 5  # seconds that an answer is kept for a client that listened before and has stopped

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Policy:
    """What the guard allows."""

    editable: bool = False
    hosts: tuple[str, ...] = ()  # names in the Host header that an editable page answers, besides IP addresses
    origins: tuple[str, ...] = ()  # other sites that may embed the page and call it, such as https://example.org


class Budget:
    """How much each client may use within a time window."""

    def __init__(self, limit: int, window: float):
        self.limit, self.window = limit, window
        self.spent: defaultdict[str, deque[tuple[float, int]]] = defaultdict(deque)

    def spend(self, client: str, amount: int) -> None:
        self.spent[client].append((time.monotonic(), amount))

    def exhausted(self, client: str) -> bool:
        now = time.monotonic()
        for name in [*self.spent]:
            entries = self.spent[name]
            while entries and now - entries[0][0] > self.window:
                entries.popleft()
            if not entries:
                del self.spent[name]
        return sum(amount for _, amount in self.spent.get(client, ())) >= self.limit


class Guard:
    """ASGI middleware around the whole server."""

    def __init__(self, app: ASGIApp, policy: Policy):
        self.app, self.policy = app, policy
        self.max_upload = MAX_EDITOR_UPLOAD if policy.editable else MAX_UPLOAD
        self.uploads = Budget(CLIENT_EDITOR_UPLOADS if policy.editable else CLIENT_UPLOADS, UPLOAD_LIFETIME)
        self.failed_logins = Budget(MAX_FAILED_LOGINS, LOGIN_WINDOW)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # the life of the server; Gradio has no web sockets
            return await self.app(scope, receive, send)
        response = self.refusal(scope, Headers(scope=scope))
        if response:
            log.warning("refused %s %s with status %d", scope["method"], quoted(scope["path"]), response.status_code)
            return await response(scope, receive, send)
        with listeners.listening(scope):
            await Exchange(self, scope, receive, send).run()

    def refusal(self, scope: Scope, headers: Headers) -> JSONResponse | None:
        """The answer to a request that is refused for its headers."""
        host, origin, client = headers.get("host", ""), headers.get("origin"), client_of(scope)
        if CLOSED_PATHS.search(scope["path"]):
            return json_refusal(404, "This page has no such address.")
        if self.policy.editable and not self.is_own_host(host):
            return json_refusal(
                421, f"This page is not served as {host[:100]}; its owner can allow that with --allowed-host."
            )
        if origin and scope["method"] not in ("GET", "HEAD", "OPTIONS") and not self.same_site(origin, headers):
            return json_refusal(403, "Another site may not call this page; its owner can allow that with --embed-in.")
        if scope["method"] != "POST":
            return None
        if is_login(scope) and self.failed_logins.exhausted(client):
            return json_refusal(429, f"Too many failed logins; try again in {LOGIN_WINDOW // 60} minutes.")
        if is_upload(scope) and self.uploads.exhausted(client):
            return json_refusal(429, f"Too many uploads; try again in {UPLOAD_LIFETIME // 60} minutes.")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self.max_body(scope):
            return self.too_large(scope)
        return None

    def is_own_host(self, host: str) -> bool:
        """Whether a Host header names this server. A page of another site can make its own name point here (DNS
        rebinding) and would then share our origin, but it cannot be opened by an IP address of ours."""
        name = parse_host(host).hostname or ""
        return is_address(name) or name in ("localhost", *self.policy.hosts)

    def same_site(self, origin: str, headers: Headers) -> bool:
        """Whether the page that sends the request is ours, or of a site that may embed ours."""
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
        return origin_site.hostname in self.policy.hosts

    def max_body(self, scope: Scope) -> int:
        """How many bytes the request may have."""
        return self.max_upload if is_upload(scope) else MAX_JSON

    def too_large(self, scope: Scope) -> JSONResponse:
        return json_refusal(413, f"The request is too large; the limit is {self.max_body(scope) / 2**20:.0f} MB.")


class Exchange:
    """One request and its answer: counts what comes in, and rewrites the cookies that go out."""

    def __init__(self, guard: Guard, scope: Scope, receive: Receive, send: Send):
        self.guard, self.scope, self._receive, self._send = guard, scope, receive, send
        self.received, self.started, self.overflow = 0, False, False

    async def run(self) -> None:
        try:
            with self.charging_upload():
                await self.guard.app(self.scope, self.receive, self.send)
        except Exception as error:
            if self.started and isinstance(error.__cause__, HTTPException):  # Gradio refuses a stream after its start
                await self._send({"type": "http.response.body"})
            elif not self.overflow:
                raise
        if self.overflow and not self.started:
            await self.guard.too_large(self.scope)(self.scope, self._receive, self._send)

    @contextmanager
    def charging_upload(self) -> Iterator[None]:
        """Charge the client for an upload; while it lasts, with all of it, so that many at once share a budget."""
        if not is_upload(self.scope):
            yield
            return
        client = client_of(self.scope)
        length = int(Headers(scope=self.scope).get("content-length", self.guard.max_body(self.scope)))
        self.guard.uploads.spend(client, length)
        try:
            yield
        finally:
            self.guard.uploads.spend(client, self.received - length)

    async def receive(self) -> Message:
        """A body that grows beyond the limit (its length was not announced) ends as if the client had left."""
        if self.overflow:
            return {"type": "http.disconnect"}
        message = await self._receive()
        self.received += len(message.get("body", b""))
        if self.received > self.guard.max_body(self.scope):
            self.overflow = True
            return {"type": "http.disconnect"}
        return message

    async def send(self, message: Message) -> None:
        if self.overflow and not self.started:
            return  # `run` answers
        if message["type"] == "http.response.start":
            self.started = True
            if is_login(self.scope) and message["status"] == 400:
                self.guard.failed_logins.spend(client_of(self.scope), 1)
            if not self.guard.policy.origins:
                keep_cookies_to_this_site(MutableHeaders(raw=message["headers"]))
        await self._send(message)


class Listeners:
    """The clients that wait for answers, each by its session, or a client of the API by its event."""

    STREAM = re.compile(r"/gradio_api/(?:queue/data|call/(?:v2/)?\w+/(?P<event>\w+))/?$")

    def __init__(self):
        self.streams: Counter[str] = Counter()  # open ones by name

    @contextmanager
    def listening(self, scope: Scope) -> Iterator[None]:
        """While the request is answered, its client listens, if the request is for a stream of answers."""
        stream = self.STREAM.search(scope["path"]) if scope["method"] == "GET" else None
        if stream is None:
            yield
            return
        query = parse_qs(scope["query_string"].decode("latin-1"))
        name = stream["event"] or query.get("session_hash", [""])[0]
        self.streams[name] += 1
        try:
            yield
        finally:
            self.streams[name] -= 1
            if not self.streams[name]:
                del self.streams[name]

    def has(self, *names: str | None) -> bool:
        """Whether a client listens for an answer. names: those of its session and of its event."""
        return any(name in self.streams for name in names)

    def abandonment_check(self, *names: str | None) -> Callable[[], bool]:
        """A function that says whether no client listens for an answer any more, or did not come for it."""
        last_listened, patience = time.monotonic(), GRACE

        def abandoned() -> bool:
            nonlocal last_listened, patience
            if self.has(*names):
                last_listened, patience = time.monotonic(), PATIENCE
                return False
            return time.monotonic() - last_listened > patience

        return abandoned


listeners = Listeners()


def keep_cookies_to_this_site(headers: MutableHeaders) -> None:
    """Gradio offers its login cookie to every site that embeds the page (SameSite=None)."""
    cookies = headers.getlist("set-cookie")
    if cookies:
        del headers["set-cookie"]
        for cookie in cookies:
            headers.append("set-cookie", re.sub(r"samesite=none", "SameSite=Lax", cookie, flags=re.IGNORECASE))


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
    """The address of a client; of IPv6 the network of 64 bits, since one client may use all its addresses."""
    address = address.partition("%")[0]
    if ":" not in address or not is_address(address) or ip_address(address).ipv4_mapped:
        return address
    return str(ip_network((address, 64), strict=False))


def is_upload(scope: Scope) -> bool:
    return scope["method"] == "POST" and scope["path"].rstrip("/").endswith("/upload")


def is_login(scope: Scope) -> bool:
    return scope["method"] == "POST" and scope["path"].rstrip("/").endswith("/login")

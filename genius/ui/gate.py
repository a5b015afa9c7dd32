"""What of Gradio's application is open, and how a call gets in.

Only the addresses that `gradio_client` and the page need are open; all else that Gradio serves, its
page too, is answered with 404 before Gradio sees it.
"""

import json
import logging
import re
from http import HTTPStatus
from typing import Any

from starlette.datastructures import Headers, QueryParams
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from genius.errors import UserError, quoted
from genius.ui.calls import Call, TooMany
from genius.ui.common.queries import upload_path
from genius.ui.endpoints import CALL, Endpoints, completed
from genius.ui.failures import ENDPOINT_MISMATCH, NO_FILE, SERVER_FAULT, UNKNOWN_ENDPOINT, shortened
from genius.ui.security import client_of, json_refusal

API = "/gradio_api"
POSTS = re.compile(
    rf"{API}/(?:(?P<upload>upload)|(?P<join>queue/join)|call/(?:v2/)?(?P<name>\w+)|cancel|reset)/?"
)
GETS = re.compile(
    rf"/config|{API}/(?:info|upload_progress|heartbeat/\w+|file=.+|startup-events"
    r"|(?P<data>queue/data)|call/(?:v2/)?\w+/(?P<event>\w+))/?"
)
NO_ADDRESS = "This page has no such address."
NO_SESSION = "The request names no session."
INVALID = "The request contains invalid Unicode or too many nested values."

log = logging.getLogger(__name__)


class Gate:
    """ASGI application around Gradio's."""

    def __init__(self, app: ASGIApp, endpoints: Endpoints):
        self.app, self.endpoints = app, endpoints
        self.names = [*endpoints.functions]  # in the order of Gradio's numbers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, method = scope["path"], scope["method"]
        known = (
            POSTS.fullmatch(path)
            if method == "POST"
            else GETS.fullmatch(path)
            if method in ("GET", "HEAD")
            else None
        )
        if known is None:
            return await self.refuse(404, NO_ADDRESS, scope, receive, send)
        parts = known.groupdict()
        if parts.get("name") or parts.get("join"):
            return await self.call(parts["name"], scope, receive, send)
        if parts.get("event") or parts.get("data"):
            session = QueryParams(scope["query_string"]).get("session_hash", "")
            with self.endpoints.calls.listening(parts["event"] or session):
                return await self.forward(scope, receive, send)
        return await self.forward(scope, receive, send)

    def name_of(self, number: object) -> str:
        """Of the endpoint with this number; empty if there is none."""
        if type(number) is int and 0 <= number < len(self.names):
            return self.names[number]
        return ""

    async def call(self, name: str | None, scope: Scope, receive: Receive, send: Send) -> None:
        """Accept a call, and hand it to Gradio with all its arguments. name: its endpoint; None: a
        number names it.
        """
        try:
            body = parsed(await read_body(receive))
        except UserError as error:
            return await self.refuse(400, str(error), scope, receive, send)
        if name is None:
            name = self.name_of(body.get("fn_index"))
        if name not in self.endpoints.functions:
            return await self.refuse(404, UNKNOWN_ENDPOINT, scope, receive, send)
        by_number = scope["path"].rstrip("/").endswith("/join")
        session = body.get("session_hash")
        if by_number and not (session and isinstance(session, str)):
            return await self.refuse(400, NO_SESSION, scope, receive, send)
        given = body if "/call/v2/" in scope["path"] else body.get("data")
        data = completed(self.endpoints.functions[name], given)
        if data is None:
            return await self.refuse(400, ENDPOINT_MISMATCH, scope, receive, send)
        try:
            call = self.endpoints.calls.accept(client_of(scope), Headers(scope=scope))
        except TooMany as error:
            return await self.refuse(503, str(error), scope, receive, send)
        try:
            check_files(data)
        except UserError as error:  # told by the stream of the answer, where every client reads it
            call.refusal = str(error)
            data = [None] * len(data)
        asked: dict[str, Any] = {"data": data}
        path = f"{API}/call/{name}"
        if by_number:
            asked |= {"fn_index": self.names.index(name), "session_hash": session}
            path = f"{API}/queue/join"
        content = json.dumps(asked).encode()
        accepted = accepted_scope(scope, path, len(content), call.id)
        answer = Accepting(call, session if by_number else None, send)
        try:
            await self.forward(accepted, replayed(content, receive), answer.send)
        finally:
            if not call.names:  # Gradio did not take it
                self.endpoints.calls.forget(call)

    async def forward(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Ask Gradio; what it answers an error with becomes a sentence."""
        answer = Legible(scope, receive, send)
        try:
            await self.app(scope, receive, answer.send)
        except Exception as error:
            if answer.started and answer.status != 500:
                raise
            sentence = (
                NO_FILE
                if "/upload" in scope["path"] and isinstance(error, TypeError)
                else SERVER_FAULT
            )
            if sentence == SERVER_FAULT:
                log.error("Gradio failed at %s", quoted(scope["path"]), exc_info=error)
            await self.refuse(422 if sentence == NO_FILE else 500, sentence, scope, receive, send)

    async def refuse(
        self, status: int, sentence: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        log.warning("refused %s %s: %r", scope["method"], quoted(scope["path"]), sentence)
        await json_refusal(status, sentence)(scope, receive, send)


def parsed(content: bytes) -> dict[str, Any]:
    """The JSON object of a request. Raises UserError if it is none, or not text."""
    try:
        body = json.loads(content)
        json.dumps(body, ensure_ascii=False).encode()
    except (UnicodeEncodeError, RecursionError) as error:
        raise UserError(INVALID) from error
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise UserError("The request is malformed: it is no JSON object.")
    return body


def accepted_scope(scope: Scope, path: str, length: int, call: str) -> Scope:
    """The request as Gradio sees it: other content at another path, with the number of its call."""
    own = {b"content-length": b"%d" % length, CALL.encode(): call.encode()}
    kept = [(key, value) for key, value in scope["headers"] if key not in own]
    return {**scope, "path": path, "raw_path": path.encode(), "headers": [*kept, *own.items()]}


class Accepting:
    """Learns from Gradio's answer to a POST by which names the stream of the call will be asked
    for.
    """

    def __init__(self, call: Call, session: str | None, send: Send):
        self.call = call
        self.session = session
        self._send = send
        self.body = b""
        self.status = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        elif self.status == 200:
            self.body += message.get("body", b"")
            if not message.get("more_body"):
                event = json.loads(self.body).get("event_id", "")
                self.call.names = tuple(filter(None, (event, self.session)))
        await self._send(message)


class Legible:
    """Passes an answer of Gradio's on; one that says that something is wrong becomes {"error",
    "detail"}. After the status 500 Gradio raises what failed, which `Gate.forward` answers.
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send):
        self.scope, self.receive, self._send = scope, receive, send
        self.started, self.status, self.body = False, 0, b""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            self.status = message["status"] if message["status"] >= 400 else 0
        elif self.status:
            self.body += message.get("body", b"")
        if not self.status:
            await self._send(message)
        elif (
            self.status != 500
            and message["type"] == "http.response.body"
            and not message.get("more_body")
        ):
            sentence = sentence_of(self.body, self.status)
            log.warning(
                "refused %s %s: %r", self.scope["method"], quoted(self.scope["path"]), sentence
            )
            await json_refusal(self.status, sentence)(self.scope, self.receive, self._send)


def sentence_of(body: bytes, status: int) -> str:
    """What an answer of Gradio's says, in one sentence."""
    text = body.decode(errors="replace")
    try:
        detail = json.loads(text)
        detail = detail.get("detail", detail.get("error")) if isinstance(detail, dict) else text
    except ValueError:
        detail = text
    phrase = HTTPStatus(status).phrase
    if not isinstance(detail, str) or not detail or detail == phrase:
        detail = f"The request is refused: {phrase.lower()}."
    return shortened(detail)


def check_files(value: Any) -> None:
    """Raise UserError for a file that is no upload: Gradio would fetch a link before any function
    sees it.
    """
    if isinstance(value, dict) and value.get("meta"):
        upload_path(value)
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            check_files(inner)


async def read_body(receive: Receive) -> bytes:
    """The body of a request, whose size the guard bounds."""
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            break
        body = body + message.get("body", b"")
        more = message.get("more_body", False)
    return body


def replayed(content: bytes, receive: Receive) -> Receive:
    """As `receive`, after a body that was read already."""
    left = [{"type": "http.request", "body": content}]

    async def receive_again() -> Message:
        return left.pop() if left else await receive()

    return receive_again

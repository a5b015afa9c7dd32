"""What of Gradio's application is open, and how a call gets in.

Only the addresses that `gradio_client` and the page need are open; all else that Gradio serves, its
page too, is answered with 404 before Gradio sees it.
"""

import json
import logging
import re
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from starlette.datastructures import Headers, QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from genius.errors import UserError, quoted
from genius.ui.answers import SERVER_FAULT, shortened
from genius.ui.calls import Call, TooMany
from genius.ui.common.uploads import upload_path
from genius.ui.endpoints import CALL, Endpoints, completed
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
ENDPOINT_MISMATCH = "The arguments do not fit this endpoint; the API tab lists them."
UNKNOWN_ENDPOINT = "This page has no such endpoint; reload it."
NO_FILE = "The upload has no file; send each as a part of a form with a name and a file name."
NO_SESSION = "The request names no session."
INVALID = "The request contains invalid Unicode or too many nested values."

Arguments = dict[str, Any]
Learner = Callable[[bytes], None]

log = logging.getLogger(__name__)


class Gate:
    """ASGI application around Gradio's."""

    def __init__(self, app: ASGIApp, endpoints: Endpoints):
        self.app, self.endpoints = app, endpoints
        self.names = [*endpoints.functions]  # in the order of Gradio's numbers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        addresses = {"POST": POSTS, "GET": GETS, "HEAD": GETS}.get(scope["method"])
        known = addresses and addresses.fullmatch(scope["path"])
        if not known:
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
            body = parsed(await Request(scope, receive).body())  # whose size the guard bounds
            call, path, asked = self.accepted(name, body, scope)
        except ClientDisconnect:
            return
        except HTTPException as refused:
            return await self.refuse(refused.status_code, refused.detail, scope, receive, send)
        content = json.dumps(asked).encode()
        left = [{"type": "http.request", "body": content}]

        async def receive_again() -> Message:
            return left.pop() if left else await receive()

        def learn(answer: bytes) -> None:
            """By which names the stream of the call will be asked for."""
            event = json.loads(answer).get("event_id")
            call.names = tuple(filter(None, (event, asked.get("session_hash"))))

        handed_on = accepted_scope(scope, path, len(content), call.id)
        try:
            await self.forward(handed_on, receive_again, send, learn)
        finally:
            if not call.names:  # Gradio did not take it
                self.endpoints.calls.forget(call)

    def accepted(self, name: str | None, body: Any, scope: Scope) -> tuple[Call, str, Arguments]:
        """A call, and the address and the content with which it is handed to Gradio. Raises
        HTTPException.
        """
        by_number = name is None
        name = self.name_of(body.get("fn_index")) if name is None else name
        if name not in self.endpoints.functions:
            raise HTTPException(404, UNKNOWN_ENDPOINT)
        session = body.get("session_hash")
        if by_number and not (session and isinstance(session, str)):
            raise HTTPException(400, NO_SESSION)
        given = body if "/call/v2/" in scope["path"] else body.get("data")
        data = completed(self.endpoints.functions[name], given)
        if data is None:
            raise HTTPException(400, ENDPOINT_MISMATCH)
        try:
            call = self.endpoints.calls.accept(client_of(scope), Headers(scope=scope))
        except TooMany as error:
            raise HTTPException(503, str(error)) from None
        try:
            check_files(data)
        except UserError as error:  # told by the stream of the answer, where every client reads it
            call.refusal = str(error)
            data = [None] * len(data)
        if not by_number:
            return call, f"{API}/call/{name}", {"data": data}
        number = {"fn_index": self.names.index(name), "session_hash": session}
        return call, f"{API}/queue/join", {"data": data} | number

    async def forward(
        self, scope: Scope, receive: Receive, send: Send, learn: Learner | None = None
    ) -> None:
        """Ask Gradio; what it answers an error with becomes a sentence. learn: gets any other
        answer before the client does.
        """
        status, body = 0, b""

        async def send_legible(message: Message) -> None:
            nonlocal status, body
            if message["type"] == "http.response.start":
                status = message["status"]
            elif status >= 400 or learn:
                body += message.get("body", b"")
            is_last = message["type"] == "http.response.body" and not message.get("more_body")
            if status == 200 and learn and is_last:
                learn(body)
            if status < 400:
                await send(message)
            elif is_last and status != 500:  # after which Gradio raises what failed
                await self.refuse(status, sentence_of(body, status), scope, receive, send)

        try:
            await self.app(scope, receive, send_legible)
        except Exception as error:
            if status not in (0, 500):
                raise
            if "/upload" in scope["path"] and isinstance(error, TypeError):
                return await self.refuse(422, NO_FILE, scope, receive, send)
            log.error("Gradio failed at %s", quoted(scope["path"]), exc_info=error)
            await self.refuse(500, SERVER_FAULT, scope, receive, send)

    async def refuse(
        self, status: int, sentence: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        log.warning("refused %s %s: %r", scope["method"], quoted(scope["path"]), sentence)
        await json_refusal(status, sentence)(scope, receive, send)


def parsed(content: bytes) -> Arguments:
    """The JSON object of a request. Raises HTTPException if it is none, or not text."""
    try:
        body = json.loads(content)
        json.dumps(body, ensure_ascii=False).encode()
    except (UnicodeEncodeError, RecursionError) as error:
        raise HTTPException(400, INVALID) from error
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise HTTPException(400, "The request is malformed: it is no JSON object.")
    return body


def accepted_scope(scope: Scope, path: str, length: int, call: str) -> Scope:
    """The request as Gradio sees it: other content at another path, with the number of its call."""
    own = {b"content-length": b"%d" % length, CALL.encode(): call.encode()}
    kept = [(key, value) for key, value in scope["headers"] if key not in own]
    return {**scope, "path": path, "raw_path": path.encode(), "headers": [*kept, *own.items()]}


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

"""Answers to requests that fail: one sentence, where Gradio would answer null, or repeat what was sent.

The log gets one line for each refused request, and a traceback only for a fault of ours.
"""

import html
import logging
from collections.abc import Sequence
from http import HTTPStatus

import gradio as gr
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from gradio.exceptions import AppError
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from genius.errors import UserError, quoted
from genius.ui.security import json_refusal

SERVER_FAULT = "Something went wrong on the server; its log has the details."
PAGE_MISMATCH = "The request does not fit this page; reload it."
ENDPOINT_MISMATCH = "The arguments do not fit this endpoint; the API tab lists them."
NO_FILE = "The upload has no file; send each as a part of a form with a name and a file name."
UNKNOWN_ENDPOINT = "This page has no such endpoint; reload it."
MAX_SENTENCE = 400  # characters

log = logging.getLogger(__name__)


def error_for_caller(error: Exception, to_program: bool) -> gr.Error:
    """The error that the caller of a callback sees. A page renders HTML, a program does not."""
    if isinstance(error, (AppError, UserError)):
        sentence = shortened(error.message if isinstance(error, AppError) else str(error))
        log.warning("refused a request: %r", shortened(str(error.__cause__ or sentence)))
    else:
        log.error("a callback failed", exc_info=error)
        sentence = SERVER_FAULT
    return gr.Error(sentence if to_program else html.escape(sentence, quote=False), print_exception=False)


def answer_failures(app: FastAPI, lookup_errors: Sequence[type[Exception]]) -> None:
    """Make an app that Gradio built answer requests that never reach a callback.

    lookup_errors: what its routes raise for endpoints and components that the page lacks.
    """

    def refuse(request: Request, status: int, sentence: str) -> JSONResponse:
        log.warning("refused %s %s: %r", request.method, quoted(request.url.path), sentence)
        return json_refusal(status, sentence)

    @app.exception_handler(HTTPException)
    async def on_refusal(request: Request, error: HTTPException) -> JSONResponse:
        phrase = HTTPStatus(error.status_code).phrase
        sentence = error.detail if isinstance(error.detail, str) else phrase
        if error.status_code == HTTPStatus.UNAUTHORIZED:
            sentence = "You are signed out; sign in again."
        elif sentence == phrase:  # Gradio says no more
            sentence = f"The request is refused: {phrase.lower()}."
        answer = refuse(request, error.status_code, shortened(sentence))
        answer.headers.update(error.headers or {})
        return answer

    @app.exception_handler(RequestValidationError)
    async def on_malformed(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"][1:]))
        return refuse(request, 422, shortened(f"The request is malformed: {place} {first['msg']}.".replace("  ", " ")))

    async def on_lookup(request: Request, error: Exception) -> JSONResponse:
        return refuse(request, 404, UNKNOWN_ENDPOINT)

    @app.exception_handler(TypeError)
    async def on_mismatch(request: Request, error: TypeError) -> JSONResponse:
        """Two of Gradio's routes raise it for what was sent; elsewhere it is a fault."""
        if "/call/v2/" in request.url.path:
            return refuse(request, 422, ENDPOINT_MISMATCH)
        if request.url.path.rstrip("/").endswith("/upload"):
            return refuse(request, 422, NO_FILE)
        raise error

    for kind in lookup_errors:
        app.add_exception_handler(kind, on_lookup)
    app.add_exception_handler(Exception, on_fault)
    app.add_middleware(JsonErrors)


class JsonErrors:
    """ASGI middleware: the errors that Gradio answers as plain text, such as those of uploads, become JSON."""

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        status, body = 0, b""  # of a plain error

        async def send_json(message: Message) -> None:
            nonlocal status, body
            if message["type"] == "http.response.start" and message["status"] >= 400:
                kind = Headers(raw=message["headers"]).get("content-type", "")
                status = message["status"] if kind.startswith("text/plain") else 0
            elif status:
                body += message.get("body", b"")
            if not status:
                await send(message)
            elif message["type"] == "http.response.body" and not message.get("more_body"):
                sentence = shortened(body.decode(errors="replace"))
                log.warning("refused %s %s: %r", scope["method"], quoted(scope["path"]), sentence)
                await json_refusal(status, sentence)(scope, receive, send)

        await self.app(scope, receive, send_json)


async def on_fault(request: Request, error: Exception) -> JSONResponse:
    """The answer to a request that failed by a fault of ours, which the server logs."""
    return json_refusal(500, SERVER_FAULT)


def shortened(sentence: str) -> str:
    return sentence if len(sentence) <= MAX_SENTENCE else f"{sentence[:MAX_SENTENCE]}…"

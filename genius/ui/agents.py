"""For agents: the public endpoints of a run as tools of the Model Context Protocol (MCP).

The tools are made from the same functions as the endpoints, by the protocol's own library. A call
is one of the endpoints' calls, so the limits and the metrics of the API hold for it; a picture
comes as data, and answers end with the pictures of their first items.
"""

import base64
import binascii
import inspect
import json
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, get_type_hints

import gradio as gr
from anyio.to_thread import run_sync
from mcp.server.fastmcp import Context, FastMCP
from mcp.server.fastmcp.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import ImageContent, TextContent
from starlette.types import Receive, Scope, Send

from genius.errors import UserError
from genius.ui.answers import sentence_for
from genius.ui.endpoints import Endpoints, upload_folder
from genius.ui.security import client_of

DATA_URI = "a data URI: data:image/jpeg;base64,…"
NO_DATA = f"The picture must be {DATA_URI}"
MOST_PICTURES = 20  # of one answer


class Agents:
    """An ASGI application at PATH with a tool for each public endpoint."""

    PATH = "/gradio_api/mcp/"

    def __init__(self, endpoints: Endpoints):
        self.endpoints = endpoints
        # names and origins of requests are checked before (security.py)
        security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        self.server = FastMCP("GENIUS Explorer", stateless_http=True, transport_security=security)
        for function in endpoints.public.values():
            self.server.add_tool(self.tool(function))
        self.server.streamable_http_app()  # which makes the session manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.server.session_manager.handle_request(scope, receive, send)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self.server.session_manager.run():
            yield

    def tool(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function as a tool: its picture is a text, and its answer is content."""
        hints = get_type_hints(function)
        pictured = [name for name, kind in hints.items() if kind == gr.FileData | None]

        async def call(context: Context, **arguments: Any) -> list[TextContent | ImageContent]:
            request = context.request_context.request
            assert request is not None, "tools are called over HTTP"
            calls = self.endpoints.calls
            try:
                accepted = calls.accept(client_of(request.scope), request.headers)
                accepted.listens = True
                try:
                    return await run_sync(self.answer, function, arguments, pictured, accepted.id)
                finally:
                    calls.forget(accepted)
            except Exception as error:
                raise ToolError(sentence_for(error)) from None

        kinds = {name: str if name in pictured else kind for name, kind in hints.items()}
        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters = [
            inspect.Parameter(
                name,
                keyword,
                default="" if name in pictured else parameter.default,
                annotation=kinds[name],
            )
            for name, parameter in inspect.signature(function).parameters.items()
        ]
        given = inspect.Parameter("context", keyword, annotation=Context)
        call.__name__ = function.__name__
        call.__doc__ = inspect.getdoc(function) or ""
        call.__doc__ += f" A picture is given as {DATA_URI}" * bool(pictured)
        call.__signature__ = inspect.Signature([*parameters, given])  # type: ignore[attr-defined]
        call.__annotations__ = {one.name: one.annotation for one in (*parameters, given)}
        return call

    def answer(
        self, function: Callable[..., Any], arguments: Any, pictured: list[str], call: str
    ) -> list[TextContent | ImageContent]:
        for name in pictured:
            if arguments.get(name):
                arguments[name] = upload_of(arguments[name])
            else:
                arguments.pop(name, None)
        with self.endpoints.answering(function.__name__, call):
            return self.content(function(**arguments))

    def content(self, answer: Any) -> list[TextContent | ImageContent]:
        """The answer as JSON; then, for each of its first items that has one, id and picture."""
        items = answer
        if isinstance(answer, dict):
            items = answer.get("hits") or answer.get("items") or [answer]
            answer = {name: value for name, value in answer.items() if name != "picture"}
        text = json.dumps(answer, ensure_ascii=False)
        content: list[TextContent | ImageContent] = [TextContent(type="text", text=text)]
        index = self.endpoints.engine.index
        ids = [item["id"] for item in items if isinstance(item, dict) and "id" in item]
        ids = ids[:MOST_PICTURES]
        for id, row in zip(ids, index.rows_of(ids) if ids else [], strict=True):
            if row >= 0 and (picture := index.thumbnail(int(row))):
                encoded = base64.b64encode(picture).decode()
                content.append(TextContent(type="text", text=f"The picture of {id}:"))
                content.append(ImageContent(type="image", data=encoded, mimeType="image/webp"))
        return content


def upload_of(picture: str) -> dict[str, str]:
    """The data of a picture as an upload. Raises UserError for what is no data."""
    head, _, data = picture.partition("base64,")
    try:
        if not head.startswith("data:"):
            raise ValueError
        content = base64.b64decode(data, validate=True)
    except (ValueError, binascii.Error):
        raise UserError(NO_DATA) from None
    upload_folder().mkdir(parents=True, exist_ok=True)
    folder = tempfile.mkdtemp(dir=upload_folder())
    file = Path(folder) / "picture"
    file.write_bytes(content)
    return {"path": str(file)}

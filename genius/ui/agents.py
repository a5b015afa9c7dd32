"""For agents: the endpoints of the API as tools of the Model Context Protocol (MCP), by Gradio's own server of it.

That server calls its page over HTTP, as a client without the visitor's address and login, fetches links to files, and
answers with Python's notation. `AgentServer` puts a call into the queue of the page instead, so that the limits and the
metrics of the API hold, takes pictures as data only, and answers with JSON and the pictures of items.
tests/ui/test_agents.py fails where a version of Gradio works in another way.
"""

import base64
import binascii
import json
import uuid
from typing import Any

import gradio as gr
import gradio.mcp
from gradio.data_classes import PredictBodyInternal
from gradio.processing_utils import save_bytes_to_cache
from gradio.server_messages import ProcessCompletedMessage
from gradio.utils import get_upload_folder
from starlette.requests import Request

from genius.errors import UserError
from genius.ui.gradio_hooks import listeners

DATA_URI = "a data URI: data:image/jpeg;base64,…"
MOST_PICTURES = 20  # of one answer


class AgentServer(gradio.mcp.GradioMCPServer):
    """The tools of one page."""

    _file_data_tool_description = f" A picture is given as {DATA_URI}"

    def _get_or_create_client(self) -> "AgentServer":
        return self  # to which Gradio submits a call

    def submit(self, *arguments: Any, api_name: str, headers: dict[str, str]) -> tuple[str, list[Any]]:
        return api_name, list(arguments)

    async def _execute_tool_without_progress(self, job: tuple[str, list[Any]]) -> list[Any]:
        """Wait in the queue as a call of the API does. Raises UserError with what the call is refused for."""
        name, arguments = job
        queue, session = self.blocks._queue, uuid.uuid4().hex
        scope = self.mcp_server.request_context.request.scope
        request = Request({**scope, "path": "/gradio_api/queue/join"})  # the queue knows no other addresses
        function = self.get_block_fn_from_endpoint_name(name)
        body = PredictBodyInternal(data=arguments, fn_index=function._id, session_hash=session, request=request)
        listeners[session] += 1
        try:
            accepted, answer, _ = await queue.push(body, request, None)
            if not accepted:
                raise UserError(answer)
            while not isinstance(answer, ProcessCompletedMessage):
                answer = await queue.pending_messages_per_session[session].get()
        finally:
            del listeners[session]
            await queue.clean_events(session_hash=session)  # where the agent has left
            queue.pending_messages_per_session.pop(session, None)
            queue.pending_event_ids_session.pop(session, None)
        if not answer.success:
            raise UserError(answer.output["error"])
        return answer.output["data"]

    async def _execute_tool_with_progress(self, job: tuple[str, list[Any]], progress_token: str | int) -> list[Any]:
        return await self._execute_tool_without_progress(job)

    def convert_strings_to_filedata(self, value: dict[str, Any], filedata_positions: Any) -> dict[str, Any]:
        """The arguments of a call, with the data of a picture as an upload. Raises UserError for what is no data."""
        picture = value.get("picture")
        if not isinstance(picture, str):
            return value
        head, _, data = picture.partition("base64,")
        try:
            if not head.startswith("data:"):
                raise ValueError
            path = save_bytes_to_cache(base64.b64decode(data, validate=True), "picture", get_upload_folder())
        except (ValueError, binascii.Error):
            raise UserError(f"The picture must be {DATA_URI}") from None
        self.blocks.upload_file_set.add(path)  # which are deleted some time after their last use
        return {**value, "picture": {"path": path, "meta": {"_type": "gradio.FileData"}}}

    def simplify_filedata_schema(self, schema: dict[str, Any]) -> tuple[dict[str, Any], list[list[str | int]]]:
        schema, positions = super().simplify_filedata_schema(schema)
        words = json.dumps(schema, ensure_ascii=False).replace("a http or https url to a file", DATA_URI)
        return json.loads(words), positions

    def postprocess_output_data(self, data: list[Any], root_url: str) -> list[Any]:
        """The answer as JSON; then, for each of its first items that has one, the id and the picture."""
        (answer,) = data
        items = answer if isinstance(answer, list) else answer.get("hits") or answer.get("items") or [answer]
        if isinstance(answer, dict):
            answer = {name: value for name, value in answer.items() if name != "picture"}
        content = [self.types.TextContent(type="text", text=json.dumps(answer, ensure_ascii=False))]
        engine = self.blocks.engine
        with engine.versions.snapshot():
            ids = [item["id"] for item in items if "id" in item][:MOST_PICTURES]
            for id, row in zip(ids, engine.index.rows_of(ids) if ids else [], strict=True):
                if row >= 0 and (picture := engine.index.thumbnail(int(row))):
                    encoded = base64.b64encode(picture).decode()
                    content += [
                        self.types.TextContent(type="text", text=f"The picture of {id}:"),
                        self.types.ImageContent(type="image", data=encoded, mimeType="image/webp"),
                    ]
        return content


def offer_tools() -> None:
    """Let Gradio serve the tools of the pages that are mounted from now on."""
    gradio.mcp.GradioMCPServer = AgentServer


def check_offered(page: gr.Blocks) -> None:
    """Raise UserError if Gradio could not make the tools of a mounted page, of which it only takes a note."""
    if page.mcp_server_obj is None:
        raise UserError(f"--mcp does not work here ({page.mcp_error}); pip install 'genius-explorer[mcp]'")

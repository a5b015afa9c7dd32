"""A page over a made-up engine, served once for all tests of this folder."""

import json
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from PIL import Image

from genius.ui.common.components import Panel
from genius.ui.common.context import ServedRun
from genius.ui.page import build
from tests.ui.fake_engine import EXAMPLES, FakeEngine
from tests.ui.tiny_page import hosted

ABORTED = (  # a page that is left ends the streams that it reads, and then says THEN
    "AbortError: BodyStreamBuffer was aborted",
    "AbortError: signal is aborted without reason",
)
THEN = "Unexpected error Connection errored out"


@pytest.fixture
def photo(tmp_path):
    """Of other bytes in each test: a server that ends late deletes its uploads, and equal ones of the next server."""
    file = tmp_path / "photo.jpg"
    Image.linear_gradient("L").convert("RGB").save(file, comment=tmp_path.name.encode())
    return file


@pytest.fixture(scope="session")
def served() -> Iterator[SimpleNamespace]:
    """engine, page, url: a page that is being served."""
    engine = FakeEngine()
    page = build(engine, ServedRun(Path("made-up"), "drawings", EXAMPLES))
    with hosted(page) as server:
        for thread in threading.enumerate():
            if thread.name == "prepare":  # which takes snapshots, and may log
                thread.join()
        yield SimpleNamespace(engine=engine, page=page, url=server.address)


@pytest.fixture
def ask(served):
    """Call an event by its function's name as a program would, past the browser's own limits.

    Returns what Gradio sends last: {"success": …, "output": {"data": […]} or {"error": …}}, with the data of panels
    read from their text.
    """

    def read(output: dict, blocks: list) -> dict:
        if data := output.get("data"):
            output["data"] = [
                json.loads(value) if isinstance(block, Panel) and isinstance(value, str) else value
                for block, value in zip(blocks, data, strict=True)
            ]
        return output

    def call(function: str, *data, event: dict | None = None):
        index = next(i for i, event in served.page.fns.items() if event.name == function)
        session = uuid.uuid4().hex
        with httpx.Client(base_url=f"{served.url}/gradio_api", timeout=60, trust_env=False) as client:
            client.post(
                "/queue/join", json={"data": data, "fn_index": index, "event_data": event, "session_hash": session}
            ).raise_for_status()
            with client.stream("GET", "/queue/data", params={"session_hash": session}) as stream:
                for line in stream.iter_lines():
                    if line.startswith("data:") and '"process_completed"' in line:
                        answer = json.loads(line[len("data:") :])
                        return answer | {"output": read(answer["output"], served.page.fns[index].outputs)}
        raise AssertionError("the stream ended before the answer")

    return call


@pytest.fixture
def visit(browser, context, served):
    """Open the page, each time as another visitor.

    Whatever a test does there: data runs no script, no request leaves the origin, and the console tells no error.
    """
    pages, dialogs, foreign, errors = [], [], [], []

    def note(request):
        if not request.url.startswith((served.url, "data:", "blob:")):
            foreign.append(request.url)

    def open_page(path="/", width=1280):
        profile = browser.new_context() if pages else context  # what a test's second visitor has is none of the first's
        page = profile.new_page()
        pages.append(page)
        if profile is context:
            forget = {"origin": served.url, "storageTypes": "all"}  # what the last test's visitor left there
            context.new_cdp_session(page).send("Storage.clearDataForOrigin", forget)
        page.set_viewport_size({"width": width, "height": 900})
        page.set_default_timeout(60_000)  # a busy machine is slow, not wrong
        page.on("request", note)
        page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(served.url + path)
        page.locator("[role=tab][aria-selected=true]").first.wait_for()
        if "tab=" not in path and "tour=" not in path:  # a step of the tour may open another tab
            page.locator("#go").wait_for()
            page.locator("#cards .panel > *").first.wait_for()
        return page

    yield open_page
    for page in pages:
        page.close() if page.context is context else page.context.close()
    context.clear_permissions()
    assert not dialogs, "a script from the data ran"
    assert not foreign, "a request left the machine"
    others = [error for error in errors if not any(name in error for name in ABORTED)]
    told = [error for error in others if error.startswith(THEN)]  # one for each event that waited on a stream
    assert told == others and (not told or len(others) < len(errors)), errors

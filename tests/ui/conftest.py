"""A page over a made-up engine, served once for all tests of this folder."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from PIL import Image

from genius.ui.common.context import ServedRun
from genius.ui.page import Page
from tests.ui.fake_engine import EXAMPLES, FakeEngine
from tests.ui.tiny_page import hosted

JSON = {"content-type": "application/json"}
EXPECTED = ("the server responded with a status of 4",)  # a refusal, which the page tells in words


@pytest.fixture
def photo(tmp_path):
    """Of other bytes in each test: a server that ends late deletes its uploads, and equal ones of
    the next server.
    """
    file = tmp_path / "photo.jpg"
    Image.linear_gradient("L").convert("RGB").save(file, comment=tmp_path.name.encode())
    return file


@pytest.fixture(scope="session")
def served() -> Iterator[SimpleNamespace]:
    """engine, page, url, client: a page that is being served."""
    engine = FakeEngine()
    page = Page(engine, ServedRun(Path("made-up"), "drawings", EXAMPLES))
    with hosted(page) as server:
        for thread in threading.enumerate():
            if thread.name == "prepare":  # which takes snapshots, and may log
                thread.join()
        yield SimpleNamespace(engine=engine, page=page, url=server.address, client=server.client)


@pytest.fixture
def ask(served):
    """Call an endpoint as a program would, with its arguments in order or by name: {"answer": …} or
    {"error": a sentence}.
    """

    def called(function: str, *given, **named):
        path = f"/gradio_api/call/{function}"
        content = json.dumps({"data": named or given})  # of which httpx would refuse some
        accepted = served.client.post(path, content=content, headers=JSON)
        if accepted.status_code != 200:
            return accepted.json() | {"status": accepted.status_code}
        stream = served.client.get(f"{path}/{accepted.json()['event_id']}").text
        kind, data = stream.strip().split("\n")[-2:]
        told = json.loads(data.removeprefix("data: "))
        if kind == "event: complete":
            return {"answer": told[0]}
        return {"error": told["error"] if isinstance(told, dict) else told}

    return called


@pytest.fixture
def visit(browser, context, served):
    """Open the page, each time as another visitor.

    Whatever a test does there: data runs no script, no request leaves the origin, and the console
    tells no error.
    """
    pages, dialogs, foreign, errors = [], [], [], []

    def note(request):
        if not request.url.startswith((served.url, "data:", "blob:")):
            foreign.append(request.url)

    def open_page(path="/", width=1280):
        # what a test's second visitor has is none of the first's
        profile = browser.new_context() if pages else context
        page = profile.new_page()
        pages.append(page)
        if profile is context:
            # what the last test's visitor left there
            forget = {"origin": served.url, "storageTypes": "all"}
            context.new_cdp_session(page).send("Storage.clearDataForOrigin", forget)
        page.set_viewport_size({"width": width, "height": 900})
        page.set_default_timeout(60_000)  # a busy machine is slow, not wrong
        page.on("request", note)
        page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
        page.on(
            "console",
            lambda message: errors.append(message.text) if message.type == "error" else None,
        )
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(served.url + path)
        page.locator("html[data-ready]").wait_for(state="attached")
        return page

    yield open_page
    for page in pages:
        page.close() if page.context is context else page.context.close()
    context.clear_permissions()
    assert not dialogs, "a script from the data ran"
    assert not foreign, "a request left the machine"
    assert not [error for error in errors if not any(name in error for name in EXPECTED)], errors

"""The page of a run: what is served of it, and who may call what."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from genius.ui.common.about import About
from genius.ui.common.context import ServedRun
from genius.ui.page import Page
from tests.ui.fake_engine import FakeEngine
from tests.ui.tiny_page import hosted

BROWSER = {"accept": "text/html,*/*"}
# what programs and agents may call, too
DOCUMENTED = {"search", "item", "code_items", "neighbours", "find_codes"}
# where the run, or a copy, may be changed
EDITING = {"add_items", "remove_items", "merge_segments", "keep_changes", "forget_changes"}
OPEN = ("/healthz", "/metrics")  # everybody
CLOSED = (  # nobody: Gradio's own page and what belongs to it
    *(
        "/assets/index.js",
        "/theme.css",
        "/manifest.json",
        "/monitoring",
        "/token",
        "/app_id",
        "/login_check",
    ),
    *("/gradio_api/proxy=http://127.0.0.1/", "/gradio_api/stream/x", "/gradio_api/deep_link"),
    *("/gradio_api/component_server", "/gradio_api/run/search", "/gradio_api/api/search"),
    *(
        "/gradio_api/openapi.json",
        "/gradio_api/runs",
        "/gradio_api/vibe-code",
        "/dev/reload",
        "/svelte/x",
    ),
    *("/static/img/x", "/gradio_api/custom_component/a/b/c/d", "/robots.txt", "/file=/etc/passwd"),
)


@pytest.fixture(scope="module")
def locked():
    """A page with a login, and a client without one."""
    page = Page(FakeEngine(), ServedRun(Path("made-up")))
    with hosted(page, logins=[("ada", "secret")]) as server:
        yield SimpleNamespace(page=page, client=server.client)


def test_what_may_be_called_is_documented_and_changes_only_where_they_are_allowed():
    engine = FakeEngine()
    engine.encoder = engine.fusion = engine.quantizer = engine.run = None
    for editable in (True, False):
        page = Page(engine, ServedRun(Path("made-up"), editable=editable))
        assert {function.__name__ for function in page.public} == DOCUMENTED
        changes = EDITING & {function.__name__ for function in page.calls}
        assert changes == (EDITING if editable else set())


def test_without_a_login_nothing_is_shown_and_nothing_is_called(locked):
    client, page = locked.client, locked.page
    for path in page.looks:
        assert (
            client.get(f"/{path}".replace("{id}", "1:0").replace("{number}", "0")).status_code
            == 401
        ), path
    for function in (*page.public, *page.calls):
        asked = client.post(f"/gradio_api/call/{function.__name__}", json={"data": []})
        assert asked.status_code == 401, function.__name__
    for path in ("/config", "/gradio_api/info", "/gradio_api/queue/data", "/credits"):
        assert client.get(path).status_code == 401, path
    assert client.post("/gradio_api/upload", files={"files": ("a.png", b"x")}).status_code == 401
    assert "password" in client.get("/", headers=BROWSER).text
    for path in OPEN:
        assert client.get(path).status_code == 200, path


@pytest.mark.parametrize("path", CLOSED)
def test_what_gradio_would_show_beside_the_endpoints_is_closed(served, path):
    for method in ("GET", "POST"):
        assert served.client.request(method, path).status_code == 404


def test_a_look_is_asked_again_only_when_it_changed_and_a_wrong_one_gets_a_sentence(served):
    client = served.client
    shown = client.get("/items/1:0/picture")
    assert shown.status_code == 200 and shown.headers["content-type"] == "image/webp"
    again = client.get("/items/1:0/picture", headers={"if-none-match": shown.headers["etag"]})
    assert again.status_code == 304 and not again.content
    wrong = {"/items/9:9": 404, "/items/2:1/picture": 404, "/examples/x/picture": 400}
    for path, status in wrong.items():
        refused = client.get(path)
        assert refused.status_code == status, path
        assert refused.json()["error"] == refused.json()["detail"]


def test_what_is_served_comes_from_the_run(tmp_path):
    manifest = {"format": 1, "parts": {}, "collection": "/data/my-photos"}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    assert ServedRun.read(tmp_path) == ServedRun(tmp_path, "my-photos")
    (tmp_path / "manifest.json").write_text(json.dumps({"format": 1, "parts": {}}))
    assert ServedRun.read(tmp_path) == ServedRun(tmp_path)


@pytest.mark.parametrize(
    "wrong", [{"beams": 0}, {"beams": 10**6}, {"beams": None}, {"mode": "quick"}]
)
def test_a_setting_that_the_page_does_not_offer_is_refused(ask, wrong):
    assert "error" in ask("search", text="mug", **wrong)


def test_facts_and_kinds_of_result_follow_the_items():
    engine = FakeEngine()
    page = Page(
        engine,
        ServedRun(Path("toy"), "my-photos", about=About("Photographs"), run_names=("toy", "other")),
    )
    facts = page.looks["about"]()
    assert facts["facts"][:2] == ["collection my-photos", "76,412 items"] and facts["runs"] == [
        "toy",
        "other",
    ]
    engine.index = type(
        "Few", (type(engine.index),), {"n": 1, "modalities": np.array([1], np.uint8)}
    )()
    facts = page.looks["about"]()
    assert "1 item" in facts["facts"] and [target["value"] for target in facts["targets"]] == [
        "any",
        "text",
    ]

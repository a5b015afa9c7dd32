import json
from pathlib import Path

import httpx
import numpy as np
import pytest

from genius.ui import page, security
from genius.ui.common.about import About
from genius.ui.common.context import ServedRun
from genius.ui.page import header_view
from tests.ui.fake_engine import FakeEngine
from tests.waiting import WAIT, wait_until

SEARCH = {"data": ["mug", None, "", 5, 3, "any"]}  # a request to the API


def upload(served, name, content):
    return httpx.post(
        f"{served.url}/gradio_api/upload", files={"files": (name, content)}, trust_env=False, timeout=WAIT
    )


def picture(path, **fields):
    return {"path": path, "meta": {"_type": "gradio.FileData"}, **fields}


def test_a_search_over_http_answers_all_three_panels(ask, served, photo):
    path = upload(served, "photo.jpg", photo.read_bytes()).json()[0]
    answer = ask(
        "on_search", "mug", picture(path), "Find one.", None, "", [], 20, 6, True, "set", "any", "cosine", 0.25, None
    )
    summary, cards, generated, *_ = answer["output"]["data"]
    assert answer["success"] and len(cards["columns"][0]["cards"]) == 6 and len(generated["rows"]) == 20
    assert "“mug” and the picture" in summary["sentence"]


def test_an_example_over_http_fills_the_form_and_answers(ask, served):
    answer = ask(
        "on_example", [], 20, 6, True, "set", "any", "cosine", 0.25, None, event={"index": 2, "value": "Changed"}
    )
    text, picture, instruction, part, pictured, summary, cards, generated, *_ = answer["output"]["data"]
    assert (text, instruction) == ("in dark blue", "Find a garment like this one, changed as the text says.")
    assert picture["path"].endswith(".webp") and len(cards["columns"][0]["cards"]) == 6 and len(generated["rows"]) == 20
    assert summary["title"] == "Changed" and part is None and pictured == ""


def test_a_change_of_the_collection_leaves_codes_alone_where_no_pattern_is_open(ask):
    assert ask("on_changed", None)["success"]


@pytest.mark.parametrize("event", [{}, {"index": 3}, {"index": -1}, {"index": "0"}, {"index": True}, {"index": None}])
def test_an_example_that_is_not_there_never_reaches_the_engine(ask, served, event):
    before = len(served.engine.queries)
    answer = ask("on_example", [], 5, 3, True, "set", "any", "cosine", 0.25, None, event=event)
    assert answer["output"]["error"] == "There is no such example; reload the page."
    assert len(served.engine.queries) == before


def test_what_is_served_comes_from_the_run(tmp_path):
    manifest = {"format": 1, "parts": {}, "collection": "/data/my-photos"}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    assert ServedRun.read(tmp_path) == ServedRun(tmp_path, "my-photos", ())
    (tmp_path / "manifest.json").write_text(json.dumps({"format": 1, "parts": {}}))
    assert ServedRun.read(tmp_path) == ServedRun(tmp_path)


@pytest.mark.parametrize(
    "forge",
    [
        lambda path: picture(path),
        lambda path: {"path": path},
        lambda path: path,
        lambda path: [path],
        lambda path: picture(f"file://{path}"),
        lambda path: picture("http://127.0.0.1:9/x.png"),
        lambda path: {"path": "http://127.0.0.1:9/x.png"},
        lambda path: picture(None, url="data:image/png;base64,AAAA"),
        lambda path: {"url": "data:image/png;base64,AAAA"},
    ],
)
def test_a_picture_that_was_not_uploaded_never_reaches_the_engine(ask, served, photo, forge):
    before = len(served.engine.queries)
    answer = ask(
        "on_search", "mug", forge(str(photo)), "", None, "", [], 5, 3, True, "set", "any", "cosine", 0.25, None
    )
    assert not answer["success"] and len(served.engine.queries) == before
    assert "Traceback" not in str(answer)


@pytest.mark.parametrize("beams", [0, -1, 10**6, None])
def test_a_beam_size_that_the_slider_does_not_have_never_reaches_the_engine(ask, served, beams):
    before = len(served.engine.queries)
    answer = ask("on_search", "mug", None, "", None, "", [], beams, 3, True, "set", "any", "cosine", 0.25, None)
    assert not answer["success"] and len(served.engine.queries) == before


def test_a_mode_that_is_not_offered_never_reaches_the_engine(ask, served):
    before = len(served.engine.queries)
    answer = ask("on_search", "mug", None, "", None, "", [], 5, 3, True, "quick", "any", "cosine", 0.25, None)
    assert not answer["success"] and len(served.engine.queries) == before


def test_a_bug_is_reported_without_its_details(ask):
    answer = ask("on_search", "bug", None, "", None, "", [], 5, 3, True, "set", "any", "cosine", 0.25, None)
    assert answer["output"]["error"] == "Something went wrong on the server; its log has the details."


def test_an_oversized_upload_is_refused(served):
    assert upload(served, "big.png", b"0" * (11 * 2**20)).status_code == 413


def test_files_of_the_server_are_not_served(served):
    for path in ("/etc/hostname", "genius/ui/page.py", "app.py"):
        answer = httpx.get(f"{served.url}/gradio_api/file={path}", trust_env=False, timeout=WAIT)
        assert answer.status_code in (403, 404)


def test_the_hooks_of_gradio_that_the_page_overrides_run_for_each_callback(ask, served, monkeypatch):
    """They are internal: another version of Gradio may stop calling them."""
    checked, before = [], served.engine.snapshots
    monkeypatch.setattr(page, "is_file_obj_with_meta", lambda value: checked.append(value) and False)
    assert ask("on_search", "mug", None, "Find one.", None, "", [], 5, 3, True, "set", "any", "cosine", 0.25, None)[
        "success"
    ]
    assert "mug" in checked and served.engine.snapshots == before + 1


def test_a_request_with_missing_values_gets_a_sentence_and_a_line_in_the_log(ask, caplog):
    answer = ask("on_search", "mug")
    assert answer["output"]["error"] == "The request does not fit this page; reload it."
    (record,) = caplog.records
    assert "An event handler (on_search)" in record.getMessage() and not record.exc_info


def test_a_search_knows_whether_its_client_listens(ask, served, monkeypatch):
    seen, ordinary = [], served.engine.answer

    def answer(query, options):
        caller = served.engine.caller
        wait_until(lambda: caller.listens() or caller.has_left())  # a client listens once it has asked
        seen.append((caller.name, caller.listens(), caller.has_left()))
        return ordinary(query, options)

    monkeypatch.setattr(served.engine, "answer", answer)
    ask("on_search", "mug", None, "Find one.", None, "", [], 5, 3, True, "set", "any", "cosine", 0.25, None)
    [((address, session), listens, has_left)] = seen
    assert (address, listens, has_left) == ("127.0.0.1", True, False) and session
    monkeypatch.setattr(security, "GRACE", 1)
    client = httpx.Client(base_url=f"{served.url}/gradio_api", trust_env=False, timeout=WAIT)
    event = client.post("/call/search", json=SEARCH).json()["event_id"]
    wait_until(lambda: len(seen) == 2)
    assert "complete" in client.get(f"/call/search/{event}").text  # so that it ends in this test
    assert seen[1] == (("127.0.0.1", ""), False, True)


def test_a_search_for_nobody_is_dropped_and_says_so(served, monkeypatch, caplog):
    monkeypatch.setattr(security, "GRACE", 0)
    monkeypatch.setattr(security.Listeners, "abandonment_check", lambda *_: lambda: True)
    client = httpx.Client(base_url=served.url, trust_env=False, timeout=WAIT)
    event = client.post("/gradio_api/call/search", json=SEARCH).json()["event_id"]
    assert "its client had left" in client.get(f"/gradio_api/call/search/{event}").text
    assert not caplog.records


def test_the_header_counts_items_and_codes():
    header = header_view(ServedRun(Path("demo")), 1_234_567, (3, 256, 256), "cuda:0")
    assert header["facts"] == ["1,234,567 items", "IDs of 3 codes", "run demo", "computed on cuda:0"]
    assert not header["runs"]


def test_header_about_and_kinds_of_result_follow_the_items():
    engine = FakeEngine()
    blocks = page.build(engine, ServedRun(Path("demo"), about=About("Photographs")))
    events = [event for event in blocks.fns.values() if event.name == "refresh"]
    (signal,) = (block for block in blocks.blocks.values() if block.elem_id == "signal-changed")
    assert {target for event in events for target in event.targets} == {(blocks._id, "load"), (signal._id, "sent")}
    assert [block.elem_id for block in events[0].outputs] == ["header", "about", "target", "compare-target"]
    for modalities, kinds, kept in (
        ([0, 1, 1, 2], ["any", "image", "text", "pair"], True),
        ([1], ["any", "text"], False),
    ):
        facts = {"modalities": np.array(modalities, np.uint8), "n": len(modalities), "code_sizes": (3, 256)}
        engine.index = type("Index", (), facts)()
        heading, about, search, compare = events[0].fn("any", "pair")
        assert f"{len(modalities)} items" in heading["facts"] and about["held"]
        assert [value for _, value in search["choices"]] == [value for _, value in compare["choices"]] == kinds
        assert "value" not in search and compare.get("value") == (None if kept else "any")


def test_the_header_names_the_collection_where_it_is_known():
    facts = header_view(ServedRun(Path("demo"), "my-photos"), 1, (3, 256), "cpu")["facts"]
    assert facts[0] == "collection my-photos"


def test_several_runs_are_a_choice_in_the_header():
    header = header_view(ServedRun(Path("demo"), run_names=("photos", "demo")), 1, (3, 256), "cpu")
    assert (header["run"], header["runs"]) == ("demo", ["photos", "demo"])
    assert header["facts"] == ["1 items", "IDs of 2 codes", "computed on cpu"]


def test_events_without_a_sign_of_progress_share_one_place_for_it(served):
    """Gradio's page copies all that could show the progress of an event that ran, at each step of any event."""
    silent = [event for event in served.page.fns.values() if event.show_progress == "hidden"]
    places = {block._id for event in silent for block in event.show_progress_on}
    assert len(silent) > 20 and len(places) == 1

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from genius.ui import page
from genius.ui.common.about import About
from genius.ui.common.context import ServedRun
from genius.ui.page import header_view
from tests.ui.fake_engine import FakeEngine
from tests.ui.tiny_page import form


def test_what_is_served_comes_from_the_run(tmp_path):
    manifest = {"format": 1, "parts": {}, "collection": "/data/my-photos"}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    assert ServedRun.read(tmp_path) == ServedRun(tmp_path, "my-photos")
    (tmp_path / "manifest.json").write_text(json.dumps({"format": 1, "parts": {}}))
    assert ServedRun.read(tmp_path) == ServedRun(tmp_path)


@pytest.mark.parametrize("wrong", [{"beams": 0}, {"beams": 10**6}, {"beams": None}, {"mode": "quick"}])
def test_a_setting_that_the_page_does_not_offer_never_reaches_the_engine(ask, served, wrong):
    before = len(served.engine.queries)
    answer = ask("on_search", *form("mug", **wrong))
    assert not answer["success"] and len(served.engine.queries) == before


def test_a_page_that_may_not_be_edited_takes_no_changes(served):
    assert not {"on_add", "on_ids", "on_take_out", "on_compact"} & {event.name for event in served.page.fns.values()}


def test_an_example_over_http_fills_the_form_and_answers(ask):
    answer = ask("on_ask", {"message": {"example": "2"}}, "", "", None, *form("")[5:])
    text, picture, instruction, part, pictured, *_, summary, cards, generated = answer["output"]["data"][:15]
    assert (text, instruction) == ("in dark blue", "Find a garment like this one, changed as the text says.")
    assert picture["path"].endswith(".webp") and len(cards["columns"][0]["cards"]) == 3 and len(generated["rows"]) == 5
    assert summary["title"] == "Changed" and part is None and pictured == ""


def test_the_header_says_what_is_served():
    header = header_view(ServedRun(Path("toy"), "my-photos"), 1_234_567, (3, 256, 256), "cuda:0")
    facts = ["collection my-photos", "1,234,567 items", "IDs of 3 codes", "run toy", "computed on cuda:0"]
    assert header["facts"] == facts and not header["runs"]
    several = header_view(ServedRun(Path("toy"), run_names=("photos", "toy")), 1, (3, 256), "cpu")
    assert (several["run"], several["runs"]) == ("toy", ["photos", "toy"]) and "run toy" not in several["facts"]


def test_header_about_and_kinds_of_result_follow_the_items():
    engine = FakeEngine()
    blocks = page.build(engine, ServedRun(Path("toy"), about=About("Photographs")))
    events = [event for event in blocks.fns.values() if event.name == "refresh"]
    (signal,) = (block for block in blocks.blocks.values() if block.elem_id == "signal-changed")
    assert {target for event in events for target in event.targets} == {(blocks._id, "load"), (signal._id, "sent")}
    assert [block.elem_id for block in events[0].outputs] == ["header", "about", "target", "compare-target", "scope"]
    for modalities, kinds, kept in (
        ([0, 1, 1, 2], ["any", "image", "text", "pair"], True),
        ([1], ["any", "text"], False),
    ):
        config = SimpleNamespace(grown=int(kept))
        facts = {
            "modalities": np.array(modalities, np.uint8),
            "n": len(modalities),
            "code_sizes": (3, 256),
            "config": config,
        }
        engine.index = type("Index", (), facts)()
        heading, about, search, compare, scope = events[0].fn("any", "pair")
        assert f"{len(modalities)} items" in heading["facts"] and about["held"]
        assert [value for _, value in search["choices"]] == [value for _, value in compare["choices"]] == kinds
        assert scope["visible"] == kept
        assert "value" not in search and compare.get("value") == (None if kept else "any")

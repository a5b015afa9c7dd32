"""What the callbacks of the Codes tab answer, over a made-up engine."""

import gradio as gr
import numpy as np
import pytest

from genius.errors import UserError
from genius.schema import Modality
from genius.texts import MAX_TEXT
from genius.ui.codes.callbacks import CodesCallbacks, LastOpened
from genius.ui.codes.layout import codes_tab
from genius.ui.common.context import Context, ServedRun, Shared
from tests.ui.fake_engine import FakeEngine

SHOWN = ("summary", "icicle", "nearness", "items", "card", "meaning", "near", "table")
NAMES = ("pattern", "typed", "key", *SHOWN, "opened")


@pytest.fixture(scope="module")
def engine():
    return FakeEngine()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return tmp_path_factory.mktemp("run")


@pytest.fixture(scope="module")
def blocks(engine, run):
    with gr.Blocks() as blocks:
        tabs = gr.Tabs()
        context = Context(engine, ServedRun(run), Shared(tabs))
        with tabs, gr.Tab("Codes", id="codes") as shown:
            codes_tab(context, shown)
    return blocks


@pytest.fixture(scope="module")
def tab(blocks):
    """Calls an event of the tab by its function's name."""
    functions = {event.name: event.fn for event in blocks.fns.values()}
    return lambda name, *inputs: functions[name](*inputs)


def opened(tab, text, last=None):
    return dict(zip(NAMES, tab("on_pattern", text, last or LastOpened()), strict=True))


def matching(engine, pattern):
    codes = engine.index.codes(range(engine.index.n))
    wanted = [level for level, code in enumerate(pattern) if code is not None]
    return np.flatnonzero((codes[:, wanted] == [pattern[level] for level in wanted]).all(1))


def test_codes_are_found_by_words_a_picture_or_both_and_one_by_chance(tab, engine, photo):
    for asked in (("wheel", None), ("", photo), ("wheel", photo)):
        found = tab("on_find", *asked)["codes"]
        assert found and found[0]["level"] in ("level 1", "level 2", "level 3")
        assert opened(tab, found[0]["key"])["summary"]["items"] == found[0]["items"]
    assert tab("on_find", "", None) is None
    assert len(matching(engine, opened(tab, tab("on_random"))["pattern"]))
    for asked in (("x" * (MAX_TEXT + 1), None), (7, None), ("wheel", __file__)):
        with pytest.raises(UserError):
            tab("on_find", *asked)


def test_an_open_code_shows_the_codes_nearest_to_it(tab):
    near = tab("on_near", (0, 7))["codes"]
    assert near and not any(code["key"].startswith("*.7") for code in near)
    assert tab("on_near", ()) is None is tab("on_near", None)


def test_an_open_pattern_is_opened_again_when_items_were_added_or_removed(blocks, tab):
    (event,) = (event for event in blocks.fns.values() if event.name == "on_changed")
    assert [blocks.blocks[block].elem_id for block, _ in event.targets] == ["signal-changed"]
    ways = [way for way in blocks.fns.values() if way is not event and way.outputs == event.outputs]
    assert len(ways) == 3 and all(way.inputs[-1] is event.inputs[0] for way in ways)
    last = LastOpened()
    assert len(event.outputs) == len(NAMES) and tab("on_changed", last) == gr.skip()
    shown, again = opened(tab, "0 · 7", last), dict(zip(NAMES, tab("on_changed", last), strict=True))
    assert again == shown and again["opened"] and again["card"] is None


def test_a_pattern_that_is_opened_while_the_last_one_is_opened_again_stays(tab, monkeypatch):
    last, open_again = LastOpened(), CodesCallbacks.open
    opened(tab, "0 · 7", last)

    def slow(callbacks, pattern):
        monkeypatch.undo()
        assert opened(tab, "1", last)["pattern"] == (1,)
        return open_again(callbacks, pattern)

    monkeypatch.setattr(CodesCallbacks, "open", slow)
    assert tab("on_changed", last) == gr.skip()
    assert dict(zip(NAMES, tab("on_changed", last), strict=True))["pattern"] == (1,)


def page(tab, pattern, **event):
    return tab("on_page", gr.EventData(None, event), pattern)


def test_items_are_turned_by_page_and_chosen_by_modality(tab, engine):
    pattern = (None, 3)
    rows = matching(engine, pattern)
    first, second = (page(tab, pattern, modality="pair", page=at)["groups"][0]["tiles"] for at in (0, 1))
    assert not {tile["row"] for tile in first} & {tile["row"] for tile in second}
    assert {tile["modality"] for tile in first + second} == {"pair"}
    pairs = (engine.index.modalities[rows] == Modality.PAIR).sum()
    last = page(tab, pattern, modality="pair", page=99)
    assert (last["page"], last["pages"]) == (-(-pairs // 24) - 1, -(-pairs // 24))
    assert last["groups"][0]["note"].endswith(f" to {pairs:,} of {pairs:,}, in the order of their IDs")
    assert [choice["name"] for choice in last["filters"] if choice["chosen"]] == ["Pair"]


@pytest.mark.parametrize(
    "event", [{}, {"modality": "", "page": -1}, {"modality": "x", "page": 0}, {"modality": "", "page": "0"}]
)
def test_a_page_that_cannot_be_gets_one_sentence(tab, event):
    with pytest.raises(UserError, match="There is no such page; reload the page."):
        page(tab, (0,), **event)

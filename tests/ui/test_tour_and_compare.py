"""The steps of the tour over the made-up engine, and the callbacks of Compare."""

from pathlib import Path
from types import SimpleNamespace

import gradio as gr
import pytest
from PIL import Image

from genius.errors import UserError
from genius.examples import Example, TargetedInstruction
from genius.explore.tour import Tour, TourStep
from genius.schema import Modality
from genius.ui.common.context import Context, ServedRun, Shared
from genius.ui.compare.layout import compare_tab, hnsw_choice
from genius.ui.tour.layout import TourCallbacks
from tests.ui.fake_engine import EXAMPLES, FakeEngine

WHOLE = Tour(0, 1, (0, 3), (0, 4, 5, 6), (None, 4, 5), ("features", "codes-9"))


@pytest.fixture(scope="module")
def callbacks():
    return TourCallbacks(Context(FakeEngine(), ServedRun(Path("made-up"), examples=EXAMPLES), None))


def test_each_step_sends_what_its_tab_shows(callbacks, monkeypatch):
    monkeypatch.setattr(callbacks, "tour_of", lambda index: WHOLE)
    shown = callbacks.on_tour("3")
    assert shown["number"] == 3 and [step["step"] for step in shown["steps"]] == [*TourStep]
    assert [step["sends"] for step in shown["steps"]] == [
        {"ask": {"example": "0"}},
        {"ask": {"example": "1"}},
        {"open_code": "0.4.5.6"},
        {"open_code": "*.4.5"},
        {"map_view": "features"},
        {"compare_example": 1},
    ]
    for name, step in (("pair", TourStep.SHARED), ("views", TourStep.MAP), ("picture", TourStep.INSTRUCTIONS)):
        assert [own["step"] for own in shown["steps"] if name in own] == [step]


def test_a_run_skips_what_it_lacks(callbacks, monkeypatch):
    monkeypatch.setattr(callbacks, "tour_of", lambda index: Tour(single=2))
    for asked, number in (("1", 1), ("2", 2), ("9", 2), ("0", 1)):
        shown = callbacks.on_tour(asked)
        assert [step["step"] for step in shown["steps"]] == [TourStep.STRIP, TourStep.DENSE]
        assert shown["number"] == number
    assert callbacks.on_tour("") is callbacks.on_tour(None) is callbacks.on_tour("two") is None
    monkeypatch.setattr(callbacks, "tour_of", lambda index: Tour())
    with pytest.raises(UserError, match="nothing for a tour"):
        callbacks.on_tour("1")


def test_an_example_fills_the_form_and_removes_the_box_because_the_whole_picture_is_searched(engine):
    picture = Image.new("RGB", (40, 30), "teal")
    example = Example("One", "", picture, (TargetedInstruction("Find one like this.", Modality.IMAGE),))
    with gr.Blocks() as page:
        shared = Shared(gr.Tabs())
        with gr.Tab("Compare", id="compare") as tab:
            compare_tab(Context(engine, ServedRun(Path("tiny"), examples=(example,)), shared), tab)
    event = next(event for event in page.fns.values() if event.name == "on_example")
    values = event.fn(0, 3, 5, False, 1.0)
    filled = {block.elem_id: value for block, value in zip(event.outputs, values, strict=True)}
    assert filled["compare-part"] is None and filled["compare-picture"] is picture
    assert filled["compare-instruction"] == "Find one like this." and filled["compare"]["systems"]


@pytest.mark.parametrize(
    "items, problem, ticked, can_be_ticked, says",
    [
        (5_000, None, True, True, "5,000 items is built once"),
        (2_000_000, None, False, True, "takes a while"),
        (5_600_000, "It would take 18.6 GB.", False, False, "It would take 18.6 GB."),
    ],
)
def test_hnsw_is_offered_where_its_graph_fits(items, problem, ticked, can_be_ticked, says):
    engine = SimpleNamespace(index=SimpleNamespace(n=items))
    choice = hnsw_choice(SimpleNamespace(engine=engine, hnsw_problem=problem))
    assert (choice.value, choice.interactive) == (ticked, can_be_ticked) and says in choice.info

"""The steps of the tour over the made-up engine, and the data of its panel."""

from pathlib import Path
from types import SimpleNamespace

import gradio as gr
import pytest

from genius.errors import UserError
from genius.explore.tour import Tour, TourStep
from genius.ui.common.context import Context, ServedRun
from genius.ui.tour.layout import TourCallbacks, on_view, spelled, step_view
from tests.ui.fake_engine import EXAMPLES, FakeEngine

PAIR = [{"id": "1:0", "codes": [0, 4, 5, 6, 7]}, {"id": "1:3", "codes": [0, 4, 5, 6, 9]}]
WHOLE = Tour(0, 1, (0, 3), (0, 4, 5, 6), (None, 4, 5), ("features", "codes-9"))


@pytest.fixture(scope="module")
def callbacks():
    return TourCallbacks(Context(FakeEngine(), ServedRun(Path("made-up"), examples=EXAMPLES), None))


@pytest.mark.parametrize(
    "step, sent",
    [
        (TourStep.INSTRUCTIONS, (0, None, None, None)),
        (TourStep.STRIP, (1, None, None, None)),
        (TourStep.SHARED, (None, "0.4.5.6", None, None)),
        (TourStep.PATTERN, (None, "*.4.5", None, None)),
        (TourStep.MAP, (None, None, "features", None)),
        (TourStep.DENSE, (None, None, None, 1)),
    ],
)
def test_each_step_sends_what_its_tab_shows(callbacks, monkeypatch, step, sent):
    monkeypatch.setattr(callbacks, "tour_of", lambda index: WHOLE)
    panel, *signals = callbacks.on_step(WHOLE.steps.index(step) + 1)
    assert panel["step"] == step and panel["of"] == 6 and tuple(signals) == sent
    assert bool(panel["pair"]) == (step == TourStep.SHARED) and bool(panel["views"]) == (step == TourStep.MAP)
    assert bool(panel["picture"]) == (step == TourStep.INSTRUCTIONS)


def test_a_run_skips_what_it_lacks_and_numbers_the_rest(callbacks, monkeypatch):
    monkeypatch.setattr(callbacks, "tour_of", lambda index: Tour(single=2))
    panels = [callbacks.on_step(number)[0] for number in (1, 2, 3)]
    assert [(panel["step"], panel["number"], panel["of"]) for panel in panels] == [
        (TourStep.STRIP, 1, 2),
        (TourStep.DENSE, 2, 2),
        (TourStep.DENSE, 2, 2),
    ]
    monkeypatch.setattr(callbacks, "tour_of", lambda index: Tour())
    with pytest.raises(UserError, match="nothing for a tour"):
        callbacks.on_step(1)


def test_the_made_up_run_has_a_tour_without_maps(callbacks):
    tour = callbacks.tour_of(callbacks.engine.index)
    assert (tour.several, tour.single, tour.views) == (0, 1, None)
    assert TourStep.MAP not in tour.steps and {TourStep.INSTRUCTIONS, TourStep.STRIP, TourStep.DENSE} <= {*tour.steps}


@pytest.mark.parametrize("number", [None, "2", 0, -3, True, 2.5, [2]])
def test_a_step_that_is_none_is_the_first(callbacks, number):
    assert callbacks.on_move(gr.EventData(None, {"number": number}))[0]["number"] == 1


@pytest.mark.parametrize("address, number", [({"tour": "2"}, 2), ({"tour": "99999999999"}, None), ({"tour": "1"}, 1)])
def test_an_address_names_a_step(callbacks, address, number):
    opened = callbacks.on_address(address)[0]
    assert opened["number"] == (number or opened["of"])


@pytest.mark.parametrize("address", [None, {}, [], {"tour": ""}, {"tour": "x"}, {"tour": 2}, {"tour": "-1"}])
def test_another_address_opens_no_step(callbacks, address):
    assert callbacks.on_address(address) == (None,) * 5


def test_texts_are_short_and_name_the_runs_own_codes():
    for number in range(1, 7):
        shown = step_view(WHOLE, number, PAIR, EXAMPLES[0])
        assert shown["title"] and len(shown["text"]) <= 200
    assert step_view(WHOLE, 1, PAIR, EXAMPLES[0])["title"] == "One picture, three instructions"
    assert "* · 4 · 5" in step_view(WHOLE, 4, PAIR, EXAMPLES[0])["text"]
    assert [one["shared"] for one in step_view(WHOLE, 3, PAIR, EXAMPLES[0])["pair"]] == [4, 4]
    assert [one["name"] for one in step_view(WHOLE, 5, PAIR, EXAMPLES[0])["views"]] == ["features", "codes-9"]
    assert spelled(3) == "three" and spelled(12) == "12"


def test_the_name_of_a_map_is_a_text():
    assert on_view(SimpleNamespace(name=["x"])) == "['x']" and on_view(SimpleNamespace()) == ""

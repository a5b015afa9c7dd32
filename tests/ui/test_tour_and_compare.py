"""The steps of the tour over the made-up engine, and what Compare answers."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from genius.errors import UserError
from genius.explore.tour import Tour, TourStep
from genius.ui import tour as tours
from genius.ui.common.context import Context, ServedRun
from genius.ui.compare import Comparer
from tests.ui.fake_engine import EXAMPLES, FakeEngine

WHOLE = Tour(0, 1, (0, 3), (0, 4, 5, 6), (None, 4, 5), (0, 9))


@pytest.fixture
def steps_of(monkeypatch):
    def shown(tour):
        monkeypatch.setattr(tours, "tour_of", lambda *_: tour)
        context = Context(FakeEngine(), ServedRun(Path("made-up"), examples=EXAMPLES))
        return tours.panel(context).looks["tour"]()["steps"]

    return shown


def test_each_step_opens_what_its_tab_shows(steps_of):
    steps = steps_of(WHOLE)
    assert [step["step"] for step in steps] == [*TourStep]
    assert [step["opens"] for step in steps] == [
        {"example": "0"},
        {"example": "1"},
        {"tab": "codes", "code": "0.4.5.6"},
        {"tab": "codes", "code": "*.4.5"},
        {"tab": "map", "keep": ""},
        {"tab": "compare", "example": "1"},
        {"tab": "codes", "play": "guess", "item": "1:0"},
    ]
    owned = ("pair", TourStep.SHARED), ("views", TourStep.MAP), ("picture", TourStep.INSTRUCTIONS)
    for name, step in owned:
        assert [own["step"] for own in steps if name in own] == [step]


def test_a_run_skips_what_it_lacks(steps_of):
    assert [step["step"] for step in steps_of(Tour(single=2))] == [TourStep.STRIP, TourStep.DENSE]
    with pytest.raises(UserError, match="nothing for a tour"):
        steps_of(Tour())


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
    comparer = SimpleNamespace(engine=engine, comparison=SimpleNamespace(hnsw_problem=problem))
    offered = Comparer.on_settings(comparer)
    assert (offered["hnsw"], offered["can"]) == (ticked, can_be_ticked) and says in offered["note"]

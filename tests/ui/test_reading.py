"""A run that reads words: one box, how it was read, and other readings one click away."""

from pathlib import Path

import gradio as gr
import pytest
from genius.ui.search.layout import search_tab

from genius.schema import Reading
from genius.ui.common.about import About
from genius.ui.common.context import Context, ServedRun, Shared
from tests.ui.fake_engine import FakeEngine
from tests.ui.test_search import SETTINGS, address, found
from tests.ui.tiny_page import callback

READ = Reading("similar", {"similar": 0.7, "change": 0.2, "entry": 0.06, "page": 0.04}, "", "cars")
ABOUT = About(ask=("What is this?", "Similar"), ask_by_text=("Show me a photo of this.",))


class ReadingEngine(FakeEngine):
    has_reader = True

    def answer(self, query, options, seed=7):
        result = super().answer(query, options, seed)
        object.__setattr__(result, "reading", READ)
        return result


@pytest.fixture(scope="module")
def engine():
    return ReadingEngine()


@pytest.fixture(scope="module")
def page(engine):
    with gr.Blocks() as page, gr.Tab("Search", id="search") as tab:
        search_tab(Context(engine, ServedRun(Path("made-up"), about=ABOUT), Shared(gr.Tabs())), tab)
    return page


def event(**fields):
    return gr.EventData(None, fields)


def test_the_words_go_to_the_engine_alone_and_the_page_says_how_they_were_read(page, engine):
    shown = found(callback(page, "on_search")("a street without cars", None, None, None, "", *SETTINGS))
    query, _ = engine.queries[-1]
    assert (query.text, query.instruction, query.reading) == ("a street without cars", "", "")
    assert shown.summary["reading"] == {
        "name": "Similar pictures",
        "left_out": "cars",
        "others": [{"reading": "change", "name": "The same, changed"}, {"reading": "entry", "name": "What it is"}],
    }
    assert address(shown) == {"q": "a street without cars"}


def test_another_reading_is_asked_for_and_in_the_address(page, engine):
    shown = found(callback(page, "on_reading")(event(reading="page"), "kites", None, None, None, "", *SETTINGS))
    assert engine.queries[-1][0].reading == "page" and address(shown) == {"q": "kites", "reading": "page"}


def test_a_suggestion_takes_the_place_of_the_words(page, engine):
    outputs = callback(page, "on_quick")(event(instruction="Similar"), "old words", None, None, "", *SETTINGS)
    assert outputs[:3] == ("Similar", "", "any") and engine.queries[-1][0].text == "Similar"
    suggested = callback(page, "on_kind")("pair")[1]
    assert suggested == {"instructions": ["What is this?", "Similar"]}

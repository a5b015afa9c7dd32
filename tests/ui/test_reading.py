"""A run that reads words: how they were read, and other readings one click away."""

from pathlib import Path

import pytest

from genius.schema import Reading
from genius.ui.common.about import About
from genius.ui.common.context import Context, ServedRun
from genius.ui.search.panel import Search
from tests.ui.fake_engine import FakeEngine

READ = Reading("similar", {"similar": 0.7, "change": 0.2, "entry": 0.06, "page": 0.04}, "", "cars")
ABOUT = About(ask=("What is this?", "Similar"), ask_by_text=("Show me a photo of this.",))


class ReadingEngine(FakeEngine):
    has_reader = True

    def answer(self, query, options, seed=7):
        result = super().answer(query, options, seed)
        object.__setattr__(result, "reading", READ)
        return result


@pytest.fixture
def engine():
    return ReadingEngine()


@pytest.fixture
def search(engine):
    return Search(Context(engine, ServedRun(Path("made-up"), about=ABOUT)))


def test_the_words_go_to_the_engine_alone_and_the_page_says_how_they_were_read(search, engine):
    shown = search.show({"q": "a street without cars"})
    query, _ = engine.queries[-1]
    assert (query.text, query.instruction, query.reading) == ("a street without cars", "", "")
    assert shown["summary"]["reading"] == {
        "name": "Similar pictures",
        "left_out": "cars",
        "others": [
            {"reading": "change", "name": "The same, changed"},
            {"reading": "entry", "name": "What it is"},
        ],
    }


def test_another_reading_is_asked_for(search, engine):
    search.show({"q": "kites", "reading": "page"})
    assert engine.queries[-1][0].reading == "page"


def test_the_picture_of_an_item_is_read_as_more_like_it(search, engine):
    search.show({"item": "1:300"})
    assert engine.queries[-1][0].reading == "similar"

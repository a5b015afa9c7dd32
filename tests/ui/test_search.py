"""What the Search tab answers, over a made-up engine."""

from dataclasses import replace
from pathlib import Path

import pytest

from genius.schema import Modality, Reading, SearchOptions
from genius.ui.common.about import About
from genius.ui.common.context import Context, ServedRun
from genius.ui.search.panel import Search
from genius.ui.search.searches import Asked
from tests.ui.fake_engine import FakeEngine
from tests.ui.test_collection import uploaded


def search_over(engine, **served) -> Search:
    return Search(Context(engine, ServedRun(Path("made-up"), **served)))


@pytest.fixture
def upload(served, photo):
    """The file of a picture that was uploaded."""
    return uploaded(served, photo)["path"]


@pytest.fixture
def show(ask, served):
    """-> what the page shows of a search, and the query with its options that the engine got."""

    def shown(**search):
        told = ask("show", search=search)
        return told["answer"], *served.engine.queries[-1]

    return shown


def test_the_engine_gets_what_the_visitor_entered(show, upload):
    settings = {"beams": "7", "results": "4", "order": "score", "by": "scan", "kind": "text"}
    _, query, options = show(q="a red mug", upload=upload, instruction="Find one.", **settings)
    assert (query.text, query.instruction) == ("a red mug", "Find one.")
    assert query.image.size == (256, 256) and query.image.mode == "RGB"
    expected = SearchOptions(7, 4, "scan", "score", Modality.TEXT, 1.0, trace=True)
    assert options == expected


def test_settings_that_an_address_lacks_are_the_runs_own(show):
    _, _, options = show(q="mug", results="20", weight="0.5", **{"in": "added"})
    assert (options.k, options.decoder_weight, options.added) == (20, 0.5, True)
    _, _, options = show(q="cup")
    assert options == SearchOptions(order="cosine", mode="both", decoder_weight=1.0, trace=True)


@pytest.mark.parametrize(
    "wrong",
    [
        *({"q": " "}, {"example": "-1"}, {"item": "9:9"}, {"picture": "1:301"}),
        *({"upload": "/etc/passwd"}, {"example": "0", "results": "x" * 5000}),
        *({"q": "mug", "weight": "nan"}, {"q": "mug", "kind": "zebra"}, {"q": "mug", "in": "it"}),
    ],
)
def test_what_is_not_there_or_no_setting_gets_one_sentence(ask, wrong):
    told = ask("show", search=wrong)["error"]
    assert told.endswith(".") and "Traceback" not in told


def test_what_a_browser_sends_is_made_texts_of_bounded_length():
    sent = {"q": "x" * 50_000, "instruction": ["<b>"], "item": 5, "unkept": "yes", "more": 1}
    assert Asked.read(sent, {}) == Asked("x" * 10_001, "['<b>']", "5")
    assert Asked.read("mug", {}) == Asked()


def test_an_uploaded_picture_is_encoded_before_it_is_asked_about(ask, served, upload):
    before = len(served.engine.cached_images)
    assert ask("warm", upload=upload)["answer"] is True
    (image,) = served.engine.cached_images[before:]
    assert image.mode == "RGB"
    assert "error" in ask("warm", upload="/etc/passwd")


def test_an_uploaded_picture_is_in_no_address_and_the_page_says_so(show, upload):
    shown, _, _ = show(q="mug", upload=upload)
    assert shown["unkept"] and "does not include your picture" in shown["summary"]["address"]
    shown, _, _ = show(q="mug")
    assert not shown["unkept"] and shown["summary"]["address"] == ""


def test_other_words_beside_the_picture_of_an_item(show):
    shown, query, _ = show(q="in red", picture="1:300", instruction="Find one.")
    assert not shown["unkept"] and shown["form"]["picture"] == "items/1%3A300/picture"
    assert query.text == "in red" and query.image.size == (192, 128)


@pytest.mark.parametrize(
    "text, pictured, instruction, expected",
    [
        ("", True, "", "Explain this."),
        ("What is this?", True, "", "Answer this."),
        ("", True, "Find one.", "Find one."),
        ("a mug", False, "", "Picture this."),
        ("a mug", False, "Find one.", "Find one."),
    ],
)
def test_a_query_without_an_instruction_gets_the_first_one_that_the_run_offers(
    text, pictured, instruction, expected
):
    about = About(
        ask=("Explain this.",), ask_with_text=("Answer this.",), ask_by_text=("Picture this.",)
    )
    engine = FakeEngine()
    shown = search_over(engine, about=about).show(
        {"q": text, "picture": "1:300" * pictured, "instruction": instruction}
    )
    assert engine.queries[-1][0].instruction == shown["summary"]["asked"] == expected


def test_several_instructions_of_an_example_are_shown_side_by_side(show):
    shown, _, options = show(example="0", beams="40")  # asked by no other test
    targets = [column["instruction"] for column in shown["columns"]]
    assert len(targets) == 3 and options.k == 4 and shown["generated"] is None


def test_a_past_search_is_named_by_its_words_or_its_item(show, served):
    cup = served.engine.index.item(301).text[:20]
    for search, title in (
        ({"q": "mug"}, "“mug”"),
        ({"item": "2:301"}, f"Like “{cup}"),
        ({"q": "blue", "picture": "3:302"}, "“blue” and "),
        ({"example": "2"}, "Example “Changed”"),
    ):
        assert show(**search)[0]["past"].startswith(title)


def test_what_is_asked_about_a_search_searches_once(ask, served):
    search = {"q": "asked once", "results": "3"}
    before = len(served.engine.queries)
    hit = ask("show", search=search)["answer"]["columns"][0]["cards"][0]
    for function, more in (("blend", {"id": hit["id"]}), ("save", {"form": "csv"})):
        assert "answer" in ask(function, search=search, **more)
    assert len(served.engine.queries) == before + 1
    for wrong in ({"id": "9:9"}, {"id": hit["id"], "column": "0"}):
        assert "no longer there" in ask("why", search=search, **wrong)["error"]


def test_answers_that_were_not_asked_about_for_long_are_searched_again():
    engine = FakeEngine()
    searches = search_over(engine).searches
    for number in (*range(40), 39, 0):
        searches.answers({"q": f"mug {number}"})
    assert len(engine.queries) == 41


def test_a_search_is_saved_in_three_forms(ask):
    search = {"q": "mug"}
    for form, begins in (("csv", "\ufeff"), ("json", "{"), ("html", "<!doctype html>")):
        file = ask("save", search=search, form=form)["answer"]
        assert file["text"].lower().startswith(begins) and file["name"].endswith(form)
    assert "csv, json, html" in ask("save", search=search, form="exe")["error"]
    assert "no results" in ask("save", search={"q": "nothing"}, form="csv")["error"]


def test_an_answer_without_some_parts_of_a_cluster_says_so():
    engine = FakeEngine()
    answer = engine.answer
    engine.answer = lambda *asked: replace(answer(*asked), missing="2 of 3 parts answered")
    shown = search_over(engine).show({"q": "mug"})
    assert shown["summary"]["notes"][0] == "2 of 3 parts answered; the others were too slow."


READ = Reading("similar", {"similar": 0.7, "change": 0.2, "entry": 0.06, "page": 0.04}, "", "cars")
ABOUT = About(ask=("What is this?", "Similar"), ask_by_text=("Show me a photo of this.",))


class ReadingEngine(FakeEngine):
    has_reader = True

    def answer(self, query, options, seed=7):
        result = super().answer(query, options, seed)
        object.__setattr__(result, "reading", READ)
        return result


def test_how_words_were_read_is_shown_and_another_reading_is_asked_for():
    engine = ReadingEngine()
    show = search_over(engine, about=ABOUT).show
    shown = show({"q": "a street without cars"})
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
    # the picture of an item is read as more like it
    for search, reading in (
        ({"q": "kites", "reading": "page"}, "page"),
        ({"item": "1:300"}, "similar"),
    ):
        show(search)
        assert engine.queries[-1][0].reading == reading

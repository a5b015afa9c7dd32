from pathlib import Path

import gradio as gr
import pytest

from genius.schema import Modality, SearchOptions
from genius.ui.context import Served
from genius.ui.page import build
from tests.ui.fake_engine import EXAMPLES, INSTRUCTIONS, FakeEngine


@pytest.fixture(scope="module")
def engine():
    return FakeEngine()


@pytest.fixture(scope="module")
def page(engine):
    return build(engine, Served(Path("made-up"), examples=EXAMPLES))


def function(page, name):
    return next(event.fn for event in page.fns.values() if event.name == name)


def test_the_engine_gets_what_the_visitor_entered(page, engine, photo):
    function(page, "on_search")("a red mug", str(photo), "Find one.", 7, 4, False, "fast")
    query, options = engine.queries[-1]
    assert (query.text, query.instruction) == ("a red mug", "Find one.")
    assert query.image.size == (256, 256) and query.image.mode == "RGB"
    assert options == SearchOptions(beams=7, k=4, rerank=False, mode="fast")


def test_empty_fields_count_as_nothing(page, engine):
    function(page, "on_search")("mug", None, None, 5, 3, True, "set")
    query, _ = engine.queries[-1]
    assert query.image is None and query.instruction == ""


@pytest.mark.parametrize("rerank, mode", [(True, "set"), (False, "exact")])
def test_a_set_without_re_ranking_is_searched_exactly(page, engine, rerank, mode):
    function(page, "on_search")("mug", None, "", 5, 3, rerank, "set")
    assert engine.queries[-1][1].mode == mode


def test_an_unknown_mode_gets_one_sentence(page):
    with pytest.raises(gr.Error) as caught:
        function(page, "on_search")("mug", None, "", 5, 3, True, "<b>")
    assert caught.value.message == "The mode must be one of exact, set, fast, not &#x27;&lt;b&gt;&#x27;."


def test_every_panel_gets_its_data(page):
    summary, cards, generated = function(page, "on_search")("mug", None, "", 5, 3, True, "set")
    assert summary["targets"][0]["name"] == "Image"
    assert (len(cards["cards"]), len(generated["rows"])) == (3, 5)


def test_text_items_have_no_picture_and_others_do(page):
    _, cards, _ = function(page, "on_search")("mug", None, "", 50, 30, True, "set")
    assert {card["kind"] for card in cards["cards"]} == {"image", "text", "pair"}
    for card in cards["cards"]:
        assert (card["picture"] is None) == (card["kind"] == "text")


@pytest.mark.parametrize("text, instruction, sentence", [
    ("", "", "Type a description, add a picture, or both."),
    ("   ", "Find one.", "Type a description, add a picture, or both."),
    ("x" * 50_000, "", "The description has 50,000 characters; shorten it to 10,000."),
    ("mug", "x" * 10_001, "The instruction has 10,001 characters; shorten it to 10,000."),
    ({"a": 1}, "", "The description must be a text."),
    ("mug", ["Find one."], "The instruction must be a text."),
])
def test_bad_input_gets_one_sentence(page, text, instruction, sentence):
    with pytest.raises(gr.Error) as caught:
        function(page, "on_search")(text, None, instruction, 5, 3, True, "set")
    assert caught.value.message == sentence


def test_a_broken_picture_gets_one_sentence_that_names_it(page, tmp_path):
    (tmp_path / "cat.png").write_text("no picture")
    with pytest.raises(gr.Error, match="^'?cat.png is not a readable PNG, JPEG or WebP image") as caught:
        function(page, "on_search")("", str(tmp_path / "cat.png"), "", 5, 3, True, "set")
    assert str(tmp_path) not in caught.value.message


@pytest.mark.parametrize("text, picture, modality", [
    ("mug", None, Modality.TEXT), ("", "x.jpg", Modality.IMAGE), ("mug", "x.jpg", Modality.PAIR)])
def test_suggestions_that_fit_what_was_given_come_first(page, text, picture, modality):
    offered = [choice for choice, _ in function(page, "on_given")(text, picture).choices]
    fitting = [words for query, _, words in INSTRUCTIONS if query == modality]
    assert offered[:len(fitting)] == fitting
    assert sorted(offered) == sorted(words for _, _, words in INSTRUCTIONS)


def pick(page, index, k=3, rerank=True, mode="set"):
    return function(page, "on_example")(gr.EventData(None, {"index": index}), 5, k, rerank, mode)


def test_an_example_fills_the_form_and_is_asked_as_if_typed(page, engine):
    text, picture, instruction, summary, cards, generated = pick(page, 1)
    query, options = engine.queries[-1]
    assert (text, picture, instruction) == (query.text, query.image, query.instruction)
    assert (text, picture, instruction) == ("a dog on a beach", None, "Find an image that matches the caption.")
    assert options == SearchOptions(beams=5, k=3, rerank=True, mode="set")
    assert (summary["title"], len(cards["cards"]), len(generated["rows"])) == ("In words", 3, 5)


def test_one_picture_is_asked_under_each_instruction_side_by_side(page, engine):
    text, picture, instruction, summary, cards, generated = pick(page, 0, k=10)
    asked = [asked.instruction for asked in EXAMPLES[0].asked]
    assert [query.instruction for query, _ in engine.queries[-3:]] == asked
    assert all(query.image is EXAMPLES[0].picture for query, _ in engine.queries[-3:])
    assert (text, picture, instruction) == ("", EXAMPLES[0].picture, asked[0])
    assert [column["instruction"] for column in cards["columns"]] == asked
    assert all(len(column["found"]["cards"]) == 4 for column in cards["columns"])
    assert summary["title"] == EXAMPLES[0].title and summary["targets"] == [] and generated is None


def test_examples_take_the_settings_too(page, engine):
    pick(page, 0, k=2, rerank=False)
    assert engine.queries[-1][1] == SearchOptions(beams=5, k=2, rerank=False, mode="exact")


@pytest.mark.parametrize("index", [-1, 3, "0", None, True, 1.0])
def test_an_example_that_is_not_there_gets_one_sentence(page, index):
    with pytest.raises(gr.Error) as caught:
        pick(page, index)
    assert caught.value.message == "There is no such example; reload the page."

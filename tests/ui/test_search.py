import gradio as gr
import pytest

from genius.schema import Modality, SearchOptions
from genius.ui.page import build
from tests.ui.fake_engine import INSTRUCTIONS, FakeEngine


@pytest.fixture(scope="module")
def engine():
    return FakeEngine()


@pytest.fixture(scope="module")
def page(engine):
    return build(engine, "made-up")


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

import io
from dataclasses import asdict, replace
from pathlib import Path

import gradio as gr
import pytest
from PIL import Image

from genius.errors import UserError
from genius.schema import Modality, SearchOptions
from genius.ui.common.about import About
from genius.ui.common.context import Context, ServedRun, Shared
from genius.ui.common.formatting import describe_query, item_label
from genius.ui.common.links import SEARCH_FIELDS
from genius.ui.search.callbacks import SearchCallbacks, SearchOutputs, find_hit
from genius.ui.search.history import Entry
from genius.ui.search.layout import search_tab
from tests.ui.events import callback
from tests.ui.fake_engine import EXAMPLES, INSTRUCTIONS, FakeEngine


@pytest.fixture(scope="module")
def engine():
    return FakeEngine()


@pytest.fixture(scope="module")
def page(engine):
    """The tab alone."""
    with gr.Blocks() as page:
        shared = Shared.create(gr.Tabs())
        with gr.Tab("Search", id="search") as tab:
            search_tab(Context(engine, ServedRun(Path("made-up"), examples=EXAMPLES), shared), tab)
    return page


def search(
    page,
    text,
    picture=None,
    instruction="",
    beams=5,
    k=3,
    rerank=True,
    mode="set",
    target="any",
    stored=None,
    box=None,
    pictured="",
):
    asked = callback(page, "on_search")
    return found(asked(text, picture, instruction, box, pictured, stored or [], beams, k, rerank, mode, target))


def found(outputs):
    """What a search shows, without the values of the form, which may stand before it."""
    return SearchOutputs(*outputs[-len(SearchOutputs._fields) :])


def address(shown):
    return tuple(getattr(shown, name) for name in SEARCH_FIELDS)


def pick(page, name, stored=None, k=3, rerank=True, **event):
    """Text, picture and instruction of the form, and what is found."""
    return callback(page, name)(gr.EventData(None, event), stored or [], 5, k, rerank, "set", "any")


def send(page, name, message):
    """The same."""
    return callback(page, name)(message, [], 5, 3, True, "set", "any")


def test_the_engine_gets_what_the_visitor_entered(page, engine, photo):
    search(page, "a red mug", str(photo), "Find one.", 7, 4, False, "fast", "text")
    query, options = engine.queries[-1]
    assert (query.text, query.instruction) == ("a red mug", "Find one.")
    assert query.image.size == (256, 256) and query.image.mode == "RGB"
    assert options == SearchOptions(beams=7, k=4, rerank=False, mode="fast", modality=Modality.TEXT, trace=True)


def test_empty_fields_count_as_nothing(page, engine):
    search(page, "mug", None, None)
    query, options = engine.queries[-1]
    assert query.image is None and query.instruction == "" and options.modality is None


@pytest.mark.parametrize("rerank, mode", [(True, "set"), (False, "exact")])
def test_a_set_without_re_ranking_is_searched_exactly(page, engine, rerank, mode):
    search(page, "mug", rerank=rerank)
    assert engine.queries[-1][1].mode == mode


@pytest.mark.parametrize(
    "given, sentence",
    [
        ({"mode": "<b>"}, "The mode must be one of exact, set, fast, not '<b>'."),
        ({"target": "sound"}, "The modality must be one of any, image, text, pair, not 'sound'."),
        ({"target": ["text"]}, "The modality must be one of any, image, text, pair, not ['text']."),
    ],
)
def test_a_setting_that_is_not_offered_gets_one_sentence(page, given, sentence):
    with pytest.raises(UserError) as caught:
        search(page, "mug", **given)
    assert str(caught.value) == sentence


def test_every_panel_gets_its_data(page):
    shown = search(page, "mug")
    assert shown.summary["aim"]["targets"][0]["name"] == "Image"
    ((column,), exports) = shown.cards["columns"], shown.cards["exports"]
    assert (len(column["cards"]), len(shown.generated["rows"])) == (3, 5)
    assert [file["label"] for file in exports] == ["CSV", "JSON"] and shown.blend is None


def test_other_tabs_get_the_query_and_its_first_result(page, engine):
    shown = search(page, "mug", instruction="Find one.")
    last = shown.last_query
    assert shown.answers == (last,) and last.description == "“mug”" and last.query.instruction == "Find one."
    assert (
        shown.explained_id == last.result.hits[0].item.id and replace(last.options, trace=True) == engine.queries[-1][1]
    )
    shown = search(page, "nothing")
    assert shown.last_query.result.hits == [] and shown.explained_id is None


def test_text_items_have_no_picture_and_others_do(page):
    cards = search(page, "mug", beams=50, k=30).cards["columns"][0]["cards"]
    assert {card["modality"] for card in cards} == {"image", "text", "pair"}
    for card in cards:
        assert (card["picture"] is None) == (card["modality"] == "text")


@pytest.mark.parametrize(
    "text, instruction, sentence",
    [
        ("", "", "Type a description, add a picture, or both."),
        ("   ", "Find one.", "Type a description, add a picture, or both."),
        ("x" * 50_000, "", "The description has 50,000 characters; shorten it to 10,000."),
        ("mug", "x" * 10_001, "The instruction has 10,001 characters; shorten it to 10,000."),
        ({"a": 1}, "", "The description must be a text."),
        ("mug", ["Find one."], "The instruction must be a text."),
    ],
)
def test_bad_input_gets_one_sentence(page, text, instruction, sentence):
    with pytest.raises(UserError) as caught:
        search(page, text, instruction=instruction)
    assert str(caught.value) == sentence


def test_a_broken_picture_gets_one_sentence_that_names_it(page, tmp_path):
    (tmp_path / "cat.png").write_text("no picture")
    with pytest.raises(UserError, match="^'?cat.png is not a readable PNG, JPEG or WebP image") as caught:
        search(page, "", str(tmp_path / "cat.png"))
    assert str(tmp_path) not in str(caught.value)


@pytest.mark.parametrize("modality", Modality)
def test_suggestions_that_fit_what_was_given_come_first(page, modality):
    suggested, _ = callback(page, "on_kind")(modality.name.lower())
    offered = [choice for choice, _ in suggested.choices]
    fitting = [words for query, _, words in INSTRUCTIONS if query == modality]
    assert offered[: len(fitting)] == fitting
    assert sorted(offered) == sorted(words for _, _, words in INSTRUCTIONS)


def test_an_example_fills_the_form_and_is_asked_as_if_typed(page, engine):
    text, picture, instruction, *outputs = pick(page, "on_example", index=1)
    shown = found(outputs)
    query, options = engine.queries[-1]
    assert (text, picture, instruction) == (query.text, query.image, query.instruction)
    assert (text, picture, instruction) == ("a dog on a beach", None, "Find an image that matches the caption.")
    assert options == SearchOptions(beams=5, k=3, rerank=True, mode="set", trace=True)
    assert (shown.summary["title"], len(shown.cards["columns"][0]["cards"])) == ("In words", 3)
    assert len(shown.generated["rows"]) == 5


def test_one_picture_is_asked_under_each_instruction_side_by_side(page, engine):
    text, picture, instruction, *outputs = pick(page, "on_example", index=0, k=10)
    shown = found(outputs)
    instructions = [each.instruction for each in EXAMPLES[0].instructions]
    assert [query.instruction for query, _ in engine.queries[-3:]] == instructions
    assert all(query.image is EXAMPLES[0].picture for query, _ in engine.queries[-3:])
    assert (text, picture, instruction) == ("", EXAMPLES[0].picture, instructions[0])
    assert [column["instruction"] for column in shown.cards["columns"]] == instructions
    assert all(len(column["cards"]) == 4 for column in shown.cards["columns"])
    assert shown.summary["title"] == EXAMPLES[0].title and shown.summary["aim"] is None and shown.generated is None
    assert [answer.query.instruction for answer in shown.answers] == instructions
    assert shown.last_query is shown.answers[0]


def test_examples_take_the_settings_too(page, engine):
    pick(page, "on_example", index=0, k=2, rerank=False)
    assert engine.queries[-1][1] == SearchOptions(beams=5, k=2, rerank=False, mode="exact", trace=True)


@pytest.mark.parametrize("index", [-1, 3, "0", None, True, 1.0])
def test_an_example_that_is_not_there_gets_one_sentence(page, index):
    with pytest.raises(UserError) as caught:
        pick(page, "on_example", index=index)
    assert str(caught.value) == "There is no such example; reload the page."


@pytest.mark.parametrize("row, has_picture", [(300, True), (301, False), (302, True)])
def test_an_item_becomes_the_query(page, engine, row, has_picture):
    item = engine.index.item(row)
    text, picture, instruction, *outputs = send(page, "on_item", item.id)
    shown = found(outputs)
    query, _ = engine.queries[-1]
    assert (text, picture, instruction) == (query.text, query.image, query.instruction) == (item.text, picture, "")
    assert (picture is not None) == has_picture and shown.summary["title"] == f"Like {describe_query(query)}"
    described = shown.last_query.description
    assert (
        described.startswith("the item ")
        and item_label(item) in described
        and shown.cards["columns"][0]["query_row"] == row
    )
    assert address(shown) == ("", "", item.id, "") and shown.stored[0]["item"] == item.id


@pytest.mark.parametrize("id", ["9:9", "", None, 5, ["1:0"]])
def test_an_item_that_is_not_there_gets_one_sentence(page, id):
    with pytest.raises(UserError, match="There is no item"):
        send(page, "on_item", id)


def test_words_from_another_tab_fill_the_form_and_are_asked(page, engine):
    shown = send(page, "on_ask", {"text": "a mug", "instruction": "Find one."})
    query, _ = engine.queries[-1]
    assert shown[:3] == ("a mug", None, "Find one.") and (query.text, query.instruction) == ("a mug", "Find one.")
    assert address(found(shown)) == ("a mug", "Find one.", "", "")


@pytest.mark.parametrize("message", [None, "mug", {}, {"text": 3}, {"text": ["x"]}])
def test_a_message_that_asks_nothing_gets_one_sentence(page, message):
    with pytest.raises(UserError, match="description"):
        send(page, "on_ask", message)


def test_the_address_and_the_history_tell_words_but_no_uploaded_picture(page, photo):
    words = search(page, "mug", instruction="Find one.")
    assert address(words) == ("mug", "Find one.", "", "")
    both = search(page, "mug", str(photo), stored=words.stored)
    assert address(both) == ("",) * 4 and [entry["picture"] for entry in both.stored] == [True, False]
    assert search(page, "", str(photo), stored=both.stored).stored == both.stored


def test_what_was_asked_is_asked_again(page, engine):
    stored = [asdict(Entry(item="1:0")), asdict(Entry("mug", "Find one.", picture=True))]
    shown = pick(page, "on_history", stored, index=1)
    query, _ = engine.queries[-1]
    assert (
        (query.text, query.instruction, query.image) == shown[:1] + shown[2:3] + (None,) == ("mug", "Find one.", None)
    )
    assert address(found(pick(page, "on_history", stored, index=0))) == ("", "", "1:0", "")
    with pytest.raises(UserError, match="no longer in the history"):
        pick(page, "on_history", stored, index=2)


def test_a_result_is_chosen_among_those_of_its_own_instruction(page):
    answers = found(pick(page, "on_example", index=0)).answers
    hit = answers[2].result.hits[1]
    assert find_hit(gr.EventData(None, {"column": 2, "id": hit.item.id}), answers) == (answers[2], hit)


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"column": 1, "id": "1:0"},
        {"column": 0, "id": "no:5"},
        {"column": "0", "id": "1:0"},
        {"column": -1, "id": "1:0"},
        {"column": True, "id": None},
    ],
)
@pytest.mark.parametrize(("name", "more"), [("on_why", (None, False)), ("on_blend", ())])
def test_a_result_that_is_not_there_gets_one_sentence(page, name, more, event):
    answers = search(page, "mug").answers
    with pytest.raises(UserError, match="no longer there; search again"):
        callback(page, name)(gr.EventData(None, event), answers, *more)


def test_a_blend_goes_from_the_query_to_the_result_in_steps(page):
    answers = search(page, "mug", k=10).answers
    hit = answers[0].result.hits[4]
    shown = callback(page, "on_blend")(gr.EventData(None, {"column": 0, "id": hit.item.id}), answers)
    weights = [step["weight"] for step in shown["steps"]]
    assert (weights[0], weights[1], weights[-1]) == ("1.00", "0.95", "0.00")
    assert shown["query"] == "“mug”" and shown["item"] == hit.row and str(hit.row) in shown["items"]
    for step, before in zip(shown["steps"], [None, *shown["steps"]], strict=False):
        assert step["same"] == (before is not None and step["codes"] == before["codes"])
        assert step["codes"][: step["query"]] == shown["steps"][0]["codes"][: step["query"]]
        assert step["codes"][: step["item"]] == list(hit.codes)[: step["item"]]
        assert len(step["rows"]) == 6 and all(str(row) in shown["items"] for row in step["rows"])
    assert {tuple(step["codes"]) for step in shown["steps"]} != {tuple(shown["steps"][0]["codes"])}


def test_the_history_repeats_an_example_with_its_picture_and_all_its_instructions(page, engine):
    first = found(pick(page, "on_example", index=0))
    (entry,) = callback(page, "on_stored")(first.stored)["entries"]
    assert entry["title"] == "Example “Three ways to ask”" and entry["thumbnail"] and not entry["picture"]
    _, picture, *_ = again = pick(page, "on_history", first.stored, index=0)
    assert picture is not None and found(again).summary == first.summary
    assert [query.instruction for query, _ in engine.queries[-3:]] == [
        "Find a caption that describes the picture.",
        "Find one like this.",
        "Find its page.",
    ]


def test_a_picture_gets_questions_and_nothing_else_does(page):
    on_kind = callback(page, "on_kind")
    assert on_kind("image")[1] == {"instructions": ["Find a caption that describes the picture."]}
    changed = {"instructions": ["Find a garment like this one, changed as the text says."]}
    assert on_kind("pair")[1] == changed
    assert on_kind("text")[1] is on_kind("any")[1] is None
    with pytest.raises(UserError, match="must be one of any, image, text, pair"):
        on_kind("video")


def test_a_run_can_name_the_questions(engine):
    callbacks = SearchCallbacks(Context(engine, ServedRun(Path("made-up"), about=About(ask=("What is this?",))), None))
    assert callbacks.on_kind("image")[1] == {"instructions": ["What is this?"]}
    assert "changed as the text says" in callbacks.on_kind("pair")[1]["instructions"][0]


def test_a_question_is_asked_with_the_picture_and_fills_the_instruction(page, engine, photo):
    event = gr.EventData(None, {"instruction": "What is this?"})
    instruction, *shown = callback(page, "on_quick")(event, "", str(photo), None, "", [], 5, 3, True, "set", "any")
    query, _ = engine.queries[-1]
    assert instruction == query.instruction == "What is this?" and query.image
    assert "the picture" in found(shown).summary["sentence"]


def test_an_uploaded_picture_is_encoded_before_it_is_asked_about_and_a_bad_one_is_left_to_the_search(
    page, engine, photo, tmp_path
):
    callback(page, "on_upload")(str(photo))
    assert len(engine.cached_images) == 1 and engine.cached_images[0].mode == "RGB"
    (tmp_path / "bad.png").write_text("no picture")
    for path in (None, str(tmp_path / "bad.png")):
        callback(page, "on_upload")(path)
    assert len(engine.cached_images) == 1


def test_a_question_about_a_picture_that_is_gone_gets_one_sentence(page):
    with pytest.raises(UserError, match="add a picture"):
        callback(page, "on_quick")(gr.EventData(None, {}), "", None, None, "", [], 5, 3, True, "set", "any")


def test_a_query_without_an_instruction_gets_the_first_one_that_the_run_offers(engine, photo):
    about = About(ask=("Explain this.",), ask_with_text=("Answer this.",), ask_by_text=("Picture this.",))
    callbacks = SearchCallbacks(Context(engine, ServedRun(Path("made-up"), about=about), None))
    settings = (5, 3, True, "set", "any")
    for text, picture, instruction, expected in (
        ("", str(photo), "", "Explain this."),
        ("What is this?", str(photo), "", "Answer this."),
        ("", str(photo), "Find one.", "Find one."),
        ("a mug", None, "", "Picture this."),
        ("a mug", None, "Find one.", "Find one."),
    ):
        callbacks.on_search(text, picture, instruction, None, "", [], *settings)
        assert engine.queries[-1][0].instruction == expected
    text, _, instruction, _, _, shown, *_ = callbacks.on_ask({"text": "a mug"}, [], *settings)  # from an address
    assert engine.queries[-1][0].instruction == shown["added"] == "Picture this." and (text, instruction) == (
        "a mug",
        "",
    )


def test_a_run_that_offers_nothing_leaves_the_instruction_empty(engine, photo):
    SearchCallbacks(Context(engine, ServedRun(Path("made-up")), None)).on_search(
        "", str(photo), "", None, "", [], 5, 3, True, "set", "any"
    )
    assert engine.queries[-1][0].instruction == ""


def test_a_marked_part_is_searched_alone_and_shown(page, engine, photo):
    box = {"left": 0.5, "top": 0.25, "right": 1, "bottom": 0.75}
    part = search(page, "", str(photo), box=box).summary["part"]
    assert engine.queries[-1][0].image.size == (128, 128)
    assert part.startswith("data:image/webp") and search(page, "", str(photo)).summary["part"] is None
    assert search(page, "mug", box=box).summary["part"] is None  # the picture was removed meanwhile
    with pytest.raises(UserError, match="mark it again"):
        search(page, "", str(photo), box=[0, 0, 1, 1])


def use_picture(page, id, text="", instruction=""):
    event = gr.EventData(None, {"id": id})
    return callback(page, "on_picture")(event, text, instruction, [], 5, 3, True, "set", "any")


def test_the_picture_of_a_result_is_asked_with_the_words_that_stand_there(page, engine):
    text, picture, instruction, _, pictured, *outputs = use_picture(page, "1:300", "in blue", "Find one.")
    shown = found(outputs)
    query, _ = engine.queries[-1]
    assert (text, instruction) == (query.text, query.instruction) == ("in blue", "Find one.")
    assert picture is query.image and picture.size == (192, 128) and pictured == "1:300"
    assert shown.stored[0]["pictured"] == "1:300" and shown.explained_id == shown.last_query.result.hits[0].item.id
    sent = send(page, "on_ask", {"text": "in blue", "instruction": "Find one.", "picture": "1:300"})
    assert address(found(sent)) == ("in blue", "Find one.", "", "1:300")
    assert engine.queries[-1][0].image.size == (192, 128)
    again = pick(page, "on_history", shown.stored, index=0)
    assert address(found(again)) == address(found(sent)) and again[0] == "in blue"


@pytest.mark.parametrize(
    "id, sentence", [("2:301", "is a text without a picture"), ("9:9", "There is no item"), (None, "no item")]
)
def test_an_item_without_a_picture_gets_one_sentence(page, id, sentence):
    with pytest.raises(UserError, match=sentence):
        use_picture(page, id)


@pytest.fixture
def in_form(engine, tmp_path):
    """The picture of item 1:300 as Gradio keeps it for the form: a file, written with loss."""
    file = tmp_path / "image.webp"
    Image.open(io.BytesIO(engine.index.thumbnail(300))).save(file, quality=10)
    return str(file)


def test_other_words_beside_the_picture_of_an_item_keep_it_in_the_address_and_the_history(page, engine, in_form):
    shown = search(page, "in red", in_form, "Find one.", pictured="1:300")
    assert address(shown) == ("in red", "Find one.", "", "1:300") and shown.summary["address"] == ""
    assert shown.stored[0]["pictured"] == "1:300" and not shown.stored[0]["picture"]
    asked = engine.queries[-1][0].image
    send(page, "on_ask", {"text": "in red", "instruction": "Find one.", "picture": "1:300"})
    assert engine.queries[-1][0].image.tobytes() == asked.tobytes()  # the address finds the same
    event = gr.EventData(None, {"instruction": "Find its page."})
    quick = callback(page, "on_quick")(event, "in red", in_form, None, "1:300", [], 5, 3, True, "set", "any")
    assert address(found(quick)) == ("in red", "Find its page.", "", "1:300")


def test_an_item_as_the_query_leaves_its_picture_in_the_form(page):
    assert [send(page, "on_item", id)[4] for id in ("1:300", "2:301", "3:302")] == ["1:300", "", "3:302"]
    for shown in (send(page, "on_ask", {"text": "mug"}), pick(page, "on_example", index=0)):
        assert shown[4] == ""


def test_a_marked_part_of_the_picture_of_an_item_is_the_visitors_own(page, engine, in_form):
    box = {"left": 0.5, "top": 0, "right": 1, "bottom": 1}
    shown = search(page, "in red", in_form, box=box, pictured="1:300")
    assert engine.queries[-1][0].image.size == (96, 128) and address(shown) == ("",) * 4 and shown.summary["part"]


@pytest.mark.parametrize("id", ["9:9", "2:301", 5, ["1:300"]])
def test_the_picture_of_an_item_that_was_removed_gets_one_sentence(page, in_form, id):
    with pytest.raises(UserError, match="was removed; choose another picture"):
        search(page, "in red", in_form, pictured=id)
    assert search(page, "in red", pictured=id).cards  # the picture was removed from the form, too


def test_without_that_the_address_says_that_the_picture_is_not_in_it(page, photo):
    assert (
        search(page, "mug", str(photo)).summary["address"] == "The address of this page does not include your picture."
    )
    assert search(page, "mug").summary["address"] == ""


def event(**data):
    return gr.EventData(None, data)


def test_of_an_example_and_later_words_the_words_are_shown(page, engine, monkeypatch):
    """They are events of different kinds, which Gradio runs side by side."""
    events = {event.name: event for event in page.fns.values()}
    searches = [events[name] for name in ("on_search", "on_example", "on_history", "on_ask", "on_item", "on_quick")]
    assert len({event.inputs[-1] for event in searches}) == 1
    settings, search = (5, 3, True, "set", "any"), engine.search

    def searched_again(*given):
        monkeypatch.setattr(engine, "search", search)
        later.append(found(callback(page, "on_search")("mug", None, "", None, "", [], *settings)))
        return search(*given)

    later = []
    monkeypatch.setattr(engine, "search", searched_again)
    assert callback(page, "on_example")(gr.EventData(None, {"index": 1}), [], *settings) == gr.skip()
    assert later[0].last_query.query.text == "mug"


def test_a_visitors_last_search_keeps_only_a_small_copy_of_the_picture(page, engine, tmp_path):
    Image.new("RGB", (1200, 600), "teal").save(tmp_path / "photo.png")
    shown = search(page, "mug", str(tmp_path / "photo.png"))
    assert engine.queries[-1][0].image.size == (1024, 512)
    assert shown.last_query.query.image.size == (256, 128) and shown.last_query.query.text == "mug"
    saved = callback(page, "on_save_page")(shown.answers)
    assert "The picture of the query" in saved["text"]

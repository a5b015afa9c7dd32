"""What the callbacks of the Search tab answer, over a made-up engine, and the history."""

import io
import threading
from pathlib import Path
from types import SimpleNamespace

import gradio as gr
import pytest
from genius.ui.search.callbacks import SearchCallbacks, SearchOutputs
from genius.ui.search.history import MAX_ENTRIES, Asked, read_entries
from genius.ui.search.layout import search_tab
from genius.ui.search.newest import Newest, if_still_shown, newest_only
from PIL import Image

from genius.errors import UserError
from genius.schema import Modality, SearchOptions
from genius.ui.common.about import About
from genius.ui.common.context import Context, ServedRun, Shared
from tests.ui.fake_engine import EXAMPLES, FakeEngine
from tests.ui.tiny_page import callback
from tests.waiting import WAIT


@pytest.fixture(scope="module")
def engine():
    return FakeEngine()


@pytest.fixture(scope="module")
def page(engine):
    """The tab alone."""
    with gr.Blocks() as page:
        shared = Shared(gr.Tabs())
        with gr.Tab("Search", id="search") as tab:
            search_tab(Context(engine, ServedRun(Path("made-up"), examples=EXAMPLES), shared), tab)
    return page


SETTINGS = (50, 10, "cosine", "both", "any")  # the page's own


def search(page, text, picture=None, instruction="", settings=SETTINGS, pictured=""):
    return found(callback(page, "on_search")(text, picture, instruction, None, pictured, *settings))


def found(outputs):
    """What a search shows, without the values of the form, which may stand before it."""
    return SearchOutputs(*outputs[-len(SearchOutputs._fields) :])


def address(shown):
    return shown.address["search"]


def send(page, message, text="", instruction="", last=None, settings=SETTINGS):
    """What another part of the page asks for, beside a form that holds a text and an instruction."""
    return callback(page, "on_ask")(message, text, instruction, last, *settings)


def test_the_engine_gets_what_the_visitor_entered(page, engine, photo):
    search(page, "a red mug", str(photo), "Find one.", (7, 4, "score", "scan", "text"))
    query, options = engine.queries[-1]
    assert (query.text, query.instruction) == ("a red mug", "Find one.")
    assert query.image.size == (256, 256) and query.image.mode == "RGB"
    assert options == SearchOptions(beams=7, k=4, order="score", mode="scan", modality=Modality.TEXT, trace=True)


def test_bad_input_gets_one_sentence(page):
    for text, instruction, sentence in (
        ("", "", "^Type a description, add a picture, or both.$"),
        ({"a": 1}, "", "^The description must be a text.$"),
        ("mug", ["Find one."], "^The instruction must be a text.$"),
    ):
        with pytest.raises(UserError, match=sentence):
            search(page, text, instruction=instruction)


def test_the_address_tells_words_but_no_uploaded_picture(page, photo):
    assert address(search(page, "mug", instruction="Find one.")) == {"q": "mug", "instruction": "Find one."}
    both = search(page, "mug", str(photo))
    assert address(both) == {"q": "mug", "upload": str(photo)}  # no address has what has an upload (links.js)


def test_an_uploaded_picture_is_encoded_before_it_is_asked_about_and_a_bad_one_is_left_to_the_search(
    page, engine, photo, tmp_path
):
    callback(page, "on_upload")(str(photo))
    assert len(engine.cached_images) == 1 and engine.cached_images[0].mode == "RGB"
    (tmp_path / "bad.png").write_text("no picture")
    for path in (None, str(tmp_path / "bad.png")):
        callback(page, "on_upload")(path)
    assert len(engine.cached_images) == 1


def test_a_query_without_an_instruction_gets_the_first_one_that_the_run_offers(engine, photo):
    about = About(ask=("Explain this.",), ask_with_text=("Answer this.",), ask_by_text=("Picture this.",))
    callbacks = SearchCallbacks(Context(engine, ServedRun(Path("made-up"), about=about), None))
    for text, picture, instruction, expected in (
        ("", str(photo), "", "Explain this."),
        ("What is this?", str(photo), "", "Answer this."),
        ("", str(photo), "Find one.", "Find one."),
        ("a mug", None, "", "Picture this."),
        ("a mug", None, "Find one.", "Find one."),
    ):
        callbacks.on_search(text, picture, instruction, None, "", *SETTINGS)
        assert engine.queries[-1][0].instruction == expected
    text, _, instruction, *_ = again = callbacks.on_ask({"q": "a mug"}, "", "", None, *SETTINGS)
    assert engine.queries[-1][0].instruction == found(again).summary["asked"] == "Picture this."
    assert (text, instruction) == ("a mug", "")
    last = SimpleNamespace(query=engine.queries[-1][0])
    callbacks.on_ask({"picture": "1:300", "keep": True}, "a mug", "", last, *SETTINGS)
    assert engine.queries[-1][0].instruction == "Picture this.", "that of the search before"


@pytest.fixture
def in_form(engine, tmp_path):
    """The picture of item 1:300 as Gradio keeps it for the form: a file, written with loss."""
    file = tmp_path / "image.webp"
    Image.open(io.BytesIO(engine.index.thumbnail(300))).save(file, quality=10)
    return str(file)


def test_other_words_beside_the_picture_of_an_item_keep_it_in_the_address(page, engine, in_form):
    shown = search(page, "in red", in_form, "Find one.", pictured="1:300")
    asked = {"q": "in red", "instruction": "Find one.", "picture": "1:300"}
    assert address(shown) == asked and shown.summary["address"] == ""
    image = engine.queries[-1][0].image
    for again in (
        send(page, asked),
        send(page, {"picture": "1:300", "keep": True}, "in red", "Find one."),
        send(page, {"picture": "1:300", "keep": True}, "in red", "", shown.last_query),
    ):
        assert engine.queries[-1][0].image.tobytes() == image.tobytes() and address(found(again)) == asked
    event = gr.EventData(None, {"instruction": "Find its page."})
    quick = callback(page, "on_quick")(event, "in red", in_form, None, "1:300", *SETTINGS)
    assert address(found(quick)) == asked | {"instruction": "Find its page."}


def test_what_a_browser_sends_is_made_texts_of_bounded_length():
    sent = {"q": "x" * 50_000, "instruction": ["<b>"], "item": 5, "unkept": "yes", "upload": "/etc/passwd", "more": 1}
    (entry,) = read_entries([sent])
    assert entry == Asked("x" * 10_001, "['<b>']", "5") and Asked.read("mug") == Asked()
    assert len(read_entries([{"q": "x"}] * 1000)) == MAX_ENTRIES


def test_the_address_names_settings_that_are_not_the_runs_own_and_brings_them_back(page, engine):
    own = [*SETTINGS, 1.0, "everything"]
    shown = search(page, "mug", settings=[*own[:1], 20, "score", "both", "image", 0.5, "added"])
    asked = {"q": "mug", "results": "20", "order": "score", "kind": "image", "weight": "0.5", "in": "added"}
    assert address(shown) == asked
    options = engine.queries[-1][1]
    assert options.added
    again = send(page, asked | {"restored": True}, settings=own)
    assert engine.queries[-1][1] == options and [*again[5:12]] == [50, 20, "score", "both", "image", 0.5, "added"]
    kept = send(page, {"q": "mug"}, settings=[7, *own[1:]])
    assert engine.queries[-1][1].beams == 7 and [*kept[5:12]] == [*[gr.skip()] * 4, "any", *[gr.skip()] * 2]
    *_, reset = send(page, {"q": "mug", "restored": True}, settings=[7, *own[1:]])
    assert engine.queries[-1][1].beams == 50 and reset == {"search": {"q": "mug"}}
    for wrong in (
        {"beams": "many"},
        {"results": "x" * 5000, "example": "0"},
        {"weight": "nan"},
        {"kind": "zebra"},
        {"in": "it"},
    ):
        with pytest.raises(UserError):
            send(page, {"q": "mug"} | wrong, settings=own)


@pytest.mark.parametrize(
    "asked", [{"example": "9"}, {"example": "-1"}, {"item": "9:9"}, {"picture": "1:301"}, {"upload": "/etc/passwd"}]
)
def test_what_is_not_there_gets_one_sentence(page, asked):
    with pytest.raises(UserError):
        send(page, asked)


def test_a_past_search_is_named_by_its_words_and_by_what_its_item_is_called(page, engine):
    cup = f"“{engine.index.item(301).text[:20]}"
    assert engine.index.item(301).id == "2:301" and engine.index.item(302).image
    asked = [{"q": "mug"}, {"item": "2:301"}, {"q": "blue", "picture": "3:302"}, {"item": "9:9"}, {"example": "2"}]
    shown = callback(page, "on_history")(asked)["entries"]
    expected = [
        "“mug”",
        f"Like {cup}",
        "“blue” and the picture of ",
        "Like an item that was removed",
        "Example “Changed”",
    ]
    assert all(entry["title"].startswith(title) for entry, title in zip(shown, expected, strict=False))
    assert [bool(entry["thumbnail"]) for entry in shown] == [False, False, True, False, True]
    assert [entry["asked"] for entry in shown] == asked and shown[4]["title"] == "Example “Changed”"


def while_waiting(newest, wrap, answer, then):
    """What an event returns if `then` happens before it ends."""
    begun, go, returned = threading.Event(), threading.Event(), []

    def slow():
        begun.set()
        assert go.wait(WAIT)
        return answer

    running = threading.Thread(target=lambda: returned.append(wrap(slow)(newest)))
    running.start()
    assert begun.wait(WAIT)
    then()
    go.set()
    running.join(WAIT)
    return returned[0]


def test_a_search_that_ends_after_a_later_one_changes_nothing():
    newest = Newest()
    later = newest_only(lambda text: text)
    assert while_waiting(newest, newest_only, "old", lambda: later("new", newest)) == gr.skip()
    assert while_waiting(newest, newest_only, "newest", lambda: later("other", Newest())) == "newest"


def test_an_explanation_of_results_that_were_replaced_meanwhile_changes_nothing():
    newest, search = Newest(), newest_only(lambda: "found")
    assert while_waiting(newest, if_still_shown, "why", lambda: search(newest)) == gr.skip()
    assert while_waiting(newest, if_still_shown, "why", lambda: None) == "why"


def test_of_two_choices_in_one_panel_the_later_one_counts():
    newest = Newest()

    def in_strip(explain):
        return if_still_shown(explain, "strip")

    assert while_waiting(newest, in_strip, "old", lambda: in_strip(lambda: "new")(newest)) == gr.skip()
    assert while_waiting(newest, in_strip, "new", lambda: if_still_shown(lambda: "other", "why")(newest)) == "new"

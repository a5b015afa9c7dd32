"""What several tabs use: panels, uploads, figures, cards, and how things are written."""

import json
from pathlib import Path
from types import SimpleNamespace

import gradio as gr
import pytest
from genius.ui.common.components import LARGEST_SIDE, UI_FOLDER, Panel, UploadCache, UploadedImage, part_of, target_of
from gradio.data_classes import ImageData
from PIL import Image

from genius.errors import UserError
from genius.explore.code_names import CodeName
from genius.schema import Item, Modality
from genius.ui.common import formatting
from genius.ui.common.context import Context, ServedRun, Shared, pictures
from genius.ui.common.figures import escaped
from genius.ui.common.item_card import ItemCard
from tests.ui.fake_engine import FakeEngine
from tests.waiting import wait_until

SCRIPTS = [file for file in sorted(UI_FOLDER.glob("*/*.js")) if "const draw = " in file.read_text(encoding="utf-8")]


@pytest.mark.parametrize("script", [str(file.relative_to(UI_FOLDER)) for file in SCRIPTS])
def test_no_panel_interpolates_data_or_writes_markup(script):
    panel = Panel("name", script)
    assert panel.html_template == '<div class="panel"></div>'
    for forbidden in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert forbidden not in panel.js_on_load


def test_a_panel_hands_data_over_as_json_text_that_the_page_does_not_translate():
    data = {"text": "${alert(1)}<script> – __i18n__{"}
    sent = Panel("cards", "search/cards.js").postprocess(data)
    assert json.loads(sent) == data and "__i18n__" not in sent
    assert Panel("cards", "search/cards.js").postprocess(None) is None


def test_the_style_and_scripts_name_no_other_host():
    for file in [*UI_FOLDER.glob("*/*.js"), *UI_FOLDER.glob("*/*.css")]:
        text = file.read_text(encoding="utf-8")
        assert "http:" not in text and "https:" not in text and "@import" not in text, file.name


def test_an_upload_is_handed_over_unopened(tmp_path, monkeypatch):
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path))
    (tmp_path / "bomb.png").write_text("no picture at all")
    path = str(tmp_path / "bomb.png")
    assert UploadedImage().preprocess(ImageData(path=path, url="/file=bomb.png")) == path
    assert UploadedImage().preprocess(None) is None


@pytest.mark.parametrize("path", ["cat.png", "uploads/../cat.png", "uploads/link.png", None])
def test_what_is_no_upload_is_refused(tmp_path, monkeypatch, path):
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "uploads"))
    (tmp_path / "uploads").mkdir()
    (tmp_path / "uploads" / "link.png").symlink_to("/etc/hostname")
    payload = ImageData(url="data:image/png;base64,AAAA") if path is None else ImageData(path=str(tmp_path / path))
    with pytest.raises(UserError, match="Upload the picture as a file"):
        UploadedImage().preprocess(payload)


def test_an_upload_is_decoded_once_and_bounded(tmp_path, photo):
    uploads = UploadCache()
    assert uploads.open(str(photo), None) is uploads.open(str(photo), None)
    assert uploads.open(str(photo), (0.5, 0.0, 1.0, 1.0)).size == (128, 256)
    Image.new("RGB", (3 * LARGEST_SIDE, LARGEST_SIDE)).save(tmp_path / "large.png")
    assert uploads.open(str(tmp_path / "large.png"), None).size == (LARGEST_SIDE, LARGEST_SIDE // 3)
    Image.new("RGB", (13_000, 2)).save(tmp_path / "wide.png")
    with pytest.raises(UserError, match="12000 pixels per side"):  # the limits of the page
        uploads.open(str(tmp_path / "wide.png"), None)


def test_a_decoded_upload_is_forgotten_after_a_while_and_may_be_uploaded_again(photo):
    uploads = UploadCache(seconds=0.05)
    for _ in range(2):
        first = uploads.open(str(photo), None)
        wait_until(lambda: not uploads._opened.cache_info().currsize)
        assert uploads.open(str(photo), None) is not first


BOX = {"left": 0.25, "top": 0, "right": 0.5, "bottom": 1}


@pytest.mark.parametrize(
    "value",
    [[], "0,0,1,1", {}, {**BOX, "left": "0"}, {**BOX, "right": None}, {**BOX, "top": True}, {"left": 0, "top": 0}],
)
def test_what_is_no_box_gets_one_sentence(value):
    with pytest.raises(UserError, match="is not a box; mark it again"):
        part_of(value)


def test_another_name_gets_one_sentence_with_the_choices():
    for name in ("sound", "IMAGE", None, 0, ["text"]):
        with pytest.raises(UserError, match="must be one of any, image, text, pair, not"):
            target_of(name)


def test_data_in_a_hover_names_no_value():
    assert escaped("100%{x}") == "100%&#123;x}"


@pytest.fixture(scope="module")
def engine():
    return FakeEngine()


def test_gradio_can_copy_a_card_that_a_callback_skips(engine):
    with gr.Blocks() as blocks:
        with gr.Tabs() as tabs:
            pass
        card = ItemCard("card", Context(engine, ServedRun(Path("made-up")), Shared(tabs)))
    wired = len(blocks.fns)
    copy = ItemCard(**{**card.constructor_args, "render": False})  # as gr.Blocks.postprocess_data does for gr.skip()
    assert copy.elem_id == "card" and len(blocks.fns) == wired > 0


def test_a_code_has_the_pictures_that_are_stored_with_its_name(engine):
    names = {(0, 17): CodeName(("boat",), 3, 4, ("1:0", "1:300", "9:1"))}  # the last one was removed since
    found = pictures(SimpleNamespace(name=names.get), engine.index, "0.17")
    assert found["prefix"] == "0.17" and len(found["pictures"]) == 2
    assert all(one["picture"].startswith("data:image/webp;base64,") and one["label"] for one in found["pictures"])


@pytest.mark.parametrize("prefix", [None, 3, "", "0.", "0.x", "../0", "0" * 99, ["0"], "0.17\n"])
def test_what_is_no_prefix_gets_no_answer(engine, prefix):
    assert pictures(None, engine.index, prefix) is None


@pytest.mark.parametrize(
    "origin",
    [
        *("javascript:alert(1)", "JavaScript:alert(1)//https://example.org", "data:text/html,hello"),
        *("ftp://example.org", "//example.org", "https:example.org", "https://", "https://[", "A set of photographs"),
        *("https://example.org/\njavascript:", "https://example.org and more", " https://example.org"),
    ],
)
def test_any_other_origin_is_text(origin):
    assert formatting.provenance_view({"origin": origin}) == {"origin": origin}


def test_suggestions_come_once_those_that_fit_first_then_by_target():
    known = [
        (Modality.TEXT, Modality.PAIR, "b"),
        (Modality.TEXT, Modality.IMAGE, "a"),
        (Modality.IMAGE, Modality.TEXT, "c"),
        (Modality.TEXT, Modality.IMAGE, "a"),
    ]
    assert formatting.suggest_instructions(known, Modality.TEXT) == ["a", "b", "c"]
    assert formatting.suggest_instructions(known, Modality.IMAGE) == ["c", "a", "b"]
    assert formatting.suggest_instructions(known, None) == ["a", "c", "b"]
    assert formatting.suggest_instructions([], Modality.PAIR) == []


def test_the_shortest_instruction_stands_for_each_target_texts_first():
    known = [
        (Modality.IMAGE, Modality.IMAGE, "Find similar pictures."),
        (Modality.IMAGE, Modality.TEXT, "Name what this is."),
        (Modality.IMAGE, Modality.TEXT, "What is this?"),
        (Modality.TEXT, Modality.TEXT, "?"),
    ]
    shortest = formatting.shortest_instructions
    assert shortest(known, Modality.IMAGE) == ["What is this?", "Find similar pictures."]
    assert shortest(known, Modality.PAIR) == []


@pytest.mark.parametrize(
    ("text", "source", "label"),
    [
        ("A red\n mug.", '{"title": "cup"}', "A red mug."),
        ("", '{"kind": "food", "category": "apple"}', "Image: apple"),
        ("", '{"category": "shoes", "title": "shoes for children"}', "Image: shoes for children"),
        ("", '{"category": 3, "credit": "Ada"}', "Image 5:611"),
        ("", "not JSON", "Image 5:611"),
    ],
)
def test_an_item_is_called_by_its_text_or_by_what_it_shows(text, source, label):
    assert formatting.item_label(Item("5:611", Modality.IMAGE, text, source=source)) == label

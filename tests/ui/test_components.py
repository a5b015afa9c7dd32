"""What several tabs use: scripts, uploads, and how things are written."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from PIL import Image

from genius.errors import UserError
from genius.explore.code_names import CodeName
from genius.schema import Item, Modality
from genius.ui.common import formatting
from genius.ui.common.context import Context, ServedRun
from genius.ui.common.panel import RunFacts, pictures
from genius.ui.common.uploads import LARGEST_SIDE, UploadCache, part_of, upload_path
from genius.ui.files import STATIC
from genius.ui.search.searches import target_of
from tests.ui.fake_engine import FakeEngine, FakeIndex
from tests.ui.test_collection import uploaded
from tests.waiting import wait_until


def test_no_script_writes_markup_or_runs_text():
    forbidden = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(")
    for script in STATIC.rglob("*.js"):
        text = script.read_text(encoding="utf-8")
        assert not [word for word in (*forbidden, "new Function") if word in text], script.name


def test_the_page_names_no_other_host():
    for file in STATIC.rglob("*.*"):
        text = file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in text and "https:" not in text and "@import" not in text, file.name


def test_what_is_no_upload_is_refused(served, photo, tmp_path):
    upload = Path(uploaded(served, photo)["path"])
    (link := upload.with_name("link.png")).symlink_to("/etc/hostname")
    for path in (
        "cat.png",
        str(tmp_path / "cat.png"),
        str(upload.parent / "../../../etc/hostname"),
        str(link),
        None,
    ):
        with pytest.raises(UserError, match="Upload the picture as a file"):
            upload_path({"path": path})
    with pytest.raises(UserError, match="Upload the picture as a file"):
        upload_path({"path": str(upload), "url": "data:image/png;base64,AAAA"})
    assert upload_path({"path": str(upload), "url": "/file=photo.jpg"}) == str(upload)
    with pytest.raises(UserError, match="no longer kept"):
        upload_path({"path": str(upload.with_name("gone.jpg"))})


def test_an_upload_is_decoded_once_and_bounded(tmp_path, photo):
    uploads = UploadCache()
    assert uploads.open(str(photo)) is uploads.open(str(photo))
    assert uploads.open(str(photo), (0.5, 0.0, 1.0, 1.0)).size == (128, 256)
    Image.new("RGB", (3 * LARGEST_SIDE, LARGEST_SIDE)).save(tmp_path / "large.png")
    assert uploads.open(str(tmp_path / "large.png")).size == (LARGEST_SIDE, LARGEST_SIDE // 3)
    Image.new("RGB", (13_000, 2)).save(tmp_path / "wide.png")
    with pytest.raises(UserError, match="12000 pixels per side"):  # the limits of the page
        uploads.open(str(tmp_path / "wide.png"))


def test_a_decoded_upload_is_forgotten_after_a_while_and_may_be_uploaded_again(photo):
    uploads = UploadCache(seconds=0.05)
    for _ in range(2):
        first = uploads.open(str(photo))
        wait_until(lambda: not uploads._opened.cache_info().currsize)
        assert uploads.open(str(photo)) is not first


BOX = {"left": 0.25, "top": 0, "right": 0.5, "bottom": 1}


@pytest.mark.parametrize(
    "value", ["0,0,1,1", {**BOX, "left": "0"}, {**BOX, "top": True}, {"left": 0, "top": 0}]
)
def test_what_is_no_box_gets_one_sentence(value):
    with pytest.raises(UserError, match="is not a box; mark it again"):
        part_of(value)


def test_another_name_gets_one_sentence_with_the_choices():
    for name in ("sound", "IMAGE", None, 0, ["text"]):
        with pytest.raises(UserError, match="must be one of any, image, text, pair, not"):
            target_of(name)


def test_a_code_has_the_pictures_that_are_stored_with_its_name():
    # the last one was removed since
    names = {(0, 17): CodeName(("boat",), 3, 4, ("1:0", "1:300", "9:1"))}
    found = pictures(SimpleNamespace(name=names.get), FakeIndex(), "0.17")
    assert [one["picture"] for one in found] == ["items/1%3A0/picture", "items/1%3A300/picture"]
    assert all(one["label"] for one in found)


@pytest.mark.parametrize("prefix", ["", "0.", "../0", "0.17\n", "٣"])
def test_what_is_no_prefix_is_refused(prefix):
    with pytest.raises(UserError, match="A prefix is some codes"):
        RunFacts(Context(FakeEngine(), ServedRun(Path("made-up")))).on_name(prefix)


@pytest.mark.parametrize(
    "origin",
    [
        "JavaScript:alert(1)//https://example.org",
        "//example.org",
        "https:example.org",
        "https://[",
        "https://example.org/\njavascript:",
        "https://example.org and more",
    ],
)
def test_what_is_no_address_on_the_web_is_no_link(origin):
    assert formatting.provenance_view({"origin": origin}) == {"origin": origin}


def test_instructions_are_offered_once_and_the_shortest_stands_for_each_target_texts_first():
    known = [
        (Modality.IMAGE, Modality.IMAGE, "Find similar pictures."),
        (Modality.IMAGE, Modality.TEXT, "Name what this is."),
        (Modality.IMAGE, Modality.TEXT, "What is this?"),
        (Modality.TEXT, Modality.TEXT, "What is this?"),
    ]
    assert formatting.suggest_instructions(known) == [known[0][2], known[1][2], known[2][2]]
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

import json

import pytest
from gradio.data_classes import ImageData
from PIL import Image

from genius.errors import UserError
from genius.ui.common.components import LARGEST_SIDE, UI_FOLDER, Panel, UploadCache, UploadedImage
from tests.waiting import wait_until

SCRIPTS = [file for file in sorted(UI_FOLDER.glob("*/*.js")) if "const draw = " in file.read_text()]


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
        text = file.read_text()
        assert "http:" not in text and "https:" not in text and "@import" not in text, file.name


def test_an_upload_is_handed_over_unopened(tmp_path):
    picture = UploadedImage()
    picture.GRADIO_CACHE = str(tmp_path)
    (tmp_path / "bomb.png").write_text("no picture at all")
    path = str(tmp_path / "bomb.png")
    assert picture.preprocess(ImageData(path=path, url="/file=bomb.png")) == path
    assert picture.preprocess(None) is None


def test_a_path_outside_the_uploads_is_refused(tmp_path):
    picture = UploadedImage()
    picture.GRADIO_CACHE = str(tmp_path / "uploads")
    (tmp_path / "uploads").mkdir()
    (tmp_path / "uploads" / "link.png").symlink_to("/etc/hostname")
    for path in ("cat.png", "uploads/../cat.png", "uploads/link.png"):
        with pytest.raises(UserError, match="Upload the picture as a file"):
            picture.preprocess(ImageData(path=str(tmp_path / path)))


@pytest.mark.parametrize(
    "payload",
    [
        ImageData(url="data:image/png;base64,AAAA", path="x.png"),
        ImageData(url="data:image/png;base64,AAAA"),
        ImageData(),
    ],
)
def test_embedded_data_is_refused(payload):
    with pytest.raises(UserError, match="Upload the picture as a file"):
        UploadedImage().preprocess(payload)


def test_an_upload_is_decoded_once_and_bounded(tmp_path, photo):
    uploads = UploadCache()
    assert uploads.open(str(photo), None) is uploads.open(str(photo), None)
    assert uploads.open(str(photo), (0.5, 0.0, 1.0, 1.0)).size == (128, 256)
    Image.new("RGB", (3 * LARGEST_SIDE, LARGEST_SIDE)).save(tmp_path / "large.png")
    assert uploads.open(str(tmp_path / "large.png"), None).size == (LARGEST_SIDE, LARGEST_SIDE // 3)


def test_a_decoded_upload_is_forgotten_after_a_while_and_may_be_uploaded_again(photo):
    uploads = UploadCache(seconds=0.05)
    for _ in range(2):
        first = uploads.open(str(photo), None)
        wait_until(lambda: not uploads._opened.cache_info().currsize)
        assert uploads.open(str(photo), None) is not first


def test_what_scrolls_is_reached_by_the_keyboard_and_has_a_name():
    """scrollRegion of nodes.js sees to both."""
    scripts = {file.name: file.read_text() for file in UI_FOLDER.glob("*/*.js")}
    assert "tabindex: '0', role: 'region', 'aria-label': label" in scripts.pop("nodes.js")
    assert sum("scrollRegion(" in script for script in scripts.values()) > 8
    assert [name for name, script in scripts.items() if "class: 'scroll" in script] == []

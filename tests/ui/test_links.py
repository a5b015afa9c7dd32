"""Addresses of the page, and what a run says about itself."""

import pytest

from genius.ui.common.about import COMMANDS, About, about_view
from genius.ui.common.components import UI_FOLDER
from genius.ui.page import TABS
from genius.ui.serving import page_head


def test_the_script_knows_the_same_tabs():
    script = (UI_FOLDER / "common/links.js").read_text(encoding="utf-8")
    assert "TAB_NAMES.includes(" in script and f"const TAB_NAMES = {[*TABS]};" in page_head()


ABOUT = {"title": "Photographs", "paragraphs": ["Dishes and flowers.", "From three sets."], "ask": ["What is this?"]}


def test_a_run_says_what_it_is_in_its_manifest(tmp_path):
    (tmp_path / "CREDITS.md").write_text("Ada")
    about = About.read(tmp_path, {"about": ABOUT})
    assert about == About("Photographs", ("Dishes and flowers.", "From three sets."), ("What is this?",), True)
    shown = about_view(about, [1_200, 34, 0])
    assert (shown["title"], shown["held"], shown["ask"]) == (
        "Photographs",
        "1,200 images and 34 texts",
        "What is this?",
    )
    assert shown["credits"] and shown["commands"] == list(COMMANDS)
    assert about_view(about, [1, 2, 3])["held"] == "1 image, 2 texts and 3 pairs"


@pytest.mark.parametrize(
    "about", [None, "words", [], {"title": 3, "paragraphs": "words", "ask": {"a": 1}}, {"paragraphs": [None, 3, {}]}]
)
def test_what_is_no_text_is_left_out(tmp_path, about):
    assert About.read(tmp_path, {"about": about}) == About()


def test_a_link_is_no_list_of_credits(tmp_path):
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "CREDITS.md").symlink_to(tmp_path / "secret")
    assert not About.read(tmp_path, {}).credits


def test_a_run_that_says_nothing_about_itself_has_no_panel():
    assert about_view(About(), [1, 2, 3]) is None

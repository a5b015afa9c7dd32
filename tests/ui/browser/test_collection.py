"""The Collection tab as a visitor meets it, on a page that may be edited and on one that may not."""

from types import SimpleNamespace

import pytest

from genius.ui.collection import editing
from genius.ui.common.about import About
from tests.ui.tiny_page import serving

pytestmark = pytest.mark.browser
ITEMS = 40
PAUSE = 700  # milliseconds between a question and its answer


@pytest.fixture(scope="module", params=[True])
def served(request, tmp_path_factory):
    about = About(paragraphs=("Made up.",))
    with serving(tmp_path_factory.mktemp("collection") / "run", editable=request.param, about=about) as page:
        yield page


def opened(page):
    page.get_by_role("tab", name="Collection").click()
    page.locator("#collection-contents table").wait_for()
    page.locator("#collection-verdict .verdict").wait_for()


def results(visit, picture):
    """Ids of what a picture finds for another visitor, best first."""
    page = visit()
    page.set_input_files("#picture input[type=file]", picture)
    page.locator("#picture img").wait_for()
    page.click("#go")
    page.locator("#cards .card").first.wait_for()
    return [line.split()[1] for line in page.locator("#cards .item").all_text_contents()]


def test_a_picture_is_added_found_and_removed(visit, served, photo):
    page = visit("/?tab=collection")
    opened(page)
    assert page.locator("#collection-added .panel > *").count() == 0
    (letter := photo.with_name("letter.pdf")).write_text("%PDF")
    page.set_input_files("#collection-pictures input[type=file]", [photo, letter])
    for name in ("photo", "letter"):
        page.locator("#collection-pictures").get_by_text(name).first.wait_for()
    page.click("#collection-go")
    page.locator("#collection-outcome .title", has_text="1 item added").wait_for()
    assert page.locator("#collection-outcome p").all_inner_texts()[1:] == [
        "1 file: used",
        "1 file: not a picture (.pdf 1)",
    ]
    page.locator("#header", has_text=f"{ITEMS + 1} items").wait_for()
    page.locator("#collection-contents tr", has_text="added later (dataset 1)").wait_for()
    assert results(visit, photo)[0] == "1:1"
    tile = page.locator("#collection-added .added")
    tile.get_by_role("button", name="Remove").click()
    page.wait_for_timeout(PAUSE)
    tile.get_by_role("button", name="Really remove?").click()
    page.locator("#collection-outcome .title", has_text="1 item removed").wait_for()
    page.locator("#header", has_text=f"{ITEMS} items").wait_for()
    tile.wait_for(state="detached")
    assert "1:1" not in results(visit, photo)


def test_a_double_click_or_a_held_key_removes_nothing_and_the_question_ends_by_itself(visit, served, monkeypatch):
    page = visit("/?tab=collection")
    opened(page)
    page.fill("#collection-texts textarea", "A horse in a boat.")
    page.click("#collection-go")
    tile = page.locator("#collection-added .added", has_text="A horse in a boat.")
    tile.wait_for()
    before = served.engine.index.n
    tile.get_by_role("button", name="Remove").dblclick()
    sure = tile.get_by_role("button", name="Really remove?")
    sure.focus()
    page.wait_for_timeout(PAUSE)
    repeated = (
        "button => button.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', repeat: true, cancelable: true}))"
    )
    assert not sure.evaluate(repeated)  # so the browser makes no click of it
    tile.get_by_role("button", name="Remove", exact=True).wait_for()
    more = page.locator("#collection-more")
    more.get_by_text("Remove items").click()
    page.fill("#collection-ids input, #collection-ids textarea", tile.locator(".item").inner_text().split()[1])
    clock = [100.0]  # on a busy machine the second click may come late
    monkeypatch.setattr(editing, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    page.locator("#collection-remove").dblclick(delay=100)
    page.locator("#collection-remove", has_text="Really remove 1 item?").wait_for()
    page.wait_for_timeout(PAUSE)
    assert served.engine.index.n == before
    clock[0] += PAUSE / 1000
    page.click("#collection-remove")
    page.locator("#collection-outcome .title", has_text="1 item removed").wait_for()


@pytest.mark.parametrize("served", [False], indirect=True)
@pytest.mark.parametrize("width", [1280, pytest.param(390, marks=pytest.mark.slow)])
def test_a_page_that_may_not_be_edited_has_no_form(visit, served, width):
    page = visit("/?tab=collection", width=width)
    opened(page)
    assert "--editable" in page.locator("#collection-read-only").inner_text()
    assert page.locator("#collection-go, #collection-pictures, #collection-ids").count() == 0
    assert not {"on_add", "on_ids", "on_take_out", "on_compact"} & {event.name for event in served.page.fns.values()}
    assert page.evaluate("document.documentElement.scrollWidth") <= width

"""The Collection tab as a visitor meets it, on a page that may be edited."""

from zipfile import ZipFile

import pytest
from PIL import Image

from genius.files import describe
from genius.index.store import Index
from genius.run import Run
from genius.ui.common.about import About
from tests.ui.browser.actions import chosen, open_tab, upload
from tests.ui.tiny_page import serving

pytestmark = pytest.mark.browser
ITEMS = 40
PAUSE = 700  # milliseconds between a question and its answer


@pytest.fixture(scope="module", params=[False])
def served(request, tmp_path_factory):
    """param: whether visitors change a working copy, in place of the run."""
    folder = tmp_path_factory.mktemp("collection")
    copies = folder / "copies" if request.param else None
    with serving(
        folder / "run", editable=True, about=About(paragraphs=("Made up.",)), copies=copies
    ) as page:
        yield page


def opened(page):
    open_tab(page, "Collection")
    page.locator("#collection-contents table").wait_for()
    page.locator("#collection-verdict .verdict").wait_for()
    page.locator("#collection-drift table").wait_for(state="attached")


# a walk through the page is told in one piece
def test_items_are_added_found_and_removed_but_by_no_double_click_or_held_key(  # noqa: PLR0915
    visit, served, photo
):
    page = visit("/?tab=collection")
    opened(page)
    assert page.locator("#collection-added > *").count() == 0
    (letter := photo.with_name("letter.pdf")).write_text("%PDF")
    page.set_input_files("#collection-pictures input[type=file]", [photo, letter])
    page.locator(
        "#collection-pictures .label", has_text="2 files: photo.jpg, letter.pdf"
    ).wait_for()
    page.click("#collection-go")
    page.locator("#collection-outcome .title", has_text="1 item added;").wait_for()
    assert page.locator("#collection-outcome p").all_inner_texts()[1:3] == [
        "1 file: used",
        "1 file: not a picture (.pdf 1)",
    ]
    page.fill("#collection-texts textarea", "A horse in a boat.")
    page.click("#collection-go")
    held(page, ITEMS + 2)
    page.locator("#collection-contents tr", has_text="added later (dataset 1)").wait_for()
    other = visit()
    upload(other, photo)
    other.click("#go")
    other.locator("#cards .card").first.wait_for()
    first = other.locator("#cards .card").first
    assert first.get_attribute("data-id") == "1:1" and "photo.jpg" in first.inner_text()

    horse = page.locator("#collection-added .added", has_text="A horse in a boat.")
    horse.get_by_role("button", name="Remove").dblclick()
    sure = horse.get_by_role("button", name="Really remove?")
    sure.focus()
    page.wait_for_timeout(PAUSE)
    repeated = (
        "button => button.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', repeat: "
        "true, cancelable: true}))"
    )
    assert not sure.evaluate(repeated)  # so the browser makes no click of it
    horse.get_by_role("button", name="Remove", exact=True).wait_for()  # the question ends by itself
    more = page.locator("#collection-more")
    more.get_by_text("Remove items").click()
    page.fill(
        "#collection-ids input, #collection-ids textarea",
        horse.locator(".item").inner_text().split()[1],
    )
    remove = page.locator("#collection-remove button").first
    remove.dblclick()
    page.locator("#collection-remove", has_text="Really remove?").wait_for()
    page.wait_for_timeout(PAUSE)
    assert served.engine.index.n == ITEMS + 2
    remove.click()
    held(page, ITEMS + 1)

    tile = page.locator("#collection-added .added")
    tile.get_by_role("button", name="Remove").click()
    page.wait_for_timeout(PAUSE)
    tile.get_by_role("button", name="Really remove?").click()
    held(page, ITEMS)
    page.locator("#collection-outcome .title", has_text="1 item removed").wait_for()
    tile.wait_for(state="detached")
    other.click("#go")
    other.locator("#cards .card[data-id='1:1']").wait_for(state="detached")
    assert other.locator("#cards .card").count()


@pytest.mark.parametrize("served", [True], indirect=True)
def test_a_folder_is_dropped_searched_alone_kept_and_forgotten(  # noqa: PLR0915
    visit, served, photo, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (below := tmp_path / "holiday" / "below").mkdir(parents=True)
    photo.rename(below / "beach.jpg")
    (below / "letter.pdf").write_text("%PDF")
    (below / ".DS_Store").write_text("of a system")
    with ZipFile(tmp_path / "holiday" / "more.zip", "w") as archive:
        archive.write(photo_of("red", tmp_path), "../../etc/red.png")
        archive.writestr("broken.jpg", "no picture")
    before = describe(served.run)
    page = visit("/?tab=collection")
    opened(page)
    assert (
        "Changes last until the program ends." in page.locator("#collection-outcome").inner_text()
    )
    drop(page, page.locator("#collection-pictures"), tmp_path / "holiday")
    page.locator("#collection-pictures .label", has_text="4 files: ").wait_for()
    page.click("#collection-go")
    page.locator("#collection-outcome .title", has_text="2 items added").wait_for()
    lines = page.locator("#collection-outcome p").all_inner_texts()
    assert lines[1] == "2 files: used" and lines[2].startswith(
        "1 file: unreadable (broken.jpg is not a readable"
    )
    assert lines[3:5] == ["1 file: hidden or thumbnail", "1 file: not a picture (.pdf 1)"]
    page.locator("#collection-added .added").nth(1).wait_for()
    codes = page.locator("#collection-added .added").first.locator(".code")
    assert codes.all_inner_texts() == [
        str(code) for code in served.engine.index.codes([ITEMS + 1])[0]
    ]
    page.get_by_role("button", name="Search in what was added").click()
    chosen(page, "Search")
    page.fill("#text textarea", "a beach")
    page.click("#go")
    page.locator("#summary", has_text="Only what was added since training was searched.").wait_for()
    page.wait_for_function("location.search.includes('in=added')")  # it comes after the cards
    assert page.locator("#cards .card").count() == 2
    open_tab(page, "Collection")
    page.get_by_label("Keep as a run").fill("holiday")
    page.keyboard.press("Enter")
    page.locator("#collection-outcome", has_text="python app.py --run runs/holiday").wait_for()
    assert Index.load(Run("runs/holiday").folder("index")).n == ITEMS + 2
    page.get_by_role("button", name="Forget").click()
    page.wait_for_timeout(PAUSE)
    page.get_by_role("button", name="Really forget?").click()
    held(page, ITEMS)
    page.locator("#collection-working form").wait_for(state="detached")
    assert describe(served.run) == before
    open_tab(page, "Search")
    page.get_by_role("button", name="Why?").first.click(force=True)
    page.get_by_text("No items were added since training; search in everything.").first.wait_for()


def held(page, items):
    """Wait until the page says that so many items are indexed."""
    page.locator("#collection-contents .note", has_text=f"{items} items, ").wait_for()


def photo_of(color, folder):
    Image.new("RGB", (64, 64), color).save(file := folder / f"{color}.png")
    return file


def drop(page, target, folder):
    """Drop a folder of the disk."""
    box = target.bounding_box()
    session = page.context.new_cdp_session(page)
    for step in ("dragEnter", "dragOver", "drop"):
        place = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
        files = {"items": [], "files": [str(folder)], "dragOperationsMask": 1}
        session.send("Input.dispatchDragEvent", {"type": step, "data": files, **place})

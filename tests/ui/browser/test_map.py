"""The map as a visitor meets it, over a tiny run whose captions, and one of whose queries, try to run scripts."""

import itertools
import json
import time

import pytest

from tests.search import tiny
from tests.ui.browser.actions import search
from tests.ui.fake_engine import HOSTILE
from tests.ui.fake_maps import serving_maps

pytestmark = [pytest.mark.browser, pytest.mark.slow]

POINT = """number => {    // where a point lies on the screen
  const host = document.querySelector('#map-figure .figure-host'), {xaxis, yaxis} = host._fullLayout;
  const box = host.getBoundingClientRect();
  for (const trace of host._fullData) {
    const at = Array.from(trace.customdata ?? []).indexOf(number);
    if (at >= 0) return {x: box.x + xaxis._offset + xaxis.d2p(trace.x[at]),
                         y: box.y + yaxis._offset + yaxis.d2p(trace.y[at])};
  }
}"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiny, "WORDS", [HOSTILE, *tiny.WORDS[:4]])
        with serving_maps(tmp_path_factory.mktemp("map") / "run") as page:
            yield page


@pytest.fixture
def opened(visit):
    def open_tab(path="/?tab=map", width=1280):
        page = visit(path, width)
        drawn(page, "Image")
        page.locator("#map-settings > button").click()
        return page

    return open_tab


def drawn(page, label):
    """The map is there, with this label in its legend."""
    page.locator("#map-figure .legendtext", has_text=label).first.wait_for()


def click(page, number):
    """Aimed anew until the page answers: what is above the map, or the map itself, may still change its size."""
    told, until = page.locator("#map-figure .hoverlayer .hovertext").first, time.monotonic() + 60
    page.locator("#map-figure").scroll_into_view_if_needed()
    while not told.is_visible():
        assert time.monotonic() < until, "nothing is told of the point under the mouse"
        at = page.evaluate(POINT, number)
        page.mouse.move(at["x"] + 40, at["y"])
        page.mouse.move(at["x"], at["y"])
        page.wait_for_timeout(500)
    page.mouse.click(at["x"], at["y"])


def test_a_point_opens_its_card(opened, served):
    page = opened()
    click(page, 4)
    card = page.locator("#map-item .itemcard")
    card.wait_for()
    page.locator("#map-figure .shapelayer path").wait_for()  # a ring round it
    assert card.locator(".which").inner_text().split() == ["Text", "0:4"]
    codes = served.engine.index.codes([4])[0].tolist()
    assert card.locator(".codes button").all_inner_texts() == [str(code) for code in codes]
    assert card.locator(".neighbours li").count() == 8


def test_a_lasso_brings_the_items_inside_and_their_files(opened):
    page = opened()
    page.get_by_label("Select", exact=True).check()
    page.wait_for_function("document.querySelector('#map-figure .figure-host')._fullLayout.dragmode === 'lasso'")
    page.locator("#map-figure").scroll_into_view_if_needed()
    box = page.locator("#map-figure .nsewdrag").bounding_box()
    corners = [(0.01, 0.01), (0.99, 0.01), (0.99, 0.99), (0.01, 0.99), (0.01, 0.01)]
    for place, (x, y) in enumerate(corners):
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"], steps=4)
        if not place:
            page.mouse.down()
    page.mouse.up()
    page.locator("#map-selection h2", has_text="39 items").wait_for()
    page.locator("#announcer", has_text="39 items inside the lasso").wait_for(state="attached")
    assert page.locator("#map-tiles .tile").count() == 39
    with page.expect_download() as saved:
        page.locator("#map-selection").get_by_role("button", name="JSON").click()
    assert len(json.loads(saved.value.path().read_text(encoding="utf-8"))) == 39
    page.locator("#map-tiles .tile").first.click()
    page.locator("#map-item .itemcard").wait_for()


def test_a_finger_scrolls_the_page_over_the_map_until_it_is_to_move_the_map(browser, served):
    with browser.new_context(viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True) as phone:
        page = phone.new_page()
        page.goto(f"{served.url}/?tab=map")
        drawn(page, "Image")
        page.locator("#map-settings > button").click()
        assert page.locator("#map-drag").get_by_label("Scroll the page").is_checked()
        plot = page.locator("#map-figure .nsewdrag")
        plot.scroll_into_view_if_needed()
        for mode, scrolls in ((None, True), ("Move", False)):
            if mode:
                page.get_by_label(mode, exact=True).check()
                plot.scroll_into_view_if_needed()
            box, before = plot.bounding_box(), page.evaluate("scrollY")
            swipe(phone.new_cdp_session(page), box["x"] + box["width"] / 2, max(box["y"], 0) + 200)
            page.wait_for_timeout(500)
            assert (page.evaluate("scrollY") > before) == scrolls


def swipe(session, x, y):
    """A finger goes up by 80 pixels."""
    session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for way in range(10, 81, 10):
        session.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [{"x": x, "y": y - way}]})
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def test_the_last_query_is_shown_among_the_items(opened):
    page = opened()
    page.get_by_role("tab", name="Search").click()
    search(page, "a red dog")
    page.get_by_role("tab", name="Map").click()
    page.locator("#map-figure .textpoint", has_text="your search").wait_for()
    texts = page.locator("#map-figure .textpoint text").all()
    shown = [text for text in texts if text.is_visible() and text.text_content() != "your search"]
    numbers = [part.split("–") for text in shown for part in text.text_content().split(", ")]
    counted = [int(ends[-1]) - int(ends[0]) + 1 for ends in numbers]
    assert sum(counted) == len(texts) - 1  # one text for those in one place, and one is that of the search
    boxes = [text.bounding_box() for text in shown]
    for one, other in itertools.combinations(boxes, 2):
        assert any(
            abs(one[at] - other[at]) >= (one if one[at] < other[at] else other)[size] - 1
            for at, size in (("x", "width"), ("y", "height"))
        )

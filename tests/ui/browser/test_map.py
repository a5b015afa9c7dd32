"""The map as a visitor meets it, over a tiny run whose captions, and one of whose regions, try to
run scripts.
"""

import re

import pytest
from PIL import Image

from tests.search import tiny
from tests.ui.browser.actions import fits, open_tab, parameters, search
from tests.ui.fake_engine import FEW, HOSTILE, REGIONS, fake_maps
from tests.ui.tiny_page import serving_hostile

pytestmark = [pytest.mark.browser, pytest.mark.slow]

DRAWN = 39  # of the run's 40 items
POINT = """number => {    // where a point lies on the screen
  const drawn = document.querySelector('.map-drawn'), {data, layout} = drawn;
  const box = drawn.parentElement.getBoundingClientRect();
  const [[left, right], [low, high]] = [layout.xaxis.range, layout.yaxis.range];
  for (const {members, x, y} of data) {
    const at = members.indexOf(number);
    if (at >= 0) return {x: box.x + (x[at] - left) / (right - left) * box.width,
                         y: box.y + (high - y[at]) / (high - low) * box.height};
  }
}"""
CHOSEN = """() => document.querySelector('.map-drawn').data.find(
  ({members, marker}) => marker.colorscale && members.length).members[0]"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    maps = fake_maps([f"0:{row}" for row in range(DRAWN)], tiny.LEVELS)
    with serving_hostile(tmp_path_factory.mktemp("map") / "run", maps=maps) as page:
        yield page


@pytest.fixture
def opened(visit):
    def open_page(path="/?tab=map", width=1280):
        page = visit(path, width)
        drawn(page)
        return page

    return open_page


def drawn(page):
    page.locator("#map-stage[data-ready]").wait_for()


def chosen(page, title, items=None):
    """What is chosen has this title, and so many items."""
    page.locator(
        "#map-panel h2", has_text=re.compile(f"^{re.escape(title)} {items or ''}")
    ).wait_for()


def test_contents_and_names_choose_a_region_and_its_parts(opened):
    page = opened()
    entries = page.locator("#map-stage ~ *, .map-contents").locator(".map-entry")
    assert entries.first.inner_text().split("\n") == ["mug, hat", "20"]
    page.locator(".map-turn").first.click()
    page.locator(".map-contents ul .map-entry", has_text="mug").click()
    chosen(page, "mug", "20 items")
    assert parameters(page)["region"] == "2"
    page.get_by_role("button", name="Everything in view").click()
    page.locator(".map-name", has_text=HOSTILE[:30]).click()  # a text, and nothing else
    chosen(page, HOSTILE[:100], "19 items")
    page.get_by_role("button", name="Show everything").click()
    page.locator("#map-panel h3", has_text="How to read it").wait_for()
    page.go_back()
    chosen(page, HOSTILE[:100])


def test_choices_combine_are_in_the_address_and_are_taken_away_one_by_one(opened):
    page = opened("/?tab=map&region=0&items=0:0,0:2,0:3")
    chosen(page, "mug, hat + 3 results", "2 items")
    page.get_by_role("button", name="Without 3 results").click()
    chosen(page, "mug, hat", "20 items")
    assert "items" not in parameters(page)
    page.fill("#map-find input", "red dog")
    page.press("#map-find input", "Enter")
    chosen(page, "red dog")
    assert parameters(page) == {"tab": "map", "words": "red dog"}


def test_an_area_that_is_drawn_is_chosen(opened):
    page = opened()
    page.get_by_role("button", name="Choose by drawing around").click()
    box = page.locator("#map-stage").bounding_box()
    for place, (x, y) in enumerate(
        [(0.02, 0.02), (0.98, 0.02), (0.98, 0.98), (0.02, 0.98), (0.02, 0.1)]
    ):
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"], steps=4)
        if not place:
            page.mouse.down()
    page.mouse.up()
    chosen(page, "area", f"{DRAWN} items")
    page.locator("#announcer", has_text=f"area: {DRAWN} items").wait_for(state="attached")
    assert page.locator("#map-panel .tile").count() == 9
    page.locator("#map-panel .tile").first.click()
    page.locator("#map-panel .itemcard").wait_for()


def test_a_point_opens_its_card_and_the_way_back(opened, served):
    page = opened("/?tab=map&items=0:4")
    chosen(page, "one item", "1 item")
    number = page.evaluate(CHOSEN)
    page.mouse.move(1, 1)
    page.wait_for_timeout(1000)  # the map glides to what is chosen
    at = page.evaluate(POINT, number)
    page.mouse.move(at["x"], at["y"])
    page.locator("#map-hint p").wait_for()
    page.mouse.click(at["x"], at["y"])
    card = page.locator("#map-panel .itemcard")
    card.wait_for()
    assert card.locator(".which").inner_text().split() == ["Text", "0:4"]
    codes = served.engine.index.codes([4])[0].tolist()
    assert card.locator(".codes button").all_inner_texts() == [str(code) for code in codes]
    assert card.locator(".neighbours li").count() == 8
    page.locator("#map-back").click()
    chosen(page, "one item")


def test_a_finger_scrolls_the_page_over_the_map_until_it_is_to_move_the_map(phone, served):
    page = phone
    page.goto(f"{served.url}/?tab=map")
    drawn(page)
    stage = page.locator("#map-stage")
    for mode, scrolls in (("", True), ("Move", False)):
        if mode:
            page.get_by_role("button", name=mode, exact=True).click()
        stage.scroll_into_view_if_needed()
        box = stage.bounding_box()
        before = page.evaluate("scrollY")
        session = page.context.new_cdp_session(page)
        swipe(session, box["x"] + box["width"] / 2, max(box["y"], 0) + 200)
        page.wait_for_timeout(500)
        assert (page.evaluate("scrollY") > before) == scrolls


def swipe(session, x, y):
    """A finger goes up by 80 pixels."""
    session.send(
        "Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]}
    )
    for way in range(10, 81, 10):
        session.send(
            "Input.dispatchTouchEvent",
            {"type": "touchMove", "touchPoints": [{"x": x, "y": y - way}]},
        )
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def test_fewer_codes_leave_fewer_places_and_say_what_moved(opened):
    page = opened()
    page.locator("#map-keep label", has_text="9 codes").or_(
        page.locator("#map-keep label").nth(1)
    ).first.click()
    page.locator("#map-keep .sentence", has_text=f"on {FEW} places").wait_for()
    page.locator(".map-moved", has_text="red mug now among boat").wait_for()
    page.locator(".map-moved button").first.click()
    chosen(page, "red mug", f"{REGIONS[4].items} items")
    assert int(parameters(page)["keep"]) > 1


def test_the_wheel_and_the_buttons_zoom(opened):
    page = opened()
    name = page.locator(".map-name", has_text="mug, hat")
    name.wait_for()
    page.locator("#map-stage").hover()
    for _ in range(12):
        page.mouse.wheel(0, -120)
    page.wait_for_function("document.querySelector('.map-drawn').style.transform === ''")
    name.wait_for(state="hidden")  # the next smaller regions have the names
    page.get_by_role("button", name="Everything in view").click()
    name.wait_for()
    page.get_by_role("button", name="Closer").click()
    page.wait_for_function("document.querySelector('.map-drawn').style.transform !== ''")


def test_results_of_the_last_search_glow_and_can_be_kept(opened):
    page = opened()
    open_tab(page, "Search")
    search(page, "a red dog")
    open_tab(page, "Map")
    page.locator(".map-star").wait_for(state="attached")
    rings = page.locator(".map-ring").all_inner_texts()
    assert 0 < len(rings) <= 20 and rings == sorted(rings, key=int)
    page.get_by_role("button", name="Keep only these").click()
    page.locator("#map-panel h2", has_text="results").wait_for()
    assert "items" in parameters(page)


@pytest.mark.parametrize("kind", ["SVG", "PNG, 3840 × 2160"])
def test_a_picture_for_a_slide_is_saved(opened, kind):
    page = opened()
    with page.expect_download() as saved:
        page.get_by_role("button", name=kind, exact=True).click()
    file = saved.value.path()
    if kind == "SVG":
        text = file.read_text(encoding="utf-8")
        assert text.startswith("<svg") and "mug, hat" in text and "<img" not in text
        assert sum(path.count("z") for path in re.findall(r' d="([^"]*)"', text)) == DRAWN
    else:
        with Image.open(file) as picture:
            assert picture.size == (3840, 2160)


def test_kinds_are_switched_off_and_on(opened):
    page = opened()
    switch = page.locator("#map-settings .choice", has_text="Pictures")
    switch.click()
    page.locator("#map-settings .choice[aria-pressed=false]", has_text="Pictures").wait_for()
    assert parameters(page)["without"] == "image"
    switch.click()
    page.locator("#map-settings .choice[aria-pressed=true]", has_text="Pictures").wait_for()


def test_on_a_phone_nothing_is_wider_than_the_screen(opened):
    page = opened(width=390)
    assert fits(page)

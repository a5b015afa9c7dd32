"""The whole page over a tiny run whose items are hostile: tabs, addresses, themes, widths, visitors.

The `visit` fixture also watches for requests that leave the machine, scripts that ran, and errors on the console.
"""

import json
import re
from dataclasses import replace

import pytest

from genius.ui.common.about import About
from genius.ui.page import TABS
from tests.ui.browser.actions import search
from tests.ui.fake_engine import HOSTILE
from tests.ui.tiny_page import serving

pytestmark = pytest.mark.browser
ABOUT = About(ask_by_text=("Show me a photo of this.",), ask_with_text=("Say what this is.",))
SHOWS = {
    "search": "#cards .empty, #cards .card",
    "codes": "#codes-summary .panel > *",
    "map": "#map-missing code",
    "compare": "#compare .empty",
    "reports": "#reports-speed pre",
    "collection": "#collection-read-only pre",
    "api": "#api .endpoint",
}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Every text of an item, and what its source says, would run if it were taken for markup."""
    with serving(tmp_path_factory.mktemp("frame") / "run", about=ABOUT) as page:
        index = page.engine.index
        items, fields = index.items, (HOSTILE, "kind", "credit", "licence", "origin")
        source = json.dumps(dict.fromkeys(fields, HOSTILE))
        index.items = lambda rows: [replace(item, text=item.text and HOSTILE, source=source) for item in items(rows)]
        yield page


def open_tab(page, name):
    """Choose a tab; those that a phone has no room for are in a menu beside the others."""
    tab = page.get_by_role("tab", name=TABS[name].label, exact=True)
    if tab.count():
        tab.click()
        wait_for(page, name)
    else:
        page.get_by_label("More tabs").click()
        page.locator(".overflow-dropdown").get_by_role("button", name=TABS[name].label, exact=True).click()
        page.locator(SHOWS[name]).first.wait_for()


def wait_for(page, name):
    """The tab is chosen and shows something."""
    page.get_by_role("tab", name=TABS[name].label, exact=True, selected=True).wait_for()
    page.locator(SHOWS[name]).first.wait_for()


@pytest.mark.parametrize(
    "width, theme",
    [
        (1280, "light"),
        (390, "dark"),
        pytest.param(1280, "dark", marks=pytest.mark.slow),
        pytest.param(390, "light", marks=pytest.mark.slow),
    ],
)
def test_every_tab_opens_in_both_themes_without_sideways_scrolling(visit, theme, width):
    page = visit(f"/?__theme={theme}", width=width)
    search(page, "A red dog.")
    for name in TABS:
        open_tab(page, name)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
    brightness = page.locator("#api section").first.evaluate(
        "section => getComputedStyle(section).backgroundColor.match(/\\d+/g).slice(0, 3).reduce((a, b) => +a + +b)"
    )
    assert (brightness < 384) == (theme == "dark")


def test_each_tab_keeps_what_was_asked_in_it(visit):
    page = visit("/?tab=codes&code=0.1&theme=kept")
    page.wait_for_function("document.querySelector('#codes-pattern :is(input, textarea)')?.value === '0 · 1'")
    open_tab(page, "search")
    page.wait_for_url("**/?theme=kept")
    search(page, "A red dog.")
    open_tab(page, "codes")
    page.wait_for_url(re.compile(r"/\?theme=kept&q=.*&tab=codes&code=0\.1$"))


@pytest.mark.parametrize(
    "address, told", [("/?item=nowhere", True), pytest.param("/?tab=nowhere", False, marks=pytest.mark.slow)]
)
def test_a_wrong_address_leaves_a_page_that_works(visit, address, told):
    page = visit(address)
    wait_for(page, "search")
    if told:
        page.locator("[data-testid=toast-body]").wait_for()
    search(page, "A red dog.")


def test_what_an_item_says_is_shown_and_runs_nothing(visit, served):
    page = visit(f"/?tab=codes&code={'.'.join(map(str, served.engine.index.codes([1])[0]))}")
    page.locator("#codes-items button").first.click()
    page.locator("#codes-card .itemcard").wait_for()
    card = page.locator("#codes-card .itemcard")
    assert card.inner_text().count(HOSTILE) >= 5 and not card.locator("a").count()
    open_tab(page, "search")
    search(page, HOSTILE)  # as a query it comes back in the summary
    assert HOSTILE in page.locator("#summary .sentence").text_content()
    assert page.locator("#cards .title b").first.inner_text() == HOSTILE and page.locator("img[src=x]").count() == 0


def test_the_picture_of_a_result_keeps_the_instruction_that_the_page_gave_and_a_code_opens_its_items(visit):
    page = visit("/?numbers=1")
    search(page, "A red dog.")
    card = page.locator("#cards .card:has(img)").first
    card.hover()
    card.get_by_role("button", name="Use").click()
    page.locator("#summary .sentence", has_text="and the picture").wait_for(state="attached")
    assert "Show me a photo of this." in page.locator("#summary .asked").inner_text()
    code = page.locator("#cards .card .code").nth(1)
    code.click()
    wait_for(page, "codes")
    page.wait_for_url(f"**code={code.get_attribute('data-prefix')}*")


def test_two_visitors_never_see_each_others_state(visit):
    one, other = visit(), visit()
    search(one, "A red dog.")
    search(other, "A blue boat.")
    open_tab(one, "codes")
    assert "“A blue boat.”" in other.locator("#summary .sentence").inner_text()
    assert "codes" not in other.url and "boat" not in one.url
    open_tab(one, "search")
    assert "“A red dog.”" in one.locator("#summary .sentence").inner_text()

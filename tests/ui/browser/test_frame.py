"""The whole page over a tiny run whose items are hostile: tabs, addresses, themes, widths,
visitors.

The `visit` fixture also watches for requests that leave the machine, scripts that ran, and errors
on the console.
"""

import json
from dataclasses import replace

import pytest

from tests.ui.browser.actions import fits, search
from tests.ui.fake_engine import HOSTILE
from tests.ui.tiny_page import serving

pytestmark = pytest.mark.browser
NAMES = ("search", "codes", "map", "compare", "reports", "collection", "api")
TABS = {name: "API" if name == "api" else name.capitalize() for name in NAMES}
SHOWS = {
    "search": "#cards .empty, #cards .card",
    "codes": "#codes-go",
    "map": "#tab-map .empty code, #tab-map .empty pre",
    "compare": "#compare .empty, #compare .system",
    "reports": "#reports-panel pre",
    "collection": ".collection-read-only pre",
    "api": "#api .endpoint",
}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Every text of an item, and what its source says, would run if it were taken for markup."""
    with serving(tmp_path_factory.mktemp("frame") / "run") as page:
        index = page.engine.index
        items = index.items
        fields = (HOSTILE, "kind", "credit", "licence", "origin")
        source = json.dumps(dict.fromkeys(fields, HOSTILE))
        index.items = lambda rows: [
            replace(item, text=item.text and HOSTILE, source=source) for item in items(rows)
        ]
        yield page


def open_tab(page, name):
    """Choose a tab."""
    page.get_by_role("tab", name=TABS[name], exact=True).click()
    wait_for(page, name)


def wait_for(page, name):
    """The tab is chosen and shows something."""
    page.get_by_role("tab", name=TABS[name], exact=True, selected=True).wait_for()
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
        assert fits(page), name
    brightness = page.locator("#api section").first.evaluate(
        "section => getComputedStyle(section).backgroundColor.match(/\\d+/g).slice(0, "
        "3).reduce((a, b) => +a + +b)"
    )
    assert (brightness < 384) == (theme == "dark")


def test_what_an_item_says_is_shown_and_runs_nothing(visit, served):
    page = visit(f"/?tab=codes&code={'.'.join(map(str, served.engine.index.codes([1])[0]))}")
    page.locator("#codes-items button").first.click()
    page.locator("#codes-card .itemcard").wait_for()
    card = page.locator("#codes-card .itemcard")
    assert card.inner_text().count(HOSTILE) >= 5 and not card.locator("a").count()
    open_tab(page, "search")
    search(page, HOSTILE)  # as a query it comes back in the summary
    assert HOSTILE in page.locator("#summary .sentence").text_content()
    assert (
        page.locator("#cards .title b").first.inner_text() == HOSTILE
        and page.locator("img[src=x]").count() == 0
    )

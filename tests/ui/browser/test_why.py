"""Why, as a visitor meets it, over a tiny run that was not trained."""

import re

import pytest

from tests.ui.browser.actions import act, search

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SETTLED = """async selector => {    // it lies still for ten frames
  const part = document.querySelector(selector);
  for (let last, still = 0; still < 10;) {
    await new Promise(requestAnimationFrame);
    const {top} = part.getBoundingClientRect();
    still = top === last ? still + 1 : 0;
    last = top;
  }
}"""


@pytest.fixture(scope="module")
def served(tiny_page):
    return tiny_page


def explained(page, rank=1):
    """The panel, open, for the result of this rank."""
    act(page, rank - 1, "Why?")
    page.locator("#why h2", has_text=f"Why result {rank}").wait_for()
    page.locator("#why-tree .main-svg").first.wait_for(state="attached")
    return page.locator("#why")


def test_why_opens_for_a_result_and_follows_the_next_search(visit, served):
    page = visit()
    assert not page.locator("#why-open").is_visible()
    sent = []  # names of the callbacks that were asked for
    page.on(
        "request",
        lambda one: sent.append(served.page.fns[one.post_data_json["fn_index"]].name) if "/join" in one.url else None,
    )
    search(page, "A red dog.")
    assert not page.locator("#why").is_visible()
    page.wait_for_timeout(500)
    assert sent == ["on_search"]  # a closed panel asks for nothing
    why = explained(page, rank=2)
    assert "it fits your words 2nd best" in why.locator(".in-short").inner_text()
    page.get_by_label("Show numbers").check()
    assert why.locator(".identity").count() == 3 and why.locator(".identity").first.locator("button").count() == 4
    assert re.search(r"Its ID is number \d+ of the \d+ .*\(score −?[\d.]+, log p −\d+\.\d\d", why.inner_text())
    act(page, 1, "Blend")
    page.locator("#blend").get_by_role("button", name="Close").click()
    page.locator("#blend .blend").wait_for(state="detached")
    assert why.get_by_role("button", name="Blend").evaluate("button => button === document.activeElement")
    search(page, "A blue boat.")
    why.locator("h2", has_text="Why result 1").wait_for()


def test_a_click_on_a_point_of_the_tree_opens_its_prefix_in_codes(visit):
    page = visit("/?numbers=1")
    search(page, "A red dog.")
    explained(page)
    page.evaluate(SETTLED, "#why-open")
    page.locator("#why-tree").scroll_into_view_if_needed()
    prefix, x, y = page.locator("#why-tree .js-plotly-plot").evaluate("""plot => {
        const [point] = plot.calcdata.find(([first]) => first.trace.customdata);
        const {xaxis, yaxis} = plot._fullLayout, box = plot.getBoundingClientRect();
        return [point.trace.customdata[0], box.left + xaxis._offset + xaxis.d2p(point.x),
                box.top + yaxis._offset + yaxis.d2p(point.y)]; }""")
    page.mouse.move(x - 20, y)
    page.mouse.move(x, y)
    page.wait_for_timeout(400)  # plotly looks what lies below
    page.mouse.click(x, y)
    page.get_by_role("tab", name="Codes", selected=True).wait_for()
    page.wait_for_url(f"**code={prefix}*")


def test_a_phone_needs_no_sideways_scrolling_and_the_theme_is_followed(visit):
    page = visit("/?numbers=1&__theme=dark", width=390)
    search(page, "A red dog.")
    explained(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.wait_for_function(
        """() => {
        const ink = getComputedStyle(document.querySelector('#why-tree .xtick text')).fill.match(/\\d+/g);
        return ink && ink.slice(0, 3).reduce((a, b) => +a + +b) > 384; }"""
    )

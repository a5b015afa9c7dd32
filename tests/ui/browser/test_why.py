"""Why, as a visitor meets it, over a tiny run that was not trained."""

import re

import pytest

from tests.ui.browser.actions import act, chosen, fits, search

pytestmark = pytest.mark.browser

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
    return page.locator("#why")


@pytest.mark.slow
def test_why_opens_for_a_result_and_closes_with_the_next_search(visit, served):
    page = visit()
    assert not page.locator("#why").is_visible()
    sent = []  # names of the endpoints that were called
    page.on(
        "request",
        lambda one: sent.append(one.url.rpartition("/")[2]) if one.method == "POST" else None,
    )
    search(page, "A red dog.")
    assert not page.locator("#why").is_visible()
    page.wait_for_timeout(500)
    assert sent == ["show"]  # a closed panel asks for nothing
    why = explained(page, rank=2)
    assert "it fits your words 2nd best" in why.locator(".in-short").inner_text()
    page.get_by_label("Show numbers").check()
    page.locator("#why-tree").scroll_into_view_if_needed()
    page.locator("#why-tree .main-svg").first.wait_for(state="attached")
    assert (
        why.locator(".identity").count() == 3
        and why.locator(".identity").first.locator("button").count() == 4
    )
    assert re.search(
        r"Its ID is number \d+ of the \d+ .*\(score −?[\d.]+, log p −\d+\.\d\d", why.inner_text()
    )
    act(page, 1, "Blend")
    page.locator("#blend").get_by_role("button", name="Close").click()
    page.locator("#blend .blend").wait_for(state="detached")
    assert why.get_by_role("button", name="Blend").evaluate(
        "button => button === document.activeElement"
    )
    search(page, "A blue boat.")
    why.locator("h2").wait_for(state="detached")


@pytest.mark.slow
def test_a_click_on_a_point_of_the_tree_opens_its_prefix_in_codes(visit):
    page = visit("/?numbers=1")
    search(page, "A red dog.")
    explained(page)
    page.evaluate(SETTLED, "#why")
    page.locator("#why-tree").scroll_into_view_if_needed()
    page.locator("#why-tree .main-svg").first.wait_for(state="attached")
    page.locator("#why-tree").evaluate("tree => tree.scrollIntoView({block: 'center'})")
    page.evaluate(SETTLED, "#why-tree")
    prefix, x, y = page.locator("#why-tree.js-plotly-plot").evaluate("""plot => {
        const [point] = plot.calcdata.find(([first]) => first.trace.customdata);
        const {xaxis, yaxis} = plot._fullLayout, box = plot.getBoundingClientRect();
        return [point.trace.customdata[0], box.left + xaxis._offset + xaxis.d2p(point.x),
                box.top + yaxis._offset + yaxis.d2p(point.y)]; }""")
    page.mouse.move(x - 20, y)
    page.mouse.move(x, y)
    page.wait_for_timeout(400)  # plotly looks what lies below
    page.mouse.click(x, y)
    chosen(page, "Codes")
    page.wait_for_url(f"**code={prefix}*")


@pytest.mark.slow
def test_a_phone_needs_no_sideways_scrolling_and_the_theme_is_followed(visit):
    page = visit("/?numbers=1&__theme=dark", width=390)
    search(page, "A red dog.")
    explained(page)
    page.locator("#why-tree").scroll_into_view_if_needed()
    page.locator("#why-tree .xtick text").first.wait_for(state="attached")
    assert fits(page)
    page.wait_for_function(
        """() => {
        const tick = document.querySelector('#why-tree .xtick text');
        const ink = getComputedStyle(tick).fill.match(/\\d+/g);
        return ink && ink.slice(0, 3).reduce((a, b) => +a + +b) > 384; }"""
    )


def test_of_several_quick_clicks_the_last_counts(visit):
    page = visit()
    held = []
    search(page, "A red dog.")
    page.route("**/call/why", lambda route: route.continue_() if held else held.append(route))
    for place in (0, 1):
        card = page.locator("#cards .card").nth(place)
        card.hover()
        card.get_by_role("button", name="Why?").click()
    page.locator("#why h2", has_text="Why result 2?").wait_for()
    with page.expect_response("**/call/why/*"):
        held[0].continue_()
    page.wait_for_timeout(300)
    assert "Why result 2?" in page.locator("#why h2").inner_text()

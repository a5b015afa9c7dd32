"""How a result came, as a visitor meets it: Why and the strip, over a run that was not trained."""

import re

import pytest

from tests.ui.browser.actions import act, chosen, fits, point_at, search

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
def test_why_opens_for_a_result_and_closes_with_the_next_search(visit):
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


# The strip

MODALITIES = {"0": "Image", "1": "Text", "2": "Pair"}  # by first code


def strip_of(page):
    search(page, "A red dog.")
    page.locator("#strip section").first.wait_for()
    if page.get_by_role("button", name="Show the steps").is_visible():
        page.get_by_role("button", name="Show the steps").click()
    return page.locator("#strip")


def settled(strip):
    """It has played to its end."""
    strip.locator(".play", has_text="Play again").wait_for()


def codes(strip):
    return strip.locator(".row-id .code").all_inner_texts()


def hidden(strip):
    return strip.locator(".ahead").count()


def test_it_is_a_table_that_is_told_once_plays_in_less_than_two_seconds_and_can_be_stopped(visit):
    page = visit()
    strip = strip_of(page)
    settled(strip)
    heads = strip.locator("thead th").all_inner_texts()
    assert heads[:2] == ["Start", "Modality"] and len(heads) == 5
    rows = strip.locator("tbody th[scope=row]").all_inner_texts()
    assert rows[:4] == ["Code", "Meaning", "Probability", "Ruled out"]
    assert rows[4:] == ["Beam", "Items still possible", "Some of them", "Other codes"]
    left = [int(text) for text in strip.locator(".row-left b").all_inner_texts()]
    assert left[0] == 40 and left == sorted(left, reverse=True) and left[-1] >= 1
    told = strip.locator(".other").first.get_attribute("aria-label")
    assert re.search(r"[\d.]+ %, \d+ items?: what if", told)

    summary = page.locator("#summary .sentence").text_content()
    page.locator("#announcer[role=status]", has_text=summary).wait_for(state="attached")
    # nothing is read twice
    assert page.locator("#summary [role=status], #strip [role=status]").count() == 0
    act(page, 0, "Why?")
    page.locator("#announcer", has_text="were compared closely").wait_for(state="attached")

    assert hidden(strip) == 0 and len(codes(strip)) == 4
    ahead, milliseconds = page.evaluate(  # by its own steps: a busy machine takes longer
        """() => {
        const button = document.querySelector('#strip .play');
        let step, every, spent = 0;
        window.setInterval = (advance, period) => { [step, every] = [advance, period]; return 7; };
        button.click();
        const ahead = document.querySelectorAll('#strip .ahead').length;
        for (; button.textContent !== 'Play again' && spent < 10_000; spent += every) step();
        return [ahead, spent];
    }"""
    )
    assert ahead > 0 and 0 < milliseconds < 2_000
    assert hidden(strip) == 0
    page.evaluate("window.setInterval = () => 7")  # so that it never goes on by itself
    play = strip.locator(".play")
    for key, place in (
        (None, play),
        ("Enter", play),
        ("Escape", play),
        ("Escape", strip.locator(".levels")),
    ):
        play.click()
        assert play.inner_text() == "Stop" and hidden(strip) > 0
        place.press(key) if key else place.click()
        assert play.inner_text() == "Play again" and hidden(strip) == 0, key


def test_another_code_is_chosen_and_taken_back(visit):
    page = visit()
    strip = strip_of(page)
    settled(strip)
    before = codes(strip)
    other = strip.locator(".other").last
    code = other.locator(".code").inner_text()
    other.focus()
    page.keyboard.press("Enter")
    strip.locator(".branched").wait_for()
    # the keyboard goes on in the strip
    assert page.evaluate("!!document.activeElement.closest('#strip button')")
    settled(strip)
    assert code in codes(strip) and codes(strip) != before
    found = page.locator("#strip-found")
    assert re.match(r"Results that begin with \d", found.locator("h2").inner_text())
    assert found.locator(".tile").count() > 0
    strip.get_by_role("button", name="Back to what the search chose").click()
    strip.locator(".branched").wait_for(state="detached")
    assert codes(strip) == before
    found.locator(".tile").first.wait_for(state="detached")


def test_names_come_on_their_own_and_are_told_where_a_code_stands(visit):
    page = visit()
    strip = strip_of(page)
    settled(strip)
    strip.get_by_role("button", name="The best generated ID").click()
    strip.get_by_role("button", name="The best generated ID", pressed=True).wait_for()
    settled(strip)
    strip.locator(".other", has_text="Text").click()  # texts, whose codes differ
    strip.locator(".branched").wait_for()
    settled(strip)
    page.wait_for_function(
        "[...document.querySelectorAll('#strip [data-meaning]')].some(one => one.textContent)"
    )
    named = strip.locator("[data-meaning]").evaluate_all(
        "all => all.map(one => [one.dataset.meaning, one.textContent])"
    )
    names = page.evaluate("fetch('names').then(answer => answer.json())")
    assert named and all(text == names.get(prefix, "") for prefix, text in named)
    assert any(text for _, text in named)
    code = strip.locator(".row-id .code").first
    number = code.inner_text().split()[0]
    hint = page.locator("#hint-card")
    point_at(code, hint.get_by_text(f"{number}: {MODALITIES[number]}", exact=True))
    page.mouse.move(0, 0)
    hint.wait_for(state="hidden")


def test_a_tap_tells_what_a_code_or_a_term_means_and_a_second_one_closes_it(browser, served):
    with browser.new_context(has_touch=True, viewport={"width": 390, "height": 844}) as context:
        page = context.new_page()
        page.goto(f"{served.url}/?numbers=1")
        page.locator("#cards .empty, #cards .card").first.wait_for()
        strip_of(page)
        hint = page.locator("#hint-card")
        code = page.locator("#cards .card .code").first
        code.tap()
        hint.get_by_text(
            f"{code.inner_text()}: {MODALITIES[code.inner_text()]}", exact=True
        ).wait_for()
        box = hint.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 390
        code.tap()
        hint.wait_for(state="hidden")
        page.locator("#summary .targets").tap()
        hint.get_by_text("What the search expects you to want").wait_for()
        page.locator("#go").tap()
        hint.wait_for(state="hidden")

"""The generation strip, as a visitor meets it, over a tiny run that was not trained."""

import re

import pytest

from tests.ui.browser import actions
from tests.ui.browser.actions import act, point_at

pytestmark = pytest.mark.browser
MODALITIES = {"0": "Image", "1": "Text", "2": "Pair"}  # by first code


@pytest.fixture(scope="module")
def served(tiny_page):
    return tiny_page


def search(page):
    actions.search(page, "A red dog.")
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
    strip = search(page)
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
    strip = search(page)
    settled(strip)
    before = codes(strip)
    other = strip.locator(".other").last
    chosen = other.locator(".code").inner_text()
    other.focus()
    page.keyboard.press("Enter")
    strip.locator(".branched").wait_for()
    # the keyboard goes on in the strip
    assert page.evaluate("!!document.activeElement.closest('#strip button')")
    settled(strip)
    assert chosen in codes(strip) and codes(strip) != before
    found = page.locator("#strip-found")
    assert re.match(r"Results that begin with \d", found.locator("h2").inner_text())
    assert found.locator(".tile").count() > 0
    strip.get_by_role("button", name="Back to what the search chose").click()
    strip.locator(".branched").wait_for(state="detached")
    assert codes(strip) == before
    found.locator(".tile").first.wait_for(state="detached")


def test_names_come_on_their_own_and_are_told_where_a_code_stands(visit):
    page = visit()
    strip = search(page)
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
        search(page)
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

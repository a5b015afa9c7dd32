"""The page as a visitor meets it, in headless Chromium. The `visit` fixture also watches for requests
that leave the machine, scripts that ran, and errors on the console."""

import re

import pytest

from tests.ui.browser.actions import search
from tests.ui.fake_engine import HOSTILE

pytestmark = pytest.mark.browser


def error(page):
    toast = page.locator("[data-testid=toast-body]")
    toast.wait_for()
    return toast.inner_text()


def test_a_picture_and_an_instruction_bring_cards(visit, served, photo):
    page = visit()
    page.set_input_files("#picture input[type=file]", photo)
    page.locator("#picture img").wait_for()
    page.fill("#instruction input", "Find one like this.")
    page.press("#instruction input", "Enter")
    page.locator("#cards .card").first.wait_for()

    query, _ = served.engine.queries[-1]
    assert query.instruction == "Find one like this." and query.image.size == (256, 256)
    assert page.locator("#cards .card").count() == 10
    assert page.locator("#summary .target").all_inner_texts() == ["Image 93 %", "Text 5.0 %", "Pair 2.0 %"]
    card = page.locator("#cards .card").first
    assert re.search(r"\d+ → 1\b", card.inner_text()) and "similarity\n0.412" in card.inner_text()
    assert card.locator(".code").count() == 9
    for image in page.locator("#cards img").all():
        assert image.evaluate("image => image.naturalWidth") > 0
        beside = image.evaluate("image => Boolean(image.closest('.card').querySelector('.words'))")
        assert bool(image.get_attribute("alt")) != beside, "a screen reader hears what a picture shows once"
    ids = page.locator("#cards .card .codes")
    assert ids.first.get_attribute("aria-label") == "ID " + ", ".join(ids.first.locator(".code").all_inner_texts())
    page.locator("#cards .card button").last.press("Shift+Tab")
    ids.last.focus()
    assert ids.last.get_attribute("aria-describedby") == "hint-card", "described as soon as it has the focus"


def test_generated_ids_stand_beside_the_querys_own_with_the_shared_prefix_marked(visit):
    page = visit()
    assert page.evaluate("structuredClone({a: [1]}).a[0] === 1 && structuredClone(visit => visit)(2) === 2")
    search(page, "mug")
    own = page.locator("#generated .own .code").all_inner_texts()
    rows = page.locator("#generated tbody tr")
    assert rows.count() > 10
    for row in rows.all()[:10]:
        codes, marked = row.locator(".code").all_inner_texts(), row.locator(".code.shared").count()
        assert codes[:marked] == own[:marked] and codes[marked] != own[marked]


@pytest.mark.slow
def test_a_suggested_instruction_can_be_picked(visit, served):
    page = visit()
    page.fill("#text textarea", "a dog on a beach")
    page.click("#instruction input")
    page.get_by_role("option").filter(has_text="matches the caption").click()
    page.click("#go")
    page.locator("#cards .card").first.wait_for()
    assert served.engine.queries[-1][0].instruction == "Find an image that matches the caption."


@pytest.mark.slow
def test_without_re_ranking_no_movement_is_claimed(visit):
    page = visit()
    page.click("#settings button")
    page.get_by_label("Re-rank the results").uncheck()
    search(page, "mug")
    assert page.locator("#cards .card").count() == 10 and page.locator("#cards .moved").count() == 0


def test_the_way_to_search_is_chosen_and_its_certificate_shown(visit, served):
    page, note = visit(), "#generated .generated"
    search(page, "mug")
    assert served.engine.queries[-1][1].mode == "set" and "roven" not in page.locator(note).inner_text()
    page.click("#settings button")
    page.get_by_label("Exact", exact=True).check()
    for text, words in (("mugs", "Proven: no other existing ID has a higher score"), ("cup", "Not proven")):
        search(page, text)
        assert served.engine.queries[-1][1].mode == "exact" and words in page.locator(note).inner_text()
        assert page.locator("#generated .followed").count() == 0
    page.get_by_label("Fast", exact=True).check()
    search(page, "bowl")
    page.locator("#generated summary").click()
    assert "Dashed codes were not decoded" in page.locator(note).inner_text()
    assert page.locator("#generated .followed").count() > 0
    assert "…" in page.locator("#generated tbody").inner_text()


def test_no_query_gets_one_sentence_and_the_page_stays_usable(visit):
    page = visit()
    page.click("#go")
    assert "Type a description, add a picture, or both." in error(page)
    search(page, "mug")
    assert page.locator("#cards .card").count() == 10


@pytest.mark.slow
def test_a_broken_picture_gets_one_sentence_and_leaves_the_last_answer(visit, tmp_path):
    page = visit()
    search(page, "mug")
    (tmp_path / "cat.png").write_text("no picture")
    page.set_input_files("#picture input[type=file]", tmp_path / "cat.png")
    page.locator("#picture img").wait_for(state="attached")
    page.click("#go")
    assert "cat.png is not a readable PNG, JPEG or WebP image" in error(page)
    assert "“mug”" in page.locator("#summary .sentence").inner_text()
    assert page.locator("#cards .card").count() == 10


def test_words_can_be_typed_at_once_and_the_page_stays_at_its_top(visit, browser, served):
    page = visit(width=390)
    page.wait_for_function("document.activeElement === document.querySelector('#text textarea')")
    assert page.evaluate("scrollY") == 0
    phone = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True).new_page()
    phone.goto(served.url)
    phone.locator("#cards .panel > *").first.wait_for()
    phone.wait_for_timeout(500)
    assert phone.evaluate("document.activeElement === document.body && scrollY === 0")  # no keyboard on the screen
    phone.context.close()


def test_a_hostile_caption_is_shown_and_runs_nothing(visit):
    page = visit()
    search(page, "hostile")
    assert page.locator("#cards .words").first.inner_text() == HOSTILE
    assert page.locator("#cards img[src=x]").count() == 0
    search(page, HOSTILE)  # as a query it comes back in the summary
    assert HOSTILE in page.locator("#summary .sentence").inner_text()


def test_results_name_credit_and_license_with_all_of_it_in_the_tooltip(visit):
    page = visit()
    search(page, "mug")
    credit = page.locator("#cards .credit").first
    assert credit.inner_text() == "Ada Example · CC BY 2.0"
    assert credit.get_attribute("title") == "Ada Example\nCC BY 2.0\nhttps://example.org/dog"
    assert 0 < page.locator("#cards .credit").count() < 10, "nothing is shown where nothing is known"


def test_nothing_found_is_said_in_words(visit):
    page = visit()
    search(page, "nothing")
    assert "Nothing found" in page.locator("#cards").inner_text()


def test_a_long_text_unfolds(visit):
    page = visit()
    search(page, "mug")
    text, button = page.locator(".folded").first.element_handle(), page.locator(".more").first
    folded = text.bounding_box()["height"]
    button.click()
    assert button.inner_text() == "Show less" and text.bounding_box()["height"] > folded


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_a_phone_needs_no_sideways_scrolling(visit, theme):
    page = visit(f"/?__theme={theme}", width=390)
    search(page, "mug")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    brightness = page.locator(".card").first.evaluate(
        "card => getComputedStyle(card).backgroundColor.match(/\\d+/g).slice(0, 3).reduce((a, b) => +a + +b)"
    )
    assert (brightness < 384) == (theme == "dark")


def test_one_click_on_an_example_fills_the_form_and_searches(visit, served):
    page = visit()
    page.locator(".example", has_text="Changed").click()
    page.locator("#summary h2", has_text="Changed").wait_for()
    query, _ = served.engine.queries[-1]
    assert page.input_value("#text textarea") == query.text == "in dark blue"
    assert page.input_value("#instruction input") == query.instruction
    page.locator("#picture img").wait_for()
    assert page.locator("#cards .card").count() == 10
    page.click("#go")  # the form holds all that was asked
    page.locator("#summary h2").wait_for(state="detached")
    again, _ = served.engine.queries[-1]
    assert (again.text, again.instruction, again.image.size) == (query.text, query.instruction, query.image.size)


@pytest.mark.slow
def test_an_example_is_picked_with_the_keyboard_and_leaves_no_picture_behind(visit):
    page = visit()
    page.locator(".example", has_text="Changed").press("Enter")
    page.locator("#picture img").wait_for()
    page.locator(".example", has_text="In words").press("Enter")
    page.locator("#summary h2", has_text="In words").wait_for()
    page.locator("#picture img").wait_for(state="detached")


@pytest.mark.parametrize("width, across", [(1280, 3), pytest.param(390, 1, marks=pytest.mark.slow)])
def test_one_picture_under_three_instructions_stands_side_by_side(visit, width, across):
    page = visit(width=width)
    page.locator(".example", has_text="Three ways to ask").click()
    columns = page.locator("#cards .instruction")
    columns.nth(2).wait_for()
    assert columns.count() == 3 and len({column.bounding_box()["x"] for column in columns.all()}) == across
    assert columns.locator("h2").all_inner_texts() == [
        "Find a caption that describes the picture.",
        "Find one like this.",
        "Find its page.",
    ]
    assert page.locator("#generated section").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_examples_shrink_to_one_line_after_a_search_and_unfold(visit):
    page = visit()
    strip, first = page.locator("#examples"), page.locator(".example").first
    before = strip.bounding_box()["height"]
    assert first.locator(".wanted").first.is_visible()
    search(page, "mug")
    assert strip.bounding_box()["height"] < 100 < before and not first.locator(".wanted").first.is_visible()
    unfold = strip.get_by_role("button", name="Show all")
    unfold.click()
    assert first.locator(".wanted").first.is_visible()
    page.locator(".example", has_text="In words").click()  # folds them again
    unfold.wait_for()
    assert not first.locator(".wanted").first.is_visible()


@pytest.mark.slow
def test_a_picture_from_elsewhere_is_answered_with_a_note(visit, photo):
    page = visit()
    page.set_input_files("#picture input[type=file]", photo)
    page.locator("#picture img").wait_for()
    search(page, "far away")
    assert "looks unlike anything in the collection" in page.locator("#summary .far").inner_text()
    assert page.locator("#cards .card").count() == 10
    search(page, "near")
    assert page.locator("#summary .far").count() == 0


def test_a_question_below_an_uploaded_picture_searches_with_one_click(visit, served, photo):
    page = visit()
    assert page.locator("#picture").bounding_box()["y"] < page.locator("#text").bounding_box()["y"]
    assert not page.locator("#quick button").count()
    page.set_input_files("#picture input[type=file]", photo)
    question = page.locator("#quick button").first
    question.press("Enter")
    page.locator("#cards .card").first.wait_for()
    query, _ = served.engine.queries[-1]
    assert query.instruction == f"{question.inner_text()}." == page.input_value("#instruction input")
    assert query.image.size == (256, 256)
    page.get_by_label("Remove").or_(page.get_by_label("Clear")).first.click()
    page.locator("#quick button").first.wait_for(state="detached")

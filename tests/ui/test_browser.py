"""The page as a visitor meets it, in headless Chromium. The `visit` fixture also watches for requests
that leave the machine, scripts that ran, and errors on the console."""

import re

import pytest

from tests.ui.fake_engine import HOSTILE

pytestmark = pytest.mark.browser


def search(page, text):
    page.fill("#text textarea", text)
    page.press("#text textarea", "Enter")
    page.locator("#summary .sentence", has_text=f"“{text}”").wait_for()


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
    assert page.locator("#summary .target").all_inner_texts() == ["Image 0.93", "Text 0.05", "Pair 0.02"]
    card = page.locator("#cards .card").first
    assert re.search(r"\d+ → 1\b", card.inner_text()) and "cosine\n0.412" in card.inner_text()
    assert card.locator(".code").count() == 9
    for image in page.locator("#cards img").all():
        assert image.evaluate("image => image.naturalWidth") > 0 and image.get_attribute("alt")


def test_generated_ids_stand_beside_the_querys_own_with_the_shared_prefix_marked(visit):
    page = visit()
    search(page, "mug")
    own = page.locator("#generated .own .code").all_inner_texts()
    rows = page.locator("#generated tbody tr")
    assert rows.count() > 10
    for row in rows.all()[:10]:
        codes, marked = row.locator(".code").all_inner_texts(), row.locator(".code.shared").count()
        assert codes[:marked] == own[:marked] and codes[marked] != own[marked]


def test_a_suggested_instruction_can_be_picked(visit, served):
    page = visit()
    page.fill("#text textarea", "a dog on a beach")
    page.click("#instruction input")
    page.get_by_role("option").filter(has_text="matches the caption").click()
    page.click("#go")
    page.locator("#cards .card").first.wait_for()
    assert served.engine.queries[-1][0].instruction == "Find an image that matches the caption."


def test_without_re_ranking_no_movement_is_claimed(visit):
    page = visit()
    page.click("#settings button")
    page.get_by_label("Re-rank by embedding").uncheck()
    search(page, "mug")
    assert page.locator("#cards .card").count() == 10 and page.locator("#cards .moved").count() == 0


def test_the_way_to_search_is_chosen_and_its_certificate_shown(visit, served):
    page, note = visit(), "#generated .note"
    search(page, "mug")
    assert served.engine.queries[-1][1].mode == "set" and "roven" not in page.locator(note).inner_text()
    page.click("#settings button")
    page.get_by_label("Exact", exact=True).check()
    for text, words in (("mugs", "Proven: no other valid ID can score higher"), ("cup", "Not proven")):
        search(page, text)
        assert served.engine.queries[-1][1].mode == "exact" and words in page.locator(note).inner_text()
        assert page.locator("#generated .followed").count() == 0
    page.get_by_label("Fast", exact=True).check()
    search(page, "bowl")
    assert "Dashed codes were not decoded" in page.locator(note).inner_text()
    assert page.locator("#generated .followed").count() > 0
    assert "…" in page.locator("#generated tbody").inner_text()


def test_no_query_gets_one_sentence_and_the_page_stays_usable(visit):
    page = visit()
    page.click("#go")
    assert "Type a description, add a picture, or both." in error(page)
    search(page, "mug")
    assert page.locator("#cards .card").count() == 10


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


def test_a_hostile_caption_is_shown_and_runs_nothing(visit):
    page = visit()
    search(page, "hostile")
    assert page.locator("#cards .words").first.inner_text() == HOSTILE
    assert page.locator("#cards img[src=x]").count() == 0
    search(page, HOSTILE)     # as a query it comes back in the summary
    assert HOSTILE in page.locator("#summary .sentence").inner_text()


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


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_phone_needs_no_sideways_scrolling(visit, theme):
    page = visit(f"/?__theme={theme}", width=390)
    search(page, "mug")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    brightness = page.locator(".card").first.evaluate(
        "card => getComputedStyle(card).backgroundColor.match(/\\d+/g).slice(0, 3).reduce((a, b) => +a + +b)")
    assert (brightness < 384) == (theme == "dark")

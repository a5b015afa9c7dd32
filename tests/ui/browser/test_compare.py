"""Compare, as a visitor meets it."""

import pytest

from tests.ui.fake_engine import HOSTILE
from tests.ui.tiny_page import serving

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("compare") / "run") as page:
        yield page


def opened(page):
    page.get_by_role("tab", name="Compare").click()
    page.locator("#compare .empty").wait_for()
    return page


def compare(page, text):
    page.fill("#compare-text textarea", text)
    page.press("#compare-text textarea", "Enter")
    page.locator("#compare .sentence", has_text=f"“{text}”").wait_for()


def test_six_ways_stand_side_by_side_with_their_times_and_agreement(visit):
    page = opened(visit())
    compare(page, "A red dog.")
    names = ["Generation", "Generation + re-rank", "Geometry", "Decoder alone", "faiss flat", "faiss HNSW"]
    assert page.locator("#compare .system h3").all_inner_texts() == names
    assert page.locator("#compare tbody th").all_inner_texts() == names
    for way in page.locator("#compare .system").all():
        assert way.locator(".compare-result").count() == 10
    flat, hnsw = (
        page.locator("#compare .system").nth(at).locator(".compare-result .words").all_inner_texts() for at in (4, 5)
    )
    assert flat == hnsw
    assert page.locator("#compare tbody tr").nth(4).locator("td").nth(6).inner_text() == "100 % ±0.0"


def test_ranks_stand_on_the_same_lines_and_the_table_of_times_fits(visit):
    page = opened(visit())
    compare(page, "A red dog.")
    assert len({way.bounding_box()["y"] for way in page.locator("#compare .system ol").all()}) == 1
    assert page.locator("#compare .scroll").evaluate("table => table.scrollWidth <= table.clientWidth")


def test_a_screen_reader_is_told_words_when_an_answer_has_come(visit):
    page = opened(visit())
    page.fill("#compare-text textarea", "A red dog.")
    page.press("#compare-text textarea", "Enter")
    page.locator(".sr-only", has_text="Done").wait_for(state="attached")


def test_a_comparison_waits_for_the_picture_that_is_being_uploaded(visit, photo):
    page, held = opened(visit()), []
    page.route("**/upload?*", lambda route: held.append(route))
    page.set_input_files("#compare-picture input[type=file]", photo)
    page.locator("#compare-picture .uploading").wait_for()
    page.fill("#compare-text textarea", "A red dog.")
    page.press("#compare-text textarea", "Enter")
    page.locator("#compare-go[data-waiting]").wait_for()
    held[0].continue_()
    page.locator("#compare .sentence", has_text="“A red dog.” and the picture").wait_for()


def test_enter_in_the_instruction_compares(visit):
    page = opened(visit())
    page.fill("#compare-text textarea", "A red dog.")
    page.fill("#compare-instruction input", "zzz")
    page.press("#compare-instruction input", "Enter")
    page.locator("#compare .sentence", has_text="“A red dog.”").wait_for()


@pytest.mark.slow
def test_an_item_is_marked_in_every_column_and_opens_its_card(visit):
    page = opened(visit())
    compare(page, "A red dog.")
    entry = page.locator("#compare .system").nth(4).locator(".compare-result").first
    entry.hover()
    same_items = page.locator("#compare .compare-result.same-item")
    assert same_items.count() >= 2 and len(set(same_items.locator(".words").all_inner_texts())) == 1
    entry.click()
    page.locator("#compare-card .itemcard").wait_for()
    assert page.locator("#compare .compare-result.picked").count() == same_items.count()


@pytest.mark.slow
def test_ranks_are_set_against_those_of_another_way_if_asked(visit):
    page = opened(visit())
    compare(page, "A red dog.")
    flat = page.locator("#compare .system").nth(4)
    assert flat.locator(".moved").count() == 0
    page.select_option("#compare-reference", label="Generation")
    assert flat.locator(".moved").count() == 10
    assert page.locator("#compare .system").nth(0).locator(".moved").count() == 0


def test_the_last_search_can_be_compared(visit):
    page = opened(visit())
    assert page.locator("#compare-last").is_disabled()
    page.get_by_role("tab", name="Search").click()
    page.fill("#text textarea", HOSTILE)
    page.press("#text textarea", "Enter")
    page.locator("#cards .card").first.wait_for()
    page.get_by_role("tab", name="Compare").click()
    page.locator("#compare-last:enabled", has_text=HOSTILE).click()
    page.locator("#compare .sentence", has_text=HOSTILE).wait_for()


@pytest.mark.slow
def test_every_way_keeps_to_a_forced_modality_typed_here_or_in_the_last_search(visit):
    page = opened(visit())
    page.click("#compare-settings button")
    page.locator("#compare-target").get_by_label("Text", exact=True).check()
    compare(page, "A red dog.")
    assert ", texts only, the 6 ways" in page.locator("#compare .sentence").inner_text()
    assert set(page.locator("#compare .compare-result .badge").all_inner_texts()) == {"Text"}
    page.get_by_role("tab", name="Search").click()
    page.click("#settings button")
    page.locator("#target").get_by_label("Pair", exact=True).check()
    page.fill("#text textarea", "A blue boat.")
    page.press("#text textarea", "Enter")
    page.locator("#cards .card").first.wait_for()
    page.get_by_role("tab", name="Compare").click()
    page.locator("#compare-last:enabled", has_text="A blue boat.").click()
    page.locator("#compare .sentence", has_text="“A blue boat.”, pairs only, the 6 ways").wait_for()
    assert set(page.locator("#compare .compare-result .badge").all_inner_texts()) == {"Pair"}


def test_a_picture_can_be_compared_and_a_part_of_it(visit, photo):
    page = opened(visit())
    page.set_input_files("#compare-picture input[type=file]", photo)
    page.locator("#compare-picture img").wait_for()
    page.click("#compare-go")
    page.locator("#compare .sentence", has_text="For the picture, the 6 ways").wait_for()
    page.locator("#compare-part summary").click()
    page.locator("#compare-part").get_by_label("left").fill("50")
    page.locator("#compare-part").get_by_role("button", name="Search this part").click()
    page.locator("#compare .sentence", has_text="For the marked part of the picture").wait_for()


def test_the_field_for_a_picture_says_in_full_what_it_takes(visit):
    prompt = opened(visit()).locator("#compare-picture .prompt")
    assert prompt.inner_text() == "Drop a picture here\nor click to choose one"
    assert prompt.evaluate("text => text.scrollWidth <= text.clientWidth")


@pytest.mark.slow
def test_nothing_typed_gets_one_sentence(visit):
    page = opened(visit())
    page.click("#compare-go")
    toast = page.locator("[data-testid=toast-body]")
    toast.wait_for()
    assert "Type a description" in toast.inner_text()


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_a_phone_needs_no_sideways_scrolling(visit, theme):
    page = visit(f"/?tab=compare&__theme={theme}", width=390)
    page.locator("#compare .empty").wait_for()
    compare(page, "A red dog.")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390

"""Compare, as a visitor meets it."""

import pytest

from tests.ui.browser.actions import open_tab, search, upload
from tests.ui.fake_engine import HOSTILE

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def served(tiny_page):
    return tiny_page


def compare(page, text):
    page.fill("#compare-text textarea", text)
    page.press("#compare-text textarea", "Enter")
    page.locator("#compare .sentence", has_text=f"“{text}”").wait_for()


def test_six_ways_stand_side_by_side_also_for_the_last_search_and_a_part_of_a_picture(visit, photo):
    page = visit()
    open_tab(page, "Compare")
    page.locator("#compare .empty").wait_for()
    assert page.locator("#compare-last").is_disabled()
    compare(page, "A red dog.")
    names = [
        "Generation",
        "Generation + re-rank",
        "Scan",
        "Decoder alone",
        "faiss flat",
        "faiss HNSW",
    ]
    assert page.locator("#compare .system h3").all_inner_texts() == names
    assert page.locator("#compare tbody th").all_inner_texts() == names
    for way in page.locator("#compare .system").all():
        assert way.locator(".compare-result .rank").all_inner_texts() == [
            str(rank) for rank in range(1, 11)
        ]
        boxes = [result.bounding_box() for result in way.locator(".compare-result, .rank").all()]
        assert all(
            card["y"] < rank["y"] < card["y"] + card["height"]
            for card, rank in zip(boxes[::2], boxes[1::2])
        )
    flat, hnsw = (
        page.locator("#compare .system").nth(at).locator(".compare-result .words").all_inner_texts()
        for at in (4, 5)
    )
    assert flat == hnsw
    assert (
        page.locator("#compare tbody tr").nth(4).locator("td").nth(6).inner_text() == "100 % ±0.0"
    )
    open_tab(page, "Search")
    page.locator("#text").wait_for()
    search(page, HOSTILE)
    open_tab(page, "Compare")
    page.locator("#compare-last:enabled", has_text=HOSTILE).click()
    page.locator("#compare .sentence", has_text=HOSTILE).wait_for()
    page.reload()  # the search comes back after the tab was opened
    page.locator("#compare .sentence", has_text=HOSTILE).wait_for()
    upload(page, photo, "#compare-picture")
    page.fill("#compare-text textarea", "A red dog.")
    page.press("#compare-text textarea", "Enter")
    page.locator(
        "#compare .sentence", has_text="For “A red dog.” and the picture, the 6 ways"
    ).wait_for()
    page.locator("#compare-part").get_by_role("button", name="Mark a part").click()
    page.locator("#compare-part summary").click()
    page.locator("#compare-part").get_by_label("left").fill("50")
    page.locator("#compare-part").get_by_role("button", name="Search this part").click()
    page.locator(
        "#compare .sentence", has_text="“A red dog.” and the marked part of the picture"
    ).wait_for()

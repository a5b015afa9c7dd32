"""The page as a visitor meets it, in headless Chromium: the `visit` fixture also watches for
requests that leave the machine, scripts that ran, and errors on the console.
"""

import re

import pytest

from tests.ui.browser.actions import asked, fits, search, shows, upload
from tests.ui.fake_engine import EXAMPLES

pytestmark = pytest.mark.browser


def test_a_picture_and_an_instruction_bring_cards_by_the_way_that_is_chosen(visit, served, photo):
    page = visit("/?numbers=1")
    page.click("#settings summary")
    page.set_input_files("#picture input[type=file]", photo)
    page.locator("#picture img").wait_for()
    page.fill("#instruction input", "Find one like this.")
    page.press("#instruction input", "Enter")
    page.locator("#cards .card").first.wait_for()

    query, options = served.engine.queries[-1]
    assert query.instruction == "Find one like this." and query.image.size == (256, 256)
    assert options.mode == "both" and page.locator("#generated table").count()
    assert page.locator("#cards .card").count() == 10
    assert page.locator("#summary .target").all_inner_texts() == [
        "Image 93 %",
        "Text 5.0 %",
        "Pair 2.0 %",
    ]
    card = page.locator("#cards .card").first
    assert re.search(r"\d+ → 1\b", card.inner_text()) and "similarity\n0.412" in card.inner_text()
    assert card.locator(".code").count() == 9
    for image in page.locator("#cards img").all():
        assert image.evaluate("image => image.naturalWidth") > 0
        beside = image.evaluate("image => Boolean(image.closest('.card.pair'))")
        assert bool(image.get_attribute("alt")) != beside, (
            "a screen reader hears what a picture shows once"
        )
    ids = page.locator("#cards .card .codes")
    assert ids.first.get_attribute("aria-label") == "ID " + ", ".join(
        ids.first.locator(".code").all_inner_texts()
    )
    page.locator("#cards .card button").last.press("Shift+Tab")
    ids.last.focus()
    assert ids.last.get_attribute("aria-describedby") == "hint-card", (
        "described as soon as it has the focus"
    )
    page.locator("#mode").get_by_text("Scan", exact=True).click()
    search(page, "bowl")
    assert (
        served.engine.queries[-1][1].mode == "scan" and not page.locator("#generated table").count()
    )


def test_examples_shrink_to_one_line_after_a_search_and_a_click_on_one_searches(visit, served):
    page = visit("/?results=9")  # so that no other test has asked the same
    strip, first = page.locator("#examples"), page.locator(".example").first
    before = strip.bounding_box()["height"]
    assert first.locator(".wanted").first.is_visible()
    search(page, "mug")
    assert (
        strip.bounding_box()["height"] < 100 < before
        and not first.locator(".wanted").first.is_visible()
    )
    strip.get_by_role("button", name="All ").click()
    assert first.locator(".wanted").first.is_visible()
    page.locator(".example", has_text="Changed").click()
    assert not page.locator(".examples.open").count(), "folds them again"
    page.locator("#summary .titled", has_text="Changed").wait_for()
    query, _ = served.engine.queries[-1]
    assert page.input_value("#text textarea") == query.text == "in dark blue"
    page.click("#settings summary")
    assert page.input_value("#instruction input") == query.instruction
    page.locator("#picture img").wait_for()
    assert page.locator("#cards .card").count() == 9
    page.click("#go")  # the form holds all that was asked
    page.locator("#summary .titled").wait_for(state="detached")
    again, _ = served.engine.queries[-1]
    assert (again.text, again.instruction) == (query.text, query.instruction) and again.image

    page.get_by_label("Remove the picture").click()
    page.locator(".example", has_text="Three ways to ask").click()
    columns = page.locator("#cards .instruction")
    columns.nth(2).wait_for()
    assert columns.locator("h2").all_inner_texts() == [
        asked.instruction for asked in EXAMPLES[0].instructions
    ]
    assert page.locator("#generated section").count() == 0
    for width, across in ((1280, 3), (390, 1)):  # side by side where there is room
        page.set_viewport_size({"width": width, "height": 900})
        assert (
            columns.count() == 3
            and len({column.bounding_box()["x"] for column in columns.all()}) == across
        )
        assert fits(page)


@pytest.mark.slow
def test_a_photo_from_the_camera_is_searched(visit, served):
    page = visit()
    page.context.grant_permissions(["camera"])
    page.hover("#picture")
    page.get_by_role("button", name="Camera").click()
    page.wait_for_function("document.querySelector('.camera video')?.videoWidth > 0")
    page.get_by_role("button", name="Take the picture").click()
    page.locator("#quick button").first.wait_for()
    page.click("#go")
    shows(page, "the picture")
    assert served.engine.queries[-1][0].image.size == (640, 480)


def test_a_search_waits_for_the_picture_that_is_being_uploaded(visit, photo):
    page = visit()
    held = []
    page.fill("#text textarea", "mug")
    page.route("**/upload", lambda route: held.append(route))
    with page.expect_request("**/upload"):
        page.set_input_files("#picture input[type=file]", photo)
    page.locator("#picture[data-preparing]").wait_for()
    page.press("#text textarea", "Enter")
    page.locator("#go[data-waiting]").wait_for()
    page.click("#go")
    page.wait_for_timeout(300)
    assert not page.locator("#summary .sentence").count()
    held[0].continue_()
    shows(page, "“mug” and the picture")
    assert not page.locator("[data-waiting]").count()


def drag(page, under, left, top, right, bottom):
    """Draw a box on the picture; the edges are shares of it."""
    page.get_by_role("button", name="Mark a part").click()
    area = page.locator(f"{under} .part-surface").bounding_box()
    x, y, width, height = (area[name] for name in ("x", "y", "width", "height"))
    page.mouse.move(x + left * width, y + top * height)
    page.mouse.down()
    page.mouse.move(x + right * width, y + bottom * height, steps=3)
    page.mouse.up()


def test_a_question_below_a_picture_searches_with_one_click_and_a_box_drawn_on_it_that_part_alone(
    visit, served, photo
):
    page = visit()
    assert not page.locator("#quick button").count()
    upload(page, photo)
    question = page.locator("#quick button").first
    question.press("Enter")
    page.locator("#cards .card").first.wait_for()
    query, _ = served.engine.queries[-1]
    page.click("#settings summary")
    assert (
        query.instruction == f"{question.inner_text()}." == page.input_value("#instruction input")
    )
    assert query.image.size == (256, 256)
    page.fill("#text textarea", "mug")
    drag(page, "#picture", 0.25, 0.5, 0.75, 1)
    page.locator("#summary .marked img").wait_for()
    query, _ = served.engine.queries[-1]
    assert query.text == "mug" and all(abs(side - 128) <= 3 for side in query.image.size)
    assert page.locator("#picture .part-box").is_visible()
    page.get_by_role("button", name="Whole picture").click()
    page.locator("#summary .marked").wait_for(state="detached")
    assert served.engine.queries[-1][0].image.size == (256, 256)
    assert not page.locator("#picture .part-box").is_visible()
    page.get_by_label("Remove the picture").click()
    page.locator("#quick button").first.wait_for(state="detached")


@pytest.mark.parametrize("how", ["button", pytest.param("dragged", marks=pytest.mark.slow)])
def test_the_picture_of_a_result_becomes_that_of_the_query_until_the_visitor_changes_it(
    visit, served, photo, how
):
    page = visit()
    search(page, words := f"mug {how}")
    card = page.locator("#cards .card.pair").first
    id = card.locator(".item").text_content().removeprefix("item ")
    if how == "button":
        card.hover()
        card.get_by_role("button", name="Use").click()
    else:
        card.locator("img").drag_to(page.locator("#picture"))
    page.locator("#picture img").wait_for()
    shows(page, f"“{words}” and the picture")
    query, _ = served.engine.queries[-1]
    assert query.text == words and query.image is not None
    assert asked(page, "picture") == {"q": words, "picture": id}
    search(page, "in red")
    page.wait_for_url("**q=in+red**")
    assert asked(page, "picture") == {"q": "in red", "picture": id}
    assert not page.locator("#summary .address").count()
    page.get_by_label("Remove the picture").click()
    upload(page, photo)
    page.click("#go")
    page.locator("#summary .address", has_text="does not include your picture").wait_for(
        state="attached"
    )
    assert served.engine.queries[-1][0].image.size == (256, 256)
    page.wait_for_url(lambda url: "picture=" not in url)

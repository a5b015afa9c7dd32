"""The picture of a query in Search, as a visitor meets it."""

import pytest
from PIL import Image

from tests.ui.browser.actions import asked, search, upload

pytestmark = pytest.mark.browser


def test_a_photo_from_the_camera_is_searched(visit, served):
    page = visit()
    page.context.grant_permissions(["camera"])
    page.get_by_label("Capture from camera").click()
    page.get_by_text("Click to Access Webcam").click()
    page.wait_for_function("document.querySelector('#picture video')?.videoWidth > 0")  # before, a click does nothing
    page.get_by_label("capture photo").click()
    page.locator("#quick button").first.wait_for()
    page.click("#go")
    page.locator("#summary .sentence", has_text="the picture").wait_for()
    assert served.engine.queries[-1][0].image.size == (640, 480)


@pytest.mark.parametrize("ask", (lambda page: page.click("#go"), lambda page: page.press("#text textarea", "Enter")))
def test_a_search_waits_for_the_picture_that_is_being_uploaded(visit, photo, ask):
    page, held = visit(), []
    page.route("**/upload?*", lambda route: held.append(route))
    page.fill("#text textarea", "mug")
    page.set_input_files("#picture input[type=file]", photo)
    page.locator("#picture .uploading").wait_for()
    ask(page)
    page.locator("#go[data-waiting]").wait_for()
    page.wait_for_timeout(300)
    assert not page.locator("#summary .sentence").count()
    held[0].continue_()
    page.locator("#summary .sentence", has_text="“mug” and the picture").wait_for()
    assert not page.locator("[data-waiting]").count()


def test_an_upload_that_brings_no_picture_starts_no_search(visit, photo):
    page, held = visit(), []
    page.route("**/upload?*", lambda route: held.append(route))
    page.set_input_files("#picture input[type=file]", photo)
    page.locator("#picture .uploading").wait_for()
    page.click("#go")
    page.locator("#go[data-waiting]").wait_for()
    held[0].fulfill(json=[])
    page.wait_for_function("!document.querySelector('[data-waiting]')")
    assert not page.locator("#summary .sentence").count()


def drag(page, under, left, top, right, bottom):
    """Draw a box on the picture; the edges are shares of it."""
    area = page.locator(f"{under} .part-surface").bounding_box()
    x, y, width, height = (area[name] for name in ("x", "y", "width", "height"))
    page.mouse.move(x + left * width, y + top * height)
    page.mouse.down()
    page.mouse.move(x + right * width, y + bottom * height, steps=3)
    page.mouse.up()


def test_a_box_drawn_on_the_picture_searches_that_part_alone(visit, served, photo):
    page = visit()
    upload(page, photo)
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


def test_an_example_that_is_searched_as_a_whole_removes_the_box_from_its_picture(visit, served):
    page = visit()
    example = page.locator("#examples .example", has_text="Changed")
    example.click()
    page.locator("#summary h2", has_text="Changed").wait_for()
    page.locator("#picture .part-surface").wait_for()
    drag(page, "#picture", 0.25, 0.25, 0.75, 1)
    page.locator("#summary .marked img").wait_for()
    assert page.locator("#picture .part-box").is_visible()
    example.click()
    page.locator("#summary .marked").wait_for(state="detached")
    page.locator("#picture .part-box").wait_for(state="hidden")
    assert served.engine.queries[-1][0].image.size == (300, 200)


@pytest.mark.slow
def test_the_edges_of_the_box_can_be_typed_and_another_picture_removes_it(visit, served, photo, tmp_path):
    page = visit()
    upload(page, photo)
    page.locator("#part summary").press("Enter")
    page.get_by_label("left").fill("90")
    page.get_by_label("right").fill("50")
    page.get_by_label("right").press("Enter")
    page.locator("#part .wrong", has_text="left before right").wait_for()
    page.get_by_label("left").fill("25")
    page.get_by_label("left").press("Enter")
    page.locator("#summary .marked").wait_for()
    assert served.engine.queries[-1][0].image.size == (64, 256)
    page.get_by_label("Remove Image").click()
    page.locator("#part .part").wait_for(state="detached")
    Image.new("RGB", (80, 60), "teal").save(tmp_path / "other.png")
    upload(page, tmp_path / "other.png")
    page.click("#go")
    page.locator("#summary .marked").wait_for(state="detached")
    assert served.engine.queries[-1][0].image.size == (80, 60)


@pytest.mark.slow
def test_a_finger_draws_once_the_visitor_asks_for_it(visit, photo):
    page = visit(width=390)
    upload(page, photo)

    def touched():
        return page.locator("#picture .part-surface").evaluate("one => getComputedStyle(one).touchAction")

    assert touched() == "pan-x pan-y"  # scrolls
    page.get_by_role("button", name="Mark a part").click()
    assert touched() == "none"
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("how", ["button", pytest.param("dragged", marks=pytest.mark.slow)])
def test_the_picture_of_a_result_becomes_that_of_the_query(visit, served, how):
    page = visit()
    search(page, "mug")
    card = page.locator("#cards .card.pair").first
    id = card.locator(".item").inner_text().removeprefix("item ")
    if how == "button":
        card.get_by_role("button", name="Use picture").click()
    else:
        card.locator("img").drag_to(page.locator("#picture"))
    page.locator("#picture img").wait_for()
    page.locator("#summary .sentence", has_text="“mug” and the picture").wait_for()
    query, _ = served.engine.queries[-1]
    assert query.text == "mug" and query.image is not None
    assert asked(page, "picture") == {"q": "mug", "picture": id}


def test_other_words_keep_the_picture_of_a_result_until_the_visitor_changes_it(visit, served, photo):
    page = visit("/?q=in+blue&picture=1:300")
    page.locator("#summary .sentence", has_text="“in blue” and the picture").wait_for()
    search(page, "in red")
    page.wait_for_url("**q=in+red**")
    assert asked(page, "picture") == {"q": "in red", "picture": "1:300"}
    assert not page.locator("#summary .address").count()
    page.get_by_label("Remove Image").click()
    upload(page, photo)
    page.click("#go")
    page.locator("#summary .address", has_text="does not include your picture").wait_for()
    assert served.engine.queries[-1][0].image.size == (256, 256)
    page.wait_for_url(lambda url: "picture=" not in url)

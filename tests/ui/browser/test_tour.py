"""The guided tour and the presenter view, as a visitor meets them."""

import re

import pytest

pytestmark = pytest.mark.browser


def step(page):
    return page.locator("#tour .label").inner_text()


def move(page, name, expected):
    page.locator("#tour").get_by_role("button", name=name).click()
    page.locator("#tour .label", has_text=f"Step {expected} of").wait_for()


def test_the_tour_goes_to_its_end_and_back_and_each_step_has_an_address(visit):
    page = visit()
    page.get_by_role("button", name="Take the tour").click()
    page.locator("#tour .label", has_text="Step 1 of").wait_for()
    last = int(step(page).split()[-1])
    assert last >= 3
    page.locator("#cards .instruction").first.wait_for()
    assert page.locator("#tour .tour-asked").is_visible()  # the page is scrolled past the picture that it asks about
    for number in range(2, last + 1):
        move(page, "Next", number)
        page.wait_for_url(re.compile(rf"\?tour={number}$"))
        assert page.locator("#tour h2").evaluate("heading => heading === document.activeElement")
    assert page.get_by_role("tab", name="Compare", selected=True).count() == 1
    for number in range(last - 1, 0, -1):
        move(page, "Back", number)
    assert page.locator("#tour").get_by_role("button", name="Back").is_disabled()
    page.locator("#cards .instruction").first.wait_for()
    page.locator("#tour h2").press("Escape")
    page.locator("#tour .tour").wait_for(state="detached")
    page.wait_for_function("!location.search.includes('tour')")


def test_an_address_opens_a_step_and_finishing_leaves(visit):
    page = visit("/?tour=2")
    page.locator("#tour .label", has_text="Step 2 of").wait_for()
    page.locator("#summary .sentence", has_text="a dog on a beach").wait_for()
    page = visit("/?tour=99")
    page.locator("#tour .label").wait_for()
    page.locator("#tour").get_by_role("button", name="Finish").click()
    page.locator("#tour .tour").wait_for(state="detached")
    page.wait_for_function("!location.search.includes('tour')")


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_the_tour_fits_on_a_phone_and_runs_by_keyboard(visit, theme):
    page = visit(f"/?tour=1&__theme={theme}", width=390)
    page.locator("#tour .label", has_text="Step 1 of").wait_for()
    last = int(step(page).split()[-1])
    for number in range(2, last + 1):
        page.locator("#tour").get_by_role("button", name="Next").press("Enter")
        page.locator("#tour .label", has_text=f"Step {number} of").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.locator("#tour .tour").bounding_box()["height"] < 450


def test_the_presenter_view_hides_settings_and_keeps_its_address(visit):
    page = visit()
    assert page.locator("#settings").is_visible()
    page.get_by_role("button", name="Presenter view").click()
    for hidden in ("#settings", "#past", ".masthead .facts"):
        assert not page.locator(hidden).is_visible()
    assert not page.get_by_role("tab", name="API").is_visible() and page.get_by_role("tab", name="Map").is_visible()
    page.wait_for_url(re.compile(r"\?present=1$"))
    page.fill("#text textarea", "mug")
    page.press("#text textarea", "Enter")
    page.wait_for_url(re.compile("q=mug"))
    page.reload()
    page.locator("#go").wait_for()
    assert not page.locator("#settings").is_visible()
    page.get_by_role("button", name="Leave presenter view").click()
    assert page.locator("#settings").is_visible() and "present" not in page.url

"""Switching between runs in the header: with the mouse, the keyboard, on a phone, and what stays in
the address.
"""

import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from genius.ui.common.about import About
from tests.ui.browser.actions import fits, open_tab, shows
from tests.ui.fake_engine import EXAMPLES, FakeEngine
from tests.waiting import WAIT

pytestmark = [pytest.mark.browser, pytest.mark.slow]
NAMES = ("photos", "toy world")
ABOUT = About(
    "Photographs",
    ("<img src=x onerror=alert(1)>",),
    ("What is this?", "Find similar pictures."),
    True,
)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Two runs; the second is loaded once `go` is set."""
    from genius.ui.common.context import ServedRun
    from genius.ui.page import Page
    from genius.ui.runs import HostedRun, Hosting
    from genius.ui.serving import serve

    folder = tmp_path_factory.mktemp("runs")
    go = threading.Event()
    (folder / NAMES[0]).mkdir()
    (folder / NAMES[0] / "CREDITS.md").write_text("Ada Example, CC BY 2.0")

    def load_photos():
        return Page(
            FakeEngine(),
            ServedRun(Path(NAMES[0]), examples=EXAMPLES, about=ABOUT, run_names=NAMES, login=True),
        )

    def load_world():
        assert go.wait(WAIT)
        return Page(FakeEngine(), ServedRun(Path(NAMES[1]), "drawings", EXAMPLES, run_names=NAMES))

    server = serve(
        [HostedRun(folder / NAMES[0], load_photos), HostedRun(folder / NAMES[1], load_world)],
        Hosting(port=0),
    )
    yield SimpleNamespace(url=server.address, go=go)
    server.close()


def current(page):
    return page.locator(".runs [aria-current=page]").text_content()


def test_a_run_is_opened_with_the_keyboard_while_it_loads_a_page_says_so(visit, served):
    page = visit()
    assert current(page) == NAMES[0]
    page.get_by_label("Run:").press("Enter")
    page.get_by_role("navigation", name="Run").get_by_role("link", name=NAMES[1]).press("Enter")
    page.wait_for_url("**/run/toy%20world/")
    page.get_by_text(f"Loading the run {NAMES[1]}").wait_for()
    served.go.set()
    page.locator("#go").wait_for()
    assert current(page) == NAMES[1]


def test_on_a_phone_the_runs_and_the_picture_come_first(visit):
    page = visit(width=390)
    assert fits(page)
    parts = [".guides", "#picture", "#text", "#examples", "[role=tablist]"]
    measure = "parts => parts.map(part => document.querySelector(part).getBoundingClientRect().y)"
    guides, picture, text, examples, tabs = page.evaluate(measure, parts)  # at one moment
    assert guides < picture < examples < 300 and text < 200 and tabs > 800


def test_searches_tabs_and_snippets_belong_to_the_run_in_the_address(visit, served):
    served.go.set()
    page = visit("/run/toy%20world/?q=mug")
    shows(page, "“mug”")
    assert page.url.startswith(f"{served.url}/run/toy%20world/?q=mug")
    open_tab(page, "API")
    page.wait_for_url("**/run/toy%20world/?q=mug&tab=api")
    assert f'Client("{served.url}/run/toy%20world")' in page.locator("#api pre").first.inner_text()


def test_about_describes_the_run_and_leads_to_its_credits_and_who_signed_in_may_sign_out(visit):
    page = visit()
    page.get_by_label("More", exact=True).click()
    assert page.get_by_role("link", name="Log out").get_attribute("href") == "logout"
    page.get_by_role("button", name="About this collection").click()
    about = page.locator("#about")
    # its module is loaded when it is first asked for
    about.get_by_role("heading", name="Photographs").wait_for()
    for words in (
        "Photographs",
        "25,471 images",
        "<img src=x",
        "such as “What is this?”",
        "training.folder",
    ):
        assert words in about.inner_text()
    with page.expect_popup() as opened:
        about.get_by_role("link", name="list of credits").click()
    assert "Ada Example" in opened.value.inner_text("body")

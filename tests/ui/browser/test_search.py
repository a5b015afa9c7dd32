"""What the Search tab offers beside a search, the tour and the presenter view, as a visitor meets
them.
"""

import re
import threading

import numpy as np
import pytest

from genius.explore.comparison import SYSTEMS, Comparison, SystemResults
from genius.schema import Reading
from genius.ui.common.formatting import item_view
from genius.ui.search import panel as search_panel
from tests.ui.browser.actions import act, asked, fits, search, shows, upload
from tests.ui.fake_engine import HOSTILE
from tests.ui.test_views import explained as explanation
from tests.ui.test_views import reason_for
from tests.waiting import WAIT

pytestmark = pytest.mark.browser


@pytest.mark.slow
def test_a_slow_example_does_not_replace_what_was_searched_after_it(visit, served, monkeypatch):
    page = visit()
    search_of = served.engine.search
    begun = threading.Event()
    searched = threading.Event()
    ended = []

    def pictures_slowly(queries, *rest):
        if queries[0].image:
            begun.set()
            assert searched.wait(WAIT)
            ended.append(queries[0])
        return search_of(queries, *rest)

    monkeypatch.setattr(served.engine, "search", pictures_slowly, raising=False)
    page.locator("#examples .example").first.click()
    while not begun.is_set():  # what the example fills in would replace words that are typed before
        page.wait_for_timeout(100)
    search(page, "mug")
    searched.set()
    while not ended:
        page.wait_for_timeout(100)
    page.wait_for_timeout(1000)
    assert (
        "“mug”" in page.locator("#summary .sentence").inner_text()
        and page.input_value("#text textarea") == "mug"
    )
    assert not page.locator("#picture img").count()


def test_enter_in_the_instruction_searches_for_what_was_written_and_not_while_it_is_composed(
    visit, served
):
    page = visit()
    page.click("#settings summary")
    field, before = page.locator("#instruction input"), len(served.engine.queries)
    page.fill("#text textarea", "a mug")
    field.fill("zzz")
    field.evaluate(
        "field => field.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', "
        "isComposing: true, bubbles: true}))"
    )
    page.wait_for_timeout(500)
    assert len(served.engine.queries) == before
    field.press("Enter")
    shows(page, "“a mug”")
    assert served.engine.queries[-1][0].instruction == "zzz"


def test_a_search_is_saved_as_a_page_that_opens_offline_and_runs_nothing(visit, photo, tmp_path):
    page = visit()
    upload(page, photo)
    search(page, "hostile")
    with page.expect_download() as saving:
        page.locator("#summary .menu summary").click()
        page.locator("#summary").get_by_role("button", name="HTML").click()
    file = tmp_path / saving.value.suggested_filename
    saving.value.save_as(file)
    offline = page.context.browser.new_context(offline=True)
    alone = offline.new_page()
    asked = []
    dialogs = []
    alone.on("request", lambda request: asked.append(request.url))
    alone.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    alone.goto(file.as_uri())
    assert (
        alone.locator(".cards > li").count() == 10
        and HOSTILE in alone.locator(".cards").inner_text()
    )
    for image in alone.locator("img").all():
        assert image.evaluate("image => image.naturalWidth") > 0
    assert [url for url in asked if not url.startswith("data:")] == [file.as_uri()] and not dialogs
    alone.set_viewport_size({"width": 390, "height": 800})
    assert alone.evaluate("document.documentElement.scrollWidth") <= 390
    offline.close()


def test_the_id_changes_as_the_weight_moves_from_the_query_to_a_result(visit, served, monkeypatch):
    told = explanation(reason_for((2, 7), rank=1)) | {
        "plain": "",
        "tree": {"data": [], "layout": {}},
        "prefixes": [],
    }
    shown = {
        "item": item_view(served.engine.index.item(0)),
        "group": {"prefix": "0", "codes": 1, "items": "1"},
    }
    # the made-up engine traces nothing
    monkeypatch.setattr(search_panel, "explained", lambda *_: told | shown)
    page = visit()
    search(page, "mug")
    act(page, 0, "Blend")
    page.locator("#blend .blend").wait_for()
    weight = page.locator("#blend-weight")
    best, told = page.locator("#blend p.best .code"), page.locator("#blend .way output")
    assert told.inner_text() == "0.50"
    seen = set()
    for place in (0, 7, 13, 20):
        weight.fill(str(place))
        seen.add(tuple(best.all_inner_texts()))
        assert page.locator("#blend .row li").count() == 6
    assert told.inner_text() == "0.00" and len(seen) > 2
    weight.press("ArrowLeft")
    assert told.inner_text() == "0.05"
    page.locator("#blend summary").click()
    assert page.locator("#blend tbody tr").count() == 21
    page.locator("#announcer", has_text="Blend of the query with ").wait_for(state="attached")
    page.locator("#blend").get_by_role("button", name="Close").click()
    page.locator("#blend .blend").wait_for(state="detached")

    pair = page.locator("#cards .card.pair").first
    id = pair.get_attribute("data-id")
    words = pair.locator(".title :not(.rank)").text_content()
    pair.hover()
    pair.get_by_role("button", name="Similar").click()
    page.locator("#summary .titled", has_text=f"Like “{words[:40]}").wait_for()
    query, _ = served.engine.queries[-1]
    assert query.text == words == page.input_value("#text textarea") and query.instruction == ""
    page.locator("#picture img").wait_for()
    assert asked(page, "item") == {"item": id}


def test_the_history_outlives_a_reload_asks_again_and_is_shared_by_the_tabs_of_a_browser(
    visit, photo
):
    page = visit()
    with page.context.expect_page() as opening:
        page.evaluate("open(location)")
    other, entries = opening.value, "#history .entry"
    other.locator("#cards .empty, #cards .card").first.wait_for()
    other.click("#past summary")
    search(page, "mug")
    page.set_input_files("#picture input[type=file]", photo)
    page.locator("#picture img").wait_for()
    search(page, "cup")
    other.locator(entries, has_text="“cup”").wait_for()  # where it is open, it follows
    search(other, "bowl")
    other.locator(entries).nth(2).wait_for()
    other.close()
    page.reload()
    # which its address repeats
    shows(page, "“cup”")
    page.click("#past summary")
    page.locator(entries).nth(2).wait_for()
    shown = page.locator(entries).all_inner_texts()
    assert [text.split("\n")[0] for text in shown] == ["“cup” and the picture", "“bowl”", "“mug”"]
    assert "a picture that was not kept" in shown[0]
    assert "the pictures that you uploaded do not" in page.locator("#history").inner_text()
    page.locator(entries).nth(2).click()
    shows(page, "“mug”")
    assert page.input_value("#text textarea") == "mug"


def step(page):
    return page.locator("#tour .label").inner_text()


def move(page, name, expected):
    page.locator("#tour").get_by_role("button", name=name).click()
    page.locator("#tour .label", has_text=f"Step {expected} of").wait_for()


def test_the_tour_goes_to_its_end_and_back_walks_out_of_it_also_on_a_phone(visit, monkeypatch):
    found = [
        SystemResults(system, np.arange(3), np.linspace(0.5, 0.3, 3), {"search": 1.0})
        for system in SYSTEMS
    ]
    # the made-up engine has nothing to compare
    monkeypatch.setattr(Comparison, "search", lambda *_: found)
    monkeypatch.setattr(Comparison, "built", True)
    page = visit()
    search(page, "mug")
    page.get_by_role("button", name="Tour").click()
    page.locator("#tour .label", has_text="Step 1 of").wait_for()
    last = int(step(page).split()[-1])
    assert last >= 3
    page.locator("#cards .instruction").first.wait_for()
    # the page is scrolled past the picture that it asks about
    assert page.locator("#tour .tour-asked").is_visible()
    for number in range(2, last + 1):
        move(page, "Next", number)
        page.wait_for_url(re.compile(rf"[?&]tour={number}(&|$)"))
        page.wait_for_function("document.activeElement.matches('#tour h2')")
    assert page.get_by_role("tab", name="Codes", selected=True).count() == 1
    move(page, "Back", last - 1)
    page.locator("#tour").get_by_role("button", name="Next").press("Enter")
    page.locator("#tour .label", has_text=f"Step {last} of").wait_for()
    page.wait_for_url(f"**tour={last}*")
    page.set_viewport_size({"width": 390, "height": 900})
    for number in (last - 1, *range(last, 0, -1)):
        page.go_back()
        page.locator("#tour .label", has_text=f"Step {number} of").wait_for()
        assert fits(page)
        assert page.locator("#tour .tour").bounding_box()["height"] < 450
    assert page.locator("#tour").get_by_role("button", name="Back").is_disabled()
    page.locator("#cards .instruction").first.wait_for()
    page.locator("#tour h2").press("Escape")
    page.locator("#tour .tour").wait_for(state="detached")
    page.wait_for_function("!location.search.includes('tour')")
    page.go_back()
    page.locator("#tour .label", has_text="Step 1 of").wait_for()
    page.go_back()
    page.locator("#tour .tour").wait_for(state="detached")
    shows(page, "“mug”")


def test_two_clicks_on_back_at_once_lead_two_steps_back(visit):
    page = visit("/?tour=1")
    page.locator("#tour .label", has_text="Step 1 of").wait_for()
    for number in (2, 3):
        move(page, "Next", number)
        page.wait_for_url(re.compile(rf"[?&]tour={number}(&|$)"))
    page.evaluate(
        "addEventListener('popstate', () => history.back(), {once: true}); history.back()"
    )
    page.locator("#tour .label", has_text="Step 1 of").wait_for()
    page.wait_for_timeout(1000)
    assert step(page).startswith("Step 1 of") and "tour=1" in page.url


@pytest.mark.slow
def test_the_presenter_view_hides_settings_and_keeps_its_address(visit):
    page = visit()
    assert page.locator("#settings").is_visible()
    page.get_by_label("More", exact=True).click()
    page.get_by_role("button", name="Presenter view").click()
    for hidden in ("#settings", "#past", ".facts"):
        assert not page.locator(hidden).is_visible()
    assert (
        not page.get_by_role("tab", name="API").is_visible()
        and page.get_by_role("tab", name="Map").is_visible()
    )
    page.wait_for_url(re.compile(r"[?&]present=1"))
    page.fill("#text textarea", "mug")
    page.press("#text textarea", "Enter")
    page.wait_for_url(re.compile("q=mug"))
    page.reload()
    page.locator("#go").wait_for()
    assert not page.locator("#settings").is_visible()
    page.get_by_label("More", exact=True).click()
    page.get_by_role("button", name="Leave presenter view").click()
    assert page.locator("#settings").is_visible() and "present" not in page.url


def test_a_click_searches_for_another_reading(visit, served, monkeypatch):
    answer = served.engine.answer

    def read(query, options, seed=7):
        result = answer(query, options, seed)
        name = query.reading or "photo"
        probabilities = {"photo": 0.9, "entry": 0.06, "page": 0.03, "paraphrase": 0.01}
        object.__setattr__(
            result, "reading", Reading(name, probabilities, "a street", "<b>cars</b>")
        )
        return result

    monkeypatch.setattr(served.engine, "answer", read, raising=False)
    page = visit()
    search(page, "a street without cars")
    line = page.locator("#summary .asked")
    assert line.inner_text().startswith(
        "read as Photographs · left out: <b>cars</b> · instead: What it is, Picture and text"
    )
    line.locator("button", has_text="Picture and text").click()
    page.locator("#summary .asked b", has_text="Picture and text").wait_for()
    assert served.engine.queries[-1][0].reading == "page"
    page.wait_for_function("new URL(location).searchParams.get('reading') === 'page'")

"""What the Search tab offers beside a search, as a visitor meets it."""

import json
import re
import threading
import time

import pytest

from genius.ui.search import blend
from tests.ui.browser.actions import asked, search, upload
from tests.ui.fake_engine import HOSTILE
from tests.waiting import WAIT

pytestmark = pytest.mark.browser


def act(page, place, name):
    """Use a button of the card at that place."""
    page.locator("#cards .card").nth(place).get_by_role("button", name=name).click()


def blended(page, place):
    act(page, place, "Blend")
    page.locator("#blend .blend").wait_for()
    return page.locator("#blend-weight")


@pytest.mark.slow
def test_a_threshold_dims_weaker_results_without_another_search(visit, served):
    page = visit()
    search(page, "mug")
    before, told = len(served.engine.queries), page.locator(".threshold output")
    assert told.inner_text() == "off" and page.locator(".card.weak").count() == 0
    page.locator("#least").fill("0.37")
    assert told.inner_text() == "0.37: 3 of 10 reach it" and page.locator(".card.weak").count() == 7
    search(page, "cup")
    assert page.locator(".card.weak").count() == 7  # it stays
    page.locator("#least").fill("0.9")
    assert told.inner_text() == "0.90: none of 10 reach it"
    assert len(served.engine.queries) == before + 1


def slowed(function):
    def slow(*given, **named):
        time.sleep(1)
        return function(*given, **named)

    return slow


def test_of_several_quick_searches_the_last_is_shown(visit, served, monkeypatch):
    page = visit()
    monkeypatch.setattr(served.engine, "search", slowed(served.engine.search), raising=False)
    for text in ("One.", "Two.", "Three."):
        page.fill("#text textarea", text)
        page.press("#text textarea", "Enter")
    page.locator("#summary .sentence", has_text="“Three.”").wait_for()


def test_the_server_is_asked_when_the_kind_of_query_changes_and_not_at_each_keystroke(visit):
    page, sent = visit(), []
    page.on("request", lambda one: sent.append(one.url) if "/run/" in one.url or "/queue/join" in one.url else None)
    with page.expect_response("**/run/predict"):
        page.type("#text textarea", "a red dog", delay=50)
    page.wait_for_timeout(500)
    assert len(sent) == 1
    with page.expect_response("**/run/predict"):
        page.fill("#text textarea", "")
    page.wait_for_timeout(500)
    assert len(sent) == 2


def test_a_slow_example_does_not_replace_what_was_searched_after_it(visit, served, monkeypatch):
    page = visit()
    search_of, begun, searched, ended = served.engine.search, threading.Event(), threading.Event(), []

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
    assert "“mug”" in page.locator("#summary .sentence").inner_text() and page.input_value("#text textarea") == "mug"
    assert not page.locator("#picture img").count()


def test_enter_in_the_instruction_searches_for_what_was_written_and_not_while_it_chooses(visit, served):
    page = visit()
    field, before = page.locator("#instruction input"), len(served.engine.queries)
    page.fill("#text textarea", "a mug")  # the first words reorder the list, before the choice or while it is open
    field.click()
    field.press("ArrowDown")
    field.press("Enter")
    page.wait_for_function("document.querySelector('#instruction input').value")
    page.wait_for_timeout(500)
    assert len(served.engine.queries) == before
    field.fill("zzz")
    field.evaluate(
        "field => field.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', isComposing: true, bubbles: true}))"
    )
    page.wait_for_timeout(500)
    assert len(served.engine.queries) == before
    field.press("Enter")
    page.locator("#summary .sentence", has_text="“a mug”").wait_for()
    assert served.engine.queries[-1][0].instruction == "zzz"


def test_enter_after_an_arrow_does_not_search_where_the_list_forgot_what_the_arrow_reached(visit, served):
    page = visit()
    field, before = page.locator("#instruction input"), len(served.engine.queries)
    page.fill("#text textarea", "a mug")
    field.click()
    field.press("ArrowDown")
    field.evaluate("field => field.removeAttribute('aria-activedescendant')")  # as when the list is filled anew
    field.press("Enter")
    page.wait_for_timeout(500)
    assert len(served.engine.queries) == before


def test_of_several_quick_clicks_the_last_counts(visit, served, monkeypatch):
    """Gradio repeats an event that came while another was answered, with the data of that other one."""
    page = visit()
    search(page, "A red dog.")
    rows, clicked, interpolate = [], threading.Event(), blend.interpolate

    def once_all_are_clicked(*given, **caller):
        rows.append(given[3])
        assert clicked.wait(WAIT)
        return interpolate(*given, **caller)

    monkeypatch.setattr(blend, "interpolate", once_all_are_clicked)
    for place in range(3):
        act(page, place, "Blend")
    clicked.set()
    for _ in range(600):  # in which the first and the last are answered
        page.wait_for_timeout(100)
        if len(rows) == 2:
            break
    last = page.locator("#cards .card").nth(2).locator(".item").inner_text()
    assert len(rows) == 2 and served.engine.index.items([rows[-1]])[0].id in last


def test_a_result_becomes_the_query(visit, served):
    page = visit()
    search(page, "mug")
    pair = page.locator("#cards .card.pair").first
    id, words = (pair.locator(part).inner_text() for part in (".item", ".words"))
    pair.get_by_role("button", name="More like this").click()
    page.locator("#summary h2", has_text=f"Like “{words[:40]}").wait_for()
    query, _ = served.engine.queries[-1]
    assert query.text == words == page.input_value("#text textarea") and query.instruction == ""
    page.locator("#picture img").wait_for()
    assert asked(page, "item") == {"item": id.removeprefix("item ")}


@pytest.mark.slow
def test_a_picture_that_is_the_query_or_part_of_a_blend_keeps_its_credit(visit, served):
    page = visit()
    search(page, "mug")
    credited = page.locator("#cards .card").filter(has=page.locator(".credit")).first
    credited.get_by_role("button", name="Blend").click()
    page.locator("#blend .blend").wait_for()
    assert page.locator("#blend .end .credit").inner_text() == "Ada Example · CC BY 2.0"
    assert 0 < page.locator("#blend .row .credit").count() <= 6
    credited.get_by_role("button", name="More like this").click()
    page.locator("#summary h2", has_text="Like ").wait_for()
    assert page.locator("#summary .credit").inner_text() == "Ada Example · CC BY 2.0"


def test_a_search_is_saved_as_a_page_that_opens_offline_and_runs_nothing(visit, photo, tmp_path):
    page = visit()
    upload(page, photo)
    search(page, "hostile")
    with page.expect_download() as saving:
        page.locator(".tools").get_by_role("button", name="HTML").click()
    file = tmp_path / saving.value.suggested_filename
    saving.value.save_as(file)
    offline = page.context.browser.new_context(offline=True)
    alone, asked, dialogs = offline.new_page(), [], []
    alone.on("request", lambda request: asked.append(request.url))
    alone.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    alone.goto(file.as_uri())
    assert alone.locator(".cards > li").count() == 10 and HOSTILE in alone.locator(".cards").inner_text()
    for image in alone.locator("img").all():
        assert image.evaluate("image => image.naturalWidth") > 0
    assert [url for url in asked if not url.startswith("data:")] == [file.as_uri()] and not dialogs
    alone.set_viewport_size({"width": 390, "height": 800})
    assert alone.evaluate("document.documentElement.scrollWidth") <= 390
    offline.close()


def test_the_id_changes_as_the_weight_moves_from_the_query_to_a_result(visit):
    page = visit()
    search(page, "mug")
    weight = blended(page, 4)
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
    focused = page.locator("#cards .card").nth(4).get_by_role("button", name="Blend")
    assert focused.evaluate("button => button === document.activeElement")


@pytest.mark.slow
def test_another_search_closes_the_blend(visit):
    page = visit()
    search(page, "mug")
    blended(page, 0)
    search(page, "cup")
    page.locator("#blend .blend").wait_for(state="detached")


@pytest.mark.slow
def test_the_target_modality_can_be_forced(visit, served):
    page = visit()
    page.click("#settings button")
    page.locator("#target").get_by_label("Text", exact=True).check()
    search(page, "mug")
    assert served.engine.queries[-1][1].modality.name == "TEXT"
    assert (
        "Only texts were searched; the probabilities are those for any kind."
        in page.locator("#summary .only").inner_text()
    )
    page.locator("#target").get_by_label("Any").check()
    search(page, "cup")
    assert served.engine.queries[-1][1].modality is None and page.locator("#summary .only").count() == 0


def test_the_history_outlives_a_reload_and_asks_again(visit, served, photo):
    page = visit()
    search(page, "mug")
    page.set_input_files("#picture input[type=file]", photo)
    page.locator("#picture img").wait_for()
    search(page, "cup")
    entries = page.locator("#history .entry")
    page.click("#past button")
    entries.nth(1).wait_for()
    page.reload()
    page.locator("#cards .empty").wait_for()
    page.click("#past button")
    entries.nth(1).wait_for()
    assert [text.split("\n")[0] for text in entries.all_inner_texts()] == ["“cup”", "“mug”"]
    assert "a picture that was not kept" in entries.first.inner_text()
    assert "the pictures that you uploaded do not" in page.locator("#history").inner_text()
    entries.nth(1).click()
    page.locator("#summary .sentence", has_text="“mug”").wait_for()
    assert served.engine.queries[-1][0].text == page.input_value("#text textarea") == "mug"


def test_tabs_of_one_browser_share_the_history(visit, served):
    page = visit()
    with page.context.expect_page() as opening:
        page.evaluate("open(location)")
    other = opening.value
    other.locator("#cards .panel > *").first.wait_for()
    other.click("#past button")
    for text in ("bowl", "mug"):
        search(page, text)
    other.locator("#history .entry", has_text="“mug”").wait_for()  # where it is open, it follows
    search(other, "cup")
    entries = "#history .entry"
    other.locator(entries).nth(2).wait_for()
    other.close()
    page.reload()
    page.locator("#summary .sentence", has_text="“mug”").wait_for()  # which its address repeats
    page.click("#past button")
    page.locator(entries).nth(2).wait_for()
    assert [text.split("\n")[0] for text in page.locator(entries).all_inner_texts()] == ["“mug”", "“cup”", "“bowl”"]


@pytest.mark.slow
def test_results_are_saved_as_csv_and_json(visit):
    page = visit()
    search(page, "mug")
    for label, count in (
        ("CSV", lambda text: text.count("“mug”")),
        ("JSON", lambda text: len(json.loads(text)["searches"][0]["results"])),
    ):
        with page.expect_download() as saving:
            page.locator(".tools").get_by_role("button", name=label).click()
        saved = saving.value
        assert saved.suggested_filename == f"genius-results.{label.lower()}"
        assert count(saved.path().read_text(encoding="utf-8")) == 10


@pytest.mark.parametrize(
    "address, text, title", [("/?q=a+mug&instruction=Find+one.", "a mug", ""), ("/?item=1:300", "", "Like the picture")]
)
def test_an_address_asks(visit, served, address, text, title):
    page = visit(address)
    page.locator("#summary .sentence").wait_for()
    query, _ = served.engine.queries[-1]
    assert query.text == text == page.input_value("#text textarea")
    assert [found.inner_text() for found in page.locator("#summary h2").all()] == [title] * bool(title)
    assert (query.image is None) == (not title) and query.instruction == ("" if title else "Find one.")


def test_an_address_with_an_unknown_tab_opens_search_and_is_followed(visit):
    page = visit("/?tab=nonsense&q=mug")
    page.locator("#summary .sentence", has_text="“mug”").wait_for()
    assert page.locator("#search").is_visible()
    page.wait_for_url(re.compile(r"/\?q=mug$"))


@pytest.mark.slow
def test_the_address_follows_what_is_asked_but_for_pictures(visit, photo):
    page = visit()
    search(page, "mug")
    page.wait_for_url(re.compile(r"\?q=mug$"))
    page.set_input_files("#picture input[type=file]", photo)
    page.locator("#picture img").wait_for()
    search(page, "cup")
    page.wait_for_function("!location.search")


def test_hostile_items_run_nothing_as_queries_in_blends_or_in_the_history(visit):
    page = visit()
    search(page, "hostile")
    blended(page, 0)
    search(page, HOSTILE)
    page.click("#past button")
    page.locator("#history .entry", has_text=HOSTILE).wait_for()
    search(page, "hostile")
    act(page, 0, "More like this")
    page.locator("#summary", has_text="Like ").wait_for()


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_a_blend_fits_on_a_phone(visit, theme):
    page = visit(f"/?__theme={theme}", width=390)
    search(page, "mug")
    blended(page, 1)
    page.click("#past button")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390

"""Codes, as a visitor meets them, over a tiny run whose captions try to run scripts."""

import re

import pytest

from genius.explore.code_search import CodeSearch
from tests.ui.browser.actions import search

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def served(tiny_page):
    return tiny_page


@pytest.fixture
def opened(visit):
    def open_tab(path="/", width=1280):
        page = visit(path, width)
        page.get_by_role("tab", name="Codes").click()
        shown(page, "40 items")
        return page

    return open_tab


def shown(page, items):
    page.locator("#codes-summary h2", has_text=re.compile(f"^{items}$")).wait_for()


def ask(page, pattern):
    page.fill("#codes-pattern textarea, #codes-pattern input", pattern)
    page.press("#codes-pattern textarea, #codes-pattern input", "Enter")


def crumbs(page):
    return page.locator("#codes-summary .crumbs li").all_inner_texts()


def expected(served, pattern):
    """How the page says how many items match."""
    items = sum(
        all(code is None or code == own[level] for level, code in enumerate(pattern))
        for own in served.engine.index.codes(range(40)).tolist()
    )
    return f"{items} item" + "s" * (items != 1)


def test_a_pattern_brings_its_items_one_of_which_becomes_the_query_and_the_address_says_so(opened, served):
    page = opened("/?theme=kept")
    own = served.engine.index.codes([4])[0].tolist()
    ask(page, f"{own[0]} - * - {own[2]}")
    items = expected(served, (own[0], None, own[2]))
    shown(page, items)
    assert crumbs(page) == ["all", f"{own[0]} Text", "*", str(own[2])]
    assert page.input_value("#codes-pattern textarea, #codes-pattern input") == f"{own[0]} · * · {own[2]}"
    assert page.locator("#codes-items .tile").count() == int(items.split()[0])
    page.wait_for_url(f"**/?theme=kept&tab=codes&code={own[0]}.*.{own[2]}*")
    page.locator("#codes-items .tile").first.click()
    card = page.locator("#codes-card .itemcard")
    card.wait_for()
    page.locator("#announcer", has_text=card.get_attribute("aria-label")).wait_for(state="attached")
    page.locator("#codes-card .use").click()
    page.get_by_role("tab", name="Search", selected=True).wait_for()
    page.locator("#cards .card").first.wait_for()


def test_back_returns_to_the_results_from_which_a_code_was_opened(visit):
    page = visit("/?numbers=1")
    search(page, "A red dog.")
    page.wait_for_url("**q=A+red+dog*")
    page.locator("#strip .generation").wait_for()
    code = page.locator("#cards .card .code").nth(1)
    prefix = code.get_attribute("data-prefix")
    code.click()
    page.get_by_role("tab", name="Codes", selected=True).wait_for()
    page.wait_for_url(f"**tab=codes&code={prefix}")
    page.go_back()
    page.get_by_role("tab", name="Search", selected=True).wait_for()
    page.wait_for_url("**q=A+red+dog*")
    assert page.locator("#cards .card").first.is_visible()
    page.go_forward()
    page.get_by_role("tab", name="Codes", selected=True).wait_for()
    page.wait_for_url("**tab=codes&code=*")


def test_a_wrong_address_says_so_and_leaves_a_page_whose_icicle_is_walked_by_keys_and_re_rooted(visit, served):
    page = visit("/?item=nowhere&tab=codes&code=hello")
    for told in ("'hello' is not a code", "There is no item 'nowhere'"):
        page.locator("[data-testid=toast-body]", has_text=told).wait_for()
    shown(page, "40 items")
    page.locator("#codes-icicle button[aria-label*=';']").first.wait_for()  # drawn again, with words
    page.locator("#codes-icicle button").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    focused = page.locator("#codes-icicle button:focus")
    key = focused.get_attribute("data-key")
    focused.press("Enter")
    shown(page, expected(served, [int(key)]))
    assert page.locator("#codes-icicle button").first.get_attribute("data-key") == key
    page.locator("#codes-icicle .depth1 > button").first.click()
    page.wait_for_function("document.querySelectorAll('#codes-summary .crumbs li').length === 3")
    page.locator("#codes-summary .crumbs button").first.click()
    shown(page, "40 items")


@pytest.mark.slow
def test_health_opens_with_its_tables(opened):
    page = opened()
    page.get_by_role("button", name="How well each level is used").click()
    page.locator("#codes-health tbody tr").first.wait_for()
    assert page.locator("#codes-health table").count() == 2


def test_a_code_is_found_opened_noted_and_embedded(opened, served, monkeypatch):
    page = opened(width=390)
    page.fill("#codes-words textarea, #codes-words input", "red boat")
    page.press("#codes-words textarea, #codes-words input", "Enter")
    found = page.locator("#codes-found .found")
    found.first.wait_for()
    page.locator("#announcer", has_text="codes").wait_for(state="attached")
    key = found.first.get_attribute("data-key")
    found.first.click()
    page.wait_for_url(f"**code={key}*")
    page.locator("#codes-near .found").first.wait_for()
    assert page.locator(f"#codes-near [data-key='{key}']").count() == 0
    page.locator("#codes-summary summary", has_text="A note to copy").click()
    note = page.locator("#codes-summary textarea").input_value()
    assert note.endswith(f"{served.url}/?tab=codes&code={key}") and "items" in note
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    monkeypatch.setattr(CodeSearch, "by_chance", lambda self: (0,))
    page.get_by_role("button", name="A random one").click()
    page.wait_for_url("**code=0")
    page.goto(f"{served.url}/?tab=codes&code={key}&embed=1")
    page.locator("#codes-near .found").first.wait_for()
    for part in ("#header", "#tabs > .tab-wrapper", "footer", "#codes-ask"):
        assert not page.locator(part).is_visible()

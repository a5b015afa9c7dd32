"""Codes, as a visitor meets them, over a tiny run whose captions try to run scripts."""

import re

import pytest

from genius.explore.code_search import CodeSearch
from tests.ui.browser.actions import chosen, fits, open_tab, search

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def served(tiny_page):
    return tiny_page


@pytest.fixture
def opened(visit):
    def open_page(path="/", width=1280):
        page = visit(path, width)
        open_tab(page, "Codes")
        shown(page, "40 items")
        return page

    return open_page


def shown(page, items):
    page.locator("#codes-summary h2", has_text=re.compile(f"^{items}")).wait_for()


def ask(page, pattern):
    page.fill("#codes-pattern input", pattern)
    page.press("#codes-pattern input", "Enter")


def crumbs(page):
    return page.locator("#codes-summary .crumbs li").all_inner_texts()


def expected(served, pattern):
    """How the page says how many items match."""
    items = sum(
        all(code is None or code == own[level] for level, code in enumerate(pattern))
        for own in served.engine.index.codes(range(40)).tolist()
    )
    return f"{items} item" + "s" * (items != 1)


def test_a_pattern_brings_its_items_one_of_which_becomes_the_query_and_the_address_says_so(
    opened, served
):
    page = opened("/?other=kept")
    own = served.engine.index.codes([4])[0].tolist()
    ask(page, f"{own[0]} - * - {own[2]}")
    items = expected(served, (own[0], None, own[2]))
    shown(page, items)
    assert crumbs(page) == ["all", f"{own[0]} Text", "*", str(own[2])]
    field = page.locator("#codes-pattern input")
    assert field.input_value() == f"{own[0]} · * · {own[2]}"
    assert field.evaluate("field => field === document.activeElement")
    assert page.locator("#codes-items .tile").count() == int(items.split()[0])
    page.wait_for_url(f"**/?other=kept&tab=codes&code={own[0]}.*.{own[2]}")
    page.locator("#codes-items .tile").first.click()
    card = page.locator("#codes-card .itemcard")
    card.wait_for()
    page.locator("#announcer", has_text=card.get_attribute("aria-label")).wait_for(state="attached")
    card.get_by_role("button", name="Use as query").click()
    chosen(page, "Search")
    page.locator("#cards .card").first.wait_for()


def test_back_returns_to_the_results_from_which_a_code_was_opened(visit):
    page = visit("/?numbers=1")
    search(page, "A red dog.")
    page.wait_for_url("**q=A+red+dog*")
    page.locator("#strip .generation").wait_for()
    code = page.locator("#cards .card .code").nth(1)
    prefix = code.get_attribute("data-prefix")
    code.click()
    chosen(page, "Codes")
    page.wait_for_url(f"**code={prefix}*")
    page.go_back()
    chosen(page, "Search")
    page.wait_for_url("**q=A+red+dog*")
    assert page.locator("#cards .card").first.is_visible()
    page.go_forward()
    chosen(page, "Codes")
    page.wait_for_url(f"**code={prefix}*")


def test_a_wrong_address_says_so_and_leaves_all_codes(visit):
    page = visit("/?tab=codes&code=hello")
    page.get_by_text("'hello' is not a code").first.wait_for()
    shown(page, "40 items")
    page = visit("/?item=nowhere")
    page.get_by_text("There is no item 'nowhere'").first.wait_for()


def test_the_codes_around_an_open_one_are_a_key_away(opened, served):
    page = opened()
    codes = served.engine.index.codes(range(40))
    page.locator("#codes-main .code-card").first.click()
    page.wait_for_function("document.querySelectorAll('#codes-summary .crumbs li').length === 2")
    page.locator("#codes-summary section").focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_function("document.querySelectorAll('#codes-summary .crumbs li').length === 3")
    child = [int(code) for code in re.search(r"code=([\d.]+)", page.url)[1].split(".")]
    shown(page, expected(served, child))
    siblings = sorted(set(codes[codes[:, 0] == child[0], 1].tolist()))
    for key, step in (("ArrowRight", 1), ("ArrowLeft", -1)):
        place = siblings.index(child[1]) + step
        if 0 <= place < len(siblings):
            page.keyboard.press(key)
            page.wait_for_url(f"**code={child[0]}.{siblings[place]}*")
            page.go_back()
            page.wait_for_url(f"**code={child[0]}.{child[1]}*")
            page.locator("#codes-summary section").focus()
    page.keyboard.press("ArrowUp")
    page.wait_for_url(re.compile(rf"code={child[0]}(&|$)"))


@pytest.mark.slow
def test_health_opens_with_its_tables(opened):
    page = opened()
    page.get_by_text("How well each level is used").click()
    page.locator("#codes-health tbody tr").first.wait_for()
    assert page.locator("#codes-health table").count() == 2


def test_a_code_is_found_opened_noted_and_embedded(opened, served, monkeypatch):
    page = opened(width=390)
    page.fill("#codes-words input[type=search]", "red boat")
    page.press("#codes-words input[type=search]", "Enter")
    found = page.locator("#codes-found .found")
    found.first.wait_for()
    page.locator("#announcer", has_text="codes").wait_for(state="attached")
    assert "means=red+boat" in page.url
    key = found.first.get_attribute("data-key")
    found.first.click()
    page.wait_for_url(f"**code={key}*")
    page.locator("#codes-near .found").first.wait_for()
    assert page.locator(f"#codes-near [data-key='{key}']").count() == 0
    page.locator("#codes-summary summary", has_text="A note to copy").click()
    note = page.locator("#codes-summary textarea").input_value()
    assert note.endswith(f"{served.url}/?tab=codes&code={key}") and "items" in note
    assert fits(page)
    monkeypatch.setattr(CodeSearch, "by_chance", lambda self: (0,))
    page.get_by_role("button", name="A random code").click()
    page.wait_for_url(re.compile(r"code=0(&|$)"))
    page.goto(f"{served.url}/?tab=codes&code={key}&embed=1")
    page.locator("#codes-near .found").first.wait_for()
    for part in ("#header", "#tabs", "#codes-ask", "#codes-plays"):
        assert page.locator(part).count() and not page.locator(part).is_visible()


def test_a_picture_is_guessed_one_code_after_the_other(visit):
    page = visit("/?tab=codes&play=guess&guess=0:0")
    steps = page.locator(".steps li")
    steps.first.wait_for()
    assert steps.count() == 1 and "40 possible" in steps.first.inner_text()
    page.get_by_role("button", name="Show the next code").click()
    steps.nth(1).wait_for()
    assert "1st code: the kind" in steps.nth(1).inner_text()
    page.get_by_role("button", name="I know it").click()
    page.locator(".answer", has_text="You saw 1 of").wait_for()
    page.get_by_role("button", name="Another picture").click()
    page.locator(".answer").wait_for(state="detached")
    steps.nth(1).wait_for(state="detached")
    assert re.search(r"guess=0(%3A|:)\d", page.url)


def test_one_code_is_changed_and_the_first(visit, served):
    codes = ".".join(map(str, served.engine.index.codes([0])[0].tolist()))
    page = visit(f"/?tab=codes&play=change&code={codes}&level=1")
    page.locator(".changes").nth(1).locator("li").first.wait_for()
    own = page.locator(".play-chips [aria-pressed=true]").inner_text()
    assert own == codes.split(".")[1]
    page.locator(".play-chips button").nth(1).click()
    page.wait_for_url("**level=2*")
    page.locator(".play-chips [aria-pressed=true]", has_text=codes.split(".")[2]).wait_for()
    page.locator(".changes").first.locator("button[data-prefix]").first.click()
    page.locator("#codes-summary h2").wait_for()
    assert "play=" not in page.url

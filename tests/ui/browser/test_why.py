"""Why, as a visitor meets it, over a tiny run that was not trained."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from genius.search.engine import Engine
from genius.ui.search import why as why_view
from tests.search.tiny import publish_tiny_run
from tests.ui.browser.actions import search

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SETTLED = """async selector => {    // it lies still for ten frames
  const part = document.querySelector(selector);
  for (let last, still = 0; still < 10;) {
    await new Promise(requestAnimationFrame);
    const {top} = part.getBoundingClientRect();
    still = top === last ? still + 1 : 0;
    last = top;
  }
}"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """engine, page, url: a page over a real engine, whose searches leave a trace."""
    from genius.ui.common.context import ServedRun
    from genius.ui.page import build
    from genius.ui.runs import HostedRun
    from genius.ui.serving import Hosting, serve

    engine = Engine.load(publish_tiny_run(tmp_path_factory.mktemp("why") / "run").path, "cpu")
    page = build(engine, ServedRun(Path("tiny")))
    server = serve([HostedRun(Path("tiny"), lambda: page)], Hosting(port=0))
    yield SimpleNamespace(engine=engine, page=page, url=server.address)
    server.close()


def explained(page, rank=1):
    """The panel, open, for the result of this rank."""
    page.locator("#cards .card").nth(rank - 1).get_by_role("button", name="Why?").click()
    page.locator("#why h2", has_text=f"Why result {rank}").wait_for()
    page.locator("#why-tree .main-svg").first.wait_for()
    return page.locator("#why")


def test_why_opens_for_a_result_and_follows_the_next_search(visit, served):
    page = visit()
    assert not page.locator("#why-open").is_visible()
    sent = []  # names of the callbacks that were asked for
    page.on(
        "request",
        lambda one: sent.append(served.page.fns[one.post_data_json["fn_index"]].name) if "/join" in one.url else None,
    )
    search(page, "A red dog.")
    assert not page.locator("#why").is_visible()
    page.wait_for_timeout(500)
    # a closed panel asks for nothing; the strip asks for names that were not ready
    assert sent in (["on_search"], ["on_search", "on_names"])
    why = explained(page, rank=2)
    assert why.locator("h2 .label").inner_text().strip() in page.locator("#cards .card").nth(1).inner_text()
    assert why.locator(".identity").count() == 3 and why.locator(".identity").first.locator("button").count() == 4
    assert re.search(r"Its ID is number \d+ of the \d+ .*\(score −?[\d.]+, log p −\d+\.\d\d", why.inner_text())
    search(page, "A blue boat.")
    why.locator("h2", has_text="Why result 1").wait_for()


def test_the_bars_of_the_ranker_begin_in_the_middle_of_their_column_and_end_in_it(visit, monkeypatch):
    bars = [{"name": f"part {bar}", "share": str(bar), "bar": bar} for bar in (1.0, -1.0, 0.5)]
    monkeypatch.setattr(why_view, "shares", lambda hit: bars)
    page = visit()
    search(page, "A red dog.")
    drawn = (
        explained(page)
        .locator(".shares")
        .evaluate("""table => [...table.querySelectorAll('.share')].map(cell => {
      const {left, width} = cell.getBoundingClientRect(), bar = cell.firstChild.getBoundingClientRect();
      return [(bar.left - left) / width, (bar.right - left) / width];
    })""")
    )
    assert drawn == [pytest.approx(ends, abs=0.02) for ends in ((0.5, 1), (0, 0.5), (0.5, 0.75))]


def test_why_comes_into_view_however_often_the_same_result_is_asked_about(visit):
    page = visit()
    search(page, "A red dog.")
    for _ in range(2):
        page.keyboard.press("Home")  # unlike the wheel, it is handled before the next step
        page.wait_for_function("scrollY < 100")  # the browser scrolls along where the page above grows
        explained(page, rank=2)
        page.wait_for_function("Math.abs(document.querySelector('#why-open').getBoundingClientRect().top) < 2")


def test_what_is_brought_into_view_comes_there_while_the_page_grows(visit):
    page = visit()
    search(page, "A red dog.")
    page.wait_for_timeout(1_000)  # all pictures are there
    page.evaluate("""() => {
        genius.reveal(document.getElementById('why-open'));
        setTimeout(() => { document.getElementById('summary').style.minHeight = '300px'; }, 100);
    }""")
    page.wait_for_timeout(1_500)
    assert page.evaluate("document.documentElement.scrollHeight - innerHeight - scrollY") < 2  # as low as the page ends


def test_marked_codes_are_those_that_two_ids_share_from_the_start(visit):
    page = visit()
    search(page, "A red dog.")
    for rank in (1, 3):
        rows = explained(page, rank).locator(".identity")
        own, best, _ = (rows.nth(row).locator(".code").all_inner_texts() for row in range(3))
        marked = rows.nth(1).locator(".code.shared").count()
        assert (
            own[:marked] == best[:marked] and own[marked : marked + 1] != best[marked : marked + 1]
        ) or marked == len(own)


def test_a_click_on_a_point_of_the_tree_opens_its_prefix_in_codes(visit):
    page = visit()
    search(page, "A red dog.")
    explained(page)
    page.evaluate(SETTLED, "#why-open")
    page.locator("#why-tree").scroll_into_view_if_needed()
    prefix, x, y = page.locator("#why-tree .js-plotly-plot").evaluate("""plot => {
        const [point] = plot.calcdata.find(([first]) => first.trace.customdata);
        const {xaxis, yaxis} = plot._fullLayout, box = plot.getBoundingClientRect();
        return [point.trace.customdata[0], box.left + xaxis._offset + xaxis.d2p(point.x),
                box.top + yaxis._offset + yaxis.d2p(point.y)]; }""")
    page.mouse.move(x - 20, y)
    page.mouse.move(x, y)
    page.wait_for_timeout(400)  # plotly looks what lies below
    page.mouse.click(x, y)
    page.get_by_role("tab", name="Codes", selected=True).wait_for()
    page.wait_for_url(f"**code={prefix}*")


def test_a_click_on_a_bar_of_what_the_trie_masked_does_nothing(visit):
    page = visit()
    search(page, "A red dog.")
    explained(page)
    page.evaluate(SETTLED, "#why-open")
    page.locator("#why-tree").scroll_into_view_if_needed()
    x, y = page.locator("#why-tree .js-plotly-plot").evaluate("""plot => {
        const bars = plot.calcdata.find(([first]) => first.trace.type === 'bar'), {xaxis, yaxis2} = plot._fullLayout;
        const tallest = bars.reduce((a, b) => a.y > b.y ? a : b), box = plot.getBoundingClientRect();
        return [box.left + xaxis._offset + xaxis.d2p(tallest.x),
                box.top + yaxis2._offset + yaxis2.d2p(tallest.y / 2)]; }""")
    page.mouse.move(x - 20, y)
    page.mouse.move(x, y)
    page.locator("#why-tree .hovertext", has_text="ruled out (masked)").wait_for()
    page.mouse.click(x, y)
    page.wait_for_timeout(1_000)
    page.get_by_role("tab", name="Search", selected=True).wait_for()
    assert page.locator(".toast-body").count() == 0


def test_the_table_says_what_the_tree_shows_and_opens_codes_too(visit):
    page = visit()
    search(page, "A red dog.")
    explained(page)
    page.locator("#why-rows > button").click()
    rows = page.locator("#why-prefixes tbody tr")
    rows.first.wait_for()
    drawn = page.locator("#why-tree .js-plotly-plot").evaluate(
        "plot => plot.data.flatMap(trace => trace.customdata ?? []).sort()"
    )
    told = sorted(".".join(row.locator(".code").all_inner_texts()) for row in rows.all())
    assert drawn == told
    page.locator("#why-every input").check()
    page.locator("#why-every input:checked").wait_for()  # all are drawn already
    rows.first.locator("button").press("Enter")
    page.get_by_role("tab", name="Codes", selected=True).wait_for()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_phone_needs_no_sideways_scrolling_and_themes_are_followed(visit, theme):
    page = visit(f"/?__theme={theme}", width=390)
    search(page, "A red dog.")
    explained(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.wait_for_function(
        """dark => {
        const ink = getComputedStyle(document.querySelector('#why-tree .xtick text')).fill.match(/\\d+/g);
        return ink && (ink.slice(0, 3).reduce((a, b) => +a + +b) > 384) === dark; }""",
        arg=theme == "dark",
    )

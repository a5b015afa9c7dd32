"""No text of a run, of a visitor or of a file's name runs a script: every tab in headless Chromium."""

import io
from types import SimpleNamespace

import pytest
from PIL import Image

from genius.search.engine import Engine
from tests.hostile.security.hostile_texts import FOLDER, SHORT, TEXTS, publish

pytestmark = pytest.mark.browser
SEEN = """() => [document.body.innerText, ...[...document.querySelectorAll('*')].flatMap(one =>
    [one.value, one.title, one.ariaLabel, one.tagName === 'text' ? one.textContent : ''])].join('\\n')"""


@pytest.fixture(scope="module")
def browser():
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    from training.benchmarks.chromium import chromium

    with chromium() as running:
        if running is None:
            pytest.skip("no Chromium on this machine")
        yield running


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    from genius.ui.common.context import ServedRun
    from genius.ui.page import build
    from genius.ui.runs import HostedRun
    from genius.ui.serving import Hosting, serve

    run = publish(tmp_path_factory.mktemp("scripts"))
    served = ServedRun.read(run, editable=True, run_names=(FOLDER, "other"))
    server = serve([HostedRun(run, lambda: build(Engine.load(run, "cpu"), served))], Hosting(port=0))
    yield server.address
    server.close()


@pytest.fixture
def visit(browser, url, counts):
    """visit(tab) opens a tab. At the end no script ran, nothing left the page, and all the texts were shown there."""
    made = []

    def opened(tab):
        context = browser.new_context(viewport={"width": 1400, "height": 1000})
        page = context.new_page()
        page.set_default_timeout(120_000)  # a busy machine is slow, not wrong
        visitor = SimpleNamespace(page=page, context=context, ran=[], foreign=[], seen=set())
        made.append(visitor)
        context.expose_binding("ran", lambda source, number: visitor.ran.append(number))
        page.on("dialog", lambda dialog: (visitor.ran.append(dialog.message), dialog.dismiss()))
        context.on("page", lambda other: visitor.ran.append(f"a window: {other.url}"))
        page.on("request", lambda request: note(visitor, request.url))
        page.goto(f"{url}/?tab={tab}")
        page.locator("[role=tab][aria-selected=true]").first.wait_for()
        return visitor

    def note(visitor, address):
        if not address.startswith((url, "data:", "blob:")):
            visitor.foreign.append(address)

    yield opened
    for visitor in made:
        look(visitor)
        ran, foreign, address = list(visitor.ran), list(visitor.foreign), visitor.page.url
        visitor.context.close()
        assert not ran and not foreign and address.startswith(url)
        counts("security", "blocked", len(visitor.seen))


def look(visitor):
    """Note which texts the page shows, and touch what could be touched."""
    visitor.page.wait_for_timeout(300)  # for scripts that run later
    shown = " ".join(visitor.page.evaluate(SEEN).split())
    visitor.seen |= {text for text in TEXTS if " ".join(text.split()) in shown}
    found = visitor.page.locator("img[src=x], iframe, svg[onload], [onfocus], [ontoggle], base[href^=javascript]").all()
    assert not found, [element.evaluate("one => one.outerHTML") for element in found]


def every(visitor):
    look(visitor)
    assert visitor.seen == set(TEXTS), sorted(set(TEXTS) - visitor.seen)


def picture():
    stream = io.BytesIO()
    Image.new("RGB", (40, 30), (200, 30, 90)).save(stream, "PNG")
    return stream.getvalue()


def files():
    return [{"name": f"{text}.png", "mimeType": "image/png", "buffer": picture()} for text in SHORT]


def test_the_search_tab(visit):
    visitor = visit("search")
    page = visitor.page
    page.locator("details.about summary").click()
    every(visitor)
    page.locator("#examples .example").nth(3).click()
    page.locator("#cards .card").first.wait_for()
    look(visitor)
    page.set_input_files("#picture input[type=file]", files()[0])
    page.locator("#picture img").wait_for()
    page.locator(".quick button").first.click()
    page.locator("#summary .sentence", has_text="picture").first.wait_for()
    for text in TEXTS:
        page.fill("#text textarea", text)
        page.press("#text textarea", "Enter")
        page.locator("#summary .sentence", has_text=text[:40]).first.wait_for()
    page.click("#past button")
    page.locator("#history .entry", has_text=TEXTS[1]).first.wait_for()
    look(visitor)


def test_the_reason_of_a_result(visit):
    visitor = visit("search")
    page = visitor.page
    page.fill("#text textarea", TEXTS[3])
    page.press("#text textarea", "Enter")
    page.locator("#cards .card").first.wait_for()
    page.locator("#cards .card").first.get_by_role("button", name="Why?").click()
    page.locator("#why-tree .main-svg").first.wait_for()
    look(visitor)


def test_the_codes_tab(visit):
    visitor = visit("codes")
    page = visitor.page
    page.locator("#codes-items .tile").first.wait_for()
    tiles = page.locator("#codes-items .tile").count()
    look(visitor)
    for at in range(tiles):
        page.locator("#codes-items .tile").nth(at).click()
        page.locator("#codes-card .itemcard").wait_for()
        look(visitor)
    page.fill("#codes-pattern textarea, #codes-pattern input", TEXTS[4][:60])
    page.press("#codes-pattern textarea, #codes-pattern input", "Enter")
    page.locator("[data-testid=toast-body]").first.wait_for()
    for key in ("1", "2"):
        page.fill("#codes-pattern textarea, #codes-pattern input", key)
        page.press("#codes-pattern textarea, #codes-pattern input", "Enter")
        page.locator("#codes-summary h2", has_text="20 items").wait_for()
        look(visitor)
    every(visitor)


def test_the_map_tab(visit):
    visitor = visit("map")
    page = visitor.page
    page.locator("#map-figure .legendtext").first.wait_for()
    page.locator("#map-settings > button").click()
    page.click("#map-color input")
    page.locator("#map-color").get_by_role("option", name="Dataset").click()
    page.get_by_role("button", name="The map as a table").click()
    page.locator("#map-table .pick").nth(len(TEXTS) - 1).wait_for()
    box = page.locator("#map-figure .nsewdrag").bounding_box()
    for x in range(1, 24):  # over points, whose texts are then told
        for y in (0.2, 0.5, 0.8):
            page.mouse.move(box["x"] + box["width"] * x / 24, box["y"] + box["height"] * y)
    for name in range(len(TEXTS)):
        page.locator("#map-table .pick").nth(name).click()
        page.wait_for_timeout(200)
    every(visitor)


def test_the_compare_tab(visit):
    visitor = visit("compare")
    page = visitor.page
    for text in TEXTS:
        page.fill("#compare-text textarea", text)
        page.press("#compare-text textarea", "Enter")
        page.locator("#compare .sentence", has_text=text[:40]).wait_for()
        look(visitor)
    page.locator("#compare .compare-result").first.click()
    page.locator("#compare-card .itemcard").wait_for()
    every(visitor)


def test_the_reports_tab(visit):
    visitor = visit("reports")
    page = visitor.page
    page.locator("#reports-health .report").wait_for()
    for name in ("hits", "times", "speed", "training", "hostile"):
        page.locator(f"#reports-{name}-body button.label-wrap").first.click()
    page.locator("#reports-hostile-table td", has_text=TEXTS[2]).first.wait_for()
    page.locator("#reports-hits-plot-0 .main-svg").first.wait_for()
    every(visitor)


def test_the_collection_tab(visit):
    visitor = visit("collection")
    page = visitor.page
    page.locator("#collection-contents table").wait_for()
    page.set_input_files("#collection-pictures input[type=file]", files())
    page.locator("#collection-pictures").get_by_text("onerror").first.wait_for()
    look(visitor)
    page.fill("#collection-texts textarea", "\n".join(TEXTS[: len(SHORT)]))
    page.click("#collection-go")
    page.locator("#collection-outcome .title").wait_for()
    page.locator("#collection-added .added").first.wait_for()
    every(visitor)


def test_the_api_tab_and_the_credits(visit, url):
    visitor = visit("api")
    visitor.page.locator("#api .endpoint").first.wait_for()
    look(visitor)
    visitor.page.goto(f"{url}/credits")
    every(visitor)

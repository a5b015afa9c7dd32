"""No text of a run, of a visitor or of a file's name runs a script: every tab in headless Chromium.

All texts of the run try it: captions, facts, ids, instructions, names, titles, examples, reports.
Each script that gets through calls `ran(number)`.
"""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from genius.collections.keys import id_key
from genius.explore.map_data import PART, Maps, Moved, Region, View
from genius.reports import Axis, Column, Plot, Report, Series, Table
from genius.schema import Item, Modality
from genius.search.engine import Engine
from genius.ui.common.context import ServedRun
from genius.ui.page import Page
from tests.hostile.test_inputs import PHOTO, saved
from tests.search import tiny
from tests.ui.browser.actions import act
from tests.ui.tiny_page import hosted

pytestmark = pytest.mark.browser
TEXTS = (
    "<script>ran(0)</script>",
    "<img src=x onerror=ran(1)>",
    "<svg onload=ran(2)><path/></svg>",
    "\"'><img src=x onerror=ran(3)>",
    "</script><script>ran(4)</script>",
    "</textarea></style></title><img src=x onerror=ran(5)>",
    "${ran(6)} {{constructor.constructor('ran(6)')()}} <%= ran(6) %>",
    '[click](javascript:ran(7)) ![x](x"onerror="ran(7))',
    "<iframe srcdoc='<script>parent.ran(9)</script>'></iframe>",
    "<details open ontoggle=ran(10)>x</details>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=x "
    "onerror=ran(11)&gt;'>",
    "\\u003cimg src=x onerror=ran(13)\\u003e \\x3cscript>ran(13)\\x3c/script>",
    "<base href=javascript:ran(14)//><meta http-equiv=refresh content='0;url=javascript:ran(14)'>",
    "$$\\href{javascript:ran(15)}{x}$$ \\(\\htmlData{x=1}{<img src=x onerror=ran(15)>}\\)",
    "<form action=javascript:ran(16)><button autofocus onfocus=ran(16)>x</button></form>",
    "%{customdata}<b onmouseover=ran(19)>x</b><extra></extra><a href='javascript:ran(19)' "
    "target=_self>x</a>",
)
FOLDER = TEXTS[1]  # the name of the run's folder, which has no slash
ITEMS = 3 * len(TEXTS)
FILES = [
    {"name": f"{text}.png", "mimeType": "image/png", "buffer": saved(PHOTO, "PNG")}
    for text in TEXTS
    if "/" not in text
]
ELEMENTS = "img[src=x], iframe, svg[onload], [onfocus], [ontoggle], base[href^=javascript]"
SEEN = """() => [document.body.innerText, ...[...document.querySelectorAll('*')].flatMap(node =>
    [node.value, node.title, node.ariaLabel,
     node.tagName === 'text' ? node.textContent : ''])].join('\\n')"""


def items(number, pictures):
    """Pictures, texts and pairs in turn, three with each text, each text as a dataset of its
    own.
    """
    made = []
    for at in range(ITEMS):
        text = TEXTS[at // 3]
        modality = Modality(at % 3)
        image = None if modality is Modality.TEXT else f"{at}.png"
        if image:
            noise = np.random.default_rng(at).integers(0, 255, (8, 8, 3), dtype=np.uint8)
            Image.fromarray(noise).resize((40, 30)).save(pictures / image)
        facts = json.dumps(dict.fromkeys(("kind", "credit", "licence", "origin", "color"), text))
        made.append(
            Item(
                f"{at // 3}:{at}",
                modality,
                "" if modality is Modality.IMAGE else text,
                image,
                facts,
            )
        )
    return made


def maps(ids):
    keys = np.sort([id_key(item) for item in ids])
    size = len(ids)
    places = np.random.default_rng(3).uniform(-1, 1, (2, size, 2)).astype(np.float32)
    views = (View(0, size), View(tiny.LEVELS, size, (Moved(0, 0.5, 1, 2),)))
    regions = tuple(
        Region(0, None, (text[:100],), size, size, ids[at]) for at, text in enumerate(TEXTS)
    )
    return Maps(
        views, places, keys, regions, np.arange(size) % len(regions), dict(enumerate(TEXTS))
    )


def report(text):
    table = Table(
        text, [Column(text), Column("hits", text)], [[other, 1.0] for other in TEXTS], text
    )
    plot = Plot(text, "lines", Axis(text), Axis(text, text), [Series(text, [1.0, 2.0], [0.5, 0.7])])
    return Report(text, " ".join(TEXTS), text, text, [table], [plot])


def publish(folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiny, "tiny_items", items)
        patch.setattr(
            tiny,
            "INSTRUCTIONS",
            [(query, Modality.IMAGE, text) for query in Modality for text in TEXTS],
        )
        run = tiny.publish_tiny_run(folder / FOLDER)
    ids = [f"{at // 3}:{at}" for at in range(ITEMS)]
    run.publish(PART, maps(ids).save, ("fusion", "quantizer", "index"))
    about = {
        "title": TEXTS[0],
        "paragraphs": TEXTS[:8],
        "ask": TEXTS[8:12],
        "ask_with_text": TEXTS[12:13],
    }
    run.record(collection=TEXTS[13], about=about)
    (run.path / "CREDITS.md").write_text("\n".join(TEXTS))
    asked = [
        {"title": text, "text": text, "asked": [{"instruction": text, "target": "image"}]}
        for text in TEXTS
    ]
    (run.path / "examples").mkdir()
    (run.path / "examples" / "examples.json").write_text(json.dumps(asked))
    for number, text in enumerate(TEXTS[:3]):
        report(text).save(run.path / "reports" / f"{number}.json")
    return run.path


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    run = publish(tmp_path_factory.mktemp("scripts"))
    served = ServedRun.read(run, editable=True, run_names=(FOLDER, "other"))
    with hosted(Page(Engine.load(run, "cpu"), served), run) as server:
        yield server.address


@pytest.fixture
def visit(browser, url):
    """visit(tab) opens a tab. At the end no script ran, and nothing was asked of another
    machine.
    """
    visitors = []

    def opened(tab):
        context = browser.new_context(viewport={"width": 1400, "height": 1000})
        page = context.new_page()
        page.set_default_timeout(120_000)  # a busy machine is slow, not wrong
        visitor = SimpleNamespace(page=page, context=context, ran=[], seen=set())
        visitors.append(visitor)
        context.expose_binding("ran", lambda source, number: visitor.ran.append(number))
        page.on("dialog", lambda dialog: (visitor.ran.append(dialog.message), dialog.dismiss()))
        context.on("page", lambda window: visitor.ran.append(f"a window: {window.url}"))
        page.on(
            "request",
            lambda request: (
                request.url.startswith((url, "data:", "blob:")) or visitor.ran.append(request.url)
            ),
        )
        page.goto(f"{url}/?tab={tab}")
        page.locator("[role=tab][aria-selected=true]").first.wait_for()
        return visitor

    yield opened
    for visitor in visitors:
        look(visitor)
        address = visitor.page.url
        visitor.context.close()
        assert not visitor.ran and address.startswith(url)


def look(visitor):
    """Note which texts the page shows, none of them as an element."""
    visitor.page.wait_for_timeout(300)  # for scripts that run later
    shown = " ".join(visitor.page.evaluate(SEEN).split())
    visitor.seen |= {text for text in TEXTS if " ".join(text.split()) in shown}
    elements = visitor.page.locator(ELEMENTS).all()
    assert not elements, [element.evaluate("node => node.outerHTML") for element in elements]


def all_are_shown(visitor):
    look(visitor)
    assert visitor.seen == set(TEXTS), sorted(set(TEXTS) - visitor.seen)


def test_the_search_tab(visit):
    visitor = visit("search&numbers=1")
    page = visitor.page
    page.get_by_label("More", exact=True).click()
    page.get_by_role("button", name="About this collection").click()
    page.locator("#examples .all").click()
    all_are_shown(visitor)
    page.locator("#examples .example").nth(3).click()
    page.locator("#cards .card").first.wait_for()
    look(visitor)
    page.set_input_files("#picture input[type=file]", FILES[0])
    page.locator("#picture img").wait_for()
    for text in TEXTS:
        page.fill("#text textarea", text)
        page.press("#text textarea", "Enter")
        page.locator("#summary .sentence", has_text=text[:40]).first.wait_for(state="attached")
    look(visitor)
    act(page, 0, "Why?")
    page.locator("#why-tree").scroll_into_view_if_needed()
    page.locator("#why-tree .main-svg").first.wait_for()


def test_the_codes_tab(visit):
    visitor = visit("codes")
    page = visitor.page
    for key in ("", "1", "2"):
        if key:
            page.fill("#codes-pattern textarea, #codes-pattern input", key)
            page.press("#codes-pattern textarea, #codes-pattern input", "Enter")
            page.locator("#codes-summary h2", has_text=f"{len(TEXTS)} items").wait_for()
        page.locator("#codes-items .tile").first.wait_for()
        look(visitor)
    page.locator("#codes-items .tile").first.click()
    page.locator("#codes-card .itemcard").wait_for()
    all_are_shown(visitor)


def test_the_map_tab(visit):
    visitor = visit("map&color=dataset")
    page = visitor.page
    page.locator("#map-stage[data-ready]").wait_for()
    page.locator(".map-name").first.wait_for()
    look(visitor)
    page.locator("#map-settings").get_by_text("Keep only").click()
    all_are_shown(visitor)  # as names of data sets, many also as those of regions
    page.locator("nav .map-entry", has_text=TEXTS[1]).click()
    page.locator("#map-panel h2", has_text=TEXTS[1]).wait_for()
    look(visitor)
    for text in TEXTS:
        page.fill("#map-find input", text)
        page.press("#map-find input", "Enter")
        page.locator("#map-panel h2", has_text=text[:40]).wait_for()
    look(visitor)
    page.locator("#map-panel .tile").first.click()
    page.locator("#map-panel .itemcard").wait_for()


def test_the_compare_tab(visit):
    visitor = visit("compare")
    page = visitor.page
    for text in TEXTS:
        page.fill("#compare-text textarea", text)
        page.press("#compare-text textarea", "Enter")
        page.locator("#compare .sentence", has_text=text[:40]).wait_for()
        look(visitor)
    all_are_shown(visitor)


def test_the_reports_tab(visit):
    visitor = visit("reports")
    page = visitor.page
    page.locator("#reports-panel", has_text=TEXTS[0]).wait_for()
    for _ in range(2):  # a fold is filled when it is opened
        page.evaluate(
            "document.querySelectorAll('#reports-panel details').forEach(fold => fold.open = true)"
        )
        page.wait_for_timeout(500)
    page.locator("#reports-panel td", has_text=TEXTS[2]).first.wait_for()
    all_are_shown(visitor)


def test_the_collection_tab(visit):
    visitor = visit("collection")
    page = visitor.page
    page.locator("#collection-contents table").wait_for()
    page.set_input_files("#collection-pictures input[type=file]", FILES)
    page.locator("#collection-pictures").get_by_text("onerror").first.wait_for()
    look(visitor)
    page.fill("#collection-texts textarea", "\n".join(TEXTS[: len(FILES)]))
    page.click("#collection-go")
    page.locator("#collection-added .added").first.wait_for()
    all_are_shown(visitor)


def test_the_api_tab_and_the_credits(visit, url):
    visitor = visit("api")
    visitor.page.locator("#api .endpoint").first.wait_for()
    look(visitor)
    visitor.page.goto(f"{url}/credits")
    all_are_shown(visitor)

"""How long a served page takes to answer a search, and its controls to show what they change, in Chromium.

    python app.py
    python -m training.benchmarks.page_controls [http://127.0.0.1:7860]

A search is timed from the click on Search until its results are shown, each on a page that was just opened; a picture
has been uploaded before, which the page encodes while its visitor still writes. Editing is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from urllib.request import urlopen

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Page

from genius.errors import UserError, exit_on_user_error
from genius.evaluation.arguments import command_parser
from genius.ui.common.context import TABS
from training.benchmarks.chromium import NO_BROWSER, chromium
from training.distributed import expect_one_process

ADDRESS = "http://127.0.0.1:7860"
TEXTS = ("a red tulip", "two dogs on a beach", "a bowl of fruit")
CHANGES = ("in blue", "at night", "drawn by a child")  # of a picture
SIDES = 1_200, 900  # pixels of an uploaded picture
ASKED = "/?q=two+red+cars&instruction=Find+an+everyday+image+that+shows+what+the+caption+says."
REST = 1_000  # milliseconds between two uses, so that the first has ended

# Milliseconds from a use until the second frame after an element first changed, was shown, or had its figure drawn.
TIMED = """([use, where, effect]) => new Promise((resolve, reject) => {
  const part = document.querySelector(where), start = performance.now();
  const late = setTimeout(() => reject(new Error(`nothing changed in ${where}`)), 60000);
  const changed = () => requestAnimationFrame(() => requestAnimationFrame(() => {
    clearTimeout(late);
    resolve(performance.now() - start);
  }));
  const look = () => document.querySelector(where)?.checkVisibility() ? changed() : requestAnimationFrame(look);
  if (effect === 'drawn') part.querySelector('.figure-host').once('plotly_afterplot', changed);
  else if (effect === 'shown') look();
  else {
    const watch = new MutationObserver(() => { watch.disconnect(); changed(); });
    const all = {childList: true, subtree: true, attributes: true, characterData: true};
    watch.observe(part.querySelector(':scope > .html-container .panel') ?? part, all);    // not signs of progress
  }
  new Function(use)();
})"""


@dataclass(frozen=True)
class Control:
    """A control of the page, and where its effect shows."""

    tab: str
    name: str
    where: str  # selector of what it changes
    uses: tuple[str, ...]  # scripts, each a use
    effect: str = "changed"  # or drawn, of a figure, or shown
    ready: str = ""  # selector that must exist before
    before: str = ""  # script that makes it ready


def click(selector: str, *places: int) -> tuple[str, ...]:
    return tuple(f"document.querySelectorAll({selector!r})[{place}].click()" for place in places or (0,))


def slide(selector: str, *values: object) -> tuple[str, ...]:
    return tuple(
        f"const it = document.querySelector({selector!r}); it.value = '{value}';"
        "for (const kind of ['input', 'change']) it.dispatchEvent(new Event(kind, {bubbles: true}))"
        for value in values
    )


def fold(words: str) -> tuple[str, ...]:
    """The accordion whose label has these words, there and back."""
    return (
        f"[...document.querySelectorAll('button.label-wrap')].find(it => it.textContent.includes({words!r})).click()",
    ) * 2


OPEN = "document.querySelector('#map-settings > button:not(.open)')?.click()"  # the settings of the map


def option(name: str, label: str, place: int) -> Control:
    """An option of a dropdown of the map."""
    listed = f"#map-{name} [role=option]"
    return Control(
        "map",
        label,
        "#map-figure",
        (
            f"document.querySelectorAll('{listed}')[{place}]"
            ".dispatchEvent(new MouseEvent('mousedown', {bubbles: true, cancelable: true}))",
        ),
        "drawn",
        listed,
        f"{OPEN}; document.querySelector('#map-{name} input').focus()",
    )


SHOWS = {
    "search": "#cards .card",
    "codes": "#codes-summary h2",
    "map": "#map-picture img, #map-figure .legendtext",
    "compare": "#compare",
    "reports": "#reports-hits-plot-0 .main-svg",
    "collection": "#collection-contents table",
    "api": "#api .endpoint",
}
ANOTHER = tuple(
    f"document.querySelectorAll('#cards .card')[{place}].querySelector('.actions button').click()"
    for place in range(1, 7)
)
CONTROLS = (
    Control("search", "threshold", "#cards", slide("#least", 0.7, 0.71, 0.72, 0)),
    Control("search", "examples unfold", "#examples", click(".examples .all", 0, 0)),
    Control("search", "settings", "#settings", fold("Settings")),
    Control("search", "history", "#past", fold("History")),
    Control(
        "search",
        "why: another result, in words",
        "#why",
        ANOTHER[:3],
        ready="#why-tree .main-svg",
        before="document.querySelector('#cards .card .actions button').click()",
    ),
    Control("search", "why: another result, its tree", "#why-tree", ANOTHER[3:], "drawn"),
    Control("search", "why: every prefix drawn", "#why-tree", click("#why-every input", 0, 0), "drawn"),
    Control(
        "search",
        "blend: weight",
        "#blend",
        slide("#blend-weight", 3, 9, 15, 20),
        ready="#blend-weight",
        before="document.querySelector('#cards .card .actions button:nth-child(3)').click()",
    ),
    Control("codes", "a code of the hierarchy", "#codes-summary", click("#codes-icicle .depth1 > button", 0, 0)),
    Control("codes", "the way back", "#codes-summary", click("#codes-summary .crumbs button", 1, 0)),
    Control(
        "codes", "words of a code", "#codes-meaning .word-list", click("#codes-icicle .depth1 > button", 1), "shown"
    ),
    Control(
        "codes",
        "modality of the items",
        "#codes-items",
        click("#codes-items .choice", 1, 0),
        ready="#codes-items .choice",
        before="document.querySelector('#codes-summary .crumbs button').click()",
    ),
    Control("codes", "next page", "#codes-items", click("#codes-items nav button:last-child", 0, 0, 0)),
    Control("codes", "an item's card", "#codes-card", click("#codes-items .tile", 0, 3, 5)),
    Control("codes", "a neighbour's card", "#codes-card", click("#codes-card .near", 0, 1, 2)),
    Control("codes", "use of the levels", "#codes-health table", fold("How well each level")[:1], "shown"),
    Control("codes", "what the codes know", "#codes-factors table", fold("What the codes know")[:1], "shown"),
    Control("map", "vectors", "#map-figure", click("#map-view input", 4, 5, 1, 0), "drawn", "#map-figure .legendtext"),
    Control("map", "drag to", "#map-figure", click("#map-drag input", 1, 0), "drawn", "#map-drag input", OPEN),
    option("color", "color by dataset", 1),
    option("color", "color by code", 2),
    option("color", "color by likeness", 3),
    option("color", "color by modality", 0),
    option("queries", "queries hidden", 0),
    option("queries", "queries with lines", 2),
    Control(
        "map",
        "a point's card",
        "#map-item",
        tuple(
            "document.querySelector('#map-figure .figure-host')"
            f".emit('plotly_click', {{points: [{{pointIndex: 0, customdata: {number}}}]}})"
            for number in (5, 600, 7000)
        ),
    ),
    Control(
        "map",
        "items of a color",
        "#map-tiles",
        click("#map-table .pick", 0, 1, 2),
        ready="#map-table .pick",
        before="document.querySelector('#map-table-fold button').click()",
    ),
    Control(
        "compare",
        "an item's card",
        "#compare-card",
        click("#compare .compare-result", 0, 12, 24),
        ready="#compare .compare-result",
        before="document.querySelector('#compare-last').click()",
    ),
    Control("compare", "another reference", "#compare", slide("#compare-reference", 0, 1, 2)),
    Control(
        "reports",
        "another pool",
        "#reports-hits-plot-0",
        click("#reports-hits-choice input", 1, 0),
        "drawn",
        "#reports-hits-plot-0 .main-svg",
    ),
    Control("reports", "a table", "#reports-hits-body", click("#reports-hits-body button.label-wrap", 0, 0)),
)


def opening(tab: str) -> str:
    """The script that opens a tab."""
    return (
        "[...document.querySelectorAll('#tabs [role=tab]')]"
        f".find(it => it.textContent.trim() === {TABS[tab]!r}).click()"
    )


def used(page: Page, control: Control) -> list[float]:
    """Milliseconds of each use."""
    spent = []
    for use in control.uses:
        spent.append(page.evaluate(TIMED, [use, control.where, control.effect]))
        page.wait_for_timeout(REST)
    return spent


def searches(browser: Browser, address: str) -> Iterator[tuple[str, list[float]]]:
    """Name and milliseconds of searches for a text, a picture, and both."""
    with TemporaryDirectory() as folder:
        pictures = [Path(folder, f"{seed}.jpg") for seed in range(2 * len(TEXTS))]
        for seed, file in enumerate(pictures):  # patches of random colors
            patches = np.random.default_rng(seed).integers(0, 256, (6, 8, 3), dtype=np.uint8)
            Image.fromarray(patches).resize(SIDES).save(file)
        alone, with_text = pictures[: len(TEXTS)], pictures[len(TEXTS) :]
        for name, asked in (
            ("a text", [(text, None) for text in TEXTS]),
            ("a picture", [("", picture) for picture in alone]),
            ("a picture and a text", [*zip(CHANGES, with_text, strict=True)]),
        ):
            yield f"search for {name}", [searched(browser, address, *one) for one in asked]


def searched(browser: Browser, address: str, text: str, picture: Path | None) -> float:
    """Milliseconds from the click on Search until results are shown."""
    page = browser.new_page(viewport={"width": 1280, "height": 1000})
    page.set_default_timeout(120_000)
    page.goto(address + "/")
    page.locator("#cards .panel > *").first.wait_for()
    if text:
        page.fill("#text textarea", text)
    if picture:
        page.set_input_files("#picture input[type=file]", picture)
        page.locator("#picture img").wait_for()
    page.wait_for_timeout(2 * REST)
    (spent,) = used(page, Control("search", "", "#cards .card", click("#go"), "shown"))
    page.close()
    return spent


def report(name: str, spent: list[float]) -> None:
    print(f"{name:45s} {median(spent):6.0f} ms, at most {max(spent):6.0f}", flush=True)


def expect_page(address: str) -> None:
    """Raises UserError if nothing answers at this address."""
    try:
        urlopen(address, timeout=10).close()
    except (OSError, ValueError) as error:
        raise UserError(f"no page answers at {address} ({error}); start one with: python app.py") from None


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("training.benchmarks.page_controls", __doc__)
    parser.add_argument("address", nargs="?", default=ADDRESS, help="of the page (default: %(default)s)")
    address = parser.parse_args(arguments).address.rstrip("/")
    expect_page(address)
    with chromium() as browser:
        if browser is None:
            raise UserError(NO_BROWSER)
        for name, spent in searches(browser, address):
            report(name, spent)
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        page.set_default_timeout(120_000)
        page.goto(address + ASKED)
        page.locator("#cards .card").first.wait_for()
        page.wait_for_timeout(REST)
        for times in ("first", "again"):
            for tab in [*TABS][1:] + [*TABS][:1]:
                report(f"tab {TABS[tab]}, {times}", used(page, Control(tab, "", SHOWS[tab], (opening(tab),), "shown")))
                page.wait_for_timeout(REST)
        for control in CONTROLS:
            page.evaluate(opening(control.tab))
            page.locator(f"#tab-{control.tab}").wait_for()
            if control.before:
                page.evaluate(control.before)
            if control.ready:
                page.locator(control.ready).first.wait_for()
            page.wait_for_timeout(REST)
            report(f"{control.tab}: {control.name}", used(page, control))


if __name__ == "__main__":
    with exit_on_user_error():
        expect_one_process()
        main()

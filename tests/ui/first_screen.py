"""What stands on the first screen after a search, and how far five stories are: python -m tests.ui.first_screen [URL]

Prints two tables for a page that is being served, by default the shipped run at http://127.0.0.1:7860, as headless
Chromium lays it out. A story ends where its answer is seen whole; its pixels are those that are scrolled on the way.
"""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, sync_playwright

from tests.conftest import BROWSER_FLAGS, BROWSERS

PHOTO = next(Path("assets/photos/examples").glob("*.webp"))
GOALS = {"top": "<= 280, phone 320", "seen": ">= 10, phone 4", "words": "<= 40", "stops": "<= 6"}
MEASURE = r"""() => {
  const cards = [...document.querySelectorAll('#cards .card')], bar = document.querySelector('#tabs > .tab-wrapper');
  const texts = document.createTreeWalker(document.querySelector('#results'), NodeFilter.SHOW_TEXT);
  let words = 0;
  while (texts.nextNode() && !cards[0].contains(texts.currentNode))
    if (texts.currentNode.parentElement.checkVisibility())
      words += texts.currentNode.textContent.match(/[\p{L}\p{N}]\S*/gu)?.length ?? 0;
  const {top} = bar.getBoundingClientRect(), end = top > innerHeight / 2 ? top : innerHeight;
  const boxes = cards.map(card => card.getBoundingClientRect());
  const seen = boxes.filter(box => box.top >= 0 && (box.top + box.bottom) / 2 < end).length;
  return {top: Math.round(boxes[0].top + scrollY), seen, words};
}"""
MOST_STOPS = 60
SETTLED = 2000  # milliseconds, in which names of codes come and figures are drawn


def tab_stops(page: Page) -> int:
    """How often Tab is pressed from the description until the first result has the focus."""
    page.focus("#text textarea")
    for stops in range(1, MOST_STOPS):
        page.keyboard.press("Tab")
        if page.evaluate("Boolean(document.activeElement.closest('#cards .card'))"):
            return stops
    return MOST_STOPS


class Visitor:
    """Counts clicks, and the pixels that are scrolled until what is clicked or looked at is seen whole."""

    def __init__(self, page: Page):
        self.page, self.clicks, self.scrolled = page, 0, 0

    def see(self, part: Locator) -> Locator:
        part.wait_for()
        self.page.wait_for_timeout(SETTLED)
        box, height = part.bounding_box(), self.page.viewport_size["height"]
        below = min(box["y"] + box["height"] - height, box["y"])  # what is higher than the screen is seen from its top
        self.scrolled += round(max(0, below, -box["y"]))
        part.scroll_into_view_if_needed()
        return part

    def click(self, part: Locator) -> None:
        self.see(part).click()
        self.clicks += 1


def stories(page: Page, url: str) -> Iterator[tuple[str, Visitor]]:
    """What a visitor does, one after the other. The first two choose a file before."""
    card, search = page.locator("#cards .card").first, f"{url}/?q=a+red+tulip"
    for name, question in (("what is this", "What is this"), ("similar pictures", "similar")):
        page.goto(url)
        page.set_input_files("#picture input[type=file]", PHOTO)
        visitor = Visitor(page)
        visitor.click(page.locator("#quick button", has_text=question))
        visitor.see(card)
        yield name, visitor
    page.goto(search)
    visitor = Visitor(page)
    visitor.click(card)
    visitor.see(page.locator("#why .in-short"))
    visitor.see(page.locator("#why .shares"))
    yield "why did this come", visitor
    visitor.click(page.locator("#why .actions button", has_text="share"))
    visitor.see(page.locator("#codes-nearness section").first)  # the typical ones
    yield "who shares its codes", visitor
    page.goto(search)
    card.wait_for()
    visitor = Visitor(page)
    visitor.click(page.get_by_role("tab", name="Map", exact=True))
    visitor.click(page.locator("#map-view label", has_text="Before and after"))
    visitor.see(page.locator("#map-figure .main-svg").first)
    yield "on the map, before and after codes", visitor


def measure_screens(browser: Browser, url: str) -> None:
    print(f"{'':24}" + "".join(f"{name:>8}" for name in GOALS))
    for width, height in ((1280, 800), (390, 844)):
        for kind, question in (("pictures", "q=a+red+tulip"), ("texts", "q=a+dog&instruction=What+is+this%3F")):
            page = browser.new_page(viewport={"width": width, "height": height})
            page.goto(f"{url}/?{question}")
            page.locator("#cards .card").first.wait_for()
            page.wait_for_timeout(SETTLED)
            found = page.evaluate(MEASURE) | {"stops": tab_stops(page)}
            print(f"{f'{width} x {height}, {kind}':24}" + "".join(f"{found[name]:8}" for name in GOALS))
            page.close()
    print("goals: " + "; ".join(f"{name} {goal}" for name, goal in GOALS.items()))


def measure_stories(browser: Browser, url: str) -> None:
    print(f"\n{'1280 x 800':36}{'clicks':>8}{'pixels':>8}")
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    for name, visitor in stories(page, url):
        print(f"{name:36}{visitor.clicks:8}{visitor.scrolled:8}")
    print("goals: 1, 1, 1, 2 and 2 clicks; nothing is scrolled")


def main(url: str) -> None:
    with sync_playwright() as playwright:
        program = next(filter(None, map(shutil.which, BROWSERS)), None)
        browser = playwright.chromium.launch(executable_path=program, args=BROWSER_FLAGS)
        measure_screens(browser, url)
        measure_stories(browser, url)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1].rstrip("/") if len(sys.argv) > 1 else "http://127.0.0.1:7860")

"""What stands on the first screen after a search: python -m tests.ui.first_screen [URL]

Prints a table for a page that is being served, by default at http://127.0.0.1:7860, as headless Chromium lays it out.
"""

import shutil
import sys

from playwright.sync_api import Page, sync_playwright

from tests.conftest import BROWSER_FLAGS, BROWSERS

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


def tab_stops(page: Page) -> int:
    """How often Tab is pressed from the description until the first result has the focus."""
    page.focus("#text textarea")
    for stops in range(1, MOST_STOPS):
        page.keyboard.press("Tab")
        if page.evaluate("Boolean(document.activeElement.closest('#cards .card'))"):
            return stops
    return MOST_STOPS


def main(url: str) -> None:
    with sync_playwright() as playwright:
        program = next(filter(None, map(shutil.which, BROWSERS)), None)
        browser = playwright.chromium.launch(executable_path=program, args=BROWSER_FLAGS)
        print(f"{'':22}{'top':>8}{'seen':>8}{'words':>8}{'stops':>8}")
        for width, height in ((1280, 800), (390, 844)):
            for kind, question in (("pictures", "q=a+red+tulip"), ("texts", "q=a+dog&instruction=What+is+this%3F")):
                page = browser.new_page(viewport={"width": width, "height": height})
                page.goto(f"{url}/?{question}")
                page.locator("#cards .card").first.wait_for()
                page.wait_for_timeout(2000)  # names of codes come later
                found = page.evaluate(MEASURE) | {"stops": tab_stops(page)}
                print(f"{f'{width} x {height}, {kind}':22}" + "".join(f"{found[name]:8}" for name in GOALS))
                page.close()
        print("goals: " + "; ".join(f"{name} {goal}" for name, goal in GOALS.items()))
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1].rstrip("/") if len(sys.argv) > 1 else "http://127.0.0.1:7860")

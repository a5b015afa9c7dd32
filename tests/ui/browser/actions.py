"""What several tests do on a page."""

from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from playwright.sync_api import Locator, Page

from tests.waiting import wait_until


def search(page: Page, text: str) -> None:
    """Type words, press Enter and wait for the results."""
    page.fill("#text textarea", text)
    page.press("#text textarea", "Enter")
    shows(page, f"“{text}”")


def shows(page: Page, words: str) -> None:
    """Wait for the answer to a search of which the summary says this."""
    page.locator("#summary .sentence", has_text=words).wait_for(state="attached")


def open_tab(page: Page, name: str) -> None:
    page.get_by_role("tab", name=name, exact=True).click()


def chosen(page: Page, name: str) -> None:
    """Wait until this tab is open."""
    page.get_by_role("tab", name=name, exact=True, selected=True).wait_for()


def fits(page: Page) -> bool:
    """Whether nothing is wider than the window."""
    return page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]


def act(page: Page, place: int, name: str) -> None:
    """Use a button of the card at that place, or, where it has none, of Why."""
    card = page.locator("#cards .card").nth(place)
    card.hover()
    if name in ("Why?", "Similar", "Use"):
        card.get_by_role("button", name=name).click()
        return
    card.get_by_role("button", name="Why?").click()
    page.locator("#why h2", has_text=f"Why result {place + 1}?").wait_for()
    page.locator("#why").get_by_role("button", name=name).click()


def point_at(element: Locator, hint: Locator) -> None:
    """Point at an element until its hint is shown; while the page still scrolls, it moves away from
    the mouse.
    """

    def shown() -> bool:
        element.hover()
        element.page.wait_for_timeout(500)  # a hint comes after 250 ms
        return hint.is_visible()

    wait_until(shown)


def upload(page: Page, photo: Path, under: str = "#picture") -> None:
    """Choose a picture and wait until it has arrived."""
    page.set_input_files(f"{under} input[type=file]", photo)
    page.locator(f"{under} img").wait_for()
    page.locator(f"{under}:not([data-preparing])").wait_for()


def parameters(page: Page) -> dict[str, str]:
    """What the address of the page says."""
    return dict(parse_qsl(urlsplit(page.url).query))


def asked(page: Page, name: str) -> dict[str, str]:
    """What the address of the page says, once it names this field."""
    page.wait_for_function("name => new URLSearchParams(location.search).has(name)", arg=name)
    return parameters(page)

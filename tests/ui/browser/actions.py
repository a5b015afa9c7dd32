"""What several tests do on a page."""

from playwright.sync_api import Locator, Page

from tests.waiting import wait_until


def search(page: Page, text: str) -> None:
    """Type words, press Enter and wait for the results."""
    page.fill("#text textarea", text)
    page.press("#text textarea", "Enter")
    page.locator("#summary .sentence", has_text=f"“{text}”").wait_for()


def point_at(element: Locator, hint: Locator) -> None:
    """Point at an element until its hint is shown; while the page still scrolls, it moves away from the mouse."""

    def shown() -> bool:
        element.hover()
        element.page.wait_for_timeout(500)  # a hint comes after 250 ms
        return hint.is_visible()

    wait_until(shown)

"""What several tests do on a page."""

from playwright.sync_api import Page


def search(page: Page, text: str) -> None:
    """Type words, press Enter and wait for the results."""
    page.fill("#text textarea", text)
    page.press("#text textarea", "Enter")
    page.locator("#summary .sentence", has_text=f"“{text}”").wait_for()

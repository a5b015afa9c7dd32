"""Headless Chromium: the system's, or the one that playwright installed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
NO_BROWSER = "there is no Chromium; install it, or get playwright's with: playwright install chromium"
FLAGS = (
    "--no-sandbox",
    "--use-gl=swiftshader",  # WebGL, for large plots
    "--enable-unsafe-swiftshader",
    "--use-fake-device-for-media-stream",  # a camera that shows a test picture, where a page is allowed to see it
)


@contextmanager
def chromium(*flags: str) -> Iterator[Browser | None]:
    """The browser, or None where there is none. flags: further ones of its command line."""
    with sync_playwright() as playwright:
        programs = [*map(shutil.which, PROGRAMS), playwright.chromium.executable_path]
        program = next((program for program in programs if program and Path(program).exists()), None)
        if program is None:
            yield None
            return
        browser = playwright.chromium.launch(executable_path=program, args=[*FLAGS, *flags])
        yield browser
        browser.close()

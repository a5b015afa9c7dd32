"""Take the READMEs' pictures of the page, in Chromium: OUT/search.webp, strip.webp, why.webp and codes.webp.

python app.py
python -m training.benchmarks.page_pictures assets [http://127.0.0.1:7860]

They show the first worked example of the first run, so the page must serve the shipped runs.
"""

from __future__ import annotations

import io
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page
from playwright.sync_api import Error as PlaywrightError

from genius.errors import UserError, exit_on_user_error
from genius.evaluation.arguments import command_parser
from genius.ui.common.context import WHY
from training.benchmarks.chromium import NO_BROWSER, chromium
from training.distributed import expect_one_process

ADDRESS = "http://127.0.0.1:7860"
CODE = "/?tab=codes&code=0.205"  # the photographs of tulips
ASKED = "Find similar photographs."  # the instruction of the example whose ID is shown
STILL = 1_500  # milliseconds after which nothing moves any more
QUALITY = 70


def main(arguments: list[str] | None = None) -> None:
    parser = command_parser("training.benchmarks.page_pictures", __doc__)
    parser.add_argument("out", type=Path, help="the directory to write the pictures into")
    parser.add_argument("address", nargs="?", default=ADDRESS, help="of the page (default: %(default)s)")
    options = parser.parse_args(arguments)
    if not options.out.is_dir():
        raise UserError(f"{options.out} is not a directory; name the one to write the pictures into, such as assets")
    with chromium() as browser:
        if browser is None:
            raise UserError(NO_BROWSER)
        take(browser, options.address.rstrip("/"), options.out)


def take(browser: Browser, address: str, out: Path) -> None:
    """Write the four pictures."""
    page = opened(browser, address + "/", 1560)
    page.locator("#examples .example").first.click()
    page.locator("#cards .card").first.wait_for()
    page.locator("#strip button", has_text=ASKED).click()
    page.locator("#strip .play", has_text="Play again").wait_for()
    page.wait_for_timeout(STILL)
    save(page.screenshot(), out / "search.webp", width=1024)
    save(page.locator("#strip").screenshot(), out / "strip.webp")
    page.locator("#cards .card .actions button").first.click()
    page.locator("#why-tree .main-svg").first.wait_for()
    page.wait_for_timeout(STILL)
    save(page.locator(f"#{WHY}").screenshot(), out / "why.webp")
    page.close()

    page = opened(browser, address + CODE, 900)
    page.locator("#codes-meaning .word-list").wait_for()
    page.wait_for_timeout(STILL)
    save(page.screenshot(), out / "codes.webp")


def opened(browser: Browser, address: str, height: int) -> Page:
    """A page at this address. Raises UserError if nothing answers there."""
    page = browser.new_page(viewport={"width": 1280, "height": height}, color_scheme="light")
    page.set_default_timeout(60_000)
    try:
        page.goto(address)
    except PlaywrightError as error:
        raise UserError(f"no page can be opened at {address}; start it with: python app.py") from error
    return page


def save(png: bytes, file: Path, width: int | None = None) -> None:
    """Write a screenshot as WebP. width: that it is scaled to, pixels."""
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    if width:
        picture = picture.resize((width, round(picture.height * width / picture.width)), Image.Resampling.LANCZOS)
    picture.save(file, quality=QUALITY, method=6)
    print(f"{file}: {file.stat().st_size / 1e3:.0f} kB", flush=True)


if __name__ == "__main__":
    with exit_on_user_error():
        expect_one_process()
        main()

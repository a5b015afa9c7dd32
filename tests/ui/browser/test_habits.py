"""What visitors do on every page: go back and forth, reload, paste, drop, print, use the
keyboard.
"""

import base64

import pytest
from PIL import Image

from genius.ui.calls import QUEUE_FULL
from tests.ui.browser.actions import chosen, fits, open_tab, search, shows, upload

pytestmark = pytest.mark.browser


def test_back_and_forward_walk_through_searches_and_tabs_and_bring_the_search_back(
    visit, served, monkeypatch
):
    page = visit()
    search(page, "mug")
    page.wait_for_url("**q=mug**")
    search(page, "bowl")
    page.wait_for_url("**q=bowl**")
    open_tab(page, "Codes")
    page.wait_for_url("**tab=codes**")
    open_tab(page, "Collection")
    page.wait_for_url("**q=bowl**tab=collection*")
    page.go_back()
    chosen(page, "Codes")
    page.go_back()
    chosen(page, "Search")
    shows(page, "“bowl”")
    page.go_back()
    shows(page, "“mug”")
    assert page.input_value("#text textarea") == "mug"
    page.go_back()
    page.locator("#summary .sentence").wait_for(state="detached")
    assert not page.input_value("#text textarea") and not page.locator("#cards .card").count()
    monkeypatch.setattr(served.engine, "seconds", 0.5)
    for _ in range(2):
        page.go_forward()
        # faster than answers come: that of the first comes after the second
        page.wait_for_timeout(200)
    shows(page, "“bowl”")
    page.wait_for_timeout(200)  # in which the address would be written
    page.go_forward()
    chosen(page, "Codes")
    page.reload()
    chosen(page, "Codes")
    open_tab(page, "Search")
    shows(page, "“bowl”")  # which the address of the other tab holds, too


def test_an_uploaded_photograph_is_shrunk_upright_and_comes_back_after_a_reload_and_by_back(
    visit, tmp_path
):
    """Of a telephone: of 24.5 megapixels, lying on its side as its EXIF says. What is typed comes
    back, too.
    """
    file = tmp_path / "phone.jpg"
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (5_712, 4_284), "orange").save(file, exif=exif, comment=tmp_path.name.encode())
    page = visit()
    page.fill("#text textarea", "a red c")
    page.reload()
    page.wait_for_function("document.querySelector('#text textarea')?.value === 'a red c'")
    page.fill("#text textarea", "")
    upload(page, file)
    size = page.locator("#picture img").evaluate(
        "async image => (await image.decode(), [image.naturalWidth, image.naturalHeight])"
    )
    assert size == [1_536, 2_048]
    page.click("#go")
    shows(page, "the picture")
    page.fill("#text textarea", "half a sent")
    page.reload()
    shows(page, "the picture")
    assert page.input_value("#text textarea") == "half a sent"
    assert page.locator("#picture img").count()
    page.get_by_label("Remove the picture").click()
    # no old answer beside another picture, or none
    page.locator("#summary .sentence").wait_for(state="detached")
    search(page, "mug")
    page.wait_for_url("**q=mug**")
    page.go_back()
    shows(page, "the picture")
    page.locator("#picture img").wait_for()


def give(page, how, file, kind):
    """Paste or drop a file on the heading of the page."""
    data = base64.b64encode(file.read_bytes()).decode()
    script = """([how, data, name, type]) => {
      const dataTransfer = new DataTransfer();
      const bytes = Uint8Array.from(atob(data), letter => letter.charCodeAt(0));
      dataTransfer.items.add(new File([bytes], name, {type}));
      const made = {dataTransfer, clipboardData: dataTransfer, bubbles: true, cancelable: true};
      const event = how === 'paste' ? new ClipboardEvent(how, made) : new DragEvent(how, made);
      document.querySelector('h1').dispatchEvent(event);
    }"""
    page.evaluate(script, [how, data, file.name, kind])


def test_a_picture_is_pasted_and_dropped_anywhere_and_a_file_that_is_none_is_refused_at_once(
    visit, photo, tmp_path
):
    page = visit("/?tab=collection")
    open_tab(page, "Codes")
    chosen(page, "Codes")
    give(page, "paste", photo, "image/jpeg")
    chosen(page, "Search")
    page.locator("#picture img").wait_for()
    page.click("#go")
    shows(page, "the picture")
    Image.new("P", (40, 30)).save(tmp_path / "a.gif")
    give(page, "drop", tmp_path / "a.gif", "image/gif")  # a picture instead of the first
    page.locator("#summary .sentence").wait_for(state="detached")
    page.locator("#picture img").wait_for()
    (tmp_path / "text.jpg").write_text("no picture")
    page.get_by_label("Remove the picture").click()
    page.set_input_files("#picture input[type=file]", tmp_path / "text.jpg")
    page.locator("#told", has_text="text.jpg is no picture that this browser can read").wait_for()
    page.click("#go")
    page.locator("#told").wait_for()
    search(page, "mug")
    page.locator("#told").wait_for(state="detached")
    page.locator("#told").wait_for(state="detached", timeout=5_000)


@pytest.mark.slow
def test_paper_shows_the_answer_in_light_colors_and_nothing_to_click(visit):
    page = visit("/?__theme=dark")
    search(page, "mug")
    ink = "getComputedStyle(document.querySelector('#summary h2')).color"
    assert page.evaluate(ink) == "rgb(232, 237, 245)"
    page.pdf()
    page.set_viewport_size({"width": 718, "height": 1040})
    page.emulate_media(media="print")
    assert page.evaluate(ink) == "rgb(15, 23, 42)"
    assert (
        page.locator("#summary h2").is_visible() and page.locator("#cards .card").last.is_visible()
    )
    for hidden in ("#go", "#picture", ".guides", "[role=tab]", "#summary .ways", "#summary .link"):
        assert not page.locator(hidden).first.is_visible(), hidden
    assert fits(page)


def test_a_page_over_a_restarted_server_repeats_its_search_and_says_so(visit):
    page = visit()
    search(page, "mug")
    page.wait_for_url("**q=mug**")
    held = {}

    def hold(name):
        return lambda route: route.continue_() if name in held else held.update({name: route})

    def answer(route):
        response = route.fetch()
        route.fulfill(response=response, headers={**response.headers, "x-server": "another"})

    def wait_for(name):
        while name not in held:
            page.wait_for_timeout(100)

    # what was still asked for is answered while the page is loaded again
    page.route("**/call/show/*", hold("answer"))
    page.click("#go")
    wait_for("answer")
    page.route("**/?q=mug", hold("page"))
    page.route("**/alive", answer, times=1)
    wait_for("page")
    held["answer"].continue_()
    page.wait_for_timeout(500)
    held["page"].continue_()
    page.locator("html[data-ready] #told", has_text="your search is repeated.").wait_for()
    assert "q=mug" in page.url


def test_who_is_refused_is_told_why_and_who_is_signed_out_gets_a_link(context, served):
    page = context.new_page()
    page.goto(f"{served.url}/?q=mug")
    shows(page, "“mug”")
    page.route(
        "**/call/show", lambda route: route.fulfill(status=503, json={"error": QUEUE_FULL}), times=1
    )
    page.click("#go")
    page.locator("#told", has_text=QUEUE_FULL).wait_for()
    page.route(
        "**/call/show",
        lambda route: route.fulfill(status=401, json={"error": "Unauthorized"}),
        times=1,
    )
    page.click("#go")
    told = page.locator("#told", has_text="You are signed out")
    with page.expect_navigation():
        told.get_by_role("button", name="Sign in").click()
    page.close()


def test_the_page_is_english_in_every_browser_and_the_keyboard_walks_through_its_tabs(
    browser, served
):
    page = browser.new_page(locale="de-DE")
    page.goto(served.url)
    page.locator("#go").wait_for()
    assert (
        page.evaluate("document.documentElement.lang") == "en"
        and not page.get_by_text("Einstellungen").count()
    )
    page.get_by_role("button", name="Skip to the results").press("Enter")
    assert page.evaluate("document.activeElement.id") == "results"
    page.get_by_role("tab", name="Search", exact=True).press("ArrowRight")
    chosen(page, "Codes")
    page.keyboard.press("ArrowLeft")
    chosen(page, "Search")
    page.close()

"""The stream of answers while it ends, and a stream that breaks off."""

import pytest

from tests.ui.browser.actions import search

pytestmark = pytest.mark.browser

# Each stream's end reaches the page a second after the answer before it, as over a slow line. Once `breaks` is set, the
# next stream with an event that starts ends there, as a proxy ends a long response.
SLOW_LINE = """
const soon = window.fetch;
window.fetch = async (...options) => {
  const response = await soon(...options);
  if (!String(options[0].url ?? options[0]).includes('/queue/data')) return response;
  const late = new TransformStream({async transform(text, stream) {
    if (window.breaks && text.includes('"process_starts"')) return stream.terminate();
    const end = text.indexOf('data: {"msg":"close_stream"');
    if (end < 0) return stream.enqueue(text);
    window.ends = (window.ends ?? 0) + 1;
    stream.enqueue(text.slice(0, end));
    await new Promise(done => setTimeout(done, 1000));
    stream.enqueue(text.slice(end));
  }});
  const body = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(late);
  return new Response(body.pipeThrough(new TextEncoderStream()), {headers: response.headers});
};
"""


@pytest.fixture(scope="module")
def served(tiny_page):
    return tiny_page


def test_an_event_is_answered_while_the_stream_ends_and_a_page_whose_stream_breaks_off_loads_again(context, served):
    page = context.new_page()
    page.add_init_script(SLOW_LINE)
    page.goto(served.url)
    page.locator("#cards .panel > *").first.wait_for()
    page.wait_for_timeout(2_000)  # the streams of the page's start end
    ends = page.evaluate("window.ends ?? 0")
    page.fill("#text textarea", "A red dog.")
    page.press("#text textarea", "Enter")
    page.wait_for_function(f"(window.ends ?? 0) > {ends}")
    page.get_by_role("tab", name="Codes").click()
    page.locator("#codes-summary h2", has_text="40 items").wait_for()

    page.get_by_role("tab", name="Search").click()
    page.wait_for_timeout(2_000)
    page.evaluate("window.breaks = true")
    page.fill("#text textarea", "A blue boat.")
    page.press("#text textarea", "Enter")
    page.wait_for_function("!window.breaks")  # another document
    page.locator("#summary .sentence", has_text="A red dog.").wait_for(state="attached")  # which its address repeats
    search(page, "A blue cup.")
    page.close()

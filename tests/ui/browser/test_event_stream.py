"""The stream of answers while it ends, a stream that breaks off, and an event that is refused."""

import pytest

from genius.ui.gradio_hooks import QUEUE_FULL

pytestmark = pytest.mark.browser

# Each stream's end reaches the page a second after the answer before it, as over a slow line
LATE_END = """
const soon = window.fetch;
window.fetch = async (...options) => {
  const response = await soon(...options);
  if (!String(options[0].url ?? options[0]).includes('/queue/data')) return response;
  const late = new TransformStream({async transform(text, stream) {
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


# The next stream with an event that starts ends there, as a proxy ends a long response
BROKEN = """
const whole = window.fetch;
window.fetch = async (...options) => {
  const response = await whole(...options);
  if (!window.breaks || !String(options[0].url ?? options[0]).includes('/queue/data')) return response;
  const broken = new TransformStream({transform(text, stream) {
    text.includes('"process_starts"') ? stream.terminate() : stream.enqueue(text);
  }});
  const body = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(broken);
  return new Response(body.pipeThrough(new TextEncoderStream()), {headers: response.headers});
};
"""


@pytest.fixture(scope="module")
def served(tiny_page):
    return tiny_page


def test_an_event_that_is_sent_while_the_stream_ends_is_answered(context, served):
    page = context.new_page()
    page.add_init_script(LATE_END)
    page.goto(served.url)
    page.locator("#cards .panel > *").first.wait_for()
    page.wait_for_timeout(2_000)  # the streams of the page's start end
    ends = page.evaluate("window.ends ?? 0")
    page.fill("#text textarea", "A red dog.")
    page.press("#text textarea", "Enter")
    page.wait_for_function(f"(window.ends ?? 0) > {ends}")
    page.get_by_role("tab", name="Codes").click()
    page.locator("#codes-summary h2", has_text="40 items").wait_for()
    page.close()


def test_a_stream_that_ends_early_is_a_lost_connection_upon_which_the_page_loads_again(context, served):
    page = context.new_page()
    page.add_init_script(BROKEN)
    page.goto(served.url)
    page.locator("#cards .panel > *").first.wait_for()
    page.wait_for_timeout(1_000)  # the streams of the page's start end
    page.evaluate("window.breaks = true")
    page.fill("#text textarea", "A red dog.")
    page.press("#text textarea", "Enter")
    page.wait_for_function("!window.breaks")  # another document
    page.locator("#cards .panel > *").first.wait_for()
    page.fill("#text textarea", "A blue cup.")
    page.press("#text textarea", "Enter")
    page.locator("#summary .sentence", has_text="A blue cup.").wait_for(state="attached")
    page.close()


def test_the_page_shows_why_an_event_is_refused(context, served):
    page = context.new_page()
    page.goto(served.url)
    page.locator("#cards .panel > *").first.wait_for()
    page.route("**/queue/join*", lambda route: route.fulfill(status=503, json={"detail": QUEUE_FULL}))
    page.fill("#text textarea", "A red dog.")
    page.press("#text textarea", "Enter")
    page.locator("[data-testid=toast-body]", has_text=QUEUE_FULL).wait_for()
    page.close()

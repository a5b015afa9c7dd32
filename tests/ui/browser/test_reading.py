"""How words were read, as a visitor of a run that reads them meets it."""

import pytest

from genius.schema import Reading
from tests.ui.browser.actions import search

pytestmark = pytest.mark.browser


def test_a_click_searches_for_another_reading(visit, served, monkeypatch):
    answer = served.engine.answer

    def read(query, options, seed=7):
        result = answer(query, options, seed)
        name = query.reading or "photo"
        probabilities = {"photo": 0.9, "entry": 0.06, "page": 0.03, "paraphrase": 0.01}
        object.__setattr__(
            result, "reading", Reading(name, probabilities, "a street", "<b>cars</b>")
        )
        return result

    monkeypatch.setattr(served.engine, "answer", read, raising=False)
    page = visit()
    search(page, "a street without cars")
    line = page.locator("#summary .asked")
    assert line.inner_text().startswith(
        "read as Photographs · left out: <b>cars</b> · instead: What it is, Picture and text"
    )
    line.locator("button", has_text="Picture and text").click()
    page.locator("#summary .asked b", has_text="Picture and text").wait_for()
    assert served.engine.queries[-1][0].reading == "page"
    page.wait_for_function("new URL(location).searchParams.get('reading') === 'page'")

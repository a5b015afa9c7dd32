"""Why over a tiny run."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import gradio as gr
import pytest

from genius.errors import UserError
from genius.schema import Query, SearchOptions
from genius.ui.common.components import Panel
from genius.ui.common.context import Context, LastQuery, ServedRun, Shared
from genius.ui.common.formatting import item_label
from genius.ui.search.newest import Newest
from genius.ui.search.why import why_panel
from tests.ui.tiny_page import callback

OPTIONS = SearchOptions(beams=7, k=6)


@pytest.fixture(scope="module")
def page(engine):
    with gr.Blocks() as page:
        cards, answers = Panel("cards", "search/cards.js"), gr.State(())
        why_panel(
            Context(engine, ServedRun(Path("tiny")), Shared.create(gr.Tabs())), cards, answers, gr.State(Newest())
        )
    return page


@pytest.fixture
def event(page):
    return partial(callback, page)


def asked(engine, text="A red dog.", **options) -> LastQuery:
    query, options = Query(text), replace(OPTIONS, **options)
    (result,) = engine.search([query], replace(options, trace=True))  # as on the page
    return LastQuery(text, query, options, result, engine.index.folder.name)


@pytest.fixture
def last(engine):
    return asked(engine)


@pytest.fixture
def explain(event):
    """-> what is kept of the search, panel, figure, table."""
    return lambda id, last, search=None, every=False: event("on_open")(id, last, search, every)


def test_the_chosen_result_is_explained_in_words_in_a_figure_and_in_a_table(explain, last):
    hit = last.result.hits[2]
    search, why, figure, table = explain(hit.item.id, last)
    assert search.last is last and (why["title"], why["item"]["label"]) == ("Why result 3?", item_label(hit.item))
    assert why["ids"][0]["codes"] == list(hit.codes) and why["ids"][2]["codes"] == list(last.result.query_codes)
    assert f"to {hit.rank} " in why["sentences"][1] or f"at rank {hit.rank} " in why["sentences"][1]
    prefixes = {".".join(map(str, row["codes"])) for row in table["rows"]}
    assert {prefix for trace in figure.data if trace.customdata is not None for prefix in trace.customdata} == prefixes
    shares = next(row["figures"] for row in why["steps"] if row["name"] == "Probability of the code")
    assert len(shares) == len(hit.codes)  # of every result, whether or not the beam search kept it


def test_what_was_traced_is_explained_and_a_scan_is_followed_by_one_beam_search(explain, engine, last, monkeypatch):
    searches = []
    retrace = engine.search_encoded
    monkeypatch.setattr(engine, "search_encoded", lambda *asked: searches.append(asked[1]) or retrace(*asked))
    assert explain(last.result.hits[0].item.id, last)[0].result is last.result and not searches
    scanned = asked(engine, "A blue boat.", mode="scan")
    search, why, *_ = explain(scanned.result.hits[0].item.id, scanned)
    assert "only scanned" in why["note"] and search.result is not scanned.result
    assert explain(scanned.result.hits[1].item.id, scanned, search)[0].result is search.result
    assert searches == [replace(OPTIONS, mode="generate", trace=True)]


def test_a_result_chosen_on_its_card_is_explained_and_opens_the_panel(event, engine, last):
    other = asked(engine, "A blue boat.", k=5)
    hit = other.result.hits[1]
    picked = SimpleNamespace(column=1, id=hit.item.id)
    answer, id, section, search, why, *_ = event("on_why")(picked, (last, other), None, False)
    assert answer is other and search.last is other and id == hit.item.id
    assert section["open"] and why["title"] == "Why result 2?"
    with pytest.raises(UserError, match="no longer there"):
        event("on_why")(picked, (last,), None, False)

"""The strip and Why over a tiny run."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import gradio as gr
import pytest
from genius.ui.common.components import Panel
from genius.ui.search.blend import blend_panel
from genius.ui.search.callbacks import SearchCallbacks
from genius.ui.search.newest import Newest

from genius.errors import UserError
from genius.explore.code_names import CodeNamer
from genius.index import update
from genius.schema import Query, SearchOptions
from genius.search.engine import Engine
from genius.ui.common.context import Context, LastQuery, ServedRun, Shared
from genius.ui.common.formatting import item_label
from genius.ui.search import strip as of_strip
from genius.ui.search.strip import STALE_STEP, branch, follow, strip_panel
from genius.ui.search.why import why_panel
from tests.search.tiny import LEVELS, publish_tiny_run
from tests.ui.tiny_page import callback

OPTIONS = SearchOptions(beams=7, k=6)


@pytest.fixture(scope="module")
def namer(engine):
    return CodeNamer(engine, Path("tiny"))


@pytest.fixture(scope="module")
def page(engine):
    with gr.Blocks() as page:
        context, answers = Context(engine, ServedRun(Path("tiny")), Shared(gr.Tabs())), gr.State(())
        newest = gr.State(Newest())
        cards = Panel("cards", "search/cards.js")
        strip_panel(context, answers, newest)
        blend_panel(context, cards, answers, newest)
        why_panel(context, cards, answers, newest)
    return page


@pytest.fixture
def event(page):
    def call(name, *known, **data):
        return callback(page, name)(gr.EventData(None, data), *known)

    return call


def asked(engine, text="A red dog.", trace=True, **options) -> LastQuery:
    query, options = Query(text), replace(OPTIONS, **options)
    return LastQuery(
        text, query, options, engine.search([query], replace(options, trace=trace))[0], engine.index.folder.name
    )


def test_a_result_of_any_mode_shows_the_probability_of_each_of_its_codes(engine, namer):
    for mode in ("both", "generate", "scan"):
        last = asked(engine, mode=mode, beams=2)
        for rank in [None, *(hit.rank for hit in last.result.hits)]:
            shown, state, _ = follow(namer, (last,), 0, rank)
            assert len(shown["columns"]) == 1 + LEVELS
            assert all(column["code"]["probability"].endswith("%") for column in shown["columns"][1:])
            words = "the search kept it to the end" if state.current.place else "would have dropped it at"
            assert mode == "scan" or words in shown["sentence"]


def a_choice(shown):
    """Level and code of an alternative."""
    return next((one["level"], one["code"]) for column in reversed(shown["columns"]) for one in column["others"])


def test_another_id_that_was_chosen_last_is_shown_though_a_what_if_ends_after_it(event, engine, monkeypatch):
    answers, shown = (asked(engine),), []
    monkeypatch.setattr(of_strip, "branch", lambda *given: shown.append(event("on_follow", answers, column=0)))
    assert event("on_branch", answers, None) == gr.skip()
    assert shown[0][0]["title"] == "How the ID was generated"


def test_another_code_searches_below_it_with_the_same_options(engine, namer, event, monkeypatch):
    last = asked(engine, k=4)
    shown, state, _ = follow(namer, (last,), 0, None)
    level, code = a_choice(shown)
    searches, search = [], engine.search_encoded
    monkeypatch.setattr(engine, "search_encoded", lambda *given: searches.append(given[1]) or search(*given))
    branched, now, found = event("on_branch", (last,), state, level=level, code=code)
    prefix = (*state.original.codes[:level], code)
    assert searches == [replace(OPTIONS, k=4, trace=True, prefix=prefix)]
    assert [column["code"]["code"] for column in branched["columns"][1 : level + 2]] == list(prefix)
    assert branched["branched"] and branched["play"] == level + 2 and f"at level {level}" in branched["sentence"]
    (group,) = found["groups"]
    assert group["title"].endswith(" · ".join(map(str, prefix)))
    ids = {hit.item.id: hit.codes for hit in engine.search([last.query], replace(OPTIONS, k=40, prefix=prefix))[0].hits}
    assert group["tiles"] and all(ids[tile["id"]][: level + 1] == prefix for tile in group["tiles"])
    again, _, gone = event("on_follow", (last,), column=0, rank=None)
    assert again["columns"] == shown["columns"] and gone is None
    back, *_ = event("on_branch", (last,), now, level=level, code=state.original.codes[level])
    assert [column["code"] for column in back["columns"]] == [column["code"] for column in shown["columns"]]


def test_what_was_not_offered_is_refused_with_a_sentence(engine, namer, event):
    last = asked(engine)
    _, state, _ = follow(namer, (last,), 0, None)
    for known, data in (
        (None, {"level": 1, "code": 1}),
        (state, {"level": "1", "code": 1}),
        (state, {"level": 1, "code": 99}),
        (state, {"level": LEVELS, "code": 0}),
        (state, {"level": -1, "code": 0}),
        (state, {}),
    ):
        with pytest.raises(UserError, match=STALE_STEP):
            event("on_branch", (last,), known, **data)
    for data in ({"column": 1}, {"column": True}, {"column": 0, "rank": 99}, {"column": 0, "rank": "x"}, {}):
        with pytest.raises(UserError, match=STALE_STEP):
            event("on_follow", (last,), **data)
    with pytest.raises(UserError, match=STALE_STEP):
        event("on_branch", (), state, level=1, code=1)


def test_after_items_were_removed_no_row_of_an_older_search_is_shown(tmp_path):
    run = publish_tiny_run(tmp_path / "run")
    engine = Engine.load(run.path, "cpu")
    namer, callbacks = CodeNamer(engine, run.path), SearchCallbacks(Context(engine, ServedRun(run.path), None))
    last = asked(engine)
    shown, state, _ = follow(namer, (last,), 0, None)
    callbacks.on_save_page((last,))
    update.remove(run.path, [hit.item.id for hit in last.result.hits[:2]])
    assert engine.versions.reload()
    for stale in (
        lambda: follow(namer, (last,), 0, None),
        lambda: branch(namer, (last,), state, *a_choice(shown)),
        lambda: callbacks.on_save_page((last,)),
    ):
        with pytest.raises(UserError, match="^The collection has changed; search again.$"):
            stale()
    assert follow(namer, (asked(engine),), 0, None)[0]["columns"][0]["items"] == "38"


# Why


@pytest.fixture
def last(engine):
    return asked(engine)


@pytest.fixture
def explain(page):
    """-> what is kept of the search, panel, figure, table."""
    return lambda id, last, search=None: callback(page, "on_open")(id, last, search)


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


def test_a_result_chosen_on_its_card_is_explained_and_opens_the_panel(page, engine, last):
    other = asked(engine, "A blue boat.", k=5)
    hit = other.result.hits[1]
    picked = SimpleNamespace(column=1, id=hit.item.id)
    answer, id, section, search, why, *_ = callback(page, "on_why")(picked, (last, other), None)
    assert answer is other and search.last is other and id == hit.item.id
    assert section["open"] and why["title"] == "Why result 2?"
    with pytest.raises(UserError, match="no longer there"):
        callback(page, "on_why")(picked, (last,), None)

"""The strip and Why over a tiny run."""

from dataclasses import replace
from pathlib import Path

import pytest

from genius.errors import UserError
from genius.explore.code_names import CodeNamer
from genius.index import update
from genius.schema import Query, SearchOptions
from genius.search.engine import Engine
from genius.ui.common.context import Context, LastQuery, ServedRun
from genius.ui.common.formatting import item_label
from genius.ui.search.panel import Search
from genius.ui.search.strip import STALE_STEP, follow
from genius.ui.search.why import explained
from tests.search.tiny import LEVELS, publish_tiny_run

OPTIONS = SearchOptions(beams=7, k=6, trace=True)


@pytest.fixture(scope="module")
def namer(engine):
    return CodeNamer(engine, Path("tiny"))


def asked(engine, text="A red dog.", **options) -> LastQuery:
    query = Query(text)
    options = replace(OPTIONS, **options)
    (result,) = engine.search([query], options)
    return LastQuery(text, query, options, result, engine.index.folder.name)


def chosen(shown):
    """The codes of the ID that a strip shows."""
    return [column["code"]["code"] for column in shown["columns"][1:]]


def test_a_result_of_any_mode_shows_the_probability_of_each_of_its_codes(engine, namer):
    for mode in ("both", "generate", "scan"):
        last = asked(engine, mode=mode, beams=2)
        for rank in [0, *(hit.rank for hit in last.result.hits)]:
            shown = follow(namer, (last,), 0, rank)["strip"]
            assert len(shown["columns"]) == 1 + LEVELS
            assert all(
                column["code"]["probability"].endswith("%") for column in shown["columns"][1:]
            )
            dropped = "would have dropped it at" in shown["sentence"]
            assert mode == "scan" or dropped or "the search kept it to the end" in shown["sentence"]


def a_choice(shown):
    """Level and code of an alternative."""
    return next(
        [one["level"], one["code"]]
        for column in reversed(shown["columns"])
        for one in column["others"]
    )


def test_another_code_searches_below_it_with_the_same_options(engine, namer, monkeypatch):
    last = asked(engine, k=4)
    shown = follow(namer, (last,), 0, 0)["strip"]
    level, code = a_choice(shown)
    searches = []
    search = engine.search_encoded
    monkeypatch.setattr(
        engine, "search_encoded", lambda *given: searches.append(given[1]) or search(*given)
    )
    told = follow(namer, (last,), 0, 0, [[level, code]])
    prefix = (*chosen(shown)[:level], code)
    assert searches == [replace(OPTIONS, k=4, prefix=prefix)]
    strip, found = told["strip"], told["found"]
    assert chosen(strip)[: level + 1] == list(prefix)
    assert (
        strip["branched"]
        and strip["play"] == level + 2
        and f"at level {level}" in strip["sentence"]
    )
    assert found["title"].endswith(" · ".join(map(str, prefix)))
    options = replace(OPTIONS, k=40, prefix=prefix)
    ids = {hit.item.id: hit.codes for hit in engine.search([last.query], options)[0].hits}
    assert found["tiles"] and all(ids[tile["id"]][: level + 1] == prefix for tile in found["tiles"])
    back = follow(namer, (last,), 0, 0, [[level, code], [level, chosen(shown)[level]]])
    assert chosen(back["strip"]) == chosen(shown)


@pytest.mark.parametrize(
    "branches", [5, ["x"], [["1", 1]], [[LEVELS, 0]], [[-1, 0]], [[True, True]]]
)
def test_a_code_that_was_not_offered_is_refused_with_a_sentence(engine, namer, branches):
    with pytest.raises(UserError, match=STALE_STEP):
        follow(namer, (asked(engine),), 0, 0, branches)


@pytest.mark.parametrize("column, rank", [("0", 0), (1, 0), (-1, 0), (0, 99), (0, -1)])
def test_an_id_that_was_not_found_is_refused_with_a_sentence(engine, namer, column, rank):
    with pytest.raises(UserError, match=STALE_STEP):
        follow(namer, (asked(engine),), column, rank)


def test_after_items_were_removed_no_row_of_an_older_search_is_shown(tmp_path):
    run = publish_tiny_run(tmp_path / "run")
    engine = Engine.load(run.path, "cpu")
    search = Search(Context(engine, ServedRun(run.path)))
    namer = CodeNamer(engine, run.path)
    last = asked(engine)
    shown = follow(namer, (last,), 0, 0)["strip"]
    update.remove(run.path, [hit.item.id for hit in last.result.hits[:2]])
    assert engine.snapshots.reload()
    for branches in ((), [a_choice(shown)]):
        with pytest.raises(UserError, match="^The collection has changed; search again.$"):
            follow(namer, (last,), 0, 0, branches)
    asking = {"q": last.query.text, "beams": "7", "results": "6"}
    assert search.show(asking)["strip"]["columns"][0]["items"] == "38"
    assert search.save(asking, "html")["text"]


# Why


@pytest.fixture
def last(engine):
    return asked(engine)


@pytest.fixture(scope="module")
def explain(namer):
    """-> why a result of a search came."""
    return lambda last, place: explained(namer, last, last.result.hits[place])


def test_the_chosen_result_is_explained_in_words_in_a_figure_and_in_a_table(explain, last):
    hit = last.result.hits[2]
    why = explain(last, 2)
    assert (why["title"], why["item"]["label"]) == ("Why result 3?", item_label(hit.item))
    assert why["ids"][0]["codes"] == list(hit.codes)
    assert why["ids"][2]["codes"] == list(last.result.query_codes)
    assert f"to {hit.rank} " in why["sentences"][1] or f"at rank {hit.rank} " in why["sentences"][1]
    prefixes = {".".join(map(str, row["codes"])) for row in why["prefixes"]}
    drawn = {prefix for trace in why["tree"]["data"] for prefix in trace.get("customdata") or ()}
    assert drawn == prefixes
    shares = next(
        row["figures"] for row in why["steps"] if row["name"] == "Probability of the code"
    )
    assert len(shares) == len(hit.codes)  # of every result, whether or not the beam search kept it


def test_what_was_traced_is_explained_and_a_scan_is_followed_by_a_beam_search(
    explain, engine, last, monkeypatch
):
    searches = []
    retrace = engine.search_encoded
    monkeypatch.setattr(
        engine, "search_encoded", lambda *asked: searches.append(asked[1]) or retrace(*asked)
    )
    assert not explain(last, 0)["note"] and not searches
    scanned = asked(engine, "A blue boat.", mode="scan")
    assert "only scanned" in explain(scanned, 0)["note"]
    assert searches == [replace(OPTIONS, mode="generate")]


def test_a_result_that_was_removed_is_explained_by_a_sentence(explain, last):
    hit = last.result.hits[0]
    gone = replace(
        last, result=replace(last.result, hits=[replace(hit, item=replace(hit.item, id="9:9"))])
    )
    with pytest.raises(UserError, match="was removed; search again"):
        explain(gone, 0)

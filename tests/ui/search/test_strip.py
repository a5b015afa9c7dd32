from dataclasses import replace
from pathlib import Path

import gradio as gr
import pytest

from genius.errors import UserError
from genius.explore.code_names import MIN_ITEMS, CodeName, CodeNamer
from genius.index import update
from genius.schema import Modality, Query, SearchOptions
from genius.search.engine import Engine
from genius.ui.common.components import Panel
from genius.ui.common.context import Context, LastQuery, ServedRun, Shared
from genius.ui.search import strip as of_strip
from genius.ui.search.blend import blend_panel
from genius.ui.search.callbacks import SearchCallbacks
from genius.ui.search.newest import Newest
from genius.ui.search.strip import STALE_STEP, branch, follow, initial_rank, strip_panel
from tests.search.tiny import LEVELS, publish_tiny_run
from tests.ui.events import callback

OPTIONS = SearchOptions(beams=7, k=6)


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    return Engine.load(publish_tiny_run(tmp_path_factory.mktemp("strip") / "run").path, "cpu")


@pytest.fixture(scope="module")
def namer(engine):
    return CodeNamer(engine, Path("tiny"))


@pytest.fixture(scope="module")
def page(engine):
    with gr.Blocks() as page:
        context, answers = Context(engine, ServedRun(Path("tiny")), Shared.create(gr.Tabs())), gr.State(())
        newest = gr.State(Newest())
        strip_panel(context, answers, newest)
        blend_panel(context, Panel("cards", "search/cards.js"), answers, newest)
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


def a_choice(shown):
    """Level and code of an alternative."""
    return next((one["level"], one["code"]) for column in reversed(shown["columns"]) for one in column["others"])


def test_another_id_that_was_chosen_last_is_shown_though_a_what_if_ends_after_it(event, engine, monkeypatch):
    answers, shown = (asked(engine),), []
    monkeypatch.setattr(of_strip, "branch", lambda *given: shown.append(event("on_follow", answers, column=0)))
    assert event("on_branch", answers, None) == gr.skip()
    assert shown[0][0]["title"] == "How the ID was generated"


def test_a_search_shows_the_best_id_with_a_column_for_each_level(engine, namer):
    last = asked(engine)
    shown, state, found = follow(engine, namer, (last,), 0, None)
    assert [column["code"] and column["code"]["code"] for column in shown["columns"]] == [
        None,
        *last.result.generated[0].codes,
    ]
    assert [column["head"] for column in shown["columns"][:2]] == ["Start", "Modality"]
    assert shown["columns"][1]["code"]["name"] in ("Image", "Text", "Pair")
    assert shown["columns"][0]["items"] == "40" and shown["play"] == 1 and not shown["branched"]
    rows = {row for column in shown["columns"] for row in column["rows"]} | {*shown["ending"]["rows"]}
    rows |= {one["row"] for column in shown["columns"] for one in column["others"]}
    assert set(map(str, rows)) == set(shown["items"]) and found is None and state.original is state.current


def test_a_search_of_one_modality_counts_its_items_alone(engine, namer):
    shown, *_ = follow(engine, namer, (asked(engine, modality=Modality.TEXT),), 0, None)
    assert shown["columns"][0]["items"] == "13"
    assert {item["modality"] for item in shown["items"].values()} == {"text"}


def test_without_a_trace_there_is_no_strip(engine, namer):
    assert follow(engine, namer, (asked(engine, trace=False),), 0, None) == (None, None, None)


def test_another_code_searches_below_it_with_the_same_options(engine, namer, event, monkeypatch):
    last = asked(engine, k=4)
    shown, state, _ = follow(engine, namer, (last,), 0, None)
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
    _, state, _ = follow(engine, namer, (last,), 0, None)
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


def test_the_id_of_the_first_result_comes_first_where_it_is_not_the_best_one(engine, namer, event):
    for words in ("A red dog.", "A blue boat.", "A large house.", "A small cat.", "street"):
        last = asked(engine, words)
        shown, *_ = follow(engine, namer, (last,), 0, None)
        other = last.result.hits[0].codes != last.result.generated[0].codes
        assert initial_rank(last) == (1 if other else None)
        assert [path["rank"] for path in shown["paths"]] == [1, None][1 - other :]
        if other:
            first, *_ = event("on_follow", (last,), column=0, rank=1)
            assert [column["code"]["code"] for column in first["columns"][1:]] == list(last.result.hits[0].codes)
            assert "That item is result 1." in first["sentence"] or "The best of them is result 1." in first["sentence"]
            assert [path["chosen"] for path in first["paths"]] == [True, False]
            break
    else:
        raise AssertionError("every best ID was that of the first result")


def test_each_of_several_searches_has_its_strip(engine, namer, event):
    answers = tuple(
        replace(one, query=replace(one.query, instruction=name))
        for one, name in ((asked(engine), "Find it."), (asked(engine, "A blue boat."), "Name it."))
    )
    shown, *_ = follow(engine, namer, answers, 0, initial_rank(answers[0]))
    assert [(path["name"], path["chosen"]) for path in shown["paths"]] == [("Find it.", True), ("Name it.", False)]
    second, state, _ = event("on_follow", answers, column=1, rank=shown["paths"][1]["rank"])
    assert state.column == 1 and [path["chosen"] for path in second["paths"]] == [False, True]


def test_another_code_shows_the_item_nearest_to_its_mean_if_its_name_is_stored(engine, namer):
    last = asked(engine)
    shown, state, _ = follow(engine, namer, (last,), 0, None)
    level, code = a_choice(shown)
    prefix = (*state.original.codes[:level], code)
    named = CodeNamer(engine, Path("tiny"))
    named.stored = {prefix: CodeName(("boat",), ("0:3",))}
    known, *_ = follow(engine, named, (last,), 0, None)
    rows = {(one["level"], one["code"]): one["row"] for column in known["columns"] for one in column["others"]}
    assert rows[level, code] == engine.index.rows_of(["0:3"])[0] and str(rows[level, code]) in known["items"]
    for (level, code), row in rows.items():
        if (*state.original.codes[:level], code) != prefix:
            assert tuple(engine.index.codes([row])[0][: level + 1]) == (*state.original.codes[:level], code)
    assert shown["unnamed"] and not known["unnamed"]


def test_a_run_without_names_gets_those_of_the_shown_codes_on_request(engine, namer, page):
    (on_names,) = (event.fn for event in page.fns.values() if event.name == "on_names")
    assert on_names(None) == {}
    shown, state, _ = follow(engine, namer, (asked(engine),), 0, None)
    names = on_names(state)
    large = {
        choice["prefix"]
        for column in shown["columns"][2:]
        for choice in [column["code"], *column["others"]]
        if int(choice["items"].split()[0]) >= MIN_ITEMS
    }
    assert large and large <= set(names) and all(names.values())


def test_a_blend_shows_how_the_ids_of_both_its_ends_were_generated(engine, event):
    last = asked(engine)
    shown = event("on_blend", (last,), column=0, id=last.result.hits[3].item.id)
    assert [strip["name"] for strip in shown["strips"]] == ["Query", "Result"]
    for strip, step in zip(shown["strips"], (shown["steps"][0], shown["steps"][-1]), strict=True):
        assert [column["code"]["code"] for column in strip["columns"]] == step["codes"]
        assert {str(row) for column in strip["columns"] for row in column["rows"]} <= set(shown["items"])
    left = [int(column["items"]) for column in shown["strips"][0]["columns"]]
    assert left == sorted(left, reverse=True) and left[-1] >= 1


def test_after_items_were_removed_no_row_of_an_older_search_is_shown(tmp_path):
    run = publish_tiny_run(tmp_path / "run")
    engine = Engine.load(run.path, "cpu")
    namer, callbacks = CodeNamer(engine, run.path), SearchCallbacks(Context(engine, ServedRun(run.path), None))
    last = asked(engine)
    shown, state, _ = follow(engine, namer, (last,), 0, None)
    callbacks.on_save_page((last,))
    update.remove(run.path, [hit.item.id for hit in last.result.hits[:2]])
    assert engine.versions.reload()
    for stale in (
        lambda: follow(engine, namer, (last,), 0, None),
        lambda: branch(engine, namer, (last,), state, *a_choice(shown)),
        lambda: callbacks.on_save_page((last,)),
    ):
        with pytest.raises(UserError, match="^The collection has changed; search again.$"):
            stale()
    assert follow(engine, namer, (asked(engine),), 0, None)[0]["columns"][0]["items"] == "38"

"""genius/evaluation/evaluate.py, from a collection and a run to the report."""

import json
import shutil
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from genius.collections.layout import named_pool_file
from genius.collections.mbeir import Collection
from genius.collections.writer import candidate_line
from genius.errors import UserError
from genius.evaluation.evaluate import EvaluationOptions, evaluate
from genius.evaluation.queries import read_queries, with_positives
from genius.metrics.hit_rate import CUTS
from genius.models.encoder import Encoder
from genius.search.engine import Engine
from tests.evaluation.micro import publish_micro_run


@pytest.fixture(scope="module")
def report(engine, collection):
    return evaluate(engine, collection, EvaluationOptions(beams=(1, 8, 100)))


@pytest.fixture(scope="module")
def embedded(engine, collection) -> dict[tuple[int, str], np.ndarray]:
    """(task, query id) -> embedding of the query as the evaluation asks it."""
    sets = read_queries(collection, engine.index, "test", limit=None, seed=0, phrasing="seeded")
    return {
        (known.task, known.id): engine.encode(batch).embeddings[0].numpy().astype(np.float64)
        for queries in sets
        for known, batch in zip(queries.queries, queries.opened(collection, 1), strict=True)
    }


def without_times(value):
    if isinstance(value, dict):
        return {key: without_times(inner) for key, inner in value.items() if key != "milliseconds"}
    return [without_times(inner) for inner in value] if isinstance(value, list) else value


def test_an_encoder_that_cannot_encode_is_refused_before_any_image_is_opened(engine, collection, monkeypatch):
    def fail(*given):
        raise OSError("the tokenizer is gone")

    monkeypatch.setattr(Encoder, "tokenize", fail)
    monkeypatch.setattr("genius.evaluation.queries.open_image", None)
    with pytest.raises(UserError, match="cannot encode a text and an image .the tokenizer is gone"):
        evaluate(engine, collection, EvaluationOptions())


@pytest.mark.parametrize(
    "lacking, other, options, named",
    [
        ("held_out_instructions", "query_instructions", {}, "held_out_instructions.tsv"),
        ("query_instructions", "held_out_instructions", {"instruction": "held-out", "every_phrasing": True}, "query_"),
    ],
)
def test_a_missing_instruction_is_named_before_anything_is_encoded(
    engine, collection, tmp_path, monkeypatch, lacking, other, options, named
):
    copy = Collection(shutil.copytree(collection.root, tmp_path / "copy"))
    lines = (copy.root / "instructions/query_instructions.tsv").read_text().splitlines(keepends=True)
    (copy.root / "instructions" / f"{other}.tsv").write_text("".join(lines))
    (copy.root / "instructions" / f"{lacking}.tsv").write_text("".join(lines[:2]))
    monkeypatch.setattr(engine, "encode", None)

    with pytest.raises(UserError, match=rf"has no instruction from .* \({named}"):
        evaluate(engine, copy, EvaluationOptions(**options))


def test_dense_agrees_with_ranking_all_items_by_hand(report, engine, collection, embedded):
    tested = {item.id for item in collection.candidates("union_test")}
    for pool in report["pools"]:
        for row in pool["rows"]:
            name = (row["task"], row["dataset"])
            of = next(of for of in collection.rows() if (of.task, of.dataset) == name)
            source = collection.local_pool(of) if pool["scope"] == "local" else collection.all_candidates()
            ids = [item.id for item in source if pool["items"] == "all" or item.id in tested]
            vectors = engine.index.embeddings[engine.index.rows_of(ids)].astype(np.float64)
            hits = dict.fromkeys(map(str, CUTS), 0)
            queries = list(collection.queries("test", of))
            for query in queries:
                order = np.argsort(-(vectors @ embedded[of.task, query.id]), kind="stable")
                for k in CUTS:
                    hits[str(k)] += any(ids[at] in query.positives for at in order[:k])

            assert (row["queries"], row["candidates"]) == (len(queries), len(ids))
            assert row["systems"]["dense"]["hit"] == {k: count / len(queries) for k, count in hits.items()}


def test_every_pool_has_every_row_and_the_averages_of_its_rows(report):
    assert [(pool["scope"], pool["items"]) for pool in report["pools"]] == [
        ("global", "all"),
        ("global", "test"),
        ("local", "all"),
        ("local", "test"),
    ]
    for pool in report["pools"]:
        assert len(pool["rows"]) == 3
        for system, figures in pool["average"]["systems"].items():
            for k in map(str, CUTS):
                each = [row["systems"][system]["hit"][k] for row in pool["rows"]]
                assert figures["hit"][k] == pytest.approx(sum(each) / 3)


def test_nothing_ranks_better_than_its_candidates_allow(report):
    for entry in report["sweep"]:
        for row in entry["rows"]:
            assert len(row["beam"]) == 6
            for system, found in row["beam"].items():
                assert row["systems"][system]["hit"]["50"] <= found["candidate_recall"]
                assert found["items"] <= row["candidates"]


def test_more_beams_have_a_higher_recall(report):
    kept = [entry["average"]["beam"]["geometry"]["candidate_recall"] for entry in report["sweep"]]

    assert [entry["beams"] for entry in report["sweep"]] == [1, 8, 100]
    assert kept == sorted(kept) and kept[0] < kept[-1] == 1.0


def test_exact_search_reports_certificates_and_certifies_everything_if_beams_hold_all_ids(report):
    for entry in report["sweep"]:
        for system, found in entry["average"]["beam"].items():
            assert (found["certified"] is None) == system.startswith("fast")
    assert report["sweep"][-1]["average"]["beam"]["beam"]["certified"] == 1.0
    assert report["sweep"][0]["average"]["beam"]["beam"]["certified"] < 1.0


def test_a_decoder_weight_of_zero_leaves_the_geometry_alone(engine, collection):
    found = evaluate(engine, collection, EvaluationOptions(beams=(4,), limit=3, decoder_weight=0.0))

    assert found["decoder_weight"] == 0.0
    for row in found["pools"][0]["rows"]:
        for tuned, alone in (
            ("beam", "geometry"),
            ("beam + re-rank", "geometry + re-rank"),
            ("fast + re-rank", "fast geometry + re-rank"),
        ):
            assert row["systems"][tuned]["hit"] == row["systems"][alone]["hit"]
            assert row["beam"][tuned] == row["beam"][alone]


def test_the_tables_are_those_of_the_widest_beam(report):
    assert without_times(report["sweep"][-1]["rows"]) == without_times(report["pools"][0]["rows"])


def test_the_report_is_json_and_reproducible_except_for_times(report, engine, collection):
    again = evaluate(engine, collection, EvaluationOptions(beams=(1, 8, 100)))

    assert json.loads(json.dumps(without_times(again))) == json.loads(json.dumps(without_times(report)))


def test_the_limit_and_the_split_are_used(engine, collection):
    found = evaluate(engine, collection, EvaluationOptions(split="val", limit=2, beams=(5,)))

    assert [pool["items"] for pool in found["pools"]] == ["all", "val", "all", "val"]
    assert [row["queries"] for row in found["pools"][0]["rows"]] == [2, 2, 2]


def test_a_run_that_ships_one_pool_is_evaluated_on_the_queries_that_it_can_answer(collection, tmp_path):
    shipping = Collection(shutil.copytree(collection.root, tmp_path / "collection"))
    titled = [item for item in shipping.all_candidates() if item.id.startswith("1:")]
    (shipping.root / named_pool_file("shipped")).write_text("".join(map(candidate_line, titled)))
    pool = SimpleNamespace(all_candidates=lambda: titled, image_path=shipping.image_path, root=shipping.root)
    engine = Engine.load(publish_micro_run(tmp_path / "run", pool).path, "cpu")

    report = evaluate(engine, shipping, EvaluationOptions(beams=(8,), answerable=True))

    assert [kind["scope"] for kind in report["pools"]] == ["global", "local"]
    assert {kind["items"] for kind in report["pools"]} == {"shipped"}
    for kind in report["pools"]:
        (row,) = kind["rows"]
        assert row["dataset"] == "titled" and row["without_positive"] == 0 and row["candidates"] == len(titled)
    with pytest.raises(UserError, match="the local pool, shipped items is empty"):
        evaluate(engine, shipping, EvaluationOptions(beams=(8,)))


def test_answerable_queries_are_those_with_a_positive_in_the_index(engine, collection):
    queries = list(collection.queries("test"))
    assert list(with_positives(queries, engine.index)) == queries
    unknown = [replace(query, positives=("9:1",)) for query in queries]
    mixed = [query for pair in zip(unknown, queries, strict=True) for query in pair]
    assert list(with_positives(mixed, engine.index)) == queries

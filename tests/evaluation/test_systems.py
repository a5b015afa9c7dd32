"""genius/evaluation/systems.py against rankings worked out one query at a time."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from genius.evaluation import systems
from genius.evaluation.queries import encode, in_batches, read_queries
from genius.evaluation.systems import CANDIDATES, SearchedPool, id_systems, search_by_ids
from genius.metrics.hit_rate import MISS, Qrels
from genius.schema import Modality

STAGES = {  # by the first word of a system
    "scan": {"encode", "fuse", "scan", "rerank"},
    "beam": {"encode", "fuse", "beam", "rerank"},
    "both": {"encode", "fuse", "beam", "scan", "rerank"},
}


@pytest.fixture(scope="module")
def text_queries(collection, engine):
    """The text → image queries of the micro collection, opened."""
    queries = read_queries(collection, engine.index, "test", limit=None, seed=0)[0]
    return queries, [query for batch in queries.opened(collection, 99) for query in batch]


@pytest.fixture(autouse=True)
def two_scans(monkeypatch):
    """The four queries need more than one pass."""
    monkeypatch.setattr(systems, "SCAN_BATCH", 3)


@pytest.fixture(scope="module")
def encoded(engine, text_queries):
    return encode(engine, [text_queries[1][:3], text_queries[1][3:]])


@pytest.fixture(scope="module")
def whole(engine):
    return SearchedPool(engine, engine.pool, np.arange(engine.index.n))


def of_system(found, name):
    """What was found by a system, by column."""
    return found[found["system"] == name].to_dict("list")


def by_ids(*given):
    return pd.concat(search_by_ids(*given))


def stages(found, name):
    return {
        stage for stage in systems.STAGES if found.loc[found["system"] == name, stage].notna().all()
    }


def first_rank(order, wanted):
    return next((rank for rank, row in enumerate(order, 1) if row in wanted), MISS)


def positives(qrels, number):
    return set(qrels.rows[qrels.offsets[number] : qrels.offsets[number + 1]].tolist())


def test_what_finds_every_item_and_is_re_ranked_equals_dense_search(whole, text_queries, encoded):
    qrels = text_queries[0].qrels
    n = len(whole.rows)
    (found,) = whole.search(encoded, qrels, [500])
    for name in ("scan + re-rank", "beam + re-rank", "both + re-rank"):
        ranked = of_system(found, name)
        assert ranked["rank"] == of_system(found, "dense")["rank"]
        assert all(ranked["recall"]) and ranked["items"] == [n] * len(qrels)


@pytest.mark.parametrize("system", id_systems(1))
@pytest.mark.parametrize("beams", [1, 4, 12])
def test_beam_ranks_are_those_of_the_search_that_is_served(engine, text_queries, system, beams):
    qrels = text_queries[0].qrels
    queries = text_queries[1]
    options = id_systems(beams)[system]
    served = engine.search(queries, options)
    found = of_system(
        by_ids({system: options}, engine, engine.pool, encode(engine, [queries]), qrels), system
    )
    expected = [
        first_rank([hit.row for hit in result.hits], positives(qrels, number))
        for number, result in enumerate(served)
    ]
    assert found["rank"] == expected
    assert found["items"] == [result.candidates for result in served]
    assert found["recall"] == [rank != MISS for rank in expected]
    assert found["first code"] == [
        result.first_code_probabilities.argmax() == Modality.IMAGE for result in served
    ]
    assert found["scored"] == [result.decoded for result in served]


def test_the_engines_batch_size_is_used_and_does_not_change_results(
    engine, text_queries, encoded, monkeypatch
):
    qrels = text_queries[0].qrels
    options = id_systems(4)["beam"]
    expected = by_ids({"beam": options}, engine, engine.pool, encoded, qrels)
    sizes = []
    retrieve = engine.retrieve

    def spy(batch, *rest):
        sizes.append(len(batch.z))
        return retrieve(batch, *rest)

    monkeypatch.setattr(engine, "retrieve", spy)
    monkeypatch.setattr(systems, "batch_size", lambda beams: beams // 2)
    found = by_ids({"beam": options}, engine, engine.pool, encoded, qrels)
    assert sizes == [2, 2]  # of 3 + 1 that were encoded together
    for column in ("query", "rank", "recall"):
        assert of_system(found, "beam")[column] == of_system(expected, "beam")[column]
    assert [len(part.embeddings) for part in in_batches(encoded, 3)] == [3, 1]


def test_systems_that_differ_in_the_order_of_candidates_share_a_search(
    engine, text_queries, encoded, monkeypatch
):
    qrels = text_queries[0].qrels
    systems_ = id_systems(4)
    expected = {
        name: by_ids({name: options}, engine, engine.pool, encoded, qrels)
        for name, options in systems_.items()
    }
    searched = []
    retrieve = engine.retrieve
    monkeypatch.setattr(
        engine, "retrieve", lambda *given: searched.append(given[1].mode) or retrieve(*given)
    )
    found = by_ids(systems_, engine, engine.pool, encoded, qrels)
    assert sorted(searched) == ["both", "generate", "generate", "scan"]  # to the end once
    for name, alone in expected.items():
        for column in ("rank", *CANDIDATES):
            assert of_system(found, name)[column] == of_system(alone, name)[column]


def test_a_positive_outside_the_pool_is_a_miss_everywhere(engine, text_queries, encoded):
    outside = int(text_queries[0].qrels.rows[0])
    rows = np.setdiff1d(np.arange(engine.index.n), [outside])
    qrels = Qrels.from_lists([[outside]] * len(encoded.z))
    (found,) = SearchedPool(engine, engine.index.pool(rows), rows).search(encoded, qrels, [30])
    assert (found["rank"] == MISS).all() and not found["recall"].dropna().any()


def test_every_system_is_timed_by_stage_and_chosen_ones_are_searched_alone(
    whole, text_queries, encoded
):
    qrels = text_queries[0].qrels
    (found,) = whole.search(encoded, qrels, [4])
    assert {system: stages(found, system) for system in found["system"].unique()} == {
        "dense": {"encode", "scan"},
        **{name: STAGES[name[:4]] for name in id_systems(4)},
    }
    assert (found[list(systems.STAGES)].fillna(1) > 0).all(axis=None)
    few, more = replace(whole, systems=("beam", "dense")).search(encoded, qrels, [4, 5])
    for chosen in (few, more):
        assert chosen["system"].unique().tolist() == ["dense", "beam"]
    for name in ("dense", "beam"):
        assert of_system(few, name)["rank"] == of_system(found, name)["rank"]

"""genius/evaluation/systems.py against rankings worked out one query at a time."""

import numpy as np
import pytest
import torch

from genius.evaluation import systems
from genius.evaluation.metrics import MISS, Qrels
from genius.evaluation.queries import read_queries
from genius.evaluation.systems import Encoded, search_beam, search_dense, search_every_way, search_quantized
from genius.schema import SearchOptions


@pytest.fixture(scope="module")
def asked(collection, engine):
    """The text → image queries of the micro collection, opened."""
    queries = read_queries(collection, engine.index, "test", limit=None, seed=0, phrasing="seeded")[0]
    return queries, [query for batch in queries.opened(collection, 99) for query in batch]


@pytest.fixture(autouse=True)
def two_scans(monkeypatch):
    """The four queries need more than one pass."""
    monkeypatch.setattr(systems, "SCAN_BATCH", 3)


@pytest.fixture(scope="module")
def encoded(engine, asked):
    return Encoded.by(engine, [asked[1][:3], asked[1][3:]])


def first_rank(order, wanted):
    return next((rank for rank, row in enumerate(order, 1) if row in wanted), MISS)


def positives(qrels, number):
    return set(qrels.rows[qrels.offsets[number]:qrels.offsets[number + 1]].tolist())


def test_dense_agrees_with_sorting_all_cosines_of_the_pool(engine, asked, encoded):
    qrels, pool = asked[0].qrels, np.arange(1, engine.index.n, 2)
    cosines = encoded.embeddings.astype(np.float64) @ engine.index.embeddings[pool].astype(np.float64).T

    ranks, _ = search_dense(engine.index.embeddings, pool, encoded.embeddings, qrels)

    assert ranks.tolist() == [first_rank(pool[np.argsort(-row, kind="stable")], positives(qrels, number))
                              for number, row in enumerate(cosines)]


def test_quantized_agrees_with_sorting_all_distances(engine, asked, encoded):
    qrels, rows = asked[0].qrels, np.arange(engine.index.n)
    codes = engine.index.codes(rows)
    vectors = engine.quantizer.decode(torch.from_numpy(codes)).numpy()
    expected = []
    for number, z in enumerate(encoded.z.numpy()):
        distances = ((z - vectors) ** 2).sum(1).round(4)          # equal IDs are at one distance
        order = sorted(rows, key=lambda row: (distances[row], tuple(codes[row]), row))
        expected.append(first_rank(order, positives(qrels, number)))

    ranks, _ = search_quantized(engine, engine.pool, encoded, qrels)

    assert ranks.tolist() == expected


def test_a_geometry_beam_over_all_ids_is_quantized_and_reranked_it_is_dense(engine, asked, encoded):
    qrels, rows = asked[0].qrels, np.arange(engine.index.n)
    quantized, _ = search_quantized(engine, engine.pool, encoded, qrels)
    dense, _ = search_dense(engine.index.embeddings, rows, encoded.embeddings, qrels)

    found = search_beam("geometry", engine, engine.pool, encoded, qrels, beams=500, decoder_weight=0.0)

    assert found.ranks["geometry"].tolist() == quantized.tolist()
    assert found.ranks["geometry + re-rank"].tolist() == dense.tolist()
    assert found.kept["geometry"].all()
    assert found.considered["geometry"].tolist() == [engine.index.n] * len(qrels)


@pytest.mark.parametrize("rerank", [True, False])
@pytest.mark.parametrize("beams", [1, 4, 12])
def test_beam_ranks_are_those_of_the_search_that_is_served(engine, asked, encoded, rerank, beams):
    qrels, queries = asked[0].qrels, asked[1]
    served = engine.search(queries, SearchOptions(beams=beams, k=50, rerank=rerank))

    found = search_beam("beam", engine, engine.pool, encoded, qrels, beams)

    expected = [first_rank([hit.row for hit in result.hits], positives(qrels, number))
                for number, result in enumerate(served)]
    assert found.ranks["beam + re-rank" if rerank else "beam"].tolist() == expected
    assert found.considered["beam"].tolist() == [result.candidates for result in served]
    assert found.kept["beam"].tolist() == [rank != MISS for rank in expected]
    assert found.first_code["beam"].tolist() == [result.modality_probabilities.argmax() for result in served]


def test_a_positive_outside_the_pool_is_a_miss_everywhere(engine, asked, encoded):
    outside = int(asked[0].qrels.rows[0])
    rows = np.setdiff1d(np.arange(engine.index.n), [outside])
    qrels = Qrels.of([[outside]] * len(encoded.z))

    found = search_every_way(engine, engine.index.pool(rows), rows, encoded, qrels, [3, 30])

    assert all((ranks == MISS).all() for outcome in found.values() for ranks in outcome.ranks.values())
    assert not found[30].kept["beam"].any()


def test_every_system_is_timed_by_stage(engine, asked, encoded):
    found = search_every_way(engine, engine.pool, np.arange(engine.index.n), encoded, asked[0].qrels, [4])[4]

    assert {system: set(stages) for system, stages in found.milliseconds.items()} == {
        "dense": {"encode", "scan"}, "quantized": {"encode", "fuse", "scan"},
        "geometry": {"encode", "fuse", "beam", "expand", "rerank"},
        "beam": {"encode", "fuse", "beam", "expand", "rerank"}}
    assert all(value > 0 for stages in found.milliseconds.values() for value in stages.values())

"""genius/evaluation/speed/equal.py on the micro run: hit rates by hand, and who equals whom."""

import faiss
import numpy as np
import pytest

from genius.evaluation.queries import read_queries
from genius.evaluation.speed import equal
from genius.evaluation.speed.clock import Times
from genius.evaluation.speed.equal import (
    CUT,
    Measured,
    at_equal_hit_rate,
    dense,
    generating,
    markdown,
    mean_hit_rate,
    measure_at_equal_hit_rate,
)
from genius.schema import SearchOptions


def inverted_lists(embeddings: np.ndarray, lists: int, code_bytes: int, training: int) -> faiss.Index:
    """Stands for IVF-PQ, which cannot be trained on so few vectors; with all lists read it is exact."""
    coarse = faiss.IndexFlatIP(embeddings.shape[1])
    index = faiss.IndexIVFFlat(coarse, embeddings.shape[1], lists, faiss.METRIC_INNER_PRODUCT)
    index.own_fields, _ = True, coarse.this.disown()
    index.train(np.asarray(embeddings[:training], dtype=np.float32))
    index.add(np.asarray(embeddings, dtype=np.float32))
    return index


@pytest.fixture(autouse=True)
def few_vectors(monkeypatch):
    monkeypatch.setattr(equal, "build_ivf_pq", inverted_lists)


@pytest.fixture(scope="module")
def asked(engine, collection):
    """Three rows of queries, as the engine encodes them."""
    sets = read_queries(collection, engine.index, "test", limit=3, seed=0, phrasing="seeded")
    return sets, [engine.encode(queries) for some in sets for queries in some.opened(collection, len(some))]


def by_hand(rows_of_results, sets) -> float:
    """Mean over rows of the share of queries with a positive among the first CUT."""
    rates = []
    for results, some in zip(rows_of_results, sets, strict=True):
        hits = [
            bool(set(found[:CUT]) & set(some.qrels.rows[start:end].tolist()))
            for found, start, end in zip(results, some.qrels.offsets, some.qrels.offsets[1:], strict=False)
        ]
        rates.append(sum(hits) / len(hits))
    return sum(rates) / len(rates)


def test_generating_systems_find_what_the_engine_serves(engine, collection, asked):
    sets, encoded = asked
    opened = [next(some.opened(collection, len(some))) for some in sets]
    systems = {system.name: system for system in generating(engine)}
    for name, options in (
        ("exact", {"mode": "exact", "rerank": False}),
        ("set + re-rank", {"mode": "set"}),
        ("fast + re-rank", {"mode": "fast"}),
        ("geometry", {"mode": "exact", "rerank": False, "decoder_weight": 0.0}),
    ):
        served = [
            [[hit.row for hit in result.hits] for result in engine.search(some, SearchOptions(k=CUT, **options))]
            for some in opened
        ]
        assert mean_hit_rate(systems[name].search, sets, encoded) == pytest.approx(by_hand(served, sets))


def test_dense_systems_find_the_highest_cosines(engine, asked):
    sets, encoded = asked
    embeddings = engine.index.embeddings.astype(np.float32)
    cosines = [queries.embeddings.numpy() @ embeddings.T for queries in encoded]
    best = [[np.argsort(-row, kind="stable").tolist() for row in rows] for rows in cosines]
    systems = {system.name: system for system in dense(engine.index.embeddings)}

    for name in ("flat", "flat, fp16 streamed", "IVF-PQ, nprobe 128"):
        assert mean_hit_rate(systems[name].search, sets, encoded) == pytest.approx(by_hand(best, sets))


def test_every_row_of_queries_weighs_the_same(asked):
    sets, encoded = asked
    answer = sets[0].qrels.rows[:1]  # of the first query of the first row, for everyone

    def search(queries) -> np.ndarray:
        return np.tile(answer, (len(queries.z), 1))

    hits = [
        [
            answer[0] in some.qrels.rows[start:end]
            for start, end in zip(some.qrels.offsets, some.qrels.offsets[1:], strict=False)
        ]
        for some in sets
    ]
    assert len({len(row) for row in hits}) > 1 or len({sum(row) for row in hits}) > 1
    assert mean_hit_rate(search, sets, encoded) == pytest.approx(sum(sum(row) / len(row) for row in hits) / len(hits))


def test_bytes_hold_the_vectors_that_a_system_reads(engine):
    generated = {system.name: system.bytes_per_item for system in generating(engine)}
    others = {system.name: system.bytes_per_item for system in dense(engine.index.embeddings)}
    dim = engine.index.config.dim

    assert generated["exact + re-rank"] == generated["exact"] + 2 * dim
    assert generated["exact"] == (engine.pool.table.nbytes + engine.pool.trie.nbytes) / engine.index.n
    assert others["flat, fp16 streamed"] == 2 * dim
    assert others["flat"] > 4 * dim and others["HNSW, efSearch 64"] > others["flat"]


def system(name, is_dense, hits, milliseconds, size=100.0):
    return Measured(name, is_dense, size, hits, {1: Times(9, 9, 9, 1), 32: Times(milliseconds, 0, 0, 1)})


def test_the_fastest_of_the_other_kind_that_finds_as_much_is_its_equal():
    systems = [
        system("set", False, 0.40, 6.0, size=30.0),
        system("fast", False, 0.30, 2.0),
        system("poor", True, 0.29, 0.1),
        system("quick", True, 0.40, 3.0, size=60.0),
        system("slow", True, 0.50, 8.0),
    ]

    pairs = {pair["system"]: pair for pair in at_equal_hit_rate(systems, batch=32)}

    assert {name: pair["other"] for name, pair in pairs.items()} == {
        "set": "quick",
        "fast": "quick",
        "poor": "fast",
        "quick": "set",
        "slow": None,
    }
    assert pairs["set"]["times_slower"] == pytest.approx(2.0)
    assert pairs["set"]["times_the_bytes"] == pytest.approx(0.5)
    assert pairs["slow"]["times_slower"] is None


def test_the_report_holds_every_system_and_its_tables_say_so(engine, collection):
    report = measure_at_equal_hit_rate(engine, collection, batches=(1, 2), limit=3, rounds=1)

    names = [system["system"] for system in report["systems"]]
    assert len(set(names)) == len(names) and {"exact", "fast + re-rank", "flat", "HNSW, efSearch 4"} <= set(names)
    assert (report["items"], report["rows"], report["batches"]) == (engine.index.n, 3, [1, 2])
    for found in report["systems"]:
        assert 0 <= found["hit_rate"] <= 1 and found["bytes_per_item"] > 0
        assert all(found["milliseconds"][size]["median"] > 0 for size in ("1", "2"))
    text = markdown(report)
    for found in report["systems"]:
        line = next(line for line in text.splitlines() if line.startswith(f"| {found['system']} "))
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert cells[1:] == [
            f"{found['hit_rate']:.1%}",
            *(f"{found['milliseconds'][size]['median']:.2f}" for size in ("1", "2")),
            f"{found['bytes_per_item']:.0f}",
        ]

"""genius/evaluation/speed/equal_hit_rate.py on the micro run: hit rates by hand, and which systems are equal."""

import faiss
import numpy as np
import pytest

from genius.evaluation.encoded_queries import EncodedSplit
from genius.evaluation.speed import equal_hit_rate, faiss_indexes
from genius.evaluation.speed.equal_hit_rate import (
    CUT,
    SearchSetting,
    dense,
    equal_pairs,
    generating,
    mean_hit_rate,
    measure_at_equal_hit_rate,
)
from genius.evaluation.speed.faiss_indexes import code_bytes, index_bytes
from genius.evaluation.speed.speed_report import _equal
from genius.schema import SearchOptions


def untrained_ivf(embeddings: np.ndarray, lists: int, code_bytes: int, training: int) -> faiss.Index:
    """In place of IVF-PQ; with all lists read it is exact."""
    coarse = faiss.IndexFlatIP(embeddings.shape[1])
    index = faiss.IndexIVFFlat(coarse, embeddings.shape[1], lists, faiss.METRIC_INNER_PRODUCT)
    index.own_fields, _ = True, coarse.this.disown()
    index.train(np.asarray(embeddings[:training], dtype=np.float32))
    index.add(np.asarray(embeddings, dtype=np.float32))
    return index


@pytest.fixture(autouse=True)
def few_vectors(monkeypatch):
    monkeypatch.setattr(faiss_indexes, "build_ivf_pq", untrained_ivf)


@pytest.fixture(scope="module")
def queries(engine, collection) -> EncodedSplit:
    """Three rows of queries."""
    return EncodedSplit.read(engine, collection, "test", 3, seed=0)


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


def test_generating_systems_find_what_the_engine_serves(engine, collection, queries):
    opened = [next(some.opened(collection, len(some))) for some in queries.sets]
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
        assert mean_hit_rate(systems[name], queries) == pytest.approx(by_hand(served, queries.sets))


def test_dense_systems_find_the_highest_cosines(engine, queries):
    embeddings = engine.index.embeddings.astype(np.float32)
    cosines = [row.embeddings @ embeddings.T for row in queries.rows]
    best = [[np.argsort(-row, kind="stable").tolist() for row in rows] for rows in cosines]
    systems = {system.name: system for system in dense(engine.index.embeddings)}

    for name in ("flat", "flat, fp16 streamed", "IVF-PQ, nprobe 128"):
        assert mean_hit_rate(systems[name], queries) == pytest.approx(by_hand(best, queries.sets))


def test_no_index_keeps_all_vectors_of_a_large_collection_in_memory(engine, queries, monkeypatch):
    embeddings, built = engine.index.embeddings, []
    whole = {setting.name: setting for setting in dense(embeddings)}
    monkeypatch.setattr(equal_hit_rate, "MAX_IN_MEMORY", len(embeddings) - 1)
    monkeypatch.setattr(equal_hit_rate, "build_hnsw", None)
    size_of = equal_hit_rate.index_bytes
    monkeypatch.setattr(equal_hit_rate, "index_bytes", lambda index: built.append(index) or size_of(index))

    large = {setting.name: setting for setting in dense(embeddings)}

    assert list(large) == [name for name in whole if "IVF" in name or "streamed" in name]
    assert len(built) == 1  # and its size was worked out once
    for name, setting in large.items():
        assert setting.bytes_per_item == whole[name].bytes_per_item
        assert mean_hit_rate(setting, queries) == mean_hit_rate(whole[name], queries)


def test_the_bytes_of_an_index_are_those_that_faiss_writes(engine):
    index = untrained_ivf(engine.index.embeddings, 2, 1, 20)
    assert index_bytes(index) == len(faiss.serialize_index(index))


@pytest.mark.parametrize(
    ("dim", "dims_per_byte", "expected"), [(768, 8, 96), (768, 32, 24), (100, 8, 10), (100, 32, 2), (12, 32, 1)]
)
def test_the_bytes_of_a_product_quantized_vector_divide_its_dim(dim, dims_per_byte, expected):
    assert code_bytes(dim, dims_per_byte) == expected


def test_all_rows_have_the_same_weight(queries):
    answer = queries.sets[0].qrels.rows[:1]  # of the first query, returned for all
    setting = SearchSetting("constant", True, 0.0, lambda batch: np.tile(answer, (len(batch.z), 1)))

    hits = [
        [
            answer[0] in some.qrels.rows[start:end]
            for start, end in zip(some.qrels.offsets, some.qrels.offsets[1:], strict=False)
        ]
        for some in queries.sets
    ]
    assert len({len(row) for row in hits}) > 1 or len({sum(row) for row in hits}) > 1
    assert mean_hit_rate(setting, queries) == pytest.approx(sum(sum(row) / len(row) for row in hits) / len(hits))


def test_bytes_include_the_vectors_that_a_system_reads(engine):
    generated = {system.name: system.bytes_per_item for system in generating(engine)}
    others = {system.name: system.bytes_per_item for system in dense(engine.index.embeddings)}
    dim = engine.index.config.dim

    assert generated["exact + re-rank"] == generated["exact"] + 2 * dim
    assert generated["exact"] == (engine.pool.table.nbytes + engine.pool.trie.nbytes) / engine.index.n
    assert others["flat, fp16 streamed"] == 2 * dim
    assert others["flat"] > 4 * dim and others["HNSW, efSearch 64"] > others["flat"]


def system(name, is_dense, hits, milliseconds, size=100.0):
    times = {"1": {"median": 9.0}, "32": {"median": milliseconds}}
    return {"system": name, "dense": is_dense, "bytes_per_item": size, "hit_rate": hits, "milliseconds": times}


def test_the_fastest_of_the_other_kind_that_finds_as_much_is_its_equal():
    systems = [
        system("set", False, 0.40, 6.0, size=30.0),
        system("fast", False, 0.30, 2.0),
        system("poor", True, 0.29, 0.1),
        system("quick", True, 0.40, 3.0, size=60.0),
        system("slow", True, 0.50, 8.0),
    ]

    pairs = {pair["system"]: pair for pair in equal_pairs(systems, "32")}

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


def test_equal_means_of_different_rows_are_equal():
    ids, vectors = np.mean([0.1, 0.2, 0.3]), np.mean([0.3, 0.2, 0.1])
    assert ids != vectors  # though both are 0.2

    pairs = equal_pairs([system("set", False, ids, 6.0), system("flat", True, vectors, 3.0)], "32")

    assert [pair["other"] for pair in pairs] == ["flat", "set"]


def test_the_report_and_its_tables_hold_every_system(engine, queries):
    report = measure_at_equal_hit_rate(engine, queries, batches=(1, 2), rounds=1)

    names = [system["system"] for system in report["systems"]]
    assert len(set(names)) == len(names) and {"exact", "fast + re-rank", "flat", "HNSW, efSearch 4"} <= set(names)
    assert (report["items"], report["rows"], report["batches"]) == (engine.index.n, 3, [1, 2])
    for found in report["systems"]:
        assert 0 <= found["hit_rate"] <= 1 and found["bytes_per_item"] > 0
        assert all(found["milliseconds"][size]["median"] > 0 for size in ("1", "2"))
    text = "\n".join(_equal(report))
    for found in report["systems"]:
        line = next(line for line in text.splitlines() if line.startswith(f"| {found['system']} "))
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert cells[1:] == [
            f"{found['hit_rate']:.1%}",
            *(f"{found['milliseconds'][size]['median']:.2f}" for size in ("1", "2")),
            f"{found['bytes_per_item']:.0f}",
        ]

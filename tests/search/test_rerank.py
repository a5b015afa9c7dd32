"""genius/search/rerank.py, against sums worked out one candidate at a time."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from genius.errors import UserError
from genius.schema import ORDERS, Query, SearchOptions
from genius.search import rerank
from genius.search.beam import Beams
from genius.search.candidates import Candidates, expand_beams
from genius.search.engine import Engine
from genius.search.rerank import Similarity, rank_candidates
from genius.trie.ids import IDTable
from tests.search.tiny import publish_tiny_run

SIZES = (3, 4, 4)
N = 90
QUERIES = 4
WIDTH = 6
ASKED = [Query(text="a red dog"), Query(text="a small house", instruction="Find the picture.")]


@pytest.fixture(params=["ids", "prefixes"])
def world(request):
    """Items of which many share an ID, and for each of four queries six generated IDs, or prefixes
    of one code more or less.
    """
    rng = np.random.default_rng(0)
    table = IDTable.build(rng.integers(SIZES, size=(N, 3)), SIZES)
    # of leaves of one or more IDs
    begins = table.ids if request.param == "ids" else table.ids[table.ids % 3 == 0]
    begins[0] = 0
    ends = np.append(begins[1:], N)
    chosen = np.stack([rng.permutation(len(begins))[:WIDTH] for _ in range(QUERIES)])
    scores = -np.sort(rng.random((QUERIES, WIDTH)).astype(np.float32))
    embeddings, queries = (unit(rng.normal(size=(count, 8))) for count in (N, QUERIES))
    return (
        table,
        beams_of(begins[chosen], ends[chosen], scores),
        embeddings.astype(np.float16),
        queries,
    )


def beams_of(low: np.ndarray, high: np.ndarray, scores: np.ndarray) -> Beams:
    low, high, scores = (torch.from_numpy(values) for values in (low, high, scores))
    return Beams(
        low,
        high,
        scores,
        scores,
        torch.full_like(low, 3),
        torch.zeros(len(low), 3),
        torch.zeros(len(low), dtype=torch.long),
    )


def unit(vectors: np.ndarray) -> np.ndarray:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def candidates_of(beams: Beams, table: IDTable) -> Candidates:
    query, position = expand_beams(beams)
    return Candidates.at(query, position, len(beams.low), table)


def slow_candidates(table, beams, query) -> list[tuple[int, int, int]]:
    """(row, id, rank) in generated order."""
    codes = table.codes(np.arange(N)).tolist()
    found = [
        (table.rows[position], codes.index(codes[position]))
        for low, high in zip(beams.low[query].tolist(), beams.high[query].tolist(), strict=True)
        for position in range(low, high)
    ]
    return [(*one, rank) for rank, one in enumerate(found, start=1)]


def test_every_item_below_every_beam_is_considered_once_in_generated_order(world):
    table, beams, _, _ = world
    found = candidates_of(beams, table)
    for query in range(QUERIES):
        mine = found.query == query
        expected = slow_candidates(table, beams, query)
        columns = (values[mine] for values in (found.row, found.id, found.generated_rank))
        assert list(zip(*columns)) == expected
        assert found.counts[query] == len(expected) == len(set(found.row[mine]))


@pytest.mark.parametrize("k", [1, 5, 60])
def test_reranking_orders_all_candidates_by_cosine(world, k):
    table, beams, embeddings, queries = world
    by = Similarity(embeddings, queries)
    ranked = rank_candidates(candidates_of(beams, table), k, by)
    similarities = ranked.similarities(by)
    for query in range(QUERIES):
        expected = [
            (float(embeddings[row].astype(np.float64) @ queries[query]), row, number, rank)
            for row, number, rank in slow_candidates(table, beams, query)
        ]
        expected.sort(key=lambda one: -one[0])
        expected += [(-np.inf, -1, -1, 0)] * k
        columns = similarities, ranked.rows, ranked.ids, ranked.generated_rank
        found = np.stack([values[query] for values in columns], axis=1)
        np.testing.assert_allclose(found, expected[:k], atol=1e-6)


def test_embeddings_are_normalized_again_only_on_request(world):
    table, beams, embeddings, queries = world
    scaled = (embeddings * np.linspace(0.5, 1, N)[:, None]).astype(np.float32)
    candidates = candidates_of(beams, table)
    as_stored = Similarity(embeddings, queries)
    normalizing = Similarity(scaled, queries, normalize=True)
    expected = rank_candidates(candidates, 20, as_stored)
    plain = rank_candidates(candidates, 20, Similarity(scaled, queries))
    normalized = rank_candidates(candidates, 20, normalizing)
    assert not np.array_equal(plain.rows, expected.rows)
    assert np.array_equal(normalized.rows, expected.rows)
    similarities = (
        each.similarities(by) for each, by in ((normalized, normalizing), (expected, as_stored))
    )
    np.testing.assert_allclose(*similarities, atol=1e-3)


def test_equal_cosines_keep_the_generated_order(world):
    table, beams, embeddings, queries = world
    alike = np.repeat(embeddings[:1], N, axis=0)
    ranked = rank_candidates(candidates_of(beams, table), 10, Similarity(alike, queries))
    assert ranked.generated_rank.tolist() == [list(range(1, 11))] * QUERIES


def test_a_query_is_ranked_alike_alone_and_in_a_batch(world, monkeypatch):
    table, beams, embeddings, queries = world
    together = rank_candidates(candidates_of(beams, table), 5, Similarity(embeddings, queries))
    monkeypatch.setattr(rerank, "VECTORS_IN_MEMORY", 7)
    for query in range(QUERIES):
        one = beams_of(
            *(values[query : query + 1].numpy() for values in (beams.low, beams.high, beams.scores))
        )
        alone = rank_candidates(
            candidates_of(one, table), 5, Similarity(embeddings, queries[query : query + 1])
        )
        assert np.array_equal(alone.rows[0], together.rows[query])


def test_only_the_embeddings_of_candidates_are_read(world):
    table, beams, embeddings, queries = world
    candidates = candidates_of(beams, table)
    others = np.setdiff1d(np.arange(N), candidates.row)
    assert len(others)
    broken = embeddings.copy()
    broken[others] = np.nan
    by = Similarity(broken, queries)
    assert np.isfinite(rank_candidates(candidates, 5, by).similarities(by)).all()


@pytest.mark.parametrize("limit", [1, 4, 9])
def test_crowded_ids_are_cut_at_the_limit_in_generated_order(world, limit, monkeypatch):
    table, beams, _, _ = world
    whole = candidates_of(beams, table)
    monkeypatch.setattr("genius.search.candidates.MAX_CANDIDATES", limit)
    cut = candidates_of(beams, table)
    assert cut.counts.tolist() == [limit] * QUERIES
    assert np.array_equal(cut.row, whole.row[whole.generated_rank <= limit])


def test_padding_beams_hold_no_items(world):
    table, beams, _, _ = world
    whole = candidates_of(beams, table)
    beams.low[1, 2:], beams.high[1, 2:], beams.scores[1, 2:] = 0, 0, -torch.inf
    padded = candidates_of(beams, table)
    kept = int((beams.high - beams.low)[1].sum())
    assert np.array_equal(
        padded.row, whole.row[(whole.query != 1) | (whole.generated_rank <= kept)]
    )


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    """Of an index that keeps fused features."""
    path = tmp_path_factory.mktemp("fused") / "run"
    return Engine.load(publish_tiny_run(path, fused=True).path, "cpu")


@pytest.mark.parametrize("mode", ["generate", "scan"])
def test_what_was_found_can_be_ordered_in_every_way_without_another_search(
    engine, mode, monkeypatch
):
    encoded = engine.encode(ASKED)
    options = SearchOptions(beams=5, k=100, mode=mode, trace=True)
    orders = [replace(options, order=order) for order in ORDERS]
    expected = [engine.retrieve(encoded, order) for order in orders]
    monkeypatch.setattr("genius.search.candidates.beam_search", None)
    monkeypatch.setattr("genius.search.candidates.Scan", None)
    for order, found in zip(orders, expected, strict=True):
        again = engine.reorder(expected[0], order)
        assert again.ranked.rows.tolist() == found.ranked.rows.tolist()


def test_hits_carry_both_similarities_and_the_result_names_the_order(engine):
    by_order = {
        order: engine.search(ASKED[0], SearchOptions(beams=8, k=4, order=order)) for order in ORDERS
    }
    assert [result.order for result in by_order.values()] == list(ORDERS)
    for name, result in by_order.items():
        for hit in result.hits:
            embedding, z = engine.index.embeddings[hit.row], engine.index.fused[hit.row]
            assert hit.cosine == pytest.approx(float(result.embedding @ embedding), abs=1e-3)
            assert hit.fused == pytest.approx(float(result.z @ z), abs=1e-3)
        if name != "score":
            ordered = [getattr(hit, name) for hit in result.hits]
            assert ordered == sorted(ordered, reverse=True)


def test_an_index_without_fused_features_has_the_published_order(engine, tmp_path):
    without = Engine.load(publish_tiny_run(tmp_path / "run").path, "cpu")
    options = SearchOptions(beams=8, k=9)
    plain = engine.search(ASKED, replace(options, order="cosine"))
    today = without.search(ASKED, options)
    assert [[hit.item.id for hit in one.hits] for one in plain] == [
        [hit.item.id for hit in one.hits] for one in today
    ]
    assert all(hit.fused is None for one in today for hit in one.hits)
    with pytest.raises(UserError, match="keeps no fused features; choose cosine"):
        without.search(ASKED, replace(options, order="fused"))
    with pytest.raises(UserError, match="order must be one of fused, cosine, score"):
        engine.search(ASKED, replace(options, order="best"))

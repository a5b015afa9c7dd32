"""The shortlist of genius/search/candidates.py, against distances worked out one item at a time in float64."""

import numpy as np
import pytest
import torch

from genius.search import candidates as module
from genius.search.beam_state import Beams
from genius.search.candidates import shortlist, shortlist_size
from genius.search.codewords import Codewords, unknown_norms
from genius.trie.ids import IDTable
from genius.trie.pool import Pool
from genius.trie.trie import Trie

SIZES, N, DIM, QUERIES = (3, 4, 5), 200, 7, 4


@pytest.fixture
def world():
    rng = np.random.default_rng(0)
    books = [torch.from_numpy(rng.normal(size=(size, DIM)).astype(np.float32)) for size in SIZES]
    table = IDTable.build(rng.integers(SIZES, size=(N, len(SIZES))), SIZES)
    pool = Pool(table, Trie(table))
    return pool, books, torch.from_numpy(rng.normal(size=(QUERIES, DIM)).astype(np.float32))


def drawn_beams(seed: int = 2) -> Beams:
    """Three ranges of the table for each query in random order; two for the first, none for the last."""
    rng = np.random.default_rng(seed)
    ends = np.stack([np.sort(rng.permutation(N)[:6]).reshape(3, 2)[rng.permutation(3)] for _ in range(QUERIES)])
    ends[0, 2], ends[3] = 0, 0
    low, high = torch.from_numpy(ends).unbind(2)
    scores = torch.rand(low.shape, generator=torch.Generator().manual_seed(seed))
    return Beams(low, high, scores, scores, low, scores, low[:, 0])


def slow_shortlist(beams: Beams, pool: Pool, books, features, budget: int, compared: int, room: int) -> list[list]:
    """(position, beam) of each query, nearest first."""
    found = []
    for query, z in enumerate(features.double().numpy()):
        items = [
            (position, beam)
            for beam in range(3)
            for position in range(int(beams.low[query, beam]), int(beams.high[query, beam]))
        ][:room]
        vectors = {}
        for position, _ in items:
            codes = pool.table.codes(pool.table.ids_of(np.array([position])))[0]
            vectors[position] = sum(book.double().numpy()[code] for book, code in zip(books, codes, strict=True))
        items = sorted(items, key=lambda item: -round(float(vectors[item[0]] @ z), 4))[:compared]
        in_order = sorted(items, key=lambda item: item[1])
        found.append(sorted(in_order, key=lambda item: round(float(((vectors[item[0]] - z) ** 2).sum()), 4))[:budget])
    return found


@pytest.mark.parametrize("block", [13, 1 << 17])
@pytest.mark.parametrize("budget", [1, 9, 500])
@pytest.mark.parametrize("room", [25, 10_000])
@pytest.mark.parametrize("known", [False, True])
def test_the_nearest_items_below_the_beams_are_kept_nearest_first(world, monkeypatch, block, budget, room, known):
    monkeypatch.setattr(module, "BLOCK", block)
    monkeypatch.setattr(module, "CPU_BLOCK", block)
    monkeypatch.setattr(module, "MAX_CANDIDATES", room)
    monkeypatch.setattr(module, "shortlist_size", lambda budget, items: 10)
    pool, books, features = world
    norms = unknown_norms(N)
    if known:  # of a search before
        shortlist(drawn_beams(seed=3), pool, Codewords(books), norms, features, 3)
    beams = drawn_beams()
    kept = shortlist(beams, pool, Codewords(books), norms, features, budget)
    expected = slow_shortlist(beams, pool, books, features, budget, 10 * budget, room)
    assert kept.counts.tolist() == [len(items) for items in expected] and kept.counts[3] == 0
    assert len(kept.row) == kept.counts.sum() > 0
    for query, items in enumerate(expected):
        mine, positions = kept.query == query, np.array([position for position, _ in items], dtype=int)
        assert kept.row[mine].tolist() == pool.table.rows[positions].tolist()
        assert kept.id[mine].tolist() == pool.table.ids_of(positions).tolist()
        assert kept.beam[mine].tolist() == [3 * query + beam for _, beam in items]
        assert kept.score[mine].tolist() == [float(beams.scores[query, beam]) for _, beam in items]
        assert kept.generated_rank[mine].tolist() == list(range(1, len(items) + 1))


def test_items_that_share_an_id_keep_their_order(world):
    pool, books, features = world
    shared = int(pool.table.shared[0])
    low, one = torch.tensor([[shared]]), torch.ones(1, 1)
    beams = Beams(low, low + 3, one, one, low, one, low[:, 0])
    found = shortlist(beams, pool, Codewords(books), unknown_norms(N), features[:1], 2)
    assert pool.table.bucket_sizes(np.array([shared])) >= 3
    assert found.row.tolist() == pool.table.rows[shared : shared + 2].tolist()


def test_norms_are_computed_for_those_that_are_compared_by_distance_only(world):
    pool, books, features = world
    norms, low = unknown_norms(N), torch.zeros(1, 1, dtype=torch.long)
    beams = Beams(low, low + N, low.float(), low.float(), low, low.float(), low[:, 0])
    shortlist(beams, pool, Codewords(books), norms, features[:1], 2)
    assert (~np.isnan(norms)).sum() == 20


def test_a_shortlist_is_ten_times_the_budget_or_grows_with_the_root_of_the_index():
    assert [shortlist_size(200, items) for items in (1, 9_561, 40_000, 1_000_000)] == [2_000, 2_000, 2_000, 10_000]
    assert shortlist_size(50, 40_000) == 2_000 and shortlist_size(3_000, 40_000) == 30_000

"""genius/search/shortlist.py, against distances worked out one item at a time in float64."""

import numpy as np
import pytest
import torch

from genius.search import shortlist as module
from genius.search.beam_state import Beams
from genius.search.candidates import Candidates, expand_beams
from genius.search.codewords import Codewords, unknown_norms
from genius.search.shortlist import shortlist, shortlist_on_device
from genius.trie.ids import IDTable
from genius.trie.pool import Pool
from genius.trie.trie import Trie

SIZES, N, DIM, QUERIES = (3, 4, 5), 200, 7, 4


@pytest.fixture
def world():
    rng = np.random.default_rng(0)
    books = [torch.from_numpy(rng.normal(size=(size, DIM)).astype(np.float32)) for size in SIZES]
    table = IDTable.build(rng.integers(SIZES, size=(N, len(SIZES))), SIZES)
    return table, books, torch.from_numpy(rng.normal(size=(QUERIES, DIM)).astype(np.float32))


def drawn(table: IDTable, counts: list[int]) -> Candidates:
    """So many candidates of each query, in an order drawn by chance."""
    rng = np.random.default_rng(1)
    positions = np.concatenate([rng.permutation(N)[:count] for count in counts])
    query = np.repeat(np.arange(len(counts)), counts)
    rank = np.concatenate([np.arange(count) + 1 for count in counts])
    score = rng.random(len(query)).astype(np.float32)
    rows, ids = table.rows[positions].astype(np.int64), table.ids_of(positions)
    return Candidates(query, rows, ids, query * 3 + rank % 3, score, rank, np.array(counts))


def distance(z: np.ndarray, books: list[torch.Tensor], codes: np.ndarray) -> float:
    words = [book.double().numpy()[code] for book, code in zip(books, codes, strict=True)]
    return float(((z - sum(words)) ** 2).sum())


@pytest.mark.parametrize("block", [13, 16_384])
@pytest.mark.parametrize("at_most", [1, 9, 500])
@pytest.mark.parametrize("known", [False, True])
def test_the_nearest_candidates_of_each_query_are_kept_nearest_first(world, monkeypatch, block, at_most, known):
    monkeypatch.setattr(module, "BLOCK", block)
    table, books, features = world
    given = drawn(table, [60, 0, 5, 200])
    norms = unknown_norms(N)
    if known:  # of a search before
        shortlist(drawn(table, [10, 30, 30, 7]), table, Codewords(books), norms, features, 3)
    kept = shortlist(given, table, Codewords(books), norms, features, at_most)
    assert kept.counts.tolist() == [min(count, at_most) for count in (60, 0, 5, 200)]
    assert len(kept.row) == kept.counts.sum() and (np.diff(kept.query) >= 0).all()
    for query, z in enumerate(features.double().numpy()):
        theirs = np.flatnonzero(given.query == query)
        far = {at: distance(z, books, table.codes(given.id[at])) for at in theirs}
        slow = sorted(theirs, key=lambda at: (round(far[at], 4), given.generated_rank[at]))[:at_most]
        mine = kept.query == query
        for name in ("row", "id", "beam", "score"):
            assert getattr(kept, name)[mine].tolist() == getattr(given, name)[slow].tolist()
        assert kept.generated_rank[mine].tolist() == list(range(1, len(slow) + 1))


def test_items_that_share_an_id_keep_their_order(world):
    table, books, features = world
    shared = int(table.shared[0])
    rows = table.rows[shared : shared + 3].astype(np.int64)
    same = np.full(3, shared)
    given = Candidates(np.zeros(3, int), rows, same, same, same.astype(np.float32), np.arange(3) + 1, np.array([3]))
    assert (
        shortlist(given, table, Codewords(books), unknown_norms(N), features[:1], 2).row.tolist() == rows[:2].tolist()
    )


@pytest.mark.parametrize("block", [13, 1 << 17])
@pytest.mark.parametrize("at_most", [1, 9, 500])
@pytest.mark.parametrize("room", [25, 10_000])
def test_on_a_device_the_same_candidates_are_found_in_the_same_order(world, monkeypatch, block, at_most, room):
    """Of whole buckets, empty beams and more items than a query may have; here the device is the CPU."""
    monkeypatch.setattr(module, "DEVICE_BLOCK", block)
    monkeypatch.setattr(module, "MAX_CANDIDATES", room)
    table, books, features = world
    ends = np.sort(np.random.default_rng(2).permutation(N)[: QUERIES * 6].reshape(QUERIES, 3, 2), axis=2)
    ends[0, 2], ends[3] = 0, 0  # padding; no beam at all
    low, high = torch.from_numpy(ends).unbind(2)
    scores = torch.rand(low.shape, generator=torch.Generator().manual_seed(0))
    beams = Beams(low, high, scores, scores, low, scores, low[:, 0])
    expected = shortlist(
        expand_beams(beams, table, at_most=room), table, Codewords(books), unknown_norms(N), features, at_most
    )
    found = shortlist_on_device(beams, Pool(table, Trie(table)), Codewords(books), features, at_most)
    assert len(found.row) and found.counts.tolist() == expected.counts.tolist()
    for name in ("query", "row", "id", "beam", "score", "generated_rank"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist()

import numpy as np
import pytest

from genius.index import duplicates as copies
from genius.index.duplicates import find_duplicates
from genius.trie.ids import IDTable
from tests.index.changes import opened


def copies_by_hand(codes, embeddings, contents, first):
    def is_same(row, other):
        return (
            (codes[row] == codes[other]).all()
            and contents[row] == contents[other]
            and np.linalg.norm(embeddings[row] - embeddings[other]) <= copies.MAX_DISTANCE
        )

    rows = range(first, len(codes))
    return [next((other for other in range(row) if is_same(row, other)), -1) for row in rows]


@pytest.mark.parametrize("pairs", [1, 7, 10_000])
@pytest.mark.parametrize("seed", range(3))
def test_copies_are_those_that_comparing_all_with_all_finds(seed, pairs, monkeypatch):
    monkeypatch.setattr(copies, "PAIR_BLOCK", pairs)
    rng = np.random.default_rng(seed)
    n, first = 90, 60
    codes = rng.integers((2, 3), size=(n, 2))
    contents = rng.integers(4, size=n).astype(np.uint64)
    embeddings = (rng.integers(2, size=(n, 3)) + rng.choice([0, 1e-4], size=(n, 3))).astype(
        np.float32
    )
    found = find_duplicates(
        IDTable.build(codes, (2, 3)), first, embeddings.__getitem__, contents.__getitem__
    )
    expected = copies_by_hand(codes, embeddings, contents, first)
    assert found.tolist() == expected and -1 in expected and len({*expected}) > 2


def test_the_nearest_are_those_that_sorting_all_finds(run, monkeypatch):
    monkeypatch.setattr(copies, "OLDER", 3)
    index = opened(run)
    rows, others = np.array([1, 4]), np.array([0, 2, 3, 5, 6, 7, 8, 11])
    vectors = index.embeddings[:].astype(np.float32)
    expected = others[np.argsort(-vectors[rows] @ vectors[others].T)[:, : copies.NEAREST]]
    assert np.sort(copies._nearest(index, rows, others)[1]).tolist() == np.sort(expected).tolist()


def test_no_new_items_and_no_shared_ids_are_fine():
    table = IDTable.build(np.array([[0, 1], [1, 2], [1, 1]]), (2, 3))
    for first in (3, 1):
        found = find_duplicates(
            table, first, lambda rows: np.zeros((len(rows), 2)), lambda rows: rows
        )
        assert found.tolist() == [-1] * (3 - first)

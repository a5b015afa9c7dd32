import numpy as np
import pytest

from genius.index import duplicates as copies
from genius.index.duplicates import find_duplicates
from genius.trie.ids import IDTable


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

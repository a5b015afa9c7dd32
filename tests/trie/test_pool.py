import numpy as np
import pytest
import torch

from genius.trie import trie as trie_module
from genius.trie.ids import pack
from genius.trie.pool import Pool
from tests.trie.test_trie import walk

SIZES = (3, 5, 6, 7)
N = 400


def random_codes(n: int = N, sizes=SIZES, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(sizes, size=(n, len(sizes)))


def assert_equal(mine: Pool, theirs: Pool) -> None:
    """The arrays are equal, and so are all prefixes reached."""
    for name in ("packed", "rows", "shared", "sizes"):
        assert np.array_equal(getattr(mine.table, name), getattr(theirs.table, name)), name
    for name, array in mine.trie.crowded._asdict().items():
        other = getattr(theirs.trie.crowded, name)
        assert array.dtype == other.dtype and np.array_equal(array, other), name
    levels = len(mine.table.code_sizes)
    assert walk(mine.trie, levels) == walk(theirs.trie, levels)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sizes", [(3, 4, 4), (3, 2), (3, 300, 300)], ids=["crowded", "shared by many", "unique"])
def test_a_pool_that_grew_and_shrank_equals_one_built_from_scratch(monkeypatch, sizes, seed):
    monkeypatch.setattr(trie_module, "MAX_SCANNED", 3)
    rng, codes = np.random.default_rng(seed), random_codes(150, sizes, seed)
    present = rng.permutation(150)[:20]
    pool = Pool.build(pack(codes[present], sizes), sizes, present)
    for _ in range(10):
        absent = np.setdiff1d(np.arange(150), present)
        if rng.random() < 0.5 and len(absent):
            rows = rng.permutation(absent)[: rng.integers(1, 40)]
            pool, present = pool.inserted(codes[rows], rows), np.append(present, rows)
        elif len(present) > 1:
            rows = rng.permutation(present)[: rng.integers(1, len(present))]
            pool, present = pool.removed(rows), np.setdiff1d(present, rows)
        assert_equal(pool, Pool.build(pack(codes[present], sizes), sizes, present))


def test_removing_what_was_inserted_gives_the_old_pool_back_and_the_old_pool_never_changes():
    codes = random_codes()
    pool = Pool.build(pack(codes, SIZES), SIZES)
    before = walk(pool.trie, 4)
    grown = pool.inserted(random_codes(50, seed=1), np.arange(N, N + 50))
    assert len(grown.table) == N + 50 and grown.trie.item_counts(torch.tensor(grown.trie.root)) == N + 50
    assert_equal(grown.removed(np.arange(N, N + 50)), pool)
    assert walk(pool.trie, 4) == before


def test_invalid_rows_and_codes_are_named():
    pool = Pool.build(pack(random_codes(3), SIZES), SIZES)
    with pytest.raises(ValueError, match="row 2 is already in the table"):
        pool.inserted(random_codes(1), np.array([2]))
    with pytest.raises(ValueError, match="level 0 has codes from 9"):
        pool.inserted(np.array([[9, 0, 0, 0]]), np.array([3]))
    with pytest.raises(ValueError, match="row 3 is not in the table"):
        pool.removed(np.array([3]))
    with pytest.raises(ValueError, match="no item would be left"):
        pool.removed(np.arange(3))

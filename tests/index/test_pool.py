import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from genius.index import pool as pool_module
from genius.index import trie as trie_module
from genius.index.ids import pack
from genius.index.pool import Pool
from tests.index.test_trie import walk

SIZES = (3, 5, 6, 7)
N = 400


def random_codes(n: int = N, sizes=SIZES, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(sizes, size=(n, len(sizes)))


def assert_equal(mine: Pool, theirs: Pool) -> None:
    """In every array, and in what they lead to."""
    for name in ("packed", "rows", "shared", "sizes"):
        assert np.array_equal(getattr(mine.table, name), getattr(theirs.table, name)), name
    for name, array in mine.trie.listed._asdict().items():
        other = getattr(theirs.trie.listed, name)
        assert array.dtype == other.dtype and np.array_equal(array, other), name
    levels = len(mine.table.code_sizes)
    assert walk(mine.trie, levels) == walk(theirs.trie, levels)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sizes", [(3, 4, 4), (3, 2), (3, 300, 300)], ids=["crowded", "shared by many", "unique"])
def test_a_pool_that_grew_and_shrank_equals_one_built_from_scratch(monkeypatch, sizes, seed):
    monkeypatch.setattr(trie_module, "SCANNED", 3)
    rng, codes = np.random.default_rng(seed), random_codes(150, sizes, seed)
    present = rng.permutation(150)[:20]
    pool = Pool.build(pack(codes[present], sizes), sizes, present)
    for _ in range(10):
        absent = np.setdiff1d(np.arange(150), present)
        if rng.random() < 0.5 and len(absent):
            rows = rng.permutation(absent)[:rng.integers(1, 40)]
            pool, present = pool.inserted(codes[rows], rows), np.append(present, rows)
        elif len(present) > 1:
            rows = rng.permutation(present)[:rng.integers(1, len(present))]
            pool, present = pool.removed(rows), np.setdiff1d(present, rows)
        assert_equal(pool, Pool.build(pack(codes[present], sizes), sizes, present))


def test_what_was_inserted_is_gone_after_removing_it_and_the_old_pool_never_changed():
    codes = random_codes()
    pool = Pool.build(pack(codes, SIZES), SIZES)
    before = walk(pool.trie, 4)
    grown = pool.inserted(random_codes(50, seed=1), np.arange(N, N + 50))
    assert len(grown.table) == N + 50 and grown.trie.items(torch.tensor(grown.trie.root)) == N + 50
    assert_equal(grown.removed(np.arange(N, N + 50)), pool)
    assert walk(pool.trie, 4) == before


def test_rows_and_codes_that_cannot_be_are_named():
    pool = Pool.build(pack(random_codes(3), SIZES), SIZES)
    with pytest.raises(ValueError, match="row 2 is in the table already"):
        pool.inserted(random_codes(1), np.array([2]))
    with pytest.raises(ValueError, match="level 0 has codes from 9"):
        pool.inserted(np.array([[9, 0, 0, 0]]), np.array([3]))
    with pytest.raises(ValueError, match="row 3 is not in the table"):
        pool.removed(np.array([3]))
    with pytest.raises(ValueError, match="no item would be left"):
        pool.removed(np.arange(3))


@pytest.mark.parametrize("n", [1, 2, N])
def test_a_pool_that_was_saved_is_loaded_as_it_was(tmp_path, n):
    packed = pack(random_codes(n), SIZES)
    pool = Pool.build(packed, SIZES)
    pool.save(tmp_path / "pool", packed)
    loaded = Pool.load(tmp_path / "pool", packed, SIZES)
    assert_equal(loaded, pool)
    assert_equal(loaded.inserted(random_codes(9, seed=1), np.arange(n, n + 9)),
                 pool.inserted(random_codes(9, seed=1), np.arange(n, n + 9)))


def damaged(change):
    """A change to the arrays, written under the metadata of the file that was."""
    def damage(file, packed):
        save_file(change(load_file(file)), file, metadata=pool_module._origin(packed, SIZES))
    return damage


@pytest.mark.parametrize("damage", [
    pytest.param(lambda file, packed: file.unlink(), id="missing"),
    pytest.param(lambda file, packed: file.write_bytes(b""), id="empty"),
    pytest.param(lambda file, packed: file.write_bytes(b"no pool" * 1000), id="foreign"),
    pytest.param(lambda file, packed: file.write_bytes(file.read_bytes()[:-1]), id="cut"),
    pytest.param(lambda file, packed: save_file(load_file(file), file), id="of nobody"),
    pytest.param(damaged(lambda arrays: {name: array for name, array in arrays.items() if name != "rows"}),
                 id="without rows"),
    pytest.param(damaged(lambda arrays: arrays | {"rows": arrays["rows"][1:]}), id="a row less"),
    pytest.param(damaged(lambda arrays: arrays | {"rows": arrays["rows"].astype(np.int64)}), id="other rows"),
    pytest.param(damaged(lambda arrays: arrays | {"packed": arrays["packed"][1:]}), id="an ID less"),
    pytest.param(damaged(lambda arrays: arrays | {"packed": arrays["packed"].repeat(2, axis=1)}), id="wide IDs"),
    pytest.param(damaged(lambda arrays: arrays | {"sizes": arrays["sizes"][1:]}), id="a size less"),
    pytest.param(damaged(lambda arrays: arrays | {"edge_low": arrays["edge_low"][1:]}), id="an edge less"),
    pytest.param(damaged(lambda arrays: arrays | {"low": arrays["low"][1:]}), id="a prefix less"),
    pytest.param(damaged(lambda arrays: arrays | {"levels": arrays["levels"][1:]}), id="a level less"),
])
def test_a_file_that_does_not_fit_is_not_loaded(monkeypatch, tmp_path, damage):
    monkeypatch.setattr(trie_module, "SCANNED", 3)
    packed, file = pack(random_codes(), SIZES), tmp_path / "pool"
    Pool.build(packed, SIZES).save(file, packed)
    assert Pool.load(file, packed, SIZES) is not None
    damage(file, packed)
    assert Pool.load(file, packed, SIZES) is None


def test_a_file_of_another_format_of_other_ids_or_other_code_sizes_is_not_loaded(monkeypatch, tmp_path):
    packed = pack(random_codes(), SIZES)
    Pool.build(packed, SIZES).save(tmp_path / "pool", packed)
    others = packed.copy()
    others[7] = others[8]
    assert Pool.load(tmp_path / "pool", others, SIZES) is None
    assert Pool.load(tmp_path / "pool", packed[:-1], SIZES) is None
    assert Pool.load(tmp_path / "pool", packed, (3, 5, 6, 8)) is None
    monkeypatch.setattr(pool_module, "FORMAT", pool_module.FORMAT + 1)
    assert Pool.load(tmp_path / "pool", packed, SIZES) is None

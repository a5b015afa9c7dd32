import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from genius.index import pool_file
from genius.index.pool_file import load_pool, save_pool
from genius.trie import trie as trie_module
from genius.trie.ids import pack
from genius.trie.pool import Pool
from tests.trie.test_pool import SIZES, N, assert_equal, random_codes


@pytest.mark.parametrize("n", [1, 2, N])
def test_a_pool_that_was_saved_is_loaded_as_it_was(tmp_path, n):
    packed = pack(random_codes(n), SIZES)
    pool = Pool.build(packed, SIZES)
    save_pool(pool, tmp_path / "pool", packed)
    loaded = load_pool(tmp_path / "pool", packed, SIZES)
    assert_equal(loaded, pool)
    assert_equal(
        loaded.inserted(random_codes(9, seed=1), np.arange(n, n + 9)),
        pool.inserted(random_codes(9, seed=1), np.arange(n, n + 9)),
    )


def damaged(change):
    """A change to the arrays, written under the metadata of the file that was."""

    def damage(file, packed):
        save_file(change(load_file(file)), file, metadata=pool_file._origin(packed, SIZES))

    return damage


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda file, packed: file.unlink(), id="missing"),
        pytest.param(lambda file, packed: file.write_bytes(b""), id="empty"),
        pytest.param(lambda file, packed: file.write_bytes(b"no pool" * 1000), id="foreign"),
        pytest.param(lambda file, packed: file.write_bytes(file.read_bytes()[:-1]), id="cut"),
        pytest.param(lambda file, packed: save_file(load_file(file), file), id="of nobody"),
        pytest.param(
            damaged(lambda arrays: {name: array for name, array in arrays.items() if name != "rows"}), id="without rows"
        ),
        pytest.param(damaged(lambda arrays: arrays | {"rows": arrays["rows"][1:]}), id="a row less"),
        pytest.param(damaged(lambda arrays: arrays | {"rows": arrays["rows"].astype(np.int64)}), id="other rows"),
        pytest.param(damaged(lambda arrays: arrays | {"packed": arrays["packed"][1:]}), id="an ID less"),
        pytest.param(damaged(lambda arrays: arrays | {"packed": arrays["packed"].repeat(2, axis=1)}), id="wide IDs"),
        pytest.param(damaged(lambda arrays: arrays | {"sizes": arrays["sizes"][1:]}), id="a size less"),
        pytest.param(damaged(lambda arrays: arrays | {"edge_low": arrays["edge_low"][1:]}), id="an edge less"),
        pytest.param(damaged(lambda arrays: arrays | {"low": arrays["low"][1:]}), id="a prefix less"),
        pytest.param(damaged(lambda arrays: arrays | {"levels": arrays["levels"][1:]}), id="a level less"),
        *(
            pytest.param(
                damaged(lambda arrays, name=name: arrays | {name: arrays[name][::-1].copy()}), id=f"{name} reversed"
            )
            for name in ("packed", "rows", "shared", "sizes", "low", "first_edge", "edge_code", "edge_low", "levels")
        ),
        pytest.param(damaged(lambda arrays: arrays | {"rows": arrays["rows"] * 0 - 7}), id="rows out of range"),
        pytest.param(damaged(lambda arrays: arrays | {"rows": arrays["rows"] + 2**30}), id="rows beyond the end"),
    ],
)
def test_a_file_that_does_not_fit_is_not_loaded(monkeypatch, tmp_path, damage):
    monkeypatch.setattr(trie_module, "MAX_SCANNED", 3)
    packed, file = pack(random_codes(), SIZES), tmp_path / "pool"
    save_pool(Pool.build(packed, SIZES), file, packed)
    assert load_pool(file, packed, SIZES) is not None
    damage(file, packed)
    assert load_pool(file, packed, SIZES) is None


def test_a_file_of_another_format_of_other_ids_or_other_code_sizes_is_not_loaded(monkeypatch, tmp_path):
    packed = pack(random_codes(), SIZES)
    save_pool(Pool.build(packed, SIZES), tmp_path / "pool", packed)
    others = packed.copy()
    others[7] = others[8]
    assert load_pool(tmp_path / "pool", others, SIZES) is None
    assert load_pool(tmp_path / "pool", packed[:-1], SIZES) is None
    assert load_pool(tmp_path / "pool", packed, (3, 5, 6, 8)) is None
    monkeypatch.setattr(pool_file, "FORMAT", pool_file.FORMAT + 1)
    assert load_pool(tmp_path / "pool", packed, SIZES) is None


def test_a_row_below_zero_is_refused(tmp_path):
    """numpy reads row −1 as the last one, which has the same ID here: nothing else would tell it from row 0."""
    packed = pack(np.zeros((3, len(SIZES)), dtype=np.int64), SIZES)
    save_pool(Pool.build(packed, SIZES), tmp_path / "pool", packed)
    damaged(lambda arrays: arrays | {"rows": np.array([-1, 1, 2], dtype=np.int32)})(tmp_path / "pool", packed)
    assert load_pool(tmp_path / "pool", packed, SIZES) is None

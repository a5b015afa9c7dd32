"""genius/evaluation/pools.py on the micro collection."""

import shutil

import numpy as np
import pytest

from genius.collections.mbeir import Collection
from genius.errors import UserError
from genius.evaluation.pools import PoolKind, read_pools


def ids_by_use(collection, engine, rows, split="test"):
    """(kind, row number) -> ids of the pool."""
    found = {}
    for shared in read_pools(collection, engine.index, rows, split).shared:
        ids = {item.id for item in engine.index.items(shared.rows)}
        for number, kinds in shared.uses.items():
            for kind in kinds:
                assert (kind, number) not in found
                found[kind, number] = ids
    return found


def test_every_row_has_its_four_pools(collection, engine):
    rows = collection.rows()

    found = ids_by_use(collection, engine, rows)

    everything = {item.id for item in collection.all_candidates()}
    tested = {item.id for item in collection.candidates("union_test")}
    for number, row in enumerate(rows):
        local = {item.id for item in collection.local_pool(row)}
        assert found[PoolKind("global", "all"), number] == everything
        assert found[PoolKind("global", "test"), number] == tested < everything
        assert found[PoolKind("local", "all"), number] == local
        assert found[PoolKind("local", "test"), number] == local & tested


def test_pools_are_limited_to_all_items_or_to_those_of_the_split(collection, engine):
    rows = collection.rows()
    every = read_pools(collection, engine.index, rows, "test").kinds
    for items in ("all", "test"):
        found = read_pools(collection, engine.index, rows, "test", items)
        assert found.kinds == [kind for kind in every if kind.items == items]
        assert all(kind in found.kinds for pool in found.shared for kinds in pool.uses.values() for kind in kinds)
    with pytest.raises(UserError, match="no pool of val items; choose from all, test"):
        read_pools(collection, engine.index, rows, "test", "val")


def test_rows_share_the_global_pools(collection, engine):
    rows = collection.rows()

    pools = read_pools(collection, engine.index, rows, "val")

    assert sorted(len(pool.uses) for pool in pools.shared) == [1] * 6 + [3, 3]


def test_a_pool_with_two_uses_is_built_once(collection, engine, tmp_path):
    alone = Collection(shutil.copytree(collection.root, tmp_path / "alone"))
    row = next(row for row in alone.rows() if row.dataset == "titled")
    local = (alone.root / "cand_pool/local/mbeir_titled_task2_cand_pool.jsonl").read_text()
    for split in ("train", "val", "test"):
        (alone.root / f"cand_pool/global/mbeir_union_{split}_cand_pool.jsonl").write_text(local)

    pools = read_pools(alone, engine.index, [row], "test")

    (pool,) = pools.shared
    assert pools.kinds == [PoolKind(scope, items) for scope in ("global", "local") for items in ("all", "test")]
    assert pool.uses == {0: pools.kinds}


class IndexOf:
    """Some items, in the order of their ids."""

    def __init__(self, ids):
        self.ids = {id: row for row, id in enumerate(sorted(ids))}
        self.n = len(self.ids)

    def rows_of(self, ids):
        return np.array([self.ids.get(id, -1) for id in ids])


@pytest.mark.parametrize("split", ["test", "val"])
def test_an_index_of_one_pool_is_searched_as_that_pool(collection, split):
    """As the shipped run, whose index lacks what was for training alone."""
    index = IndexOf(item.id for item in collection.candidates("union_test"))
    rows = collection.rows()

    pools = read_pools(collection, index, rows, split)

    assert pools.kinds == [PoolKind("global", "test"), PoolKind("local", "test")]
    found = {
        (kind, number): pool.rows for pool in pools.shared for number, kinds in pool.uses.items() for kind in kinds
    }
    for number, row in enumerate(rows):
        local = {item.id for item in collection.local_pool(row)} & index.ids.keys()
        assert found[pools.kinds[0], number].tolist() == list(range(index.n))
        assert found[pools.kinds[1], number].tolist() == sorted(index.ids[id] for id in local)


def test_an_index_that_is_neither_the_whole_collection_nor_one_pool_is_refused(collection):
    index = IndexOf([item.id for item in collection.candidates("union_test")][1:])

    with pytest.raises(UserError, match="none of its pools holds exactly the indexed items"):
        read_pools(collection, index, collection.rows(), "test")


def test_an_item_missing_from_the_index_is_refused(collection, engine, tmp_path):
    other = Collection(shutil.copytree(collection.root, tmp_path / "other"))
    file = other.root / "cand_pool/global/mbeir_union_test_cand_pool.jsonl"
    file.write_text(file.read_text().replace('"1:19"', '"1:99"'))

    with pytest.raises(UserError, match="holds items that the index does not"):
        read_pools(other, engine.index, other.rows(), "test")


def test_a_row_without_test_candidates_is_refused(collection, engine, tmp_path):
    other = Collection(shutil.copytree(collection.root, tmp_path / "other"))
    file = other.root / "cand_pool/global/mbeir_union_test_cand_pool.jsonl"
    file.write_text("".join(line for line in file.open() if '"1:' not in line))

    with pytest.raises(UserError, match="titled task 2: the local pool, test items is empty"):
        read_pools(other, engine.index, other.rows(), "test")

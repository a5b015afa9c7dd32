"""Candidate pools of each (task, dataset) row, as rows of the index.

A local pool holds one dataset's candidates for one task, a global pool those of all datasets. There
are two of each: one with all items of the collection, one with the candidates of the evaluated
split alone. If the index holds only one pool of the collection, there is one of each, with the
indexed items.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from genius.collections.mbeir import BenchmarkRow, Collection
from genius.errors import UserError
from genius.index.store import Index
from genius.schema import Item

OTHER_INDEX = "build the index from this collection again, or name the collection it was built from"


class PoolKind(NamedTuple):
    """One of the pools of a row."""

    scope: str  # "global" or "local"
    items: str  # "all", or the split whose candidates it holds

    def __str__(self) -> str:
        return f"{self.scope} pool, {self.items} items"


# kind of pool, number of the benchmark row -> sorted rows (m,) of the index
Pools = dict[tuple[PoolKind, int], np.ndarray]


def read_pools(
    collection: Collection, index: Index, rows: list[BenchmarkRow], split: str, items: str = ""
) -> Pools:
    """The pools of these benchmark rows, with their kinds in the order of the report; the first is
    the headline.

    items: only the pools of these items, "all" or the split; empty: both. Raises UserError for an
    unknown candidate, for an empty pool, and where there are no pools of these items.
    """
    members = _members(collection, index, split)
    if items and items not in members:
        raise UserError(f"there is no pool of {items} items; choose from {', '.join(members)}")
    members = {items: members[items]} if items else members
    kinds = [PoolKind(scope, of) for scope in ("global", "local") for of in members]
    pools: Pools = {}
    for number, row in enumerate(rows):
        name = f"{row.dataset} task {row.task}"
        local = rows_in(index, collection.local_pool(row))
        if "all" in members:
            _check_indexed(local, f"the local pool of {name}")
        for kind in kinds:
            chosen = members[kind.items]
            if kind.scope == "local":
                chosen = np.intersect1d(local, chosen, assume_unique=True)
            if not len(chosen):
                raise UserError(
                    f"{name}: the {kind} is empty; add candidates to {collection.root}/cand_pool"
                )
            pools[kind, number] = chosen
    return pools


def _members(collection: Collection, index: Index, split: str) -> dict[str, np.ndarray]:
    """Items of a pool kind -> sorted index rows of the global pool.

    Raises UserError if the index holds neither all items nor those of one pool.
    """
    all_rows = rows_in(index, collection.all_candidates())
    if len(all_rows) and all_rows[0] < 0:
        for name in collection.pools():
            if np.array_equal(rows_in(index, collection.candidates(name)), np.arange(index.n)):
                return {name.removeprefix("union_"): np.arange(index.n)}
        raise UserError(
            "the collection holds items that the index does not, and none of its pools holds "
            f"exactly the indexed items; {OTHER_INDEX}"
        )
    of_split = rows_in(index, collection.candidates(f"union_{split}"))
    _check_indexed(of_split, f"the global {split} pool")
    return {"all": all_rows, split: of_split}


def rows_in(index: Index, items: Iterable[Item]) -> np.ndarray:
    """Sorted index rows (≤ items,) of these items; the first is −1 if any is not indexed."""
    return np.unique(index.rows_of(item.id for item in items))


def _check_indexed(rows: np.ndarray, where: str) -> None:
    if len(rows) and rows[0] < 0:
        raise UserError(f"{where} holds items that the index does not; {OTHER_INDEX}")

"""What the queries of each row may find: pools of candidates, as rows of the index.

Local pools hold one dataset's candidates for one task, global pools those of all datasets. Each is taken
twice: with all items of the collection, and with those alone that are candidates for the evaluated split.
An index may hold one pool of the collection instead of all; then each is taken once, with the items indexed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from genius.collections.mbeir import BenchmarkRow, Collection
from genius.errors import UserError
from genius.index.store import Index
from genius.schema import Item


@dataclass(frozen=True)
class PoolKind:
    """Which of its pools a row is searched in."""

    scope: str  # "global" or "local"
    items: str  # "all", or the split whose candidates alone it holds

    def __str__(self) -> str:
        return f"{self.scope} pool, {self.items} items"


@dataclass
class SharedPool:
    """One set of candidates, and who is searched in it."""

    rows: np.ndarray  # sorted rows of the index
    uses: dict[int, list[PoolKind]]  # number of the (task, dataset) row -> as which of its pools


@dataclass(frozen=True)
class Pools:
    """Everything that a row is searched in."""

    kinds: list[PoolKind]  # in the order of the report: the first is the headline
    shared: list[SharedPool]  # every different pool once

    def candidates(self) -> np.ndarray:
        """Sorted rows of the narrowest global pool: the candidates of the evaluated split."""
        narrowest = [kind for kind in self.kinds if kind.scope == "global"][-1]
        return next(pool.rows for pool in self.shared if any(narrowest in kinds for kinds in pool.uses.values()))


def read_pools(collection: Collection, index: Index, rows: list[BenchmarkRow], split: str) -> Pools:
    """Raises UserError for an unknown candidate and for an empty pool."""
    members = _members(collection, index, split)
    kinds = [PoolKind(scope, items) for scope in ("global", "local") for items in members]
    shared: dict[bytes, SharedPool] = {}
    for number, row in enumerate(rows):
        name = f"{row.dataset} task {row.task}"
        local = _rows(index, collection.local_pool(row))
        if "all" in members:
            _check_indexed(local, f"the local pool of {name}")
        for kind in kinds:
            chosen = members[kind.items]
            if kind.scope == "local":
                chosen = np.intersect1d(local, chosen, assume_unique=True)
            if not len(chosen):
                raise UserError(f"{name}: the {kind} is empty; add candidates to {collection.root}/cand_pool")
            pool = shared.setdefault(chosen.tobytes(), SharedPool(chosen, {}))
            pool.uses.setdefault(number, []).append(kind)
    return Pools(kinds, list(shared.values()))


def _members(collection: Collection, index: Index, split: str) -> dict[str, np.ndarray]:
    """Sorted rows of the global pools that rows are searched in, by the name of their items."""
    everything = _rows(index, collection.all_candidates())
    if not _all_there(everything):
        indexed = _indexed_pool(collection, index)
        return {indexed.removeprefix("union_"): np.arange(index.n)}
    of_split = _rows(index, collection.candidates(f"union_{split}"))
    _check_indexed(of_split, f"the global {split} pool")
    return {"all": everything, split: of_split}


def _indexed_pool(collection: Collection, index: Index) -> str:
    """The pool that is all that the index holds. Raises UserError if none is."""
    for name in collection.pools():
        if np.array_equal(_rows(index, collection.candidates(name)), np.arange(index.n)):
            return name
    raise UserError(
        "the collection holds items that the index does not, and none of its pools is what the index "
        "holds; build the index from this collection again, or name the collection it was built from"
    )


def _rows(index: Index, items: Iterable[Item]) -> np.ndarray:
    """Sorted rows of these items, first of all −1 if the index lacks any."""
    return np.unique(index.rows_of(item.id for item in items))


def _all_there(rows: np.ndarray) -> bool:
    return not len(rows) or rows[0] >= 0


def _check_indexed(rows: np.ndarray, where: str) -> None:
    if not _all_there(rows):
        raise UserError(
            f"{where} holds items that the index does not; build the index from this collection "
            "again, or name the collection it was built from"
        )

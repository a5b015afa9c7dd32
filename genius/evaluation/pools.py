"""What the queries of each row may find: pools of candidates, as rows of the index.

Local pools hold one dataset's candidates for one task, global pools those of all datasets. Each is taken
twice: with all items of the collection, and with those alone that are candidates for the evaluated split.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from genius.collections.mbeir import Collection, Row
from genius.errors import UserError
from genius.index.store import Index
from genius.schema import Item


@dataclass(frozen=True)
class PoolKind:
    """Which of its four pools a row is searched in."""

    scope: str    # "global" or "local"
    items: str    # "all", or the split whose candidates alone it holds

    def __str__(self) -> str:
        return f"{self.scope} pool, {self.items} items"


@dataclass
class SharedPool:
    """One set of candidates, and who is searched in it."""

    rows: np.ndarray                  # sorted rows of the index
    uses: dict[int, list[PoolKind]]   # number of the (task, dataset) row -> as which of its pools


def pool_kinds(split: str) -> list[PoolKind]:
    """In the order of the report: the first is the headline."""
    return [PoolKind(scope, items) for scope in ("global", "local") for items in ("all", split)]


def read_pools(collection: Collection, index: Index, rows: list[Row], split: str) -> list[SharedPool]:
    """Every different pool once. Raises UserError for an unknown candidate and for an empty pool."""
    everything = _rows(index, collection.all_candidates(), "the collection")
    of_split = _rows(index, collection.candidates(f"union_{split}"), f"the global {split} pool")
    shared: dict[bytes, SharedPool] = {}
    for number, row in enumerate(rows):
        name = f"{row.dataset} task {row.task}"
        local = _rows(index, collection.local_pool(row), f"the local pool of {name}")
        for kind in pool_kinds(split):
            members = everything if kind.scope == "global" else local
            if kind.items == split:
                members = np.intersect1d(members, of_split, assume_unique=True)
            if not len(members):
                raise UserError(f"{name}: the {kind} is empty; add candidates to {collection.root}/cand_pool")
            pool = shared.setdefault(members.tobytes(), SharedPool(members, {}))
            pool.uses.setdefault(number, []).append(kind)
    return list(shared.values())


def _rows(index: Index, items: Iterable[Item], where: str) -> np.ndarray:
    """Sorted rows of these items."""
    rows = np.unique(index.rows_of(item.id for item in items))
    if len(rows) and rows[0] < 0:
        raise UserError(f"{where} holds items that the index does not; build the index from this collection "
                        "again, or name the collection it was built from")
    return rows

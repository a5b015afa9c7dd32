"""What a search may find: the ID table of some items, and the trie over it.

Large pools are kept in one file beside the IDs they were made from, memory-mapped when loaded. The file is only
a copy of what can be built again: whoever finds that it does not fit builds the pool.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from genius.index.ids import IDTable, pack
from genius.index.trie import Listed, Trie

FORMAT = 1        # of the file; raised whenever an array changes its meaning
TABLE = ("packed", "rows", "shared", "sizes")


@dataclass(frozen=True)
class Pool:
    """Immutable, so that a search is not disturbed when the items change: that gives another pool."""

    table: IDTable
    trie: Trie

    @classmethod
    def build(cls, packed: np.ndarray, code_sizes: Sequence[int], rows: np.ndarray | None = None,
              device: torch.device | str = "cpu") -> Pool:
        """packed IDs (n, B) of the items at `rows` (n,), by default 0 … n−1; the trie lies on the device.

        Raises ValueError if there is no item or a row comes twice.
        """
        table = IDTable.from_packed(packed, code_sizes, rows)
        return cls(table, Trie(table, device))

    def inserted(self, codes: np.ndarray, rows: np.ndarray) -> Pool:
        """A pool with m more items: codes (m, M), rows (m,). Raises ValueError for a row that is there already."""
        table = self.table.inserted(pack(codes, self.table.code_sizes), rows)
        return Pool(table, Trie(table, self.trie.device))

    def removed(self, rows: np.ndarray) -> Pool:
        """A pool without the items at these rows (m,). Raises ValueError for an unknown row, or if none is left."""
        table = self.table.removed(rows)
        return Pool(table, Trie(table, self.trie.device))

    def renumbered(self, rows: np.ndarray) -> Pool:
        """The same items at other rows: row r becomes rows[r], which must ascend with r."""
        return Pool(self.table.renumbered(rows), self.trie)

    def save(self, file: Path, packed: np.ndarray) -> None:
        """packed (n, B): the IDs of rows 0 … n−1, which this pool was built from."""
        arrays = {name: getattr(self.table, name) for name in TABLE} | self.trie.listed._asdict()
        save_file(arrays, file, metadata=_origin(packed, self.table.code_sizes))

    @classmethod
    def load(cls, file: Path, packed: np.ndarray, code_sizes: Sequence[int],
             device: torch.device | str = "cpu") -> Pool | None:
        """The pool of all rows, memory-mapped, if `file` holds it; else None, and it must be built.

        packed (n, B): the IDs of rows 0 … n−1. A file that is missing, damaged, of another format, or made from
        other IDs does not hold their pool.
        """
        try:
            with safe_open(file, framework="pt") as stored:       # as tensors they are mapped, as arrays copied
                if stored.metadata() != _origin(packed, code_sizes):
                    return None
                arrays = {name: stored.get_tensor(name).numpy() for name in (*TABLE, *Listed._fields)}
        except (OSError, SafetensorError):
            return None
        if not _consistent(arrays, packed, len(code_sizes)):
            return None
        table = IDTable(*(arrays[name] for name in TABLE), tuple(code_sizes))
        return cls(table, Trie(table, device, Listed(*(arrays[name] for name in Listed._fields))))


def _origin(packed: np.ndarray, code_sizes: Sequence[int]) -> dict[str, str]:
    """What a file must have been made by and from."""
    return {"format": str(FORMAT), "code_sizes": " ".join(map(str, code_sizes)),
            "ids": hashlib.sha256(np.ascontiguousarray(packed)).hexdigest()}


def _consistent(arrays: dict[str, np.ndarray], packed: np.ndarray, levels: int) -> bool:
    """Whether the arrays fit each other; their contents are the checksums' business."""
    shared, prefixes, edges = ((len(arrays[name]),) for name in ("shared", "low", "edge_low"))
    shapes = {"packed": packed.shape, "rows": packed.shape[:1], "shared": shared, "sizes": shared,
              "low": prefixes, "first_edge": (prefixes[0] + 1,), "edge_code": edges, "edge_low": edges,
              "levels": (levels + 1,)}
    kinds = {"packed": np.uint8, "edge_code": np.int16}
    return (all(arrays[name].shape == shape and arrays[name].dtype == kinds.get(name, np.int32)
                for name, shape in shapes.items())
            and [arrays[name][-1:].tolist() for name in ("shared", "first_edge", "levels")]
            == [[len(packed)], [*edges], [*prefixes]])

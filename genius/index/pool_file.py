"""The pool of all items of a large index, kept in one file next to the IDs it was built from.

The file is memory-mapped when it is loaded. It is only a copy of what can be built again: a file that is missing,
damaged, forged, of another format, or made from other IDs is ignored, and the caller builds the pool.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from genius.files import sort_metadata
from genius.reading import check_tensor_size
from genius.trie.ids import IDTable
from genius.trie.pool import Pool
from genius.trie.trie import CrowdedPrefixes, Trie, find_crowded_prefixes

FORMAT = 1  # of the file; increased whenever an array changes its meaning
TABLE = ("packed", "rows", "shared", "sizes")


def save_pool(pool: Pool, file: Path, packed: np.ndarray) -> None:
    """packed (n, B): the IDs of rows 0 … n−1, which this pool was built from."""
    arrays = {name: getattr(pool.table, name) for name in TABLE} | pool.trie.crowded._asdict()
    save_file(arrays, file, metadata=_origin(packed, pool.table.code_sizes))
    sort_metadata(file)


def load_pool(
    file: Path, packed: np.ndarray, code_sizes: Sequence[int], device: torch.device | str = "cpu"
) -> Pool | None:
    """The pool of all rows, memory-mapped, or None if `file` does not hold it and it must be built.

    packed (n, B): the IDs of rows 0 … n−1.
    """
    try:
        check_tensor_size(file)
        with safe_open(file, framework="pt") as stored:  # as tensors they are mapped, as arrays copied
            if stored.metadata() != _origin(packed, code_sizes):
                return None
            arrays = {name: stored.get_tensor(name).numpy() for name in (*TABLE, *CrowdedPrefixes._fields)}
    except (OSError, ValueError, SafetensorError, TypeError):  # TypeError: of a type that numpy does not have
        return None
    table = IDTable(*(arrays[name] for name in TABLE), tuple(code_sizes))
    crowded = CrowdedPrefixes(*(arrays[name] for name in CrowdedPrefixes._fields))
    return Pool(table, Trie(table, device, crowded)) if _fit(table, crowded, packed) else None


def _origin(packed: np.ndarray, code_sizes: Sequence[int]) -> dict[str, str]:
    """What a file must have been made by and from."""
    return {
        "format": str(FORMAT),
        "code_sizes": " ".join(map(str, code_sizes)),
        "ids": hashlib.sha256(np.ascontiguousarray(packed)).hexdigest(),
    }


def _fit(table: IDTable, crowded: CrowdedPrefixes, packed: np.ndarray) -> bool:
    """Whether a table and the prefixes of its trie are those of packed IDs (n, B): a tenth of the work of building.

    A foreign file may hold anything; positions that are out of range would read other memory.
    """
    n = len(packed)
    if table.packed.shape != packed.shape or table.packed.dtype != np.uint8 or table.rows.shape != (n,):
        return False
    if table.rows.dtype != np.int32 or table.rows.min() < 0:
        return False
    if not np.array_equal(np.bincount(table.rows.clip(max=n), minlength=n), np.ones(n)):  # not each row once
        return False
    if (table.packed != packed[table.rows]).any() or not table.is_sorted:
        return False
    rebuilt = IDTable.from_sorted(table.packed, table.rows, table.code_sizes)
    return all(
        _same(own, other)
        for own, other in zip(
            (table.shared, table.sizes, *crowded),
            (rebuilt.shared, rebuilt.sizes, *find_crowded_prefixes(rebuilt)),
            strict=True,
        )
    )


def _same(own: np.ndarray, other: np.ndarray) -> bool:
    return own.dtype == other.dtype and np.array_equal(own, other)

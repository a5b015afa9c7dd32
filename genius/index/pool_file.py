"""The pool of all items of a large index, kept in one file next to the IDs it was built from.

The file is memory-mapped when it is loaded. It is only a copy of what can be built again: a file that is missing,
damaged, of another format, or made from other IDs is ignored, and the caller builds the pool.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from genius.trie.ids import IDTable
from genius.trie.pool import Pool
from genius.trie.trie import CrowdedPrefixes, Trie

FORMAT = 1  # of the file; increased whenever an array changes its meaning
TABLE = ("packed", "rows", "shared", "sizes")


def save_pool(pool: Pool, file: Path, packed: np.ndarray) -> None:
    """packed (n, B): the IDs of rows 0 … n−1, which this pool was built from."""
    arrays = {name: getattr(pool.table, name) for name in TABLE} | pool.trie.crowded._asdict()
    save_file(arrays, file, metadata=_origin(packed, pool.table.code_sizes))


def load_pool(
    file: Path, packed: np.ndarray, code_sizes: Sequence[int], device: torch.device | str = "cpu"
) -> Pool | None:
    """The pool of all rows, memory-mapped, or None if `file` does not hold it and it must be built.

    packed (n, B): the IDs of rows 0 … n−1.
    """
    try:
        with safe_open(file, framework="pt") as stored:  # as tensors they are mapped, as arrays copied
            if stored.metadata() != _origin(packed, code_sizes):
                return None
            arrays = {name: stored.get_tensor(name).numpy() for name in (*TABLE, *CrowdedPrefixes._fields)}
    except (OSError, SafetensorError):
        return None
    if not _consistent(arrays, packed, len(code_sizes)):
        return None
    table = IDTable(*(arrays[name] for name in TABLE), tuple(code_sizes))
    return Pool(table, Trie(table, device, CrowdedPrefixes(*(arrays[name] for name in CrowdedPrefixes._fields))))


def _origin(packed: np.ndarray, code_sizes: Sequence[int]) -> dict[str, str]:
    """What a file must have been made by and from."""
    return {
        "format": str(FORMAT),
        "code_sizes": " ".join(map(str, code_sizes)),
        "ids": hashlib.sha256(np.ascontiguousarray(packed)).hexdigest(),
    }


def _consistent(arrays: dict[str, np.ndarray], packed: np.ndarray, levels: int) -> bool:
    """Whether the arrays fit each other; their contents are the checksums' business."""
    shared, prefixes, edges = ((len(arrays[name]),) for name in ("shared", "low", "edge_low"))
    shapes = {
        "packed": packed.shape,
        "rows": packed.shape[:1],
        "shared": shared,
        "sizes": shared,
        "low": prefixes,
        "first_edge": (prefixes[0] + 1,),
        "edge_code": edges,
        "edge_low": edges,
        "levels": (levels + 1,),
    }
    kinds = {"packed": np.uint8, "edge_code": np.int16}
    return all(
        arrays[name].shape == shape and arrays[name].dtype == kinds.get(name, np.int32)
        for name, shape in shapes.items()
    ) and [arrays[name][-1:].tolist() for name in ("shared", "first_edge", "levels")] == [
        [len(packed)],
        [*edges],
        [*prefixes],
    ]

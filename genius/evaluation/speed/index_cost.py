"""What an index of a size costs: memory, and the time to build and change it.

Shapes: n items, B bytes of a packed ID.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from genius.trie.ids import unpack
from genius.trie.pool import Pool

CHANGED = 1000  # items inserted and removed
Value = TypeVar("Value")


def measure_index_cost(packed: np.ndarray, code_sizes: Sequence[int], seed: int) -> tuple[Pool, dict[str, Any]]:
    """Build a pool of packed IDs (n, B); return it with seconds per operation and bytes per item."""
    packed, rng = np.array(packed), np.random.default_rng(seed)
    n = len(packed)
    pool, build = _timed(lambda: Pool.build(packed, code_sizes))
    new = unpack(packed[rng.integers(n, size=CHANGED)], code_sizes)
    new[:, -1] = rng.integers(code_sizes[-1], size=CHANGED)
    grown, insert = _timed(lambda: pool.inserted(new, np.arange(n, n + CHANGED)))
    _, insert_one = _timed(lambda: pool.inserted(new[:1], np.array([n])))
    _, remove = _timed(lambda: grown.removed(rng.permutation(n + CHANGED)[:CHANGED]))
    return pool, {
        "items": n,
        "different_ids": pool.table.distinct,
        "build_seconds": build,
        f"insert_{CHANGED}_seconds": insert,
        f"remove_{CHANGED}_seconds": remove,
        "insert_1_seconds": insert_one,
        "bytes_per_item": {
            "IDs": pool.table.packed.nbytes / n,
            "rows and shared IDs": (pool.table.nbytes - pool.table.packed.nbytes) / n,
            "trie": pool.trie.nbytes / n,
            "all": (pool.table.nbytes + pool.trie.nbytes) / n,
        },
    }


def _timed(work: Callable[[], Value]) -> tuple[Value, float]:
    start = time.perf_counter()
    value = work()
    return value, time.perf_counter() - start

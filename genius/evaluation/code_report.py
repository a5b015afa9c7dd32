"""What is to be said of an index's codes without any query: their use, and what they say of the items' factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from genius.index.store import Index
from genius.metrics.code_health import code_health
from genius.metrics.factor_agreement import factor_table, read_factors

MOST = 20_000  # items that factors are read from: a sample fixed by the seed where there are more


def measure_codes(index: Index, candidates: np.ndarray, seed: int) -> dict[str, Any]:
    """{"health": of all items, "factors": of the candidates, which are rows of the index}, ready for JSON."""
    everything = index.codes(range(index.n))
    if len(candidates) > MOST:
        candidates = np.sort(np.random.default_rng(seed).choice(candidates, MOST, replace=False))
    factors = factor_table(everything[candidates], read_factors(index.items(candidates)), seed)
    return {"health": code_health(everything, index.modalities, index.code_sizes), "factors": factors}

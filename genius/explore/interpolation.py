"""Interpolate between a query and an item, and search at each step.

    z = weight · z of the query + (1 − weight) · z of the item          (Eq. 11, query augmentation)

Embeddings are interpolated alike for re-ranking, and normalized, so that cosines stay cosines.

Shapes: s interpolate, d embedding dim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from genius.explore.items import item_query
from genius.schema import SearchOptions, SearchResult
from genius.search.retrieval import EncodedQueries

if TYPE_CHECKING:
    from genius.search.engine import Engine

WEIGHTS = tuple(step / 20 for step in range(20, -1, -1))  # from only the query to only the item


@dataclass(frozen=True)
class Step:
    """The result of one interpolated query."""

    weight: float  # weight of the query
    result: SearchResult


def interpolate(
    engine: Engine,
    embedding: np.ndarray,
    z: np.ndarray,
    row: int,
    options: SearchOptions,
    weights: Sequence[float] = WEIGHTS,
) -> list[Step]:
    """Search, in one batch, with interpolations of a query's embedding (d,) and z (d,) and those of the item at `row`.

    The item's embedding comes from the index; its z is computed from its thumbnail and text.
    Raises UserError for an invalid option.
    """
    item_z = engine.encode([item_query(engine.index, row)]).z[0].cpu().numpy()
    stored = np.asarray(engine.index.embeddings[row], dtype=np.float32)
    embeddings = interpolated(embedding, stored, weights)
    embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
    asked = EncodedQueries.from_vectors(embeddings, interpolated(z, item_z, weights))
    results = engine.search_encoded(asked, options)
    return [Step(weight, result) for weight, result in zip(weights, results, strict=True)]


def interpolated(query: np.ndarray, item: np.ndarray, weights: Sequence[float]) -> np.ndarray:
    """(d,), (d,) -> (s, d), one row per weight of the query."""
    share = np.asarray(weights, dtype=np.float32)[:, None]
    return share * query + (1 - share) * item

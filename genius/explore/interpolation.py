"""Between a query and an item: what is generated as the weight of the query falls.

    z = weight · z of the query + (1 − weight) · z of the item          (Eq. 11, query augmentation)

Embeddings are interpolated alike for re-ranking, and normalised, so that cosines stay cosines.

Shapes: s interpolate, d embedding dim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from genius.explore.items import item_query
from genius.schema import SearchOptions, SearchResult
from genius.search.engine import EncodedQueries

if TYPE_CHECKING:
    from genius.search.engine import Engine

WEIGHTS = tuple(step / 20 for step in range(20, -1, -1))  # from the query alone to the item alone


@dataclass(frozen=True)
class Step:
    """What a mixture finds."""

    weight: float  # of the query
    result: SearchResult


def interpolate(
    engine: Engine,
    embedding: np.ndarray,
    z: np.ndarray,
    row: int,
    options: SearchOptions,
    weights: Sequence[float] = WEIGHTS,
) -> list[Step]:
    """Searches by mixtures of a query (d,), (d,) and the item at `row`, all at once.

    The item's embedding is the index's; its z is that of its thumbnail and text. Raises UserError for an option
    that cannot be.
    """
    own = engine.encode([item_query(engine.index, row)]).z[0].cpu().numpy()
    stored = np.asarray(engine.index.embeddings[row], dtype=np.float32)
    embeddings = interpolated(embedding, stored, weights)
    embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
    found = engine.search_encoded(EncodedQueries.from_vectors(embeddings, interpolated(z, own, weights)), options)
    return [Step(weight, result) for weight, result in zip(weights, found, strict=True)]


def interpolated(query: np.ndarray, item: np.ndarray, weights: Sequence[float]) -> np.ndarray:
    """(d,), (d,) -> (s, d)."""
    share = np.asarray(weights, dtype=np.float32)[:, None]
    return share * query + (1 - share) * item

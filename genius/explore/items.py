"""Describe an item: text, ID, factors and nearest items; find its row and its rank in dense search;
use it as a query.

Shapes: n items, m requested items, d embedding dim, M levels.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from genius.collections.images import open_image
from genius.errors import UserError, quoted
from genius.explore.word_fits import blocks
from genius.index.segments import Vectors
from genius.index.store import Index
from genius.schema import UNREAD, Query, SearchOptions, SearchResult, source_fields
from genius.search.checks import MAX_TEXT
from genius.search.dense import flat_search
from genius.search.engine import Engine
from genius.search.retrieval import EncodedQueries

EXACT_ITEMS = 200_000  # items; in a larger index describing an item does not read all embeddings
BLOCK = 16_384  # embeddings in memory at once
# embeddings read from an index too large for exact ranks; adjacent rows per read
SAMPLE, RUN = 100_000, 64
APPROXIMATE = SearchOptions(mode="scan", k=500, order="cosine")
WEIGHTS = tuple(step / 20 for step in range(20, -1, -1))  # from only the query to only the item


def describe_item(engine: Engine, row: int, neighbors: int = 8) -> dict[str, Any]:
    """What is known of an item: item (an Item), codes, facts, neighbours, exact.

    facts: [(name, value)] from its source. neighbours: see `nearest_items`, [{"row", "item",
    "cosine"}]; exact: whether they are exact. Raises UserError for an unknown row.
    """
    index = engine.index
    if type(row) is not int or not 0 <= row < index.n:
        raise UserError(f"There is no item at row {quoted(row)}; the index has {index.n:,} items.")
    (item,) = index.items([row])
    cosines, rows = nearest_items(engine, row, neighbors) if neighbors else ((), ())
    return {
        "item": item,
        "codes": index.codes([row])[0].tolist(),
        "facts": source_facts(item.source),
        "neighbours": [
            {"row": int(near), "item": neighbor, "cosine": float(cosine)}
            for near, neighbor, cosine in zip(rows, index.items(rows), cosines, strict=True)
        ],
        "exact": index.n <= EXACT_ITEMS or not engine.has_codewords,
    }


def nearest_items(engine: Engine, row: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """(cosines, rows) of the k nearest items by embedding, without the item itself; (≤ k,) each.

    Exact for up to EXACT_ITEMS items. Above, candidates are the items whose quantized vectors are
    nearest to the item's own, by a scan of the IDs, ranked by their exact cosines.
    """
    index = engine.index
    vector = np.asarray(index.embeddings[row : row + 1], dtype=np.float32)  # (1, d)
    if index.n <= EXACT_ITEMS or not engine.has_codewords:
        (cosines,), (rows,) = flat_search(index.embeddings, vector, k + 1)
    else:
        codes = torch.from_numpy(index.codes([row]).astype(np.int64)).to(engine.device)  # (1, M)
        z = engine.batcher.call(lambda: engine.quantizer.decode(codes))
        query = EncodedQueries(None, torch.from_numpy(vector), z)
        rows = engine.retrieve(query, APPROXIMATE).ranked.rows[0]
        rows = rows[rows >= 0]  # −1: fewer were found
        cosines = np.asarray(index.embeddings[rows], dtype=np.float32) @ vector[0]
    others = (rows != row) & (rows >= 0)
    return cosines[others][:k], rows[others][:k]


def dense_ranks(embeddings: Vectors, query: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """(m,) ranks of the items at `rows` (m,) in dense search: 1 + the number of items with a larger
    cosine.

    Exact for up to EXACT_ITEMS items; above, estimated from an evenly spread sample.
    embeddings (n, d) fp16, memory-mapped; query (d,); both normalized.
    """
    query = query.astype(np.float32)
    asked, place = np.unique(_cosines(embeddings[rows], query), return_inverse=True)  # ascending
    # histogram of items by how many asked cosines they exceed
    above = np.zeros(len(asked) + 1, dtype=np.int64)
    compared = np.arange(len(embeddings))
    if len(embeddings) > EXACT_ITEMS:
        compared = (
            np.linspace(0, len(embeddings) - RUN, SAMPLE // RUN).astype(int)[:, None]
            + np.arange(RUN)
        ).ravel()
    for part in blocks(compared, BLOCK):
        above += np.bincount(
            np.searchsorted(asked, _cosines(embeddings[part], query)), minlength=len(above)
        )
    larger = above[::-1].cumsum()[::-1][1:]  # for each asked cosine: number of items above it
    return 1 + larger[place] * len(embeddings) // len(compared)


def _cosines(embeddings: np.ndarray, query: np.ndarray) -> np.ndarray:
    """(n, d), (d,) -> (n,). einsum, so that the cosine of a vector does not depend on the block it
    is in.
    """
    return np.einsum("nd,d->n", embeddings.astype(np.float32), query)


def source_facts(source: str) -> list[tuple[str, str]]:
    """(name, value) pairs of the plain values, and of the lists of words, in a source's fields."""
    fields = source_fields(source).items()
    shown = [
        (name, ", ".join(map(str, value)) if isinstance(value, list) else value)
        for name, value in fields
    ]
    return [(name, str(value)) for name, value in shown if isinstance(value, str | int | float)]


def item_query(index: Index, row: int) -> Query:
    """The thumbnail and text of an item as a query without an instruction.

    A text that is too long for a query is truncated. Raises IndexError for an unknown row.
    """
    (item,) = index.items([row])
    picture = index.thumbnail(row)
    return Query(
        item.text[:MAX_TEXT], None if picture is None else open_image(picture), reading=UNREAD
    )


def row_of(index: Index, id: str) -> int:
    """The row of an item id. Raises UserError if the index does not have the item."""
    row = int(index.rows_of([id])[0]) if isinstance(id, str) else -1
    if row < 0:
        raise UserError(f"There is no item {quoted(id)} in this index.")
    return row


def interpolate(
    engine: Engine,
    query: SearchResult,
    row: int,
    options: SearchOptions,
    weights: Sequence[float] = WEIGHTS,
) -> list[SearchResult]:
    """Search, in one batch, with mixtures of a query and the item at `row`, one for each weight of
    the query.

    The item's embedding comes from the index; its z is computed from its thumbnail and text.
    Raises UserError for an invalid option.
    """
    item = (
        engine.encode([item_query(engine.index, row)])
        if engine.has_encoder
        else engine.vectors_of(row)
    )
    stored = np.asarray(engine.index.embeddings[row], dtype=np.float32)
    embeddings = interpolated(query.embedding, stored, weights)
    embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
    z = interpolated(query.z, item.z[0].cpu().numpy(), weights)
    return engine.search_encoded(EncodedQueries.from_vectors(embeddings, z), options)


def interpolated(query: np.ndarray, item: np.ndarray, weights: Sequence[float]) -> np.ndarray:
    """(d,), (d,) -> (s, d), one row per weight of the query."""
    share = np.asarray(weights, dtype=np.float32)[:, None]
    return share * query + (1 - share) * item

"""One item, told in full: its texts, ID and factors, and what is truly near it.

Shapes: n items, d embedding dim.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from genius.collections.images import open_image
from genius.errors import UserError
from genius.schema import Item, Query
from genius.search.checks import MAX_TEXT
from genius.search.dense import flat_search

if TYPE_CHECKING:
    from genius.index.store import Index
    from genius.search.engine import Engine


def describe(engine: Engine, row: int, neighbours: int = 8) -> dict[str, Any]:
    """{"row", "id", "modality", "text", "codes", "facts", "neighbours"} of an item, plain data but for Modality.

    facts: [(name, value)] of its source, if that is a JSON object. neighbours: those nearest by embedding over the
    whole index, exactly: [{"row", "id", "modality", "text", "cosine"}]. Raises UserError if there is no such row.
    """
    index = engine.index
    if type(row) is not int or not 0 <= row < index.n:
        raise UserError(f"There is no item at row {row!r}; the index has {index.n:,} items.")
    (item,) = index.items([row])
    return {
        "row": row,
        **_short(item),
        "codes": index.codes([row])[0].tolist(),
        "facts": source_facts(item.source),
        "neighbours": _neighbours(index, row, neighbours) if neighbours else [],
    }


def nearest_items(index: Index, row: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """(cosines, rows) of the k items nearest to an item by embedding, without itself; (≤ k,) each."""
    vector = np.asarray(index.embeddings[row : row + 1], dtype=np.float32)  # (1, d)
    (cosines,), (rows,) = flat_search(index.embeddings, vector, k + 1)
    others = (rows != row) & (rows >= 0)
    return cosines[others][:k], rows[others][:k]


def source_facts(source: str) -> list[tuple[str, str]]:
    """What the source of an item says of it: the plain values of a JSON object, or nothing."""
    try:
        record = json.loads(source)
    except ValueError:
        return []
    if not isinstance(record, dict):
        return []
    return [(name, str(value)) for name, value in record.items() if isinstance(value, str | int | float)]


def item_query(index: Index, row: int) -> Query:
    """The picture and the text of an item, without an instruction, as items themselves are encoded.

    The picture is its thumbnail; a text that no query could hold is cut. Raises IndexError if there is no such row.
    """
    (item,) = index.items([row])
    picture = index.thumbnail(row)
    return Query(text=item.text[:MAX_TEXT], image=None if picture is None else open_image(picture))


def row_of(index: Index, id: str) -> int:
    """The row of an item. Raises UserError if the index has no such item."""
    row = int(index.rows_of([id])[0]) if isinstance(id, str) else -1
    if row < 0:
        raise UserError(f"There is no item {id!r} in this index.")
    return row


def _neighbours(index: Index, row: int, k: int) -> list[dict[str, Any]]:
    cosines, rows = nearest_items(index, row, k)
    return [
        {"row": int(at), **_short(other), "cosine": float(cosine)}
        for at, other, cosine in zip(rows, index.items(rows), cosines, strict=True)
    ]


def _short(item: Item) -> dict[str, Any]:
    return {"id": item.id, "modality": item.modality, "text": item.text}

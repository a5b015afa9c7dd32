"""The segments of an index: the items that were indexed first and those of each addition, as they
were written.

    embeddings.npy      (m, d) fp16, memory-mapped
    fused.npy           the same of the fused features, by which results are ordered; in all
                        segments or in none
    items.sqlite        number in the segment -> id, modality, text, image, source; unique by id
    thumbnails.sqlite   number in the segment -> WebP; an image that several of its items share is
                        kept once

Shapes: n rows, t requested rows, s segments, d embedding dim.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from genius.encoding.features import batched
from genius.errors import UserError
from genius.index.database import ReadOnlyDatabase, placeholders
from genius.schema import Item, Modality

EMBEDDINGS, ITEMS, THUMBNAILS = FILES = ("embeddings.npy", "items.sqlite", "thumbnails.sqlite")
FUSED = "fused.npy"
ITEM_TABLE = """CREATE TABLE IF NOT EXISTS items (
    row INTEGER PRIMARY KEY, id TEXT NOT NULL, modality INTEGER NOT NULL, text TEXT NOT NULL,
    image TEXT, source TEXT NOT NULL)"""
ITEM_KEY = "CREATE UNIQUE INDEX IF NOT EXISTS items_by_id ON items (id)"
THUMBNAIL_TABLES = """
    CREATE TABLE IF NOT EXISTS pictures (picture INTEGER PRIMARY KEY, webp BLOB NOT NULL);
    CREATE TABLE IF NOT EXISTS shown (row INTEGER PRIMARY KEY, picture INTEGER NOT NULL);
    CREATE VIEW IF NOT EXISTS thumbnails AS
        SELECT row, webp FROM shown JOIN pictures USING (picture);"""
MODALITIES = set(Modality)
THUMBNAIL = "SELECT webp FROM shown LEFT JOIN pictures USING (picture) WHERE row = ?"
LOOKUP = 10_000  # ids or rows per SQL statement
DATASET = (
    "CASE WHEN instr(items.id, ':') > 1 "
    "THEN CAST(substr(items.id, 1, instr(items.id, ':') - 1) AS INTEGER) END"
)


def by_segment(
    starts: np.ndarray, rows: np.ndarray
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Of each segment with any of the rows (t,): its number, which ones (≤ t,), and their numbers
    in it (≤ t,). starts (s + 1,): the first row of each segment, then n.
    """
    segment = np.searchsorted(starts, rows, side="right") - 1
    for number in np.unique(segment).tolist():
        chosen = np.flatnonzero(segment == number)
        yield number, chosen, rows[chosen] - starts[number]


def _expect_rows(rows: np.ndarray, n: int) -> None:
    outside = (rows < 0) | (rows >= n)
    if outside.any():
        raise IndexError(f"an index of {n} items has no row {rows[outside][0]}")


class ConcatenatedArray:
    """Arrays (m, d) of several segments, indexed like one array of n rows, without copying them."""

    def __init__(self, arrays: Sequence[np.ndarray | Self], chosen: np.ndarray | None = None):
        """arrays: of each segment, (m, d) each. chosen (n,): the rows of all of them together that
        are rows of this one; None: all.
        """
        self._arrays, self._chosen = arrays, chosen
        self._starts = np.cumsum([0, *map(len, arrays)])
        n = int(self._starts[-1]) if chosen is None else len(chosen)
        self.shape: tuple[int, ...] = (n, *arrays[0].shape[1:])
        self.dtype: np.dtype = arrays[0].dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: int | slice | np.ndarray) -> np.ndarray:
        """A row (d,), or rows (t, d) by slice, numbers or mask, as in numpy. Raises IndexError for
        a row that does not exist.
        """
        if isinstance(rows, slice):
            return self._read(np.arange(*rows.indices(len(self))))
        numbers = np.asarray(rows)
        if numbers.dtype == np.bool_:
            numbers = np.flatnonzero(numbers)
        numbers = np.where(numbers < 0, numbers + len(self), numbers).astype(np.int64)
        return self._read(numbers.ravel()).reshape(*numbers.shape, *self.shape[1:])

    def __array__(self, dtype: np.dtype | None = None, copy: bool | None = None) -> np.ndarray:
        """(n, d), a copy in memory."""
        return self[:].astype(dtype or self.dtype, copy=False)

    def _read(self, rows: np.ndarray) -> np.ndarray:
        values = np.empty((len(rows), *self.shape[1:]), self.dtype)
        _expect_rows(rows, len(self))
        rows = rows if self._chosen is None else self._chosen[rows]
        for number, places, numbers in by_segment(self._starts, rows):
            values[places] = self._arrays[number][numbers]
        return values


Vectors = np.ndarray | ConcatenatedArray  # (n, d), memory-mapped


class ItemRecords:
    """Items and thumbnails of all segments. Safe to share between threads."""

    def __init__(self, folders: Sequence[Path], sizes: Sequence[int]):
        """sizes: items of each segment. Raises UserError that names a folder whose databases cannot
        be read or do not fit.
        """
        self.starts = np.cumsum([0, *sizes])
        self._items = [ReadOnlyDatabase(folder / ITEMS) for folder in folders]
        self._thumbnails = [ReadOnlyDatabase(folder / THUMBNAILS) for folder in folders]
        for folder, items, thumbnails, size in zip(
            folders, self._items, self._thumbnails, sizes, strict=True
        ):
            ((count,),) = items.select("SELECT max(row) + 1 FROM items")
            thumbnails.select("SELECT webp FROM thumbnails LIMIT 1")
            if count != size:
                raise UserError(
                    f"{folder / ITEMS} holds {count} items, its config says {size}; build "
                    "the index again"
                )

    def items(self, rows: Sequence[int] | np.ndarray) -> list[Item]:
        """The items at these rows (t,), in this order.

        Raises IndexError if there is no such row, UserError if the database holds something else.
        """
        items: list[Item | None] = [None] * len(rows)
        numbered = np.array(rows, dtype=np.int64)
        _expect_rows(numbered, self.starts[-1])
        for segment, chosen, numbers in by_segment(self.starts, numbered):
            records: list[tuple] = []
            for some in batched(numbers.tolist(), LOOKUP):
                records += self._items[segment].select(
                    "SELECT items.id, modality, text, image, source FROM json_each(?) AS asked "
                    "JOIN items ON items.row = asked.value ORDER BY asked.key",
                    json.dumps(some),
                )
            if len(records) != len(numbers):
                raise UserError(f"{self._items[segment].file} lacks an item; copy the run again")
            for at, record in zip(chosen.tolist(), records, strict=True):
                items[at] = self._item(segment, *record)
        return [item for item in items if item is not None]

    def _item(
        self, segment: int, id: Any, modality: Any, text: Any, image: Any, source: Any
    ) -> Item:
        """SQLite keeps a value of any type in any column."""
        texts = all(isinstance(value, str) for value in (id, text, source)) and isinstance(
            image, str | None
        )
        if not texts or modality not in MODALITIES:
            raise UserError(
                f"{self._items[segment].file} holds an item of other types; copy the run again"
            )
        return Item(id, Modality(modality), text, image, source)

    def rows_of(self, ids: Iterable[str]) -> np.ndarray:
        """Item ids -> rows (m,) int64, in this order; −1 where the index has no such item."""
        rows: list[int] = []
        for chunk in batched(ids, LOOKUP):
            query = f"SELECT id, row FROM items WHERE id IN {placeholders(len(chunk))}"
            row_of: dict[str, int] = {}
            # half a surrogate pair is in no index
            stored = [id.encode("utf-8", "replace").decode() for id in chunk]
            for start, items in zip(self.starts.tolist(), self._items):
                row_of |= {id: start + number for id, number in items.select(query, *stored)}
            rows += [row_of.get(id, -1) for id in chunk]
        return np.array(rows, dtype=np.int64)

    def thumbnail(self, row: int) -> bytes | None:
        """WebP bytes, or None if the item has no image or there is no such row.

        Raises UserError for what is no WebP.
        """
        if not 0 <= row < self.starts[-1]:
            return None
        ((segment, _, number),) = by_segment(self.starts, np.array([row]))
        records = self._thumbnails[segment].select(THUMBNAIL, int(number[0]))
        if not records:
            return None
        picture = records[0][0]
        if not (
            isinstance(picture, bytes) and picture.startswith(b"RIFF") and picture[8:12] == b"WEBP"
        ):
            raise UserError(
                f"{self._thumbnails[segment].file} holds something else than WebP; copy "
                "the run again"
            )
        return picture

    def others_say(self, word: str, rows: np.ndarray) -> bool:
        """Whether the text of an item in none of these rows (t,) has this word (in lower case)."""
        query = "SELECT row FROM items WHERE instr(lower(text), ?) LIMIT ?"
        for start, items in zip(self.starts, self._items):
            found = [start + row for (row,) in items.select(query, word, len(rows) + 1)]
            if not np.isin(found, rows).all():
                return True
        return False

    def last_dataset(self) -> int:
        """The highest dataset number of all ids; −1 if none has one."""
        return max(
            items.select(f"SELECT ifnull(max({DATASET}), -1) FROM items")[0][0]
            for items in self._items
        )

    def datasets(self) -> np.ndarray:
        """(n,) dataset number of each item's id, −1 where it begins with none. About a second for a
        million.
        """
        numbers = np.full(self.starts[-1], -1, dtype=np.int64)
        for start, size, items in zip(self.starts, np.diff(self.starts), self._items):
            # many short queries: other threads wait for none of them
            for first in range(0, size, LOOKUP):
                query = f"SELECT row, ifnull({DATASET}, -1) FROM items WHERE row >= ? AND row < ?"
                for row, number in items.select(query, first, first + LOOKUP):
                    numbers[start + row] = number
        return numbers

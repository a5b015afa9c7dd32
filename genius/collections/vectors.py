"""Vectors that somebody else made, and the items that they are of.

    things.npy       an array (n, d); the items may stand in a table, a row for each vector in the
                     same order
    things.parquet   a column of lists of numbers; the others tell about the items

Shapes: n vectors, d dim, b vectors of a block.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from genius.collections.arrow import open_parquet, vector_columns
from genius.collections.source_records import read_rows
from genius.errors import UserError
from genius.reading import damage_explained
from genius.schema import Item, Modality

MOST_VECTORS = 4096  # vectors in memory at once
SUFFIXES = (".npy", ".parquet")


@dataclass(frozen=True)
class VectorFile:
    """The vectors of a file, which are read block by block."""

    file: Path
    shape: tuple[int, int]  # n, d
    read: Callable[[], Iterator[np.ndarray]]  # blocks (b, d) as they are stored

    def normalized(self) -> Iterator[np.ndarray]:
        """Blocks (b, d) of unit vectors, fp16. Raises UserError that names the row of one without a
        direction.
        """
        start = 0
        for block in self.read():
            vectors = block.astype(np.float32)
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
            if wrong := np.flatnonzero(~np.isfinite(lengths) | (lengths == 0)).tolist():
                raise UserError(
                    f"{self.file}: the vector of row {start + wrong[0]:,} (from 0) is zero or "
                    "holds what is no number; leave it out, with what belongs to it"
                )
            yield (vectors / lengths).astype(np.float16)
            start += len(block)


def open_vectors(file: Path) -> VectorFile:
    """Raises UserError for a file that does not hold vectors of one length."""
    if file.suffix.lower() not in SUFFIXES or not file.is_file():
        raise UserError(f"{file} is no file of vectors; expected {' or '.join(SUFFIXES)}")
    return _parquet_vectors(file) if file.suffix.lower() == ".parquet" else _numpy_vectors(file)


def _numpy_vectors(file: Path) -> VectorFile:
    with damage_explained(f"{file} cannot be read", "save it with numpy.save"):
        array = np.load(file, mmap_mode="r", allow_pickle=False)
    if array.ndim != 2 or array.dtype.kind != "f" or not array.size:
        raise UserError(
            f"{file} holds {array.dtype} of shape {array.shape}; expected floating-point "
            "numbers (n, d)"
        )
    starts = range(0, len(array), MOST_VECTORS)
    return VectorFile(
        file, array.shape, lambda: (array[start : start + MOST_VECTORS] for start in starts)
    )


def _parquet_vectors(file: Path) -> VectorFile:
    opened = open_parquet(file)
    names = vector_columns(opened.schema_arrow)
    if len(names) != 1:
        raise UserError(
            f"{file} has {len(names)} columns of vectors ({', '.join(names)}); expected "
            "one, of lists of fractions"
        )

    def read() -> Iterator[np.ndarray]:
        for batch in opened.iter_batches(MOST_VECTORS, columns=names):
            column = batch.column(0)
            lengths = (
                np.diff(column.offsets) if hasattr(column, "offsets") else np.full(len(column), dim)
            )
            if column.null_count or (lengths != dim).any():
                raise UserError(
                    f"{file}: the vectors in {names[0]} have different lengths; expected "
                    f"{dim} numbers each"
                )
            yield column.flatten().to_numpy(zero_copy_only=False).reshape(len(column), dim)

    first = next(opened.iter_batches(1, columns=names), None)
    dim = len(first.column(0)[0]) if first is not None and first.column(0)[0].is_valid else 0
    if not dim:
        raise UserError(f"{file} has no vector in the first row of {names[0]}")
    return VectorFile(file, (opened.metadata.num_rows, dim), read)


def vector_items(table: Path | None, n: int, notes: list[str]) -> Iterator[Item]:
    """The items of n vectors: those that the rows of a table describe, or items that only have a
    number.

    notes: gets a sentence about what was recognized. Raises UserError if the table does not have n
    rows.
    """
    if table is None:
        yield from (Item(f"0:{row}", Modality.TEXT, source=f'{{"row": {row}}}') for row in range(n))
        return
    row = -1
    for row, record in enumerate(read_rows(table, notes)):
        text = " · ".join(record.captions)
        image = record.image or None
        modality = Modality.of(text, image) if text or image else Modality.TEXT
        facts = {name: value for name, value in record.facts.items() if value != ""}
        if row < n:
            yield Item(
                f"0:{row}",
                modality,
                text,
                image,
                json.dumps(facts or {"row": row}, ensure_ascii=False),
            )
    if row + 1 != n:
        raise UserError(
            f"{table} has {row + 1:,} rows for {n:,} vectors; expected one for each, in "
            "the same order"
        )

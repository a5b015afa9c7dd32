"""Write the items of one or several segments into a new one, without removed items.

Databases are merged by SQLite itself: an item's new number is its old one less the removed ones
before it.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType

import numpy as np

from genius.index.database import read_only, resumable_database
from genius.index.layout import segment_folder
from genius.index.segments import (
    ITEM_KEY,
    ITEM_TABLE,
    ITEMS,
    THUMBNAIL_TABLES,
    THUMBNAILS,
    ConcatenatedArray,
)
from genius.index.store import Index
from genius.index.writing import write_vectors
from genius.schema import Item

EMPTY: Mapping[int, Item] = MappingProxyType({})
THERE = "row NOT IN (SELECT row FROM gone)"
NUMBER = (
    "row - ifnull((SELECT place FROM gone WHERE gone.row < old.row ORDER BY gone.row DESC "
    "LIMIT 1), 0) + ?"
)
MERGE_ITEMS = (
    f"INSERT INTO items SELECT {NUMBER}, id, modality, text, image, source FROM old.items AS "
    f"old WHERE {THERE}"
)
MERGE_PICTURES = (
    f"INSERT INTO pictures SELECT picture + ?, webp FROM old.pictures "
    f"WHERE picture IN (SELECT picture FROM old.shown WHERE {THERE})"
)
MERGE_SHOWN = f"INSERT INTO shown SELECT {NUMBER}, picture + ? FROM old.shown AS old WHERE {THERE}"


def merge_segments(
    folder: Path, index: Index, rows: np.ndarray, told: Mapping[int, Item] = EMPTY
) -> None:
    """Fill `folder` with the files of one segment that holds these rows (m,), ascending, and no
    byte of others.

    told: items by row, whose sources and names of images take the place of what is there.
    """
    fused = None if index.fused is None else ConcatenatedArray([index.fused], rows)
    write_vectors(folder, ConcatenatedArray([index.embeddings], rows), fused)
    with ExitStack() as stack:
        items, thumbnails = (
            stack.enter_context(resumable_database(folder / name, tables))
            for name, tables in ((ITEMS, ITEM_TABLE), (THUMBNAILS, THUMBNAIL_TABLES))
        )
        for number, chosen, kept in index.places.split(index.places.positions(rows)):
            segment = segment_folder(index.folder, number)
            row = int(chosen[0])
            gone = np.setdiff1d(np.arange(index.config.segments[number]), kept, assume_unique=True)
            with _attached(items, segment / ITEMS, gone):
                items.execute(MERGE_ITEMS, (row,))
            with _attached(thumbnails, segment / THUMBNAILS, gone):
                ((known,),) = thumbnails.execute("SELECT ifnull(max(picture) + 1, 0) FROM pictures")
                thumbnails.execute(MERGE_PICTURES, (known,))
                thumbnails.execute(MERGE_SHOWN, (row, known))
        places = ((place, told[row]) for place, row in enumerate(rows.tolist()) if row in told)
        values = ((item.image, item.source, place) for place, item in places)
        items.executemany("UPDATE items SET image = ?, source = ? WHERE row = ?", values)
        items.execute(ITEM_KEY)
        if told:
            # what was said before is in no byte, whatever the build of SQLite
            items.execute("VACUUM")


def first_to_merge(segments: Sequence[int]) -> int:
    """Of the sizes of segments, the first that is not larger than all after it together; else the
    last but one.

    Merging from there on keeps few segments, and copies an item only about log₂ n times while n are
    added.
    """
    sizes = np.array(segments)
    small = np.flatnonzero(sizes <= sizes[::-1].cumsum()[::-1] - sizes)
    return int(small[0]) if len(small) else len(segments) - 2


@contextmanager
def _attached(database: sqlite3.Connection, file: Path, gone: np.ndarray) -> Iterator[None]:
    """Attach a file as `old`, with a table `gone` of its removed rows, during a transaction."""
    database.execute("ATTACH ? AS old", (read_only(file),))
    database.execute("CREATE TEMP TABLE gone (row INTEGER PRIMARY KEY, place INTEGER NOT NULL)")
    database.execute("BEGIN")
    database.executemany(
        "INSERT INTO gone VALUES (?, ?)",
        ((row, place) for place, row in enumerate(gone.tolist(), 1)),
    )
    yield
    database.execute("COMMIT")
    database.execute("DROP TABLE gone")
    database.execute("DETACH old")

"""The next snapshot of an index: what stays of the present one, and what is added.

Segments that stay whole are shared with the present snapshot. The others are written anew by SQLite
itself, in which an item's new number is its old one less the removed ones before it.

Shapes: n items of the index, m of a segment, B bytes of a packed ID.
"""

import logging
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from genius.errors import UserError
from genius.files import disk_errors_explained
from genius.index.database import read_only, resumable_database
from genius.index.erasing import erase, erase_mentions
from genius.index.layout import INSTRUCTIONS, MAX_SEGMENTS, segment_folder
from genius.index.new_items import Models
from genius.index.segments import (
    FILES,
    FUSED,
    ITEM_KEY,
    ITEM_TABLE,
    ITEMS,
    THUMBNAIL_TABLES,
    THUMBNAILS,
    ConcatenatedArray,
    by_segment,
)
from genius.index.store import PART, Index
from genius.index.writing import write_rows, write_vectors
from genius.locks import write_lock
from genius.run import Run
from genius.schema import Item

MERGE_AT = 8  # segments; with so many, adding merges small ones
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


class StoredRows(NamedTuple):
    """What is stored by row."""

    packed: np.ndarray  # (m, B) uint8
    modalities: np.ndarray  # (m,)
    distances: np.ndarray | None  # (m, 2), see store.py


@contextmanager
def changing_index(run: Path, models: Models | None = None) -> Iterator[tuple[Run, Index]]:
    """A run and its index, which no one else changes inside the block.

    What killed processes have left is deleted first. Raises UserError if the run is being changed
    already, or if these models are not those of the run.
    """
    with write_lock(run), disk_errors_explained(run):
        opened = Run(run)
        if models is not None:
            models.check(opened)
        opened.sweep(PART)
        erase(opened)
        index = Index.load(opened.folder(PART))
        index.lease.release()  # its folder goes as soon as there is a newer one
        yield opened, index


def write_snapshot(
    run: Run,
    index: Index,
    stays: np.ndarray | None = None,
    added: Callable[[Path], StoredRows] | None = None,
    trained: bool = False,
    merged: int = MAX_SEGMENTS,
    told: Mapping[int, Item] = EMPTY,
) -> None:
    """Publish the snapshot with the rows that stay (n,) bool, None: all, and erase the others.

    The caller holds the run's write lock. added: writes one more segment into a folder. trained:
    its items are of the collection that the run was made from, as all before them. merged: the
    segments from this number on become one. told: items by row, whose sources and names of images
    theirs get.
    """
    stays = np.ones(index.n, dtype=bool) if stays is None else stays
    kept, gone = np.flatnonzero(stays), np.flatnonzero(~stays)
    parts = [(number, kept[chosen]) for number, chosen, _ in by_segment(index.records.starts, kept)]
    if rest := [rows for number, rows in parts if number >= merged]:
        parts = [*parts[: -len(rest)], (merged, np.concatenate(rest))]
    sizes = [len(rows) for _, rows in parts]
    shared = {INSTRUCTIONS: INSTRUCTIONS}
    anew: dict[int, np.ndarray] = {}  # number in the snapshot -> rows of a segment to be written
    for place, (number, rows) in enumerate(parts):
        whole = number < merged and len(rows) == index.config.segments[number]
        if whole and (not told or told.keys().isdisjoint(rows.tolist())):
            shared |= _shared_files(index, number, place)
        else:
            anew[place] = rows

    def write(folder: Path) -> None:
        for place, rows in anew.items():
            merge_segments(segment_folder(folder, place), index, rows, told)
        known = None if index.distances is None else index.distances[kept]
        stored = [StoredRows(index.packed[kept], index.modalities[kept], known)]
        if added is not None:
            stored.append(added(segment_folder(folder, len(parts))))
            sizes.append(len(stored[1].packed))
        n = sum(sizes)
        config = replace(
            index.config,
            n=n,
            segments=tuple(sizes),
            trained=n if trained else int((kept < index.config.trained).sum()),
            last_dataset=index.last_dataset() if len(gone) else index.config.last_dataset,
        )
        write_rows(folder, config, *_joined(stored))

    facts = {}
    if len(gone):
        erase_mentions(run, index, gone)
        facts["erasing"] = [item.id for item in index.items(gone)]
    run.replace(PART, write, shared, **facts)
    erase(run)
    if added is not None and len(sizes) > MERGE_AT:
        _merge_small_segments(run, sizes)


def _shared_files(index: Index, number: int, place: int) -> dict[str, str]:
    """The files of segment `number` as those of segment `place` of the next snapshot: name there ->
    present name.
    """
    after, before = segment_folder(Path(), place), segment_folder(Path(), number)
    files = FILES if index.fused is None else (*FILES, FUSED)
    return {(after / name).as_posix(): (before / name).as_posix() for name in files}


def _joined(stored: Sequence[StoredRows]) -> StoredRows:
    """One after the other; without distances where those of some are unknown."""
    packed, modalities, distances = zip(*stored, strict=True)
    known = all(some is not None for some in distances)
    return StoredRows(
        np.concatenate(packed),
        np.concatenate(modalities),
        np.concatenate(distances) if known else None,
    )


def _merge_small_segments(run: Run, sizes: Sequence[int]) -> None:
    """Keep the number of segments, and so that of open files, small. What was added stays where the
    disk has no room for this.
    """
    try:
        index = Index.load(run.folder(PART))
        index.lease.release()
        write_snapshot(run, index, merged=first_to_merge(sizes))
    except UserError as error:
        logging.getLogger(__name__).warning("the segments were not merged: %s", error)


def merge_segments(
    folder: Path, index: Index, rows: np.ndarray, told: Mapping[int, Item] = EMPTY
) -> None:
    """Fill `folder` with the files of one segment that holds these rows (m,), ascending, and no
    byte of others.

    told: items by row, whose sources and names of images take the place of what is there.
    """
    folder.mkdir(exist_ok=True)
    fused = None if index.fused is None else ConcatenatedArray([index.fused], rows)
    write_vectors(folder, ConcatenatedArray([index.embeddings], rows), fused)
    with ExitStack() as stack:
        items, thumbnails = (
            stack.enter_context(resumable_database(folder / name, tables))
            for name, tables in ((ITEMS, ITEM_TABLE), (THUMBNAILS, THUMBNAIL_TABLES))
        )
        for number, chosen, kept in by_segment(index.records.starts, rows):
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

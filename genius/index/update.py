"""Add items to an index and remove items from it, without training: encode, quantize, insert; or
delete.

Each change publishes a snapshot of the index in a folder of its own (publishing.py). Rows stay as
they are; added items get the last ones, and the rows after a removed item move up.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path

import numpy as np

from genius.encoding.features import batched
from genius.errors import UserError
from genius.files import remove_folder
from genius.index.duplicates import find_copies
from genius.index.item_source import ItemSource
from genius.index.new_items import Models, encode, find_new_items
from genius.index.publishing import StoredRows, changing_index, write_snapshot
from genius.index.segments import LOOKUP, ConcatenatedArray, Vectors
from genius.index.store import Index
from genius.index.writing import MAX_EXAMPLES, write_segment
from genius.run import Run
from genius.schema import Item
from genius.trie.ids import pack

FEATURE_FOLDER = "adding"  # folder in the run: of the items that are being added


@dataclass(frozen=True)
class Added:
    """What happened to the items of a source."""

    new: int  # added
    skipped: int  # their ids are in the index already
    duplicate: int  # the index holds the same under another id
    unreadable: int  # their images cannot be read
    changed: tuple[str, ...]  # the skipped ids whose texts or pictures differ from the indexed ones
    complaints: tuple[str, ...]  # sentences about some unreadable images
    # of some duplicates, the name of the image or text, and of whose copy
    copies: tuple[tuple[str, str], ...] = ()
    replaced: tuple[str, ...] = ()  # ids whose items gave way to others of the source

    @property
    def items(self) -> int:
        """Number of the source's items."""
        return self.new + self.skipped + self.duplicate + self.unreadable

    def __add__(self, more: "Added") -> "Added":
        both = zip(vars(self).values(), vars(more).values(), strict=True)
        total = Added(*(mine + theirs for mine, theirs in both))
        return replace(
            total, complaints=total.complaints[:MAX_EXAMPLES], copies=total.copies[:MAX_EXAMPLES]
        )

    def __str__(self) -> str:
        return (
            f"new {self.new:,}, skipped {self.skipped:,}, duplicate {self.duplicate:,}, "
            f"unreadable {self.unreadable:,}"
        )


@dataclass(frozen=True)
class Removed:
    """What happened to the ids."""

    removed: int
    unknown: tuple[str, ...]


def add(
    run: Path, read: Callable[[int], ItemSource], models: Models, replaces: bool = False
) -> Added:
    """Add the items that the index does not hold yet. If it is killed, the next call resumes the
    encoding.

    read: returns the source of items, given a dataset number that no id of the index has. replaces:
    items whose ids are known, but not their texts or pictures, take the place of the indexed ones,
    in the same step. Raises UserError if the run cannot be changed, or the source cannot be read.
    """
    with changing_index(run, models) as (opened, index):
        source = read(next_dataset(opened, index))
        new = find_new_items(index, source, replaces)
        folder = run / FEATURE_FOLDER
        if not len(new.kinds):
            remove_folder(folder)  # of a process that was killed after adding these items
            return Added(0, new.skipped, 0, 0, new.changed, ())
        encoded = encode(opened, new, models, folder)
        kinds = new.kinds[encoded.readable]
        stays = np.ones(index.n, dtype=bool)
        stays[kinds["row"][kinds["row"] >= 0]] = False
        is_copy, examples = find_copies(
            index,
            np.flatnonzero(stays),
            encoded.items(),
            encoded.codes,
            encoded.embeddings,
            kinds["content"],
        )
        kept = np.flatnonzero(~is_copy)
        replaced = [item.id for item in index.items(np.flatnonzero(~stays))]
        if len(kept):
            append(
                opened,
                index,
                compress(encoded.items(), ~is_copy),
                encoded.codes[kept],
                encoded.distances[kept],
                ConcatenatedArray([encoded.embeddings], kept),
                ConcatenatedArray([encoded.fused], kept),
                source.image_path,
                stays=stays,
            )
        elif replaced:
            write_snapshot(opened, index, stays)
        remove_folder(folder)
        return Added(
            len(kept),
            new.skipped,
            int(is_copy.sum()),
            int((~encoded.readable).sum()),
            new.changed,
            encoded.complaints,
            examples,
            tuple(replaced),
        )


def append(
    run: Run,
    index: Index,
    items: Iterable[Item],
    codes: np.ndarray,
    distances: np.ndarray,
    embeddings: Vectors,
    fused: Vectors,
    image_path: Callable[[str], Path],
    trained: bool = False,
    stays: np.ndarray | None = None,
) -> None:
    """Publish a snapshot with one more segment, see `write_snapshot`.

    Of the m new items: codes (m, M), distances (m, 2), embeddings (m, d), fused features (m, d).
    """

    def write(segment: Path) -> StoredRows:
        features = None if index.fused is None else fused
        modalities, _ = write_segment(
            segment, items, embeddings, features, image_path, run.settings.index.thumbnail_side
        )
        return StoredRows(pack(codes, index.code_sizes), modalities, distances)

    write_snapshot(run, index, stays, write, trained)


def remove(run: Path, ids: Iterable[str]) -> Removed:
    """Remove the items with these ids, from all files of the run (see erasing.py).

    Raises UserError if none would be left, or the run cannot be changed.
    """
    with changing_index(run) as (opened, index):
        asked = list(dict.fromkeys(ids))
        rows = index.rows_of(asked)
        unknown = tuple(compress(asked, rows < 0))
        stays = np.ones(index.n, dtype=bool)
        stays[rows[rows >= 0]] = False
        if not stays.any():
            raise UserError("no item would be left; an index needs at least one")
        if not stays.all():
            write_snapshot(opened, index, stays)
        return Removed(int((~stays).sum()), unknown)


def write_descriptions(run: Path, items: Iterable[Item]) -> int:
    """Give items of the index the sources and the names of images of those with their ids; returns
    how many differed.

    Raises UserError if the run cannot be changed.
    """
    with changing_index(run) as (opened, index):
        told = dict[int, Item]()
        for chunk in batched(items, LOOKUP):
            rows = index.rows_of(item.id for item in chunk)
            known = index.items(rows[rows >= 0])
            here = compress(zip(chunk, rows.tolist(), strict=True), rows >= 0)
            for (item, row), indexed in zip(here, known, strict=True):
                if (item.source, item.image) != (indexed.source, indexed.image):
                    told[row] = item
        if told:
            write_snapshot(opened, index, told=told)
        return len(told)


def compact(run: Path) -> bool:
    """Merge all segments into one; False if there is nothing to do.

    Rows stay as they are. Raises UserError if the run cannot be changed.
    """
    with changing_index(run) as (opened, index):
        if index.config.segments == (index.n,):
            return False
        write_snapshot(opened, index, merged=0)
        return True


def next_dataset(run: Run, index: Index) -> int:
    """A dataset number that no id has: neither of the index nor of the run's sources, which may not
    be indexed yet.
    """
    return max(index.last_dataset() + 1, len(run.manifest.get("sources", ())))

"""Add a large source in n partitions, which any processes on any hosts encode, in any order; one
change joins them.

    RUN/partitions/i-of-n-<digest>/     an index folder (see store.py) of the new items of one part
                                        of a source, and partition.json: what happened to its items,
                                        checksums of the other files

A partition is written aside and renamed, so it is there whole or not at all; one that is there is
done. Its name has a checksum of the models and of its items, so a source that changes gets other
partitions. Nothing is locked while it is encoded: who does the same at the same time finds it done
at the end. It waits until `commit` adds what the index does not hold by then, and deletes it.

Shapes: n partitions, m items of all of them that the index may get, M levels.
"""

import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Self

import numpy as np
from pydantic import BaseModel

from genius.encoding.features import batched
from genius.errors import UserError
from genius.files import (
    describe,
    disk_errors_explained,
    fsync,
    link_or_copy,
    remove_folder,
    write_json,
    written_aside,
)
from genius.index.duplicates import content_hash, find_copies
from genius.index.erasing import PARTITIONS
from genius.index.item_source import ItemSource
from genius.index.layout import (
    CONFIG,
    INSTRUCTIONS,
    MAX_ITEMS,
    IndexConfig,
    read_config,
    segment_folder,
)
from genius.index.new_items import Models, encode, find_new_items
from genius.index.publishing import StoredRows, changing_index, merge_segments, write_snapshot
from genius.index.segments import FILES, FUSED, LOOKUP, ConcatenatedArray
from genius.index.store import Index, load_index
from genius.index.update import Added, next_dataset
from genius.index.writing import write_index, write_rows
from genius.reading import EXACT, damage_explained, read_json
from genius.run import FileEntry, Run
from genius.schema import Item

RECORD = "partition.json"
MAX_PARTITIONS = 400  # of one source: two files of each are open while they are joined
MANY = 20  # pictures; where none of so many can be read, their folder is not there


@dataclass(frozen=True)
class Share:
    """Part `number`, from 1 on, of `of`."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises UserError unless it is like 2/9."""
        found = re.fullmatch(r"([0-9]{1,4})/([0-9]{1,4})", text)
        share = cls(*map(int, found.groups())) if found else cls(0, 0)
        if not 1 <= share.number <= share.of <= MAX_PARTITIONS:
            raise UserError(
                f"expected a part such as 2/9, of at most {MAX_PARTITIONS}, not {text!r}; "
                "number them from 1 on"
            )
        return share

    def bounds(self, items: int) -> tuple[int, int]:
        """Its first item of all, and the one after its last."""
        return items * (self.number - 1) // self.of, items * self.number // self.of

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


class PartitionRecord(BaseModel):
    """The content of partition.json."""

    model_config = EXACT
    added: Added
    files: dict[str, FileEntry]


def encode_partition(
    run: Path, read: Callable[[int], ItemSource], models: Models, share: Share
) -> Added:
    """Encode one part of a source, if that was not done before. Only the run's folder of partitions
    changes.

    read: see `update.add`. Raises UserError if the source cannot be read, or none of its pictures
    can.
    """
    opened = Run(run)
    models.check(opened)
    index = load_index(opened)
    source = read(next_dataset(opened, index))
    begin, end = share.bounds(sum(1 for _ in source.items()))
    partition = replace(source, items=lambda: islice(source.items(), begin, end))
    folder = _folder(opened, index, share, partition.items(), source)
    if done := _record(folder):
        return done.added
    outcome = f"partition {share} is not done; make it again"
    with disk_errors_explained(run, outcome), written_aside(folder, folder=True) as aside:
        added = _write(aside, opened, index, partition, models)
        files = describe(aside)
        write_json(aside / RECORD, {"added": asdict(added), "files": files})
        for name in files:
            fsync(aside / name)
        # a disk that renames folders file by file left half of it
        if folder.exists() and not _record(folder):
            remove_folder(folder)
        try:
            aside.rename(folder)
        except OSError:
            if not _record(folder):  # else another process has made the same meanwhile
                raise
    return added


def commit(run: Path, read: Callable[[int], ItemSource], count: int) -> Added:
    """Add all `count` partitions of a source in one change, and delete them; nothing changes if one
    is missing.

    Of items that the index, or an earlier partition, got meanwhile, the first ones stay. Raises
    UserError if a partition is missing or damaged, an id comes twice, or the run cannot be changed.
    """
    shares = [Share.parse(f"{number}/{count}") for number in range(1, max(count, 1) + 1)]
    with changing_index(run) as (opened, index):
        source = read(next_dataset(opened, index))
        total = sum(1 for _ in source.items())
        items = iter(source.items())
        folders = []
        for share in shares:
            begin, end = share.bounds(total)
            folders.append(_folder(opened, index, share, islice(items, end - begin), source))
        records = [_checked(folder, share) for folder, share in zip(folders, shares)]
        added = Added(0, 0, 0, 0, (), ())
        for record in records:
            added += record.added
        filled = [folder for folder, record in zip(folders, records) if record.added.new]
        if filled:
            with written_aside(run / PARTITIONS / "joined", folder=True) as aside:
                added = _add_joined(opened, index, _joined(aside, filled, index), added)
        for folder in folders:
            remove_folder(folder)
        return added


def _folder(
    run: Run, index: Index, share: Share, items: Iterable[Item], source: ItemSource
) -> Path:
    """Where the partition of these items and of the run's models lies."""
    digest = hashlib.sha256()
    parts = [run.digest(part) for part in ("encoder", "fusion", "quantizer")]
    digest.update(
        f"{parts} {run.settings.index.thumbnail_side} {index.fused is not None}\n".encode()
    )
    for item in items:
        stat = source.picture_stat(item.image)
        size = stat.st_size if stat else -1  # which hosts see alike, unlike times
        digest.update(f"{item!r} {size}\n".encode("utf-8", "replace"))
    return run.path / PARTITIONS / f"{share.number}-of-{share.of}-{digest.hexdigest()[:16]}"


def _record(folder: Path) -> PartitionRecord | None:
    """Of a partition that is done; None if it is not, or not whole."""
    if not (folder / RECORD).is_file():
        return None
    with damage_explained(
        f"{folder / RECORD} does not describe a partition", "delete its folder, and make it again"
    ):
        record = read_json(folder / RECORD, PartitionRecord)
    for name, file in record.files.items():
        if not (folder / name).is_file() or (folder / name).stat().st_size != file.bytes:
            return None
    return record


def _checked(folder: Path, share: Share) -> PartitionRecord:
    """Raises UserError unless the partition is done and its files are those that were written."""
    record = _record(folder)
    if record is None:
        raise UserError(
            f"partition {share} of this source is not there, so none was added; make it "
            f"with --partition {share}"
        )
    found = describe(folder)
    if any(found.get(name) != file.model_dump() for name, file in record.files.items()):
        raise UserError(
            f"{folder} is damaged, so none was added; delete it, and use --partition {share}"
        )
    return record


def _write(folder: Path, run: Run, index: Index, source: ItemSource, models: Models) -> Added:
    """Fill a folder with the index of the new items of a partition, if there are any, as
    `update.add` makes it.
    """
    new = find_new_items(index, source, replaces=False)
    if not len(new.kinds):
        return Added(0, new.skipped, 0, 0, new.changed, ())
    features = folder / "features"
    encoded = encode(run, new, models, features)
    pictured = new.kinds["pictured"]
    if not encoded.readable[pictured].any() and pictured.sum() >= MANY:
        raise UserError(
            f"none of {pictured.sum():,} pictures can be read, e.g. {encoded.complaints[0]}"
        )
    count = len(encoded.codes)
    if count:
        write_index(
            folder,
            encoded.items(),
            encoded.codes,
            encoded.embeddings,
            index.code_sizes,
            image_path=source.image_path,
            instructions=index.instructions,
            fused=None if index.fused is None else encoded.fused,
            thumbnail_side=run.settings.index.thumbnail_side,
            distances=encoded.distances,
        )
    remove_folder(features)
    unreadable = len(new.kinds) - count
    return Added(count, new.skipped, 0, unreadable, new.changed, encoded.complaints)


def _joined(folder: Path, partitions: list[Path], index: Index) -> Index:
    """Fill a folder with one index of all partitions, each of them a segment."""
    configs = [read_config(partition / CONFIG) for partition in partitions]
    sizes = tuple(config.n for config in configs)
    if sum(sizes) + index.n > MAX_ITEMS:
        raise UserError(f"an index holds at most {MAX_ITEMS:,} items; make several runs")
    for number, partition in enumerate(partitions):
        for name in FILES if index.fused is None else (*FILES, FUSED):
            link_or_copy(partition / name, segment_folder(folder, number) / name)
    link_or_copy(partitions[0] / INSTRUCTIONS, folder / INSTRUCTIONS)
    config = IndexConfig(sum(sizes), index.config.dim, index.code_sizes, sizes, trained=0)
    packed, modalities, distances = (
        np.concatenate([np.load(partition / name, mmap_mode="r") for partition in partitions])
        for name in ("ids.npy", "modalities.npy", "distances.npy")
    )
    write_rows(folder, config, packed, modalities, distances)
    return Index.load(folder)


def _add_joined(run: Run, index: Index, joined: Index, added: Added) -> Added:
    """Publish one more segment of those joined items (m of them) that the index does not hold.

    added: the partitions' own counts. Returns them as they are now.
    """
    fresh = np.ones(joined.n, dtype=bool)
    contents = np.empty(joined.n, dtype=np.uint64)
    for rows in batched(range(joined.n), LOOKUP):
        items = joined.items(rows)
        contents[rows] = [content_hash(item) for item in items]
        fresh[rows] = index.rows_of(item.id for item in items) < 0
        twice = np.flatnonzero(joined.rows_of(item.id for item in items) != rows)
        if len(twice):
            raise UserError(
                f"the source has two items with id {items[twice[0]].id!r}; rename or remove one"
            )
    new = np.flatnonzero(fresh)
    is_copy, examples = find_copies(
        index,
        np.arange(index.n),
        chain.from_iterable(map(joined.items, batched(new, LOOKUP))),
        joined.codes(new),
        ConcatenatedArray([joined.embeddings], new),
        contents[new],
    )
    kept = new[~is_copy]
    distances = joined.distances
    assert distances is not None  # every partition has them

    def write(segment: Path) -> StoredRows:
        merge_segments(segment, joined, kept)
        return StoredRows(joined.packed[kept], joined.modalities[kept], distances[kept])

    if len(kept):
        write_snapshot(run, index, added=write)
    known = joined.n - len(new)
    return replace(
        added,
        new=len(kept),
        skipped=added.skipped + known,
        duplicate=int(is_copy.sum()),
        copies=examples,
    )

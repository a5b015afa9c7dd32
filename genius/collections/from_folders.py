"""Turn folders of images into one M-BEIR-format directory.

Reads each image once: it is checked, hashed (identical images are equal answers) and copied. The records
and queries of one source at a time are in memory; pools and query files are streamed.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tqdm import tqdm

from genius.collections import wording
from genius.collections.draft import Draft, Picture
from genius.collections.images import open_image, read_image_file
from genius.collections.layout import SPLITS, TASKS
from genius.collections.rules import Entry, apply_rules
from genius.collections.sources import Record, Source, read_source
from genius.collections.writer import CollectionWriter, new_collection
from genius.errors import UserError

WINDOW = 64  # images whose bytes are in memory
CHECKED_SIDE = 256  # pixels; a JPEG that is decoded for this is read to its end, and costs a fraction


@dataclass
class RowCount:
    """What was written for one (task, dataset) row. The task is None for a dataset without queries."""

    task: int | None
    dataset: str
    candidates: int = 0
    queries: Counter[str] = field(default_factory=Counter)  # by split
    unreadable: list[UserError] = field(default_factory=list)  # of the dataset's images, in its first row

    def __str__(self) -> str:
        asked = "  ".join(f"{split} {self.queries[split]:6,}" for split in SPLITS)
        what = (
            "no queries"
            if self.task is None
            else "task {} {} → {}".format(self.task, *(modality.mbeir for modality in TASKS[self.task]))
        )
        line = f"{self.dataset:16} {what:30} queries: {asked}  candidates {self.candidates:7,}"
        if not self.unreadable:
            return line
        return f"{line}\n{len(self.unreadable):,} images are left out; the first: {self.unreadable[0]}"


def build(sources: Sequence[str], destination: Path | str) -> list[RowCount]:
    """Write the sources (folders, or name=folder) as one collection; the first is dataset 0.

    The destination appears at the end, complete, or not at all. Of a folder without a table, images that cannot be
    read are left out. Raises UserError that names the file, and the line where there is one, of what else cannot be
    used.
    """
    folders = [named(source) for source in sources]
    names = [name for name, _ in folders]
    for name, folder in folders:
        if names.count(name) > 1:
            raise UserError(f"two sources are called {name!r}; give one another name: NAME={folder}")
        if Path(destination).resolve().is_relative_to(folder.resolve()):
            raise UserError(f"{destination} lies inside the source {folder}; name a directory outside it")
    with new_collection(destination) as writer:
        return [
            row
            for number, (name, folder) in enumerate(folders)
            for row in _write_dataset(writer, number, name, read_source(folder))
        ]


def named(source: str) -> tuple[str, Path]:
    """(dataset name, folder) of FOLDER or NAME=FOLDER; a name is lower case letters, digits and _.

    Raises UserError if nothing of that is left of the name.
    """
    name, equals, folder = source.rpartition("=")
    if not equals or Path(source).is_dir():
        name, folder = Path(source).resolve().name, source
    clean = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_").lower()
    if not clean:
        raise UserError(f"{source!r} gives no dataset name; write it as NAME=FOLDER")
    return clean, Path(folder)


def _write_dataset(writer: CollectionWriter, dataset_id: int, name: str, source: Source) -> list[RowCount]:
    draft = Draft(dataset_id)
    entries, unreadable = _store_images(writer, name, source)
    rules = apply_rules(draft, entries, source.pairs)
    rows: dict[int | None, RowCount] = {}
    for item, tasks, splits in draft.candidates():
        writer.candidate(item, name, tasks, splits)
        for task in tasks:
            rows.setdefault(task, RowCount(task, name)).candidates += 1
    for split, query in draft.queries():
        writer.query(query, name, split)
        rows[query.task].queries[split] += 1
    for task, prompts in wording.instructions(rules, name).items():
        if task in rows or None in rows:
            writer.instructions(dataset_id, name, *TASKS[task], prompts)
    counted = sorted(rows.values(), key=lambda row: -1 if row.task is None else row.task)
    counted[0].unreadable = unreadable
    return counted


def _store_images(writer: CollectionWriter, name: str, source: Source) -> tuple[list[Entry], list[UserError]]:
    """Check, hash and copy every image, and settle its split; -> (what can be used, what is wrong with the others).

    Raises UserError for an image that a table names and that cannot be used, or if none can.
    """
    own_val = any(record.split == "val" for record in source.records)
    inside = "images/" if all(record.image.startswith("images/") for record in source.records) else ""
    entries, unreadable = [], []
    for record, data in tqdm(
        _checked_images(source), total=len(source.records), desc=name, unit=" images", leave=False, disable=None
    ):
        if isinstance(data, UserError):
            unreadable.append(data)
            if source.table is not None:
                raise data
            continue
        digest = hashlib.sha256(data).digest()
        path = f"images/{name}/{record.image.removeprefix(inside)}"
        writer.image(path, data)
        said = {"id": record.id, **record.attributes}
        entries.append(Entry(record, Picture(path, digest, _splits(record, digest, own_val), said)))
    if not entries:
        raise unreadable[0]
    return entries, unreadable


def _checked_images(source: Source) -> Iterator[tuple[Record, bytes | UserError]]:
    """Each record with the bytes of its image, or with what is wrong with it. Several images are decoded at a time."""

    def read(record: Record) -> bytes | UserError:
        try:
            data = _bytes_inside(source.folder, record.image)
            open_image(source.folder / record.image, max_side=CHECKED_SIDE)  # by its name, for what it may say
            return data
        except UserError as error:
            return source.complaint(record, str(error))

    with ThreadPoolExecutor() as readers:
        for start in range(0, len(source.records), WINDOW):
            window = source.records[start : start + WINDOW]
            yield from zip(window, readers.map(read, window), strict=True)


def _bytes_inside(folder: Path, relative: str) -> bytes:
    """The bytes of an image of the source; a link that leads out of the folder is refused."""
    if not (folder / relative).resolve().is_relative_to(folder.resolve()):
        raise UserError(f"{relative} is a link out of the source; copy the file into the folder")
    return read_image_file(folder / relative)


def _splits(record: Record, digest: bytes, own_val: bool) -> frozenset[str]:
    """A tenth of the training part is the validation part; without a split, a tenth is the test part too.

    Drawn by the image's content, so that identical images stay together and every run draws the same.
    """
    draw = digest[0] * 256 + digest[1]
    if record.split == "candidates":
        return frozenset(SPLITS)
    if record.split is None:
        return frozenset(("val" if draw % 10 == 0 else "test" if draw % 10 == 1 else "train",))
    if record.split == "train" and not own_val and draw % 10 == 0:
        return frozenset(("val",))
    return frozenset((record.split,))

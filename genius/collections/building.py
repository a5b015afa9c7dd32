"""Build a collection (a directory in M-BEIR format) from folders of images.

Each image is read once: it is checked, hashed (identical images are equal positives) and copied.
Only the records and queries of one source are in memory; pools and query files are streamed.
"""

import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from tqdm import tqdm

from genius.collections import wording
from genius.collections.draft import Content, Draft, SourceImage
from genius.collections.images import DISK, Limits, check_image, image_header, read_image_file
from genius.collections.layout import SPLITS, TASKS, is_inside
from genius.collections.listing import COPY, TEXT, UNREADABLE, USED, VERSION, FileReport, account
from genius.collections.metadata import inside
from genius.collections.rules import SourceEntry, apply_rules
from genius.collections.source_records import Record
from genius.collections.sources import Source, read_source
from genius.collections.versions import SIDE, originals, small
from genius.collections.writer import CollectionWriter, new_collection
from genius.errors import UserError, quoted

MOST_IMAGES = 64  # images in memory at most
MOST_BYTES = 256 * 2**20  # of them, or one image
Shown = tuple[np.ndarray, tuple[int, int]]  # small pixels of a picture; how many it has, and bytes
NOTHING: Shown = np.zeros((SIDE, SIDE, 3), np.uint8), (0, 0)


@dataclass
class RowCount:
    """Number of records written for one (task, dataset) row. task: None for a dataset without
    queries.
    """

    task: int | None
    dataset: str
    candidates: int = 0
    queries: Counter[str] = field(default_factory=Counter)  # by split
    # what became of the files, in the dataset's last row
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        queries = "  ".join(f"{split} {self.queries[split]:6,}" for split in SPLITS)
        kind = "no queries"
        if self.task is not None:
            query, candidate = TASKS[self.task]
            kind = f"task {self.task} {query.mbeir} → {candidate.mbeir}"
        line = f"{self.dataset:16} {kind:30} queries: {queries}  candidates {self.candidates:7,}"
        return "\n".join([line, *self.notes])


def build(
    sources: Sequence[str],
    destination: Path | str,
    benchmark: bool = False,
    known: Mapping[int, Mapping[Content, int]] | None = None,
    read: Callable[[Path], Source] = read_source,
    keep_versions: bool = False,
) -> list[RowCount]:
    """Write the sources (FOLDER or NAME=FOLDER) as one collection; they become datasets 0, 1, ….

    benchmark: by the rules of M-BEIR, see rules.py. known: by dataset, numbers that candidates
    keep. read: gives what was read of a source before. keep_versions: pictures that repeat a
    photograph are items, too. What became of each file stands in the collection's files.tsv. The
    destination is created complete or not at all. Unreadable images are left out, but from a table
    of a benchmark. Raises UserError with the file, and the line in a table, of any other invalid
    input.
    """
    folders = named_apart(sources, Path(destination))
    with new_collection(destination) as writer:
        return [
            row
            for number, (name, folder) in enumerate(folders)
            for row in _write_dataset(
                writer,
                Draft(number, (known or {}).get(number)),
                name,
                read(folder),
                benchmark,
                keep_versions,
            )
        ]


def named_apart(sources: Sequence[str], destination: Path) -> list[tuple[str, Path]]:
    """The names and folders of sources.

    Raises UserError if two have one name, or if what is made of them would lie inside one.
    """
    folders = [named(source) for source in sources]
    names = [name for name, _ in folders]
    for name, folder in folders:
        if names.count(name) > 1:
            raise UserError(f"two sources have the name {name!r}; rename one: NAME={folder}")
        if is_inside(destination, folder):
            place = f"{destination} lies inside the source {folder}"
            raise UserError(f"{place}; name a directory outside it")
    return folders


def named(source: str) -> tuple[str, Path]:
    """Parse FOLDER or NAME=FOLDER into (dataset name, folder); a name has letters a to z, digits
    and _.

    A folder in another script becomes `photos`. Raises UserError if NAME has no such character, or
    there is no folder.
    """
    name, equals, folder = source.rpartition("=")
    is_path = not equals or os.path.exists(source)
    if is_path:
        path = Path(os.path.realpath(source))
        name = path.name if os.path.isdir(path) else path.stem
        folder = source
    if not folder:
        raise UserError(f"{source!r} names no folder; write FOLDER or NAME=FOLDER")
    clean = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_").lower() or "photos" * is_path
    if not clean:
        nameless = f"{source!r} gives no dataset name of letters a to z, digits and _"
        raise UserError(f"{nameless}; write NAME=FOLDER with one")
    return clean, Path(folder)


def _write_dataset(
    writer: CollectionWriter,
    draft: Draft,
    name: str,
    source: Source,
    benchmark: bool,
    keep_versions: bool,
) -> list[RowCount]:
    copies = benchmark or keep_versions or bool(source.pairs)
    entries, reports = store_images(writer, name, source, copies, strict=benchmark)
    unreadable = {report.file for report in reports if report.outcome == UNREADABLE}
    missing = [
        *source.missing,
        *(record for record in source.records if record.image in unreadable),
    ]
    rules = apply_rules(draft, entries, source.pairs, benchmark, missing)
    rows = write_draft(writer, name, draft, wording.instructions(rules, name))
    records = [*(entry.record for entry in entries), *missing]
    reports = [*reports, *source.others, *(report for record in records for report in record.heard)]
    writer.files((name, report.file, report.outcome, report.detail) for report in reports)
    if not benchmark:  # whose captions may only ask
        writer.files(
            (name, record.image, TEXT, text) for record in records for text in record.captions
        )
    rows[-1].notes = [f"{name}: {line}" for line in (*source.notes, *account(reports))]
    return rows


def write_draft(
    writer: CollectionWriter, name: str, draft: Draft, prompts: Mapping[int, Sequence[str]]
) -> list[RowCount]:
    """Write the candidates and queries of a dataset, and the instructions (by task) of its rows.

    Raises UserError if it gives no candidate.
    """
    rows: dict[int | None, RowCount] = {}
    for item, tasks, splits in draft.candidates():
        writer.candidate(item, name, tasks, splits)
        for task in tasks:
            rows.setdefault(task, RowCount(task, name)).candidates += 1
    for split, query in draft.queries():
        writer.query(query, name, split)
        rows[query.task].queries[split] += 1
    for task, texts in prompts.items():
        if task in rows or None in rows:
            writer.instructions(draft.dataset_id, name, *TASKS[task], texts)
    if not rows:
        needed = "natural images need iconic images to retrieve"
        raise UserError(f"{name} gives no candidates; {needed}")
    return sorted(rows.values(), key=lambda row: -1 if row.task is None else row.task)


def store_images(
    writer: CollectionWriter, name: str, source: Source, copies: bool = True, strict: bool = True
) -> tuple[list[SourceEntry], list[FileReport]]:
    """Check, hash and copy every image and assign its split; returns (valid images, what became of
    the files).

    copies: also keep images that repeat another one; else those of one photograph are one, which
    takes their texts. strict: raise UserError if an image that a table names is missing or invalid,
    and do not read what pictures say of themselves, as in M-BEIR. Raises UserError if every image
    is invalid.
    """
    if strict and source.missing:
        raise source.error(source.missing[0], f"{quoted(source.missing[0].image)} is missing")
    own_val = any(record.split == "val" for record in source.records)
    prefix = (
        "images/" if all(record.image.startswith("images/") for record in source.records) else ""
    )
    entries = list[SourceEntry]()
    reports = list[FileReport]()
    known: dict[str, str] = {}
    shown = list[Shown]()
    images = _checked_images(source, not strict)
    number = len(source.records)
    for record, data, seen in tqdm(images, name, number, leave=False, disable=None, unit=" images"):
        if isinstance(data, UserError):
            reports.append(FileReport(record.image, UNREADABLE, str(data)))
            if strict and source.table is not None:
                raise data
            continue
        digest = hashlib.sha256(data).digest()
        content = repr((digest, record.split, record.captions, record.attributes, record.qa))
        original = known.setdefault(content, record.image)
        if original != record.image and not copies:
            reports.append(FileReport(record.image, COPY, original))
            continue
        reports.append(FileReport(record.image, USED, digest.hex()))
        path = f"images/{name}/{record.image.removeprefix(prefix)}"
        writer.image(path, data)
        image = SourceImage(path, digest, _splits(record, digest, own_val), {})
        entries.append(SourceEntry(record, image))
        shown.append(seen)
    if not entries:
        raise UserError(reports[0].detail)
    folded = {} if copies else fold([entry.record for entry in entries], shown)
    for entry in entries:
        if entry.record.image in folded:
            writer.drop_image(entry.image.path)
        entry.image.source.update(entry.record.facts)
    reports = [report for report in reports if report.outcome != USED or report.file not in folded]
    reports += [FileReport(file, VERSION, first) for file, first in folded.items()]
    return [entry for entry in entries if entry.record.image not in folded], reports


def fold(records: Sequence[Record], shown: Sequence[Shown]) -> dict[str, str]:
    """Let the largest picture of each photograph take what is said of its other versions.

    shown: of the picture of each record. Returns (picture, the one that took it) for each that is
    taken.
    """
    folded = {}
    firsts = originals([pixels for pixels, _ in shown], [size for _, size in shown])
    for record, first in zip(records, firsts, strict=True):
        if records[first] is not record and records[first].take(record):
            folded[record.image] = records[first].image
    return folded


def _checked_images(
    source: Source, hear: bool
) -> Iterator[tuple[Record, bytes | UserError, Shown]]:
    """Yield each record with the bytes of its image, or with the error, and with what it shows.

    Images are decoded by several threads. hear: complete the records by what their images say.
    """

    def read(record: Record) -> tuple[Record, bytes | UserError, Shown]:
        try:
            data = read_image_file(source.folder / record.image)
            seen = look(data, record.image)
            if hear:
                record.hear(inside(data, record.image), last=True)
            return record, data, seen
        except UserError as error:
            record.hear([], last=hear)
            return record, source.error(record, str(error)), NOTHING

    with ThreadPoolExecutor() as readers:
        for window in _windows(source):
            yield from readers.map(read, window)


def look(data: bytes, name: str, limits: Limits = DISK) -> Shown:
    """Raises UserError if the bytes are no image, or one above the limits."""
    width, height = image_header(data, name, limits).size
    return small(check_image(name, data)), (width * height, len(data))


def _windows(source: Source) -> Iterator[list[Record]]:
    """The records of images that are in memory together."""
    window = list[Record]()
    room = MOST_BYTES
    for record in source.records:
        try:
            size = os.path.getsize(source.folder / record.image)
        except (OSError, ValueError):  # said when it is read
            size = 0
        if window and (len(window) == MOST_IMAGES or size > room):
            yield window
            window = []
            room = MOST_BYTES
        window.append(record)
        room -= size
    if window:
        yield window


def _splits(record: Record, digest: bytes, own_val: bool) -> frozenset[str]:
    """The splits of an image. A tenth of the training images validate; a tenth of images without a
    split also test.

    The choice depends on the image's content: identical images stay together, and every run chooses
    the same.
    """
    if record.split == "candidates":
        return frozenset(SPLITS)
    tenth = (digest[0] * 256 + digest[1]) % 10
    split = record.split or {0: "val", 1: "test"}.get(tenth, "train")
    if record.split == "train" and not own_val and tenth == 0:
        split = "val"
    return frozenset((split,))

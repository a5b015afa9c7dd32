"""Read a source: a folder of images, with or without a table that describes them, or the table
itself, a dataset or an archive.

The table is `manifest.jsonl`, or the CSV, JSONL or Parquet file of the folder that names its
images, or `metadata` files in its folders, or Karpathy's JSON file, or one text file beside each
image. README.md lists its fields.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from genius.collections.annotations import read_annotations
from genius.collections.archives import is_archive, unpack_archive
from genius.collections.arrow import HUB, MANIFEST, Batch, dataset_batches, unpack
from genius.collections.images import NAMES
from genius.collections.images import SUFFIXES as IMAGES
from genius.collections.lines import LineError, json_lines
from genius.collections.listing import (
    ARCHIVES,
    TEXTS,
    UNREADABLE,
    UNSUPPORTED,
    USED,
    FileReport,
    Folder,
)
from genius.collections.metadata import Beside, clean
from genius.collections.source_records import Record, read_tables
from genius.collections.table_files import SUFFIXES as TABLES
from genius.collections.tables import PAIRS, find_tables, is_table, parts_of
from genius.errors import UserError, quoted

SHOWN = 500  # characters about archives in a message


@dataclass(frozen=True, slots=True)
class ComposedPair:
    """Composed image retrieval: the query image, changed as the text says, gives the target
    image.
    """

    query_id: str
    text: str
    target_id: str
    line: int


@dataclass(frozen=True)
class Source:
    """The records of a folder of images."""

    folder: Path
    table: Path | None
    records: list[Record]
    pairs: list[ComposedPair]
    # the files that are no record's image, and missing ones
    others: list[FileReport] = field(default_factory=list)
    missing: list[Record] = field(default_factory=list)  # whose images are not there
    notes: list[str] = field(default_factory=list)  # sentences about the table
    unpacked: TemporaryDirectory | None = None  # the folder, where it is deleted with this object

    def path_of(self, image: str) -> Path:
        return self.folder / image

    def error(self, record: Record, message: str) -> UserError:
        """An error that names the record's line, or its image file if there is no table."""
        if self.table is None:
            where = PurePosixPath(record.image) if self.unpacked else self.folder / record.image
            return UserError(f"{where}: {message}")
        return LineError(record.table or self.table, record.line, message)


def read_source(root: Path) -> Source:
    """Read the table, or the list of image files. Opens no image. Raises UserError with file and
    line.
    """
    _check(root)
    if batches := dataset_batches(root):
        return _unpacked(batches, root)
    chosen = root.name if is_table(root) else ""
    root = root.parent if chosen else root
    if root.is_file():
        return _unarchived(root.parent, [root.name], root.name)
    folder = Folder(root)
    files = sorted(folder.files)
    if not folder.images and any(map(is_archive, files)):
        return _unarchived(root, files, chosen if len(files) > 1 else files[0])
    notes = folder.notes[:1]
    if more := folder.notes[1:]:
        notes.append(f"{len(more):,} more links to folders")
    parts = parts_of(folder, [chosen]) if chosen else find_tables(folder, notes)
    table = root / parts[0].table if parts else None
    if parts:
        texts = {part.table for part in parts}  # files that are used, besides images
        records, missing = read_tables(folder, parts, notes)
    else:
        records = [Record(path, path) for path in folder.images]
        missing = []
        texts = read_annotations(folder, records, notes)
    beside = Beside(root, folder.files, folder.images)
    for record in records:
        record.hear(beside.of(record.image))
    texts |= beside.used
    for problem in beside.problems[:1]:
        notes.append(
            f"{len(beside.problems):,} files beside pictures cannot be read; the first: {problem}"
        )
    kept = bool(records)  # else nothing is read, and no text of a missing picture is kept
    lost = [folder.missing(each.image, each.line, kept and bool(each.captions)) for each in missing]
    others = [*lost, *folder.unused({record.image for record in records}, {PAIRS, *texts})]
    if not records:
        raise _nothing_read(root, table, lost, others)
    pairs = root / PAIRS
    composed = list(_composed_pairs(pairs, [*records, *missing])) if pairs.is_file() else []
    return Source(root, table, records, composed, others, missing, list(dict.fromkeys(notes)))


def _check(root: Path) -> None:
    """Raises UserError for what is neither a folder that can be read, nor a table or an archive
    that can be.
    """
    if root.parts[:1] == (HUB,):
        return
    try:
        root.stat()
    except FileNotFoundError:
        raise UserError(f"{root} is missing; name a folder of images, or a table of them") from None
    except OSError as error:
        raise UserError(f"{root} cannot be read ({error.strerror})") from None
    if not os.access(root, os.R_OK | os.X_OK * root.is_dir()):
        raise UserError(f"{root} cannot be read (Permission denied); name one that you may read")
    if root.is_dir() or is_table(root) or (root.is_file() and is_archive(root.name)):
        return
    suffix = root.suffix.lower() if root.is_file() else ""
    advice = f"name a folder of images, or a table of them ({', '.join(TABLES)})"
    if suffix in ARCHIVES:
        advice = "unpack it, and name the folder with its files"
    if suffix in IMAGES:
        advice = "name the folder that holds it"
    raise UserError(f"{root} is not a folder; {advice}")


def _unpacked(batches: Iterator[Batch], origin: Path) -> Source:
    """The records of a dataset, in a folder for the time being; errors name the dataset and its
    row.
    """
    folder = TemporaryDirectory(prefix="genius-")
    unpack(batches, Path(folder.name))
    try:
        source = read_source(Path(folder.name))
    except UserError as error:
        raise UserError(
            str(error).replace(str(Path(folder.name) / MANIFEST), str(origin))
        ) from None
    for record in (*source.records, *source.missing):
        record.table = origin
    return replace(source, unpacked=folder)


def _unarchived(root: Path, files: Iterable[str], chosen: str) -> Source:
    """Read a folder, or its table or archive `chosen`, with the archives unpacked in a folder for
    the time being.

    files: of the folder, which are read.
    """
    temporary = TemporaryDirectory(prefix="genius-")
    others = list[FileReport]()
    inside = Path(temporary.name)
    for name in files:
        if is_archive(name):
            others += [FileReport(name, USED, TEXTS), *unpack_archive(root / name, inside / name)]
        else:
            (inside / name).parent.mkdir(parents=True, exist_ok=True)
            (inside / name).symlink_to((root / name).resolve())
    try:
        source = read_source(inside / chosen)
    except UserError as error:
        damaged = "".join(f"; {detail}" for detail in _troubles(others))
        raise UserError(str(error).replace(temporary.name, str(root)) + damaged[:SHOWN]) from None
    for record in (*source.records, *source.missing):
        record.table = record.table and root / record.table.relative_to(inside)
    table = source.table and root / source.table.relative_to(inside)
    notes = ["archives are unpacked among temporary files while they are read", *source.notes]
    return replace(
        source, table=table, others=[*source.others, *others], notes=notes, unpacked=temporary
    )


def _nothing_read(
    root: Path, table: Path | None, lost: Sequence[FileReport], others: Sequence[FileReport]
) -> UserError:
    if lost:
        none = f"{table}: none of the pictures that it names is there"
        return UserError(f"{none}; the first: {lost[0].detail}")
    if table is not None:
        expected = "expected one for each image, or no table if the images have no texts"
        return UserError(f"{table} has no rows; {expected}")
    found = "; ".join(dict.fromkeys(_troubles(others)))
    needed = f"{root} contains no images; a source needs {NAMES} files"
    return UserError(needed + f" ({found})" * bool(found))


def _troubles(others: Iterable[FileReport]) -> list[str]:
    """What is said of files that cannot be read."""
    return [other.detail for other in others if other.outcome in (UNREADABLE, UNSUPPORTED)]


def _composed_pairs(file: Path, records: list[Record]) -> Iterator[ComposedPair]:
    ids = {record.id for record in records}
    for number, row in json_lines(file):
        try:
            pair = ComposedPair(
                str(row["query_id"]), clean(row["txt"]), str(row["target_id"]), number
            )
        except (KeyError, AttributeError):
            raise LineError(file, number, "expected query_id, txt and target_id") from None
        if not pair.text:
            message = "txt is empty; expected the change from the query image to the target image"
            raise LineError(file, number, message)
        for name in (pair.query_id, pair.target_id):
            if name not in ids:
                message = f"the id {quoted(name)} is not in the table of this folder"
                raise LineError(file, number, message)
        yield pair

"""Which files of a folder are its tables: those whose rows name its pictures, which are read
together.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path, PurePosixPath
from typing import Any

from genius.collections.arrow import MANIFEST
from genius.collections.layout import split_of_file
from genius.collections.lines import file_bytes
from genius.collections.listing import PICTURES, Folder
from genius.collections.table_files import KARPATHY, SUFFIXES, best_columns, file_rows, plain_name
from genius.errors import UserError

PAIRS = "cir_pairs.jsonl"
# in the folders of Hugging Face's image folders
METADATA = tuple(f"metadata{suffix}" for suffix in SUFFIXES)
MAX_TABLE = 2**26  # bytes of a file that is looked at only because it may be a table
SAMPLED_ROWS = 1000  # rows that are looked at to see which pictures they name
NUMBER = re.compile(r"(?!0\d)[\d.,+-]+")
NAMES = re.compile(r".*(id|key|name|number)|nr|no")  # columns whose numbers are names


@dataclass(frozen=True, slots=True)
class Part:
    """A file of the table, or of tables that are read together."""

    table: str  # relative to the source's folder
    inside: PurePosixPath | None = None  # that its paths are relative to; None: the file's folder
    split: str | None = None  # of its rows


def find_tables(folder: Folder, notes: list[str]) -> list[Part]:
    """The tables of a folder that name its pictures, or those in its folders."""
    if MANIFEST in folder:
        return parts_of(folder, [MANIFEST])
    here = sorted({name.split("/")[0] for name in folder.files} - {PAIRS})
    verdicts = {
        name: {_names_images(folder, part.table) for part in parts_of(folder, [name])}
        for name in here
        if is_table(folder.root / name)
    }
    tables = [name for name, verdict in verdicts.items() if True in verdict]
    karpathy = [name for name in here if name in KARPATHY]
    if not tables and len(karpathy) == 1:
        tables = karpathy
    if not tables:
        stems = {image.rpartition(".")[0] for image in folder.images} | set(folder.images)
        tables = [
            name
            for name in here
            if name.lower().endswith((".txt", ".json"))
            and name in folder
            and name.rpartition(".")[0] not in stems  # else it belongs to one picture
            and _names_images(folder, name)
        ]
    tables = tables or [name for name, verdict in verdicts.items() if None in verdict]
    copies = [name for name in tables[1:] if _is_copy(folder.root / tables[0], folder.root / name)]
    notes += [f"{name}: not read, because it says the same as {tables[0]}" for name in copies]
    tables = [name for name in tables if name not in copies]
    unread = [name for name in verdicts if name not in tables and True not in verdicts[name]]
    for name in unread[:1]:
        more = f" and {len(unread) - 1:,} more" * (len(unread) > 1)
        damaged = "it is damaged or empty, or " * (None in verdicts[name])
        why = f"{damaged}most rows name no picture that is here"
        notes.append(f"{name}{more}: not read, because {why}")
    inner = [Part(name) for name in sorted(folder.files) if PurePosixPath(name).name in METADATA]
    return parts_of(folder, tables) or inner


def is_table(path: Path) -> bool:
    """Whether it is a file that may be a table, or a folder of parts, as Spark writes a table."""
    suffix = path.suffix.lower()
    return path.name.lower().endswith(SUFFIXES) and (
        path.is_file() or any(path.glob(f"[!.]*{suffix}")) or any(path.glob(f"[!.]*{suffix}.gz"))
    )


def parts_of(folder: Folder, tables: Sequence[str]) -> list[Part]:
    """The files of tables; several with names such as train.csv are the splits of one."""
    splits = {name: split_of_file(name) if len(tables) > 1 else None for name in tables}
    if not all(splits.values()):
        splits = dict.fromkeys(tables)
    inner = {  # of tables that are folders
        name: [
            file
            for file in sorted(folder.files)
            if file.rpartition("/")[0] == name and is_table(folder.root / file)
        ]
        for name in tables
        if name not in folder
    }
    return [
        Part(file, PurePosixPath(), splits[name])
        for name in tables
        for file in inner.get(name, [name])
    ]


def image_column(rows: Sequence[dict[str, Any]], is_picture: Callable[[str], bool]) -> str | None:
    """The column of which most cells name pictures, the first that has their suffixes if there is
    one.

    A number names a picture only in a column of names: others hold times, steps and amounts.
    """
    counts: Counter[str] = Counter()
    for row in rows:
        for name, cell in row.items():
            if isinstance(cell, str) and (
                NAMES.fullmatch(plain_name(name)) or not NUMBER.fullmatch(cell.strip())
            ):
                counts[name] += is_picture(cell)
    fits = [name for name, count in counts.items() if count > len(rows) / 2]
    return min(fits, key=lambda name: "." not in str(rows[0].get(name)), default=None)


def _names_images(folder: Folder, name: str) -> bool | None:
    """Whether most rows of a file name pictures that are here, so that it is no log. None: they do
    not, but it may be meant as a table of pictures that are missing, or it is damaged or empty.
    """
    file, is_picture = folder.root / name, folder.names_picture
    is_table = name.lower().endswith(SUFFIXES)
    try:
        if not is_table and file.stat().st_size > MAX_TABLE:
            return False
        rows = [row for _, row in islice(file_rows(file, []), SAMPLED_ROWS)]
        is_alone = name.lower().endswith(".json") and len(rows) == 1
        if is_alone and not file_bytes(file).lstrip().startswith(b"["):
            return False  # what is said of one picture
    except (OSError, ValueError, UserError):
        return None if is_table else False
    guess = image_column(rows, is_picture)
    best = [best_columns(tuple(row)).get("image") for row in rows]
    if not is_table and not any(best) and guess and is_picture(guess):
        return False  # a list of pictures, without names of columns
    columns = [name or guess for name in best]
    images = [row.get(name) for row, name in zip(rows, columns) if name is not None]
    if sum(bool(image) and is_picture(str(image)) for image in images) > len(rows) / 2:
        return True
    suffixes = image_column(rows, lambda cell: Path(cell).suffix.lower() in PICTURES)
    return None if is_table and (any(best) or suffixes or not rows) else False


def _is_copy(table: Path, other: Path) -> bool:
    """Whether two tables are files with the same rows, and have any."""
    if not (table.is_file() and other.is_file()):
        return False
    with suppress(UserError):
        rows = zip_longest(_shown_rows(table), _shown_rows(other))
        return any(_shown_rows(table)) and all(row == twin for row, twin in rows)
    return False


def _shown_rows(table: Path) -> Iterator[dict[str, str]]:
    for _, row in file_rows(table, []):
        yield {name: "" if cell is None else str(cell) for name, cell in row.items()}

"""Which files of a folder are its table: those whose rows name its pictures, which are read
together.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from genius.collections.arrow import MANIFEST
from genius.collections.listing import Folder
from genius.collections.tables import KARPATHY, SUFFIXES, names_images, same_rows, split_of
from genius.errors import UserError

PAIRS = "cir_pairs.jsonl"
# in the folders of Hugging Face's image folders
METADATA = tuple(f"metadata{suffix}" for suffix in SUFFIXES)


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
    verdicts = {  # by name, see names_images
        name: {
            names_images(folder.root / part.table, folder.names_picture)
            for part in parts_of(folder, [name])
        }
        for name in here
        if is_table(folder.root / name)
    }
    tables = [name for name, verdict in verdicts.items() if True in verdict]
    karpathy = [name for name in here if name in KARPATHY]
    if not tables and len(karpathy) == 1:
        tables = karpathy
    if not tables:
        stems = {image.rpartition(".")[0] for image in folder.images} | set(folder.images)
        others = (
            name for name in here if name.lower().endswith((".txt", ".json")) and name in folder
        )
        # which belong to one picture
        others = (name for name in others if name.rpartition(".")[0] not in stems)
        tables = [name for name in others if names_images(folder.root / name, folder.names_picture)]
    tables = tables or [name for name, verdict in verdicts.items() if None in verdict]
    copies = [name for name in tables[1:] if _is_copy(folder.root / tables[0], folder.root / name)]
    notes += [f"{name}: not read, because it says the same as {tables[0]}" for name in copies]
    tables = [name for name in tables if name not in copies]
    parts = parts_of(folder, tables)
    if unread := [
        name for name, verdict in verdicts.items() if name not in tables and True not in verdict
    ]:
        more = f" and {len(unread) - 1:,} more" * (len(unread) > 1)
        why = (
            "it is damaged or empty, or " * (None in verdicts[unread[0]])
            + "most rows name no picture that is here"
        )
        notes.append(f"{unread[0]}{more}: not read, because {why}")
    inner = [Part(name) for name in sorted(folder.files) if PurePosixPath(name).name in METADATA]
    return parts or inner


def is_table(path: Path) -> bool:
    """Whether it is a file that may be a table, or a folder of parts, as Spark writes a table."""
    suffix = path.suffix.lower()
    return path.name.lower().endswith(SUFFIXES) and (
        path.is_file() or any(path.glob(f"[!.]*{suffix}")) or any(path.glob(f"[!.]*{suffix}.gz"))
    )


def parts_of(folder: Folder, tables: Sequence[str]) -> list[Part]:
    """The files of tables; several with names such as train.csv are the splits of one."""
    splits = {name: split_of(name) if len(tables) > 1 else None for name in tables}
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


def _is_copy(table: Path, other: Path) -> bool:
    with suppress(UserError):
        return table.is_file() and other.is_file() and same_rows(table, other)
    return False

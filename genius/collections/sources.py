"""Read a source: a folder of images, with or without a table that says what is in them.

The table is `manifest.jsonl`, or the only CSV or JSONL file of the folder. One record describes one image:

    image, img_path or file     path relative to the folder (required)
    text, txt or caption        its text; an image with several rows has several captions
    captions                    a list of sentences that each describe the image
    qa                          a list of {"q": question, "a": answer}
    split                       train, val, test (dev) or candidates; without it the builder draws one
    id                          its name in the source
    attributes                  an object; any other column is an attribute too
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from genius.collections.images import SUFFIXES
from genius.collections.layout import leaves_folder
from genius.collections.lines import LineError, json_lines, text_lines
from genius.errors import UserError

PAIRS = "cir_pairs.jsonl"
TABLES = (".csv", ".jsonl")
IMAGE_FIELDS = ("img_path", "image", "file")
TEXT_FIELDS = ("txt", "text", "caption")
SPLIT_NAMES = {
    "train": "train",
    "val": "val",
    "validation": "val",
    "valid": "val",
    "test": "test",
    "dev": "test",
    "candidates": "candidates",
}
NOTHING = ("", "na", "n/a", "nan", "none", "null")


@dataclass(slots=True)
class Record:
    """One image of a source and all that is said about it."""

    id: str
    image: str  # path relative to the source's folder
    line: int  # in the table; 0 without one
    split: str | None = None  # train, val, test, candidates; None: not said
    captions: list[str] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)
    qa: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ComposedPair:
    """The query image, changed as the text says, is the target image (composed image retrieval)."""

    query_id: str
    text: str
    target_id: str
    line: int


@dataclass(frozen=True)
class Source:
    """A folder, read. An image whose table has several texts for it has several captions."""

    folder: Path
    table: Path | None
    records: list[Record]
    pairs: list[ComposedPair]

    def complaint(self, record: Record, message: str) -> UserError:
        """An error about this record that names its line, or its file if there is no table."""
        if self.table is None:
            return UserError(f"{self.folder / record.image}: {message}")
        return LineError(self.table, record.line, message)


def read_source(folder: Path) -> Source:
    """Read the table and the list of images. Opens no image. Raises UserError that names file and line."""
    if not folder.is_dir():
        raise UserError(f"{folder} is no folder; a source is a folder of images, with or without a table")
    table = _find_table(folder)
    if table is None:
        records = [Record(id=path, image=path, line=0) for path in _image_files(folder)]
    else:
        records = _merge(table, _csv_rows(table) if table.suffix.lower() == ".csv" else json_lines(table))
    if not records:
        raise UserError(f"{table or folder} names no images; a source needs PNG, JPEG or WebP files")
    pairs = folder / PAIRS
    return Source(folder, table, records, list(_composed_pairs(pairs, records)) if pairs.is_file() else [])


def _find_table(folder: Path) -> Path | None:
    if (folder / "manifest.jsonl").is_file():
        return folder / "manifest.jsonl"
    tables = sorted(
        file for file in folder.iterdir() if file.suffix.lower() in TABLES and file.is_file() and file.name != PAIRS
    )
    if len(tables) > 1:
        raise UserError(
            f"{folder} has several tables ({', '.join(file.name for file in tables)}); "
            "keep one, or call the right one manifest.jsonl"
        )
    return tables[0] if tables else None


def _image_files(folder: Path) -> list[str]:
    return sorted(
        file.relative_to(folder).as_posix()
        for file in folder.rglob("*")
        if file.suffix.lower() in SUFFIXES and file.is_file()
    )


def _csv_rows(table: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, row) of a CSV file with a header; a quoted cell may run over several lines."""
    numbers = []

    def lines() -> Iterator[str]:
        for number, text in text_lines(table):
            numbers.append(number)
            yield text + "\n"

    reader = csv.reader(lines(), strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        if len(set(header)) < len(header):
            raise LineError(table, 1, "two columns have the same name")
        for cells in reader:
            if len(cells) != len(header):
                raise LineError(table, numbers[-1], f"the row has {len(cells)} cells, the header {len(header)}")
            yield numbers[-1], dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise LineError(table, numbers[-1], f"the row is not CSV ({error})") from None


def _merge(table: Path, rows: Iterator[tuple[int, dict[str, Any]]]) -> list[Record]:
    """One record per image, in the order of the table; a row for an image seen before adds a caption."""
    by_image: dict[str, Record] = {}
    ids: set[str] = set()
    for number, row in rows:
        record = _record(table, number, row)
        known = by_image.get(record.image)
        if known is None:
            if record.id in ids:
                raise LineError(table, number, f"the id {record.id!r} appears a second time")
            ids.add(record.id)
            by_image[record.image] = record
        elif record.captions and not record.qa and record.split == known.split:
            known.captions = list(dict.fromkeys(known.captions + record.captions))
        else:
            raise LineError(
                table,
                number,
                f"the image {record.image!r} appears a second time; only a further text in the same split may follow",
            )
    return list(by_image.values())


def _record(table: Path, number: int, row: dict[str, Any]) -> Record:
    fields = dict(row)
    image = _take_text(table, number, fields, IMAGE_FIELDS)
    if not image:
        raise LineError(
            table,
            number,
            f"no image is named; one of the fields {', '.join(IMAGE_FIELDS)} "
            f"is needed, found {', '.join(row) or 'none'}",
        )
    path = PurePosixPath(image)
    if leaves_folder(image):
        raise LineError(table, number, f"the image path {image!r} leaves the folder; give it relative to the folder")
    if path.suffix.lower() not in SUFFIXES:
        raise LineError(table, number, f"{image!r} is no PNG, JPEG or WebP file")
    text = _take_text(table, number, fields, TEXT_FIELDS)
    captions = fields.pop("captions", None) or []
    qa = fields.pop("qa", None) or []
    split = _take_text(table, number, fields, ("split",)).lower()
    if split and split not in SPLIT_NAMES:
        raise LineError(table, number, f"the split {split!r} is unknown; expected {', '.join(SPLIT_NAMES)}")
    if not isinstance(captions, list) or not all(isinstance(caption, str) for caption in captions):
        raise LineError(table, number, "captions must be a list of texts")
    try:
        qa = [(_clean(entry["q"]), _clean(entry["a"])) for entry in qa]
    except (TypeError, KeyError, AttributeError):
        raise LineError(table, number, 'qa must be a list of {"q": question, "a": answer}') from None
    attributes = fields.pop("attributes", None) or {}
    if not isinstance(attributes, dict):
        raise LineError(table, number, "attributes must be an object of names and values")
    own_id = fields.pop("id", None)
    name = path.as_posix() if own_id in (None, "") else str(own_id)
    texts = dict.fromkeys(filter(None, map(_clean, [text, *captions])))
    return Record(
        name,
        path.as_posix(),
        number,
        SPLIT_NAMES.get(split),
        list(texts),
        _said(attributes | fields),
        [(q, a) for q, a in qa if q and a],
    )


def _take_text(table: Path, number: int, fields: dict[str, Any], names: tuple[str, ...]) -> str:
    """Take the first of these fields that is there; the others stay attributes."""
    for name in names:
        if name in fields:
            value = fields.pop(name)
            if value is not None and not isinstance(value, str):
                raise LineError(table, number, f"{name} must be a text, found {type(value).__name__}")
            return _clean(value or "")
    return ""


def _clean(text: str) -> str:
    return " ".join(text.replace("\0", " ").split())


def _said(attributes: dict[str, Any]) -> dict[str, Any]:
    """The attributes that say something: texts, numbers and lists of texts that are not empty."""
    said = {}
    for name, value in attributes.items():
        if isinstance(value, list):
            value = [word for word in map(_clean, map(str, value)) if word]
        elif isinstance(value, (str, int, float)):
            value = _clean(value) if isinstance(value, str) else value
            if str(value).lower() in NOTHING:
                continue
        else:
            continue
        if value != []:
            said[name] = value
    return said


def _composed_pairs(file: Path, records: list[Record]) -> Iterator[ComposedPair]:
    ids = {record.id for record in records}
    for number, row in json_lines(file):
        try:
            pair = ComposedPair(str(row["query_id"]), _clean(row["txt"]), str(row["target_id"]), number)
        except (KeyError, AttributeError):
            raise LineError(file, number, "expected query_id, txt and target_id") from None
        for name in (pair.query_id, pair.target_id):
            if name not in ids:
                raise LineError(file, number, f"the id {name!r} is not in the table beside this file")
        yield pair

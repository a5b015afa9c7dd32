"""Read a source: a folder of images, with or without a table that describes them.

The table is `manifest.jsonl`, or the only CSV or JSONL file in the folder, or Karpathy's JSON file (karpathy.py).
README.md lists its fields.
"""

import csv
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

from pydantic import AfterValidator, AliasChoices, BaseModel, BeforeValidator, Field, Strict, TypeAdapter

from genius.collections.images import SUFFIXES
from genius.collections.karpathy import find_karpathy, karpathy_rows
from genius.collections.layout import leaves_folder
from genius.collections.lines import LineError, json_lines, text_lines, validate
from genius.errors import UserError, quoted

PAIRS = "cir_pairs.jsonl"
TABLES = (".csv", ".jsonl")
SEPARATORS = ",;\t"  # of a CSV file's cells
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
EMPTY_VALUES = ("", "na", "n/a", "nan", "none", "null")


@dataclass(slots=True)
class Record:
    """One image of a source with its texts and attributes."""

    id: str
    image: str  # path relative to the source's folder
    line: int  # in the table; 0 without a table
    split: str | None = None  # train, val, test or candidates; None: not given
    captions: list[str] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)
    qa: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ComposedPair:
    """Composed image retrieval: the query image, changed as the text says, gives the target image."""

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

    def error(self, record: Record, message: str) -> UserError:
        """An error that names the record's line, or its image file if there is no table."""
        if self.table is None:
            name = os.fsencode(self.folder / record.image).decode(errors="replace")
            return UserError(f"{name}: {message}")
        return LineError(self.table, record.line, message)

    def name_error(self, record: Record) -> UserError | None:
        """What is wrong with the name of the image's file, if anything."""
        try:
            record.image.encode()
        except UnicodeEncodeError:
            return self.error(record, "the file name is not UTF-8; rename the file")
        return None


def read_source(folder: Path) -> Source:
    """Read the table, or the list of image files. Opens no image. Raises UserError with file and line."""
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder; a source is a folder of images, with or without a table")
    table, karpathy = _find_table(folder), find_karpathy(folder)
    if table is None and karpathy is not None:
        table, records = karpathy, _merge(karpathy, karpathy_rows(karpathy))
    elif table is None:
        records = [Record(id=path, image=path, line=0) for path in _image_files(folder)]
    else:
        records = _merge(table, _csv_rows(table) if table.suffix.lower() == ".csv" else json_lines(table))
    if not records and table is not None:
        raise UserError(f"{table} has no rows; expected one for each image, or no table if the images have no texts")
    if not records:
        raise UserError(f"{folder} contains no images; a source needs PNG, JPEG or WebP files")
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
            "keep one, or rename the right one to manifest.jsonl"
        )
    return tables[0] if tables else None


def _image_files(folder: Path) -> list[str]:
    return sorted(
        file.relative_to(folder).as_posix()
        for file in folder.rglob("*")
        if file.suffix.lower() in SUFFIXES and file.is_file()
    )


def _csv_rows(table: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, row) for a CSV file with a header; quoted cells may contain line breaks.

    Cells are separated by commas, or by what the header has instead: Excel writes semicolons in many languages.
    """
    numbers = []

    def lines() -> Iterator[str]:
        for number, text in text_lines(table):
            numbers.append(number)
            yield text + "\n"

    texts = lines()
    first = next(texts, "")
    separator = next((mark for mark in SEPARATORS if mark in first), SEPARATORS[0])
    reader = csv.reader(chain([first], texts), delimiter=separator, strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        if len(set(header)) < len(header):
            raise LineError(table, 1, "two columns have the same name")
        for cells in reader:
            if len(cells) != len(header):
                raise LineError(table, numbers[-1], f"the row has {len(cells)} cells, but the header has {len(header)}")
            yield numbers[-1], dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise LineError(table, numbers[-1], f"the row is not valid CSV ({error})") from None


def _merge(table: Path, rows: Iterator[tuple[int, dict[str, Any]]]) -> list[Record]:
    """One record per image, in the order of the table; further rows for an image add captions."""
    by_image: dict[str, Record] = {}
    ids: set[str] = set()
    for number, row in rows:
        record = _record(table, number, row)
        known = by_image.get(record.image)
        if known is None:
            if record.id in ids:
                raise LineError(table, number, f"the id {record.id!r} is repeated")
            ids.add(record.id)
            by_image[record.image] = record
        elif record.captions and not record.qa and record.split == known.split:
            known.captions = list(dict.fromkeys(known.captions + record.captions))
        else:
            raise LineError(
                table,
                number,
                f"the image {record.image!r} is repeated; a further row may only add a text in the same split",
            )
    return list(by_image.values())


def _record(table: Path, number: int, row: dict[str, Any]) -> Record:
    fields: TableRow = validate(TABLE_ROW, table, number, row)
    if not fields.image:
        raise LineError(
            table,
            number,
            f"the row names no image; expected one of the fields {', '.join(IMAGE_FIELDS)}, "
            f"found {', '.join(row) or 'none'}",
        )
    path = PurePosixPath(fields.image).as_posix()
    captions = dict.fromkeys(filter(None, [fields.text, *fields.captions]))
    return Record(
        path if fields.id in (None, "") else str(fields.id),
        path,
        number,
        fields.split,
        list(captions),
        _without_empty(fields.attributes | fields.model_extra),
        [(pair.q, pair.a) for pair in fields.qa if pair.q and pair.a],
    )


def _clean(text: str) -> str:
    return " ".join(text.replace("\0", " ").split())


def _checked_image(path: str) -> str:
    if leaves_folder(path):
        raise ValueError(f"{quoted(path)} leaves the folder; give a path relative to the folder")
    if path and PurePosixPath(path).suffix.lower() not in SUFFIXES:
        raise ValueError(f"{quoted(path)} is not a PNG, JPEG or WebP file")
    return path


def _split_name(name: str) -> str | None:
    if name and name.lower() not in SPLIT_NAMES:
        raise ValueError(f"{quoted(name)} is unknown; expected one of {', '.join(SPLIT_NAMES)}")
    return SPLIT_NAMES.get(name.lower())


Sentence = Annotated[str, Strict(), AfterValidator(_clean)]
Text = Annotated[Sentence, BeforeValidator(lambda text: "" if text is None else text)]


class QuestionAnswer(BaseModel):
    q: Sentence
    a: Sentence


class TableRow(BaseModel, extra="allow"):
    """A row of a table; columns that are not declared here are attributes."""

    id: Any = None
    image: Annotated[Text, AfterValidator(_checked_image)] = Field("", validation_alias=AliasChoices(*IMAGE_FIELDS))
    text: Text = Field("", validation_alias=AliasChoices(*TEXT_FIELDS))
    split: Annotated[Text, AfterValidator(_split_name)] = None
    captions: Annotated[list[Sentence], BeforeValidator(lambda captions: captions or [])] = []
    qa: Annotated[list[QuestionAnswer], BeforeValidator(lambda pairs: pairs or [])] = []
    attributes: Annotated[dict[str, Any], BeforeValidator(lambda attributes: attributes or {})] = {}


TABLE_ROW = TypeAdapter(TableRow)


def _without_empty(attributes: dict[str, Any]) -> dict[str, Any]:
    """The attributes that are nonempty texts, numbers or lists of texts."""
    kept = {}
    for name, value in attributes.items():
        if isinstance(value, list):
            value = [word for word in map(_clean, map(str, value)) if word]
        elif isinstance(value, (str, int, float)):
            value = _clean(value) if isinstance(value, str) else value
            if str(value).lower() in EMPTY_VALUES:
                continue
        else:
            continue
        if value != []:
            kept[name] = value
    return kept


def _composed_pairs(file: Path, records: list[Record]) -> Iterator[ComposedPair]:
    ids = {record.id for record in records}
    for number, row in json_lines(file):
        try:
            pair = ComposedPair(str(row["query_id"]), _clean(row["txt"]), str(row["target_id"]), number)
        except (KeyError, AttributeError):
            raise LineError(file, number, "expected query_id, txt and target_id") from None
        if not pair.text:
            raise LineError(file, number, "txt is empty; expected the change from the query image to the target image")
        for name in (pair.query_id, pair.target_id):
            if name not in ids:
                raise LineError(file, number, f"the id {quoted(name)} is not in the table of this folder")
        yield pair

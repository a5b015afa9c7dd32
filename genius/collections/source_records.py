"""The records of a source: what is said of each image, by the rows of tables and by the files."""

import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, Strict, TypeAdapter

from genius.collections.layout import SPLIT_NAMES, SPLITS, split_of_folder
from genius.collections.lines import LineError, validate
from genius.collections.listing import CAPTION, UNHEARD, FileReport, Folder, is_elsewhere
from genius.collections.metadata import Said, clean, drop_defaults, union
from genius.collections.table_files import (
    FIELDS,
    IMAGES,
    JSON,
    KNOWN,
    best_columns,
    file_rows,
    plain_name,
)
from genius.collections.tables import NUMBER, SAMPLED_ROWS, Part, image_column
from genius.errors import UserError, quoted

ATTRIBUTE, LEFT_OUT = "attribute", "left out"  # what columns are besides FIELDS
NUMBERED_TEXT = re.compile(rf"({'|'.join(KNOWN['text'])})\d+")
COUNTERS = ("", "#", "index", "row", "level0")  # columns that only count the rows
EMPTY_VALUES = ("", "na", "n/a", "nan", "none", "null")


@dataclass(slots=True)
class Record:
    """One image of a source with its texts and attributes."""

    id: str
    image: str  # path relative to the source's folder
    line: int = 0  # in the table; 0 without a table
    split: str | None = None  # train, val, test or candidates; None: not given
    captions: list[str] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)
    qa: list[tuple[str, str]] = field(default_factory=list)
    table: Path | None = None  # that has the line, if it is not the source's
    said: list[Said] = field(default_factory=list)  # by files beside it and, at last, by itself
    caption_from: str = ""  # where the caption is from, if it is not from a table or a text file
    versions: int = 1  # files of the same photograph, of which the image is one

    @property
    def facts(self) -> dict[str, Any]:
        """What is kept of it with its image."""
        said = {name: value for said in self.said for name, value in said.facts.items()}
        count = {"versions": self.versions} if self.versions > 1 else {}
        return {"id": self.id, **self.origin, **said, **count, **self.attributes}

    @property
    def origin(self) -> dict[str, str]:
        """What is kept of it with its caption."""
        return {CAPTION: self.caption_from} if self.caption_from else {}

    @property
    def heard(self) -> list[FileReport]:
        """Where its caption is from, and what could not be read."""
        problems = (said.problem for said in self.said if said.problem)
        reports = [FileReport(self.image, UNHEARD, problem) for problem in problems]
        if self.caption_from:
            reports.append(FileReport(self.image, f"{CAPTION} {self.caption_from}"))
        return reports

    def hear(self, found: Iterable[Said], last: bool = False) -> None:
        """Take what is said of a picture: a text if it has none, or at last its keywords for one.

        Keywords are also an attribute; no query asks for the other facts.
        """
        self.said += found
        drop_defaults(self.said)
        if self.caption_from:
            self.captions, self.caption_from = [], ""  # a default of the camera, known now?
        if not self.captions and (best := next((said for said in self.said if said.text), None)):
            self.captions, self.caption_from = [best.text], best.origin
        keywords = union(word for said in self.said for word in said.keywords)
        if last and keywords:
            if not self.captions:
                self.captions = [", ".join(keywords)]
                origins = dict.fromkeys(said.origin for said in self.said if said.keywords)
                self.caption_from = f"{' and '.join(origins)} keywords"
            self.attributes.setdefault("keywords", keywords)

    def take(self, version: "Record") -> bool:
        """Take what is said of another version of the photograph, unless that contradicts; whether
        it did.

        A caption that a user gave comes before those that pictures say themselves.
        """
        lists = {name for name, value in self.attributes.items() if isinstance(value, list)}
        known = self.attributes.keys() & version.attributes.keys() - lists
        contradicts = any(self.attributes[name] != version.attributes[name] for name in known)
        if contradicts or self.split != version.split:
            return False
        if version.captions and (
            not self.captions or bool(self.caption_from) > bool(version.caption_from)
        ):
            self.captions, self.caption_from = version.captions, version.caption_from
        elif not version.caption_from:
            self.captions = list(dict.fromkeys(self.captions + version.captions))
        self.add(version)
        self.said = version.said + self.said  # of two dates the own one counts
        self.versions += version.versions
        return True

    def add(self, other: "Record") -> None:
        """Add the questions of another record, and the words of its attributes."""
        self.qa = list(dict.fromkeys(self.qa + other.qa))
        for name, value in other.attributes.items():
            self.attributes[name] = _with_words(self.attributes.get(name, value), value)


def _with_words(known: Any, further: Any) -> Any:
    """An attribute with the words of a further row; of numbers, such as edges of boxes, the first
    is kept.
    """
    told, words = (
        [*map(str, each)] if isinstance(each, list) else [str(each)] for each in (known, further)
    )
    added = [word for word in words if word not in told and not NUMBER.fullmatch(word)]
    return [*told, *added] if added else known


def read_tables(
    folder: Folder, parts: Sequence[Part], notes: list[str]
) -> tuple[list[Record], list[Record]]:
    """The records of the images that are there, and of those that are missing."""
    rows = list[Record]()
    there = set[str]()
    # of parts with the same columns what is noted of the last
    said: dict[tuple[str | None, ...], list[str]] = {}
    for part in parts:
        rows += _records_of(folder, part, there, own := list[str]())
        columns = next((note for note in own if ": image from " in note), "").partition(": ")[2]
        said[part.table if part.inside is None else "", part.split, columns] = own
    notes += chain.from_iterable(said.values())
    records = _merged(rows, there, notes)
    missing = [record for record in records if record.image not in there]
    return [record for record in records if record.image in there], missing


def read_rows(table: Path, notes: list[str]) -> Iterator[Record]:
    """One record for each row of a table, in its order; it need not have a picture. Raises
    LineError.
    """
    for record in _row_records(table, notes):
        record.image = record.image.replace("\\", "/")
        record.id = record.id or record.image
        yield record


def _records_of(folder: Folder, part: Part, there: set[str], notes: list[str]) -> list[Record]:
    """A record for each row of a table. there: gets the images that are there."""
    table = folder.root / part.table
    inside = PurePosixPath(part.table).parent if part.inside is None else part.inside
    records = list(_row_records(table, notes, folder.names_picture))
    files = [_find(folder, record, inside) for record in records]
    by_name = not any(files)
    if by_name:
        files = [folder.find_below(record.image) for record in records]
    found = {record.image: file for record, file in zip(records, files, strict=True) if file}
    if by_name and found:
        name = next(iter(found))
        notes.append(
            f"{table.name}: its pictures are looked up by name in all folders; the "
            f"first: {name} is {found[name]}"
        )
    elsewhere = list(filter(is_elsewhere, found))
    for name in elsewhere[:1]:
        notes.append(
            f"{table.name}: {len(elsewhere):,} paths or addresses are files here: {name} "
            f"is {found[name]}"
        )
    there.update(found.values())
    for record, file in zip(records, files, strict=True):
        record.image = file or record.image or f"(line {record.line})"
        record.id = record.id or record.image
        record.split = record.split or part.split or split_of_folder(inside)
    return records


def _find(folder: Folder, record: Record, inside: PurePosixPath) -> str | None:
    """The file that a row of a table in the folder `inside` names. Raises LineError if several fit,
    or one outside.
    """
    name = record.image
    try:
        if not name or is_elsewhere(name):
            return folder.find_elsewhere(name)
        path = str(inside / name)
        if ".." in path.replace("\\", "/").split("/"):
            path = posixpath.normpath(path.replace("\\", "/"))
        if path.startswith("../"):
            raise UserError(f"{quoted(name)} leaves the folder; give a path relative to the folder")
        return folder.find(path)
    except UserError as error:
        assert record.table, "it is of a table"
        raise LineError(record.table, record.line, str(error)) from None


def _merged(rows: Iterable[Record], there: set[str], notes: list[str]) -> list[Record]:
    """One record per image, in the order of the tables; further rows for an image add captions, and
    other words to its attributes, as lists of boxes have a row for each.

    So do those of further tables, also without captions; what two tables say differently is noted.
    An image in the tables of several splits is of the last one: what tests is not trained on.
    """
    several: dict[str, str] = {}
    contradictions = defaultdict[tuple[str, str], list[str]](list)  # by the names of tables
    by_image: dict[tuple[Path | None, str], Record] = {}
    ids: set[tuple[Path | None, str]] = set()
    for record in rows:
        assert record.table, "each record is of a table"
        # what is missing here may be another picture there
        table = None if record.image in there else record.table
        known = by_image.setdefault((table, record.image), record)
        if known is record:
            if (record.table, record.id) in ids:
                raise LineError(record.table, record.line, f"the id {record.id!r} is repeated")
            ids.add((record.table, record.id))
            continue
        if not _adds(record, known):
            repeated = f"the image {quoted(record.image)} is repeated"
            message = f"{repeated}; a further row may only add a text in the same split"
            raise LineError(record.table, record.line, message)
        assert known.table, "as the record"
        contradictions[known.table.name, record.table.name] += _contradictions(known, record)
        known.captions = list(dict.fromkeys(known.captions + record.captions))
        known.add(record)
        if record.split is None or known.split is None:
            known.split = known.split or record.split
        elif record.split != known.split:
            later = max(known.split, record.split, key=SPLITS.index)
            several[record.image] = known.split = later
    for (one, other), cells in contradictions.items():
        if cells:
            notes.append(f"{one} and {other} differ in {len(cells):,} cells; the first: {cells[0]}")
    if several:
        image = next(iter(several))
        notes.append(
            f"{len(several):,} images are in tables of several splits; the first: {image} "
            f"is in {several[image]} alone"
        )
    return list(by_image.values())


def _adds(record: Record, known: Record) -> bool:
    """Whether a further row for an image may add to it: one of another table, or a text in the same
    split.
    """
    same_split = record.split == known.split
    if record.table != known.table:
        return same_split or {record.split, known.split} <= {None, *SPLITS}
    return bool(record.captions or record.id == known.id) and not record.qa and same_split


def _contradictions(known: Record, record: Record) -> list[str]:
    """What a record of another table says otherwise."""
    return [
        f"{name} of {record.image} is {known.attributes[name]} and {cell}"
        for name, cell in record.attributes.items()
        if record.table != known.table and str(known.attributes.get(name, cell)) != str(cell)
    ]


def _row_records(
    table: Path, notes: list[str], is_picture: Callable[[str], bool] | None = None
) -> Iterator[Record]:
    """The record of each row, whose image is what its cell says. notes: gets sentences about what
    was recognized. Raises LineError.

    is_picture: whether a cell names a picture, to find their column if it has another name than
    usual; None: rows need not name any.
    """
    rows = file_rows(table, notes)
    sample = list(islice(rows, SAMPLED_ROWS if is_picture else 0))
    guess = image_column([row for _, row in sample], is_picture) if is_picture else None
    fields_of: dict[tuple[str, ...], dict[str, str]] = {}  # by the columns of a row
    found = defaultdict[str, dict[str, None]](dict)  # field -> its columns
    for number, row in chain(sample, rows):
        names = tuple(row)
        if names not in fields_of:
            fields_of[names] = _fields(table, number, row, is_picture, guess)
            for name, own in fields_of[names].items():
                found[own][name or "(unnamed)"] = None
        yield _record(table, number, row, fields_of[names])
    shown = [f"{own} from {', '.join(found[own])}" for own in FIELDS if own in found]
    shown += [f"{own}: {', '.join(found[own])}" for own in (ATTRIBUTE, LEFT_OUT) if own in found]
    if shown:
        notes.append(f"{table.name}: {'; '.join(shown)}")


def _fields(
    table: Path,
    number: int,
    row: dict[str, Any],
    is_picture: Callable[[str], bool] | None,
    guess: str | None,
) -> dict[str, str]:
    """The field of each column; the image is the best named one or the guess, every text column is
    a text.
    """
    best = {name: own for own, name in best_columns(tuple(row)).items()}
    best |= {name: "text" for name in row if plain_name(name) in KNOWN["text"]}
    if is_picture and "image" not in best.values():
        if guess not in row:
            message = (
                f"the row names no image; expected one of the fields {', '.join(IMAGES[:6])}, "
                f"found {', '.join(row) or 'none'}; a table begins with the names of its columns"
            )
            raise LineError(table, number, message)
        if is_picture(guess):
            message = "names a picture, not the columns; add a first row such as image,text"
            raise LineError(table, 1, f"the first row {message}")
        best[guess] = "image"
    is_flat = not table.name.lower().removesuffix(".gz").endswith(JSON)  # no lists in cells

    def field_of(name: str) -> str:
        if own := best.get(name):
            return "text" if own == "captions" and is_flat else own
        plain = plain_name(name)
        if plain in COUNTERS or plain.startswith("unnamed"):  # pandas' index, or an empty column
            return LEFT_OUT
        return "text" if NUMBERED_TEXT.fullmatch(plain) else ATTRIBUTE

    return {name: field_of(name) for name in row}


def _as_text(value: Any) -> Any:
    """Nothing is an empty text, and a number is its digits."""
    return "" if value is None else str(value) if isinstance(value, int | float) else value


def _split_name(name: str) -> str | None:
    if name and name.lower() not in SPLIT_NAMES:
        raise ValueError(f"{quoted(name)} is unknown; expected one of {', '.join(SPLIT_NAMES)}")
    return SPLIT_NAMES.get(name.lower())


Sentence = Annotated[str, Strict(), AfterValidator(clean)]
Text = Annotated[Sentence, BeforeValidator(_as_text)]
ImagePath = Annotated[str, Strict(), BeforeValidator(lambda path: "" if path is None else path)]


class QuestionAnswer(BaseModel):
    q: Sentence
    a: Sentence


class TableRow(BaseModel, extra="allow"):
    """A row of a table; columns that are not declared here are attributes."""

    id: Any = None
    split: Annotated[Text, AfterValidator(_split_name)] = ""
    captions: Annotated[list[Sentence], BeforeValidator(lambda captions: captions or [])] = []
    qa: Annotated[list[QuestionAnswer], BeforeValidator(lambda pairs: pairs or [])] = []
    attributes: Annotated[dict[str, Any], BeforeValidator(lambda attributes: attributes or {})] = {}


TABLE_ROW = TypeAdapter(TableRow)
IMAGE_CELLS = TypeAdapter(dict[str, ImagePath])  # by the names of their columns
TEXT_CELLS = TypeAdapter(dict[str, Text])


def _record(table: Path, number: int, row: dict[str, Any], fields: dict[str, str]) -> Record:
    def cells(kind: str) -> dict[str, Any]:
        return {name: row[name] for name, own in fields.items() if own == kind}

    images = validate(IMAGE_CELLS, table, number, cells("image"))
    texts = validate(TEXT_CELLS, table, number, cells("text"))
    others = {
        name if own == ATTRIBUTE else own: row[name]
        for name, own in fields.items()
        if own not in ("image", "text", LEFT_OUT)
    }
    values: TableRow = validate(TABLE_ROW, table, number, others)
    captions = dict.fromkeys(filter(None, [*texts.values(), *values.captions]))
    return Record(
        "" if values.id is None else str(values.id),
        next(iter(images.values()), ""),
        number,
        values.split or None,
        [caption for caption in captions if caption.lower() not in EMPTY_VALUES],
        without_empty(values.attributes | (values.model_extra or {})),
        [(pair.q, pair.a) for pair in values.qa if pair.q and pair.a],
        table,
    )


def without_empty(attributes: dict[str, Any]) -> dict[str, Any]:
    """The attributes that are nonempty texts, numbers or lists of texts."""
    kept: dict[str, Any] = {}
    for name, value in attributes.items():
        if isinstance(value, list):
            words = [clean(str(word)) for word in value if isinstance(word, str | int | float)]
            if words := list(filter(None, words)):
                kept[name] = words
        elif isinstance(value, (str, int, float)):
            plain = clean(value) if isinstance(value, str) else value
            if str(plain).lower() not in EMPTY_VALUES:
                kept[name] = plain
    return kept

"""Read a source: a folder of images, with or without a table that describes them.

The table is `manifest.jsonl`, or the only CSV or JSONL file in the folder, or `metadata` files in its folders, or
Karpathy's JSON file (karpathy.py), or one text file beside each image. README.md lists its fields.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, Strict, TypeAdapter

from genius.collections.folders import OTHER, TEXTS, UNNAMED, UNREADABLE, UNSUPPORTED, USED, FileReport, Folder
from genius.collections.karpathy import find_karpathy, karpathy_rows
from genius.collections.layout import SPLITS, leaves_folder
from genius.collections.lines import LineError, json_lines, validate
from genius.collections.tables import SUFFIXES as TABLES
from genius.collections.tables import Cells, file_text, table_rows
from genius.errors import UserError, quoted

PAIRS = "cir_pairs.jsonl"
METADATA = tuple(f"metadata{suffix}" for suffix in TABLES)  # in the folders of Hugging Face's image folders
SPLIT_NAMES = {name: name for name in (*SPLITS, "candidates")} | {"validation": "val", "valid": "val", "dev": "test"}
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
    table: Path | None = None  # that has the line, if it is not the source's

    @property
    def facts(self) -> dict[str, Any]:
        """What is kept of it with its image."""
        return {"id": self.id, **self.attributes}


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
    others: list[FileReport] = field(default_factory=list)  # the files that are no record's image
    notes: list[str] = field(default_factory=list)  # sentences about the table

    def error(self, record: Record, message: str) -> UserError:
        """An error that names the record's line, or its image file if there is no table."""
        if self.table is None:
            return UserError(f"{self.folder / record.image}: {message}")
        return LineError(record.table or self.table, record.line, message)


def read_source(root: Path) -> Source:
    """Read the table, or the list of image files. Opens no image. Raises UserError with file and line."""
    if not root.is_dir():
        raise UserError(f"{root} is not a folder; a source is a folder of images, with or without a table")
    table, karpathy, folder, notes = _find_table(root), find_karpathy(root), Folder(root), list[str]()
    texts: set[str] = set()  # files beside images
    if table is None and karpathy is not None:
        table, records = karpathy, _merge(folder, karpathy, karpathy_rows(karpathy))
    elif table is None and (inner := [Path(file) for file in sorted(folder.files) if Path(file).name in METADATA]):
        table, records = root / inner[0], []
        for file in inner:
            records += _merge(folder, root / file, table_rows(root / file, notes), file.parent)
        texts |= {file.as_posix() for file in inner}
    elif table is None:
        records = [Record(id=path, image=path, line=0) for path in folder.images]
        for record in records:
            if name := _text_beside(folder, record.image):
                texts.add(name)
                record.captions = list(filter(None, [_clean(file_text(root / name))]))
        if texts:
            notes.append(f"{len(texts):,} text files beside images are their captions")
    else:
        records = _merge(folder, table, table_rows(table, notes))
    others = _account(folder, records, texts, table)
    if not records and table is not None:
        raise UserError(f"{table} has no rows; expected one for each image, or no table if the images have no texts")
    if not records:
        found = "; ".join(dict.fromkeys(other.detail for other in others if other.outcome in (UNSUPPORTED, UNREADABLE)))
        raise UserError(
            f"{root} contains no images; a source needs PNG, JPEG, WebP, GIF, BMP, TIFF or AVIF files"
            + f" ({found})" * bool(found)
        )
    pairs = root / PAIRS
    return Source(root, table, records, list(_composed_pairs(pairs, records)) if pairs.is_file() else [], others, notes)


def _find_table(folder: Path) -> Path | None:
    if (folder / "manifest.jsonl").is_file():
        return folder / "manifest.jsonl"
    tables = sorted(
        file
        for file in folder.iterdir()
        if file.suffix.lower() in TABLES and file.is_file() and file.name != PAIRS and not file.name.startswith(".")
    )
    if len(tables) > 1:
        raise UserError(
            f"{folder} has several tables ({', '.join(file.name for file in tables)}); "
            "keep one, or rename the right one to manifest.jsonl"
        )
    return tables[0] if tables else None


def _text_beside(folder: Folder, image: str) -> str | None:
    """0001.txt, 0001.caption or 0001.jpg.txt of 0001.jpg."""
    stem = image.removesuffix(PurePosixPath(image).suffix)
    names = (stem + suffix for suffix in (".txt", ".TXT", ".caption"))
    return next((name for name in (*names, image + ".txt") if name in folder), None)


def _account(folder: Folder, records: list[Record], texts: set[str], table: Path | None) -> list[FileReport]:
    """What becomes of the files that are no record's image."""
    named = {record.image for record in records}
    used = texts | {PAIRS} | ({table.name} if table else set())
    unnamed = [FileReport(image, UNNAMED) for image in folder.images if image not in named]
    return unnamed + [
        FileReport(other.file, USED, TEXTS) if other.outcome == OTHER and other.file in used else other
        for other in folder.others
        if other.file not in named
    ]


def _merge(folder: Folder, table: Path, rows: Iterator[Cells], inside: Path = Path()) -> list[Record]:
    """One record per image, in the order of the table; further rows for an image add captions.

    inside: the folder that its paths are relative to; one named train, val or test is the split of its images.
    """
    by_image: dict[str, Record] = {}
    ids: set[str] = set()
    for number, image, texts, row in rows:
        record = _record(folder, table, number, image, texts, row, inside)
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


def _record(
    folder: Folder,
    table: Path,
    number: int,
    image: dict[str, Any],
    texts: dict[str, Any],
    row: dict[str, Any],
    inside: Path,
) -> Record:
    (name,) = validate(IMAGE_CELLS, table, number, image).values()
    texts = validate(TEXT_CELLS, table, number, texts)
    fields: TableRow = validate(TABLE_ROW, table, number, row)
    if not name:
        raise LineError(table, number, "the row names no image; name its file, or remove the row")
    name = (PurePosixPath(inside.as_posix()) / name).as_posix()
    try:
        path = folder.find(name) or PurePosixPath(name.replace("\\", "/")).as_posix()
    except UserError as error:
        raise LineError(table, number, str(error)) from None
    captions = dict.fromkeys(filter(None, [*texts.values(), *fields.captions]))
    return Record(
        path if fields.id in (None, "") else str(fields.id),
        path,
        number,
        fields.split or (SPLIT_NAMES.get(inside.parts[0].lower()) if inside.parts else None),
        [caption for caption in captions if caption.lower() not in EMPTY_VALUES[1:]],
        _without_empty(fields.attributes | fields.model_extra),
        [(pair.q, pair.a) for pair in fields.qa if pair.q and pair.a],
        table,
    )


def _clean(text: str) -> str:
    return " ".join(text.replace("\0", " ").split())


def _checked_image(path: str) -> str:
    if leaves_folder(path.replace("\\", "/")):
        raise ValueError(f"{quoted(path)} leaves the folder; give a path relative to the folder")
    return path


def _split_name(name: str) -> str | None:
    if name and name.lower() not in SPLIT_NAMES:
        raise ValueError(f"{quoted(name)} is unknown; expected one of {', '.join(SPLIT_NAMES)}")
    return SPLIT_NAMES.get(name.lower())


Sentence = Annotated[str, Strict(), AfterValidator(_clean)]
Text = Annotated[Sentence, BeforeValidator(lambda text: "" if text is None else text)]
ImagePath = Annotated[
    str, Strict(), AfterValidator(_checked_image), BeforeValidator(lambda path: "" if path is None else path)
]


class QuestionAnswer(BaseModel):
    q: Sentence
    a: Sentence


class TableRow(BaseModel, extra="allow"):
    """A row of a table; columns that are not declared here are attributes."""

    id: Any = None
    split: Annotated[Text, AfterValidator(_split_name)] = None
    captions: Annotated[list[Sentence], BeforeValidator(lambda captions: captions or [])] = []
    qa: Annotated[list[QuestionAnswer], BeforeValidator(lambda pairs: pairs or [])] = []
    attributes: Annotated[dict[str, Any], BeforeValidator(lambda attributes: attributes or {})] = {}


TABLE_ROW = TypeAdapter(TableRow)
IMAGE_CELLS, TEXT_CELLS = (
    TypeAdapter(dict[str, ImagePath]),
    TypeAdapter(dict[str, Text]),
)  # by the names of their columns


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

"""Read a source: a folder of images, with or without a table that describes them, or the table itself, or a dataset.

The table is `manifest.jsonl`, or the only CSV or JSONL file in the folder, or `metadata` files in its folders, or
Karpathy's JSON file, or one text file beside each image. README.md lists its fields.
"""

import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, Strict, TypeAdapter

from genius.collections.arrow import MANIFEST, Batch, dataset_batches, unpack
from genius.collections.encodings import code_page_note, decoded
from genius.collections.layout import SPLITS
from genius.collections.lines import LineError, file_bytes, json_lines, validate
from genius.collections.listing import CAPTION, UNHEARD, UNREADABLE, UNSUPPORTED, FileReport, Folder, is_elsewhere
from genius.collections.metadata import Beside, Said, drop_defaults, union
from genius.collections.tables import KARPATHY, Cells, names_images, table_rows
from genius.collections.tables import SUFFIXES as TABLES
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
    said: list[Said] = field(default_factory=list)  # by files beside it and, at last, by itself
    caption_from: str = ""  # where the caption is from, if it is not from a table or a text file

    @property
    def facts(self) -> dict[str, Any]:
        """What is kept of it with its image."""
        said = {name: value for said in self.said for name, value in said.facts.items()}
        return {"id": self.id, **self.origin, **said, **self.attributes}

    @property
    def origin(self) -> dict[str, str]:
        """What is kept of it with its caption."""
        return {CAPTION: self.caption_from} if self.caption_from else {}

    @property
    def heard(self) -> list[FileReport]:
        """Where its caption is from, and what could not be read."""
        problems = [said.problem for said in self.said if said.problem]
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
        speaking = [said for said in self.said if said.keywords]
        keywords = union(word for said in speaking for word in said.keywords)
        if not self.captions and (best := next((said for said in self.said if said.text), None)):
            self.captions, self.caption_from = [best.text], best.origin
        if last and keywords and not self.captions:
            self.captions = [", ".join(keywords)]
            origins = dict.fromkeys(said.origin for said in speaking)
            self.caption_from = f"{' and '.join(origins)} keywords"
        if last and keywords:
            self.attributes.setdefault("keywords", keywords)


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
    others: list[FileReport] = field(default_factory=list)  # the files that are no record's image, and missing ones
    missing: list[Record] = field(default_factory=list)  # whose images are not there
    notes: list[str] = field(default_factory=list)  # sentences about the table
    unpacked: TemporaryDirectory | None = None  # the folder, where it is deleted with this object

    def path_of(self, image: str) -> Path:
        return self.folder / image

    def error(self, record: Record, message: str) -> UserError:
        """An error that names the record's line, or its image file if there is no table."""
        if self.table is None:
            return UserError(f"{self.folder / record.image}: {message}")
        return LineError(record.table or self.table, record.line, message)


def read_source(root: Path) -> Source:
    """Read the table, or the list of image files. Opens no image. Raises UserError with file and line."""
    if batches := dataset_batches(root):
        return _unpacked(batches, root)
    chosen = [root.name] if root.is_file() and root.suffix.lower() in TABLES else []
    root = root.parent if chosen else root
    if not root.is_dir():
        raise UserError(f"{root} is not a folder of images, nor a table of them ({', '.join(TABLES)})")
    folder, notes = Folder(root), list[str]()
    beside = Beside(root, folder.files, folder.images)
    tables = chosen or _find_tables(root, folder, beside.files)
    texts = {PAIRS, *tables}  # files that are used, besides images
    records, missing = list[Record](), list[Record]()
    for name in tables:
        rows = table_rows(root / name, notes, folder.names_picture)
        records += _merge(folder, root / name, rows, missing, notes, PurePosixPath(name).parent)
    table = root / tables[0] if tables else None
    if table is None:
        records = [Record(id=path, image=path, line=0) for path in folder.images]
        texts |= _read_captions(folder, records, notes)
        for name in [name for name in folder.files if name.lower().endswith(TABLES)][:1]:
            notes.append(f"{name} is not read; name tables in folders metadata.csv, or put one into the folder itself")
    for record in records:
        record.hear(beside.of(record.image))
    texts |= beside.used
    for problem in beside.problems[:1]:
        notes.append(f"{len(beside.problems):,} .xmp files cannot be read; the first: {problem}")
    lost = [folder.missing(record.image, record.line) for record in missing]
    others = [*lost, *folder.unused({record.image for record in records}, texts)]
    if lost and not records:
        raise UserError(f"{table}: none of the pictures that it names is there; the first: {lost[0].detail}")
    if table is not None and not records:
        raise UserError(f"{table} has no rows; expected one for each image, or no table if the images have no texts")
    if not records:
        found = "; ".join(dict.fromkeys(other.detail for other in others if other.outcome in (UNSUPPORTED, UNREADABLE)))
        needed = "a source needs PNG, JPEG, WebP, GIF, BMP, TIFF or AVIF files"
        raise UserError(f"{root} contains no images; {needed}" + f" ({found})" * bool(found))
    pairs = root / PAIRS
    composed = list(_composed_pairs(pairs, [*records, *missing])) if pairs.is_file() else []
    return Source(root, table, records, composed, others, missing, list(dict.fromkeys(notes)))


def _unpacked(batches: Iterator[Batch], origin: Path) -> Source:
    """The records of a dataset, in a folder for the time being; errors name the dataset and its row."""
    folder = TemporaryDirectory(prefix="genius-")
    unpack(batches, Path(folder.name))
    try:
        source = read_source(Path(folder.name))
    except UserError as error:
        raise UserError(str(error).replace(str(Path(folder.name) / MANIFEST), str(origin))) from None
    for record in source.records:
        record.table = origin
    return replace(source, unpacked=folder)


def _find_tables(root: Path, folder: Folder, sidecars: set[str]) -> list[str]:
    """The table of a folder, or those in its folders. sidecars: files about one picture each."""
    if "manifest.jsonl" in folder:
        return ["manifest.jsonl"]
    files = [name for name in sorted(folder.files) if name != PAIRS]
    here = [name for name in files if "/" not in name]
    tables = [name for name in here if name.lower().endswith(TABLES)]
    karpathy = [name for name in here if name in KARPATHY]
    if not tables and len(karpathy) == 1:
        return karpathy
    if not tables:
        others = [name for name in here if name.lower().endswith((".txt", ".json")) and name not in sidecars]
        tables = [name for name in others if names_images(root / name, folder.names_picture)]
    if len(tables) > 1:
        raise UserError(
            f"{root} has several tables ({', '.join(tables)}); keep one, or rename the right one to manifest.jsonl"
        )
    inner = [name for name in files if PurePosixPath(name).name in METADATA]
    return tables or inner


def _read_captions(folder: Folder, records: list[Record], notes: list[str]) -> set[str]:
    """Read the text files beside images, which are their captions; returns their names."""
    pages: Counter[str] = Counter()
    texts, unread = set[str](), list[str]()
    for record in records:
        stem = record.image.removesuffix(PurePosixPath(record.image).suffix)
        names = (*(stem + suffix for suffix in (".txt", ".TXT", ".caption")), record.image + ".txt")
        if name := next((name for name in names if name in folder), None):
            try:
                text, page = decoded(file_bytes(folder.root / name), folder.root / name)
            except LineError as error:
                unread.append(str(error))
                continue
            texts.add(name)
            pages[page] += 1
            record.captions = [_clean(text)] if _clean(text) else []
    if texts:
        notes.append(f"{len(texts):,} text files beside images are their captions")
    notes += [f"{len(unread):,} cannot be read; the first: {text}" for text in unread[:1]]
    notes += [code_page_note(f"{count:,} of them", page) for page, count in pages.items() if page]
    return texts


def _merge(
    folder: Folder, table: Path, rows: Iterable[Cells], missing: list[Record], notes: list[str], inside: PurePosixPath
) -> list[Record]:
    """One record per image, in the order of the table; further rows for an image add captions.

    missing: gets the records whose images are not there. inside: the folder that its paths are relative to; one named
    train, val or test is the split of its images.
    """
    rows = list(rows)
    names = [str(next(iter(validate(IMAGE_CELLS, table, number, image).values()))) for number, image, _, _ in rows]
    files = [_find(folder, table, row[0], name, inside) for row, name in zip(rows, names, strict=True)]
    if not any(files):
        files = list(map(folder.find_below, names))
        for name, file in [(name, file) for name, file in zip(names, files, strict=True) if file][:1]:
            notes.append(
                f"{table.name}: its pictures are looked up by name in all folders; the first: {name} is {file}"
            )
    by_image: dict[str, Record] = {}
    ids: set[str] = set()
    for (number, _, texts, row), name, file in zip(rows, names, files, strict=True):
        record = _record(table, number, file or name or f"(line {number})", texts, row, inside)
        known = by_image.get(record.image)
        if known is None:
            if record.id in ids:
                raise LineError(table, number, f"the id {record.id!r} is repeated")
            ids.add(record.id)
            by_image[record.image] = record
        elif (record.captions or record.id == known.id) and not record.qa and record.split == known.split:
            known.captions = list(dict.fromkeys(known.captions + record.captions))
        else:
            repeated = f"the image {quoted(record.image)} is repeated"
            raise LineError(table, number, f"{repeated}; a further row may only add a text in the same split")
    elsewhere = {name: file for name, file in zip(names, files, strict=True) if file and is_elsewhere(name)}
    for name in islice(elsewhere, 1):
        notes.append(f"{table.name}: {len(elsewhere):,} paths or addresses are files here: {name} is {elsewhere[name]}")
    there = set(files)
    missing += (record for record in by_image.values() if record.image not in there)
    return [record for record in by_image.values() if record.image in there]


def read_rows(table: Path, notes: list[str]) -> Iterator[Record]:
    """One record for each row of a table, in its order; it need not have a picture. Raises LineError."""
    for number, image, texts, row in table_rows(table, notes, None):
        name = next(iter(validate(IMAGE_CELLS, table, number, image).values()), "")
        yield _record(table, number, name.replace("\\", "/"), texts, row, PurePosixPath())


def _find(folder: Folder, table: Path, number: int, name: str, inside: PurePosixPath) -> str | None:
    """The file that a row of a table in the folder `inside` names. Raises LineError if several fit, or one outside."""
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
        raise LineError(table, number, str(error)) from None


def _record(
    table: Path, number: int, image: str, texts: dict[str, Any], row: dict[str, Any], inside: PurePosixPath
) -> Record:
    texts = validate(TEXT_CELLS, table, number, texts)
    fields: TableRow = validate(TABLE_ROW, table, number, row)
    captions = dict.fromkeys(filter(None, [*texts.values(), *fields.captions]))
    return Record(
        image if fields.id in (None, "") else str(fields.id),
        image,
        number,
        fields.split or next(filter(None, map(SPLIT_NAMES.get, map(str.lower, reversed(inside.parts)))), None),
        [caption for caption in captions if caption.lower() not in EMPTY_VALUES[1:]],
        _without_empty(fields.attributes | fields.model_extra),
        [(pair.q, pair.a) for pair in fields.qa if pair.q and pair.a],
        table,
    )


def _clean(text: str) -> str:
    return " ".join(text.replace("\0", " ").split())


def _as_text(value: Any) -> Any:
    """Nothing is an empty text, and a number is its digits."""
    return "" if value is None else str(value) if isinstance(value, int | float) else value


def _split_name(name: str) -> str | None:
    if name and name.lower() not in SPLIT_NAMES:
        raise ValueError(f"{quoted(name)} is unknown; expected one of {', '.join(SPLIT_NAMES)}")
    return SPLIT_NAMES.get(name.lower())


Sentence = Annotated[str, Strict(), AfterValidator(_clean)]
Text = Annotated[Sentence, BeforeValidator(_as_text)]
ImagePath = Annotated[str, Strict(), BeforeValidator(lambda path: "" if path is None else path)]


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
IMAGE_CELLS = TypeAdapter(dict[str, ImagePath])  # by the names of their columns
TEXT_CELLS = TypeAdapter(dict[str, Text])


def _without_empty(attributes: dict[str, Any]) -> dict[str, Any]:
    """The attributes that are nonempty texts, numbers or lists of texts."""
    kept: dict[str, Any] = {}
    for name, value in attributes.items():
        if isinstance(value, list):
            if words := [word for word in map(_clean, map(str, value)) if word]:
                kept[name] = words
        elif isinstance(value, (str, int, float)):
            plain = _clean(value) if isinstance(value, str) else value
            if str(plain).lower() not in EMPTY_VALUES:
                kept[name] = plain
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

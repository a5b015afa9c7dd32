"""Read a source: a folder of images, with or without a table that describes them, or the table
itself, a dataset or an archive.

The table is `manifest.jsonl`, or the CSV, JSONL or Parquet file of the folder that names its
images, or `metadata` files in its folders, or Karpathy's JSON file, or one text file beside each
image. README.md lists its fields.
"""

import os
import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, Strict, TypeAdapter

from genius.collections.annotations import OBJECTS, read_annotations
from genius.collections.archives import is_archive, unpack_archive
from genius.collections.arrow import HUB, MANIFEST, Batch, dataset_batches, unpack
from genius.collections.class_folders import CATEGORY, categories, split_of_folder
from genius.collections.encodings import code_page_note, decoded
from genius.collections.images import SUFFIXES as IMAGES
from genius.collections.layout import SPLITS
from genius.collections.lines import LineError, file_bytes, json_lines, validate
from genius.collections.listing import (
    ARCHIVES,
    CAPTION,
    TEXTS,
    UNHEARD,
    UNREADABLE,
    UNSUPPORTED,
    USED,
    FileReport,
    Folder,
    is_elsewhere,
)
from genius.collections.metadata import Beside, Said, drop_defaults, union
from genius.collections.table_choice import PAIRS, Part, find_tables, is_table, parts_of
from genius.collections.tables import NUMBER, SPLIT_NAMES, table_rows
from genius.collections.tables import SUFFIXES as TABLES
from genius.errors import UserError, quoted

SHOWN = 500  # characters about archives in a message
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
            self.captions = [best.text]
            self.caption_from = best.origin
        if last and keywords and not self.captions:
            self.captions = [", ".join(keywords)]
            origins = dict.fromkeys(said.origin for said in speaking)
            self.caption_from = f"{' and '.join(origins)} keywords"
        if last and keywords:
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
        for name, value in version.attributes.items():
            self.attributes[name] = _with_words(self.attributes.get(name), value)
        self.qa = list(dict.fromkeys(self.qa + version.qa))
        self.said = version.said + self.said  # of two dates the own one counts
        self.versions += version.versions
        return True


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
    if not folder.images and any(map(is_archive, folder.files)):
        return _unarchived(
            root, folder.files, chosen if len(folder.files) > 1 else min(folder.files)
        )
    notes = folder.notes[:1] + [f"{len(folder.notes) - 1:,} more links to folders"] * (
        len(folder.notes) > 1
    )
    parts = parts_of(folder, [chosen]) if chosen else find_tables(folder, notes)
    table = root / parts[0].table if parts else None
    if parts:
        texts = {part.table for part in parts}  # files that are used, besides images
        records, missing = _read_tables(folder, parts, notes)
    else:
        records = [Record(id=path, image=path, line=0) for path in folder.images]
        missing = []
        texts = _read_beside(folder, records, notes)
    beside = Beside(root, folder.files, folder.images)
    for record in records:
        record.hear(beside.of(record.image))
    texts |= beside.used
    for problem in beside.problems[:1]:
        notes.append(
            f"{len(beside.problems):,} files beside pictures cannot be read; the first: {problem}"
        )
    lost = [folder.missing(record.image, record.line, bool(record.captions)) for record in missing]
    others = [*lost, *folder.unused({record.image for record in records}, {PAIRS, *texts})]
    if lost and not records:
        first = folder.missing(missing[0].image, missing[0].line, False).detail
        raise UserError(f"{table}: none of the pictures that it names is there; the first: {first}")
    if table is not None and not records:
        raise UserError(
            f"{table} has no rows; expected one for each image, or no table if the images "
            "have no texts"
        )
    if not records:
        found = "; ".join(
            dict.fromkeys(
                other.detail for other in others if other.outcome in (UNSUPPORTED, UNREADABLE)
            )
        )
        needed = "a source needs PNG, JPEG, WebP, GIF, BMP, TIFF or AVIF files"
        raise UserError(f"{root} contains no images; {needed}" + f" ({found})" * bool(found))
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
    for record in source.records:
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
        told = [other.detail for other in others if other.outcome in (UNREADABLE, UNSUPPORTED)]
        damaged = "".join(f"; {detail}" for detail in told)
        raise UserError(str(error).replace(temporary.name, str(root)) + damaged[:SHOWN]) from None
    for record in source.records:
        record.table = record.table and root / record.table.relative_to(inside)
    table = source.table and root / source.table.relative_to(inside)
    notes = ["archives are unpacked among temporary files while they are read", *source.notes]
    return replace(
        source, table=table, others=[*source.others, *others], notes=notes, unpacked=temporary
    )


def _read_beside(folder: Folder, records: list[Record], notes: list[str]) -> set[str]:
    """Read what annotations and text files say of images; returns the names of these files."""
    annotations = read_annotations(folder, notes)
    for record in records:
        record.split = annotations.splits.get(record.image)
        record.captions = list(
            dict.fromkeys(filter(None, map(_clean, annotations.captions.get(record.image, []))))
        )
        record.attributes = _without_empty(
            {OBJECTS: list(dict.fromkeys(annotations.objects.get(record.image, [])))}
        )
    for name in sorted(
        name for name in folder.files if "/" in name and name.lower().endswith(TABLES)
    )[:1]:
        notes.append(
            f"{name} is not read; name tables in folders metadata.csv, or put one into "
            "the folder itself"
        )
    files = annotations.files | _read_captions(folder, records, annotations.files, notes)
    if not any(record.captions or record.attributes for record in records):
        _read_folders(records, notes)
    return files


def _read_folders(records: list[Record], notes: list[str]) -> None:
    """Read what the names of folders say of the pictures in them."""
    named = categories([record.image for record in records])
    if named:
        names = sorted(set(named.values()))
        notes.append(
            f"{len(names):,} folders name what is in their pictures, as in {names[0]}: "
            f"attribute {CATEGORY}"
        )
    for record in records:
        if name := named.get(record.image):
            record.attributes = {CATEGORY: name}
            record.split = split_of_folder(record.image)


def _read_captions(
    folder: Folder, records: list[Record], others: set[str], notes: list[str]
) -> set[str]:
    """Read the text files beside images, but for the others, which are their captions; returns
    their names.
    """
    pages: Counter[str] = Counter()
    texts = set[str]()
    unread = list[str]()
    for record in records:
        stem = record.image.removesuffix(PurePosixPath(record.image).suffix)
        names = (*(stem + suffix for suffix in (".txt", ".TXT", ".caption")), record.image + ".txt")
        if name := next((name for name in names if name in folder and name not in others), None):
            try:
                text, page = decoded(file_bytes(folder.root / name), folder.root / name)
            except LineError as error:
                unread.append(str(error))
                continue
            texts.add(name)
            pages[page] += 1
            record.captions += [_clean(text)] if _clean(text) else []
    if texts:
        notes.append(f"{len(texts):,} text files beside images are their captions")
    notes += [f"{len(unread):,} cannot be read; the first: {text}" for text in unread[:1]]
    notes += [code_page_note(f"{count:,} of them", page) for page, count in pages.items() if page]
    return texts


def _read_tables(
    folder: Folder, parts: Sequence[Part], notes: list[str]
) -> tuple[list[Record], list[Record]]:
    """The records of the images that are there, and of those that are missing."""
    rows = list[Record]()
    there = set[str]()
    # of parts with the same columns what is noted of the last
    said: dict[tuple[str | None, ...], list[str]] = {}
    for part in parts:
        rows += _described(folder, part, there, own := list[str]())
        columns = next((note for note in own if ": image from " in note), "").partition(": ")[2]
        said[part.table if part.inside is None else "", part.split, columns] = own
    notes += chain.from_iterable(said.values())
    records = _merged(rows, there, notes)
    missing = [record for record in records if record.image not in there]
    return [record for record in records if record.image in there], missing


def _described(folder: Folder, part: Part, there: set[str], notes: list[str]) -> list[Record]:
    """A record for each row of a table. there: gets the images that are there."""
    table = folder.root / part.table
    inside = PurePosixPath(part.table).parent if part.inside is None else part.inside
    rows = list(table_rows(table, notes, folder.names_picture))
    names = [
        str(next(iter(validate(IMAGE_CELLS, table, number, image).values())))
        for number, image, _, _ in rows
    ]
    files = [
        _find(folder, table, row[0], name, inside) for row, name in zip(rows, names, strict=True)
    ]
    if not any(files):
        files = list(map(folder.find_below, names))
        for name, file in [(name, file) for name, file in zip(names, files, strict=True) if file][
            :1
        ]:
            notes.append(
                f"{table.name}: its pictures are looked up by name in all folders; the "
                f"first: {name} is {file}"
            )
    there |= set(filter(None, files))
    elsewhere = {
        name: file for name, file in zip(names, files, strict=True) if file and is_elsewhere(name)
    }
    for name in islice(elsewhere, 1):
        notes.append(
            f"{table.name}: {len(elsewhere):,} paths or addresses are files here: {name} "
            f"is {elsewhere[name]}"
        )
    split = part.split or next(
        filter(None, map(SPLIT_NAMES.get, map(str.lower, reversed(inside.parts)))), None
    )
    return [
        _record(table, number, file or name or f"(line {number})", texts, row, split)
        for (number, _, texts, row), name, file in zip(rows, names, files, strict=True)
    ]


def _add(known: Record, record: Record) -> list[str]:
    """Add the captions and attributes of a further row; returns what another table says
    differently.
    """
    known.captions = list(dict.fromkeys(known.captions + record.captions))
    known.qa = list(dict.fromkeys(known.qa + record.qa))
    different = []
    for name, cell in record.attributes.items():
        before = known.attributes.setdefault(name, cell)
        if record.table != known.table and str(before) != str(cell):
            different.append(f"{name} of {record.image} is {before} and {cell}")
        known.attributes[name] = _with_words(before, cell)
    return different


def _merged(rows: Iterable[Record], there: set[str], notes: list[str]) -> list[Record]:
    """One record per image, in the order of the tables; further rows for an image add captions, and
    other words to its attributes, as lists of boxes have a row for each.

    So do those of further tables, also without captions; what two tables say differently is noted.
    An image in the tables of several splits is of the last one: what tests is not trained on.
    """
    several: dict[str, str] = {}
    contradictions: dict[tuple[str, str], list[str]] = {}  # by the names of tables
    by_image: dict[tuple[Path | None, str], Record] = {}
    ids: set[tuple[Path | None, str]] = set()
    for record in rows:
        assert record.table, "each record is of a table"
        # what is missing here may be another picture there
        table = None if record.image in there else record.table
        known = by_image.get((table, record.image))
        if known is None:
            if (record.table, record.id) in ids:
                raise LineError(record.table, record.line, f"the id {record.id!r} is repeated")
            ids.add((record.table, record.id))
            by_image[table, record.image] = record
        elif _adds(record, known):
            assert known.table
            if different := _add(known, record):
                tables = known.table.name, record.table.name
                contradictions.setdefault(tables, []).extend(different)
            if record.split is None or known.split is None:
                known.split = known.split or record.split
            elif record.split != known.split:
                several[record.image] = known.split = max(
                    known.split, record.split, key=SPLITS.index
                )
        else:
            repeated = f"the image {quoted(record.image)} is repeated"
            raise LineError(
                record.table,
                record.line,
                f"{repeated}; a further row may only add a text in the same split",
            )
    for (one, other), cells in contradictions.items():
        notes.append(f"{one} and {other} differ in {len(cells):,} cells; the first: {cells[0]}")
    if several:
        image, split = next(iter(several.items()))
        notes.append(
            f"{len(several):,} images are in tables of several splits; the first: {image} "
            f"is in {split} alone"
        )
    return list(by_image.values())


def _with_words(known: Any, further: Any) -> Any:
    """An attribute with the words of a further row; of numbers, such as edges of boxes, the first
    is kept.
    """
    if known is None:
        return further
    told, words = (
        [*map(str, each)] if isinstance(each, list) else [str(each)] for each in (known, further)
    )
    added = [word for word in words if word not in told and not NUMBER.fullmatch(word)]
    return [*told, *added] if added else known


def _adds(record: Record, known: Record) -> bool:
    """Whether a further row for an image may add to it: one of another table, or a text in the same
    split.
    """
    if record.table != known.table:
        return record.split == known.split or {record.split, known.split} <= {None, *SPLITS}
    return (
        bool(record.captions or record.id == known.id)
        and not record.qa
        and record.split == known.split
    )


def read_rows(table: Path, notes: list[str]) -> Iterator[Record]:
    """One record for each row of a table, in its order; it need not have a picture. Raises
    LineError.
    """
    for number, image, texts, row in table_rows(table, notes, None):
        name = next(iter(validate(IMAGE_CELLS, table, number, image).values()), "")
        yield _record(table, number, name.replace("\\", "/"), texts, row, None)


def _find(folder: Folder, table: Path, number: int, name: str, inside: PurePosixPath) -> str | None:
    """The file that a row of a table in the folder `inside` names. Raises LineError if several fit,
    or one outside.
    """
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
    table: Path,
    number: int,
    image: str,
    texts: dict[str, Any],
    row: dict[str, Any],
    split: str | None,
) -> Record:
    texts = validate(TEXT_CELLS, table, number, texts)
    fields: TableRow = validate(TABLE_ROW, table, number, row)
    captions = dict.fromkeys(filter(None, [*texts.values(), *fields.captions]))
    return Record(
        image if fields.id in (None, "") else str(fields.id),
        image,
        number,
        fields.split or split,
        [caption for caption in captions if caption.lower() not in EMPTY_VALUES[1:]],
        _without_empty(fields.attributes | (fields.model_extra or {})),
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
    split: Annotated[Text, AfterValidator(_split_name)] = ""
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
            words = [str(word) for word in value if isinstance(word, str | int | float)]
            if words := [word for word in map(_clean, words) if word]:
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
            pair = ComposedPair(
                str(row["query_id"]), _clean(row["txt"]), str(row["target_id"]), number
            )
        except (KeyError, AttributeError):
            raise LineError(file, number, "expected query_id, txt and target_id") from None
        if not pair.text:
            raise LineError(
                file,
                number,
                "txt is empty; expected the change from the query image to the target image",
            )
        for name in (pair.query_id, pair.target_id):
            if name not in ids:
                raise LineError(
                    file, number, f"the id {quoted(name)} is not in the table of this folder"
                )
        yield pair

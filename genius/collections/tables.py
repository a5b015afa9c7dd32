"""Read the table of a source: CSV as spreadsheets write it, JSONL or Parquet, with the names people
give to columns; or Karpathy's splits of Flickr8k, Flickr30K and MSCOCO.
"""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import chain, islice, zip_longest
from pathlib import Path, PurePosixPath
from typing import Any

from genius.collections.arrow import parquet_rows
from genius.collections.encodings import code_page_note, decoded
from genius.collections.label_studio import plain_row
from genius.collections.layout import SPLITS
from genius.collections.lines import PACKED, LineError, file_bytes, parse_object
from genius.collections.listing import PICTURES
from genius.errors import UserError, quoted

SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet", *PACKED)
JSON = (".jsonl", ".json")
KARPATHY = tuple(f"dataset{name}.json" for name in ("", "_flickr8k", "_flickr30k", "_coco"))
SEPARATORS = ",;\t|"  # of a CSV file's cells
COLUMNS = {  # field -> the names of its columns, the best first
    "image": ["img_path", "image", "file", "image_path", "file_name", "path", "file_path"]
    + [
        "source_file",
        "img",
        "image_file",
        "image_name",
        "picture",
        "photo",
        "image_src",
        "image_url",
        "image_link",
    ],
    "text": [
        "txt",
        "text",
        "caption",
        "title",
        "description",
        "prompt",
        "sentence",
        "comment",
        "alt",
        "alt_text",
    ]
    + ["image_description", "caption_abstract"],
    **{field: [field] for field in ("id", "split", "captions", "qa", "attributes")},
}
NUMBERED_TEXT = re.compile(rf"({'|'.join(COLUMNS['text'])})\d+")
GROUP = re.compile(r"(xmp|xmp-dc|iptc|exif|ifd0|composite|file|png):", re.IGNORECASE)  # exiftool's
TOKEN = re.compile(r"(.+\.\w+)#\d+\t(.+)")  # a line of Flickr8k.token.txt
MAX_TABLE = 2**26  # bytes of a file that is looked at only because it may be a table
SAMPLE = 1000  # rows that are looked at to see which pictures they name
NUMBER = re.compile(r"(?!0\d)[\d.,+-]+")
NAMES = re.compile(r".*(id|key|name|number)|nr|no")  # columns whose numbers are names
HEAD = 20  # rows of a table that may stand above its header
NUMBERS = ("", "#", "index", "row", "level0")  # columns that only count the rows
SPLIT_NAMES = {name: name for name in (*SPLITS, "candidates")} | {
    "validation": "val",
    "valid": "val",
    "dev": "test",
}
Row = tuple[int, dict[str, Any]]
# line, image and texts by column, others by field
Cells = tuple[int, dict[str, Any], dict[str, Any], dict[str, Any]]


def split_of(table: str) -> str | None:
    """The split that the name of a table begins or ends with: train-00000-of-00002.parquet,
    captions_val2017.json.
    """
    words = re.findall("[a-z]+", PurePosixPath(_unpacked(table)).stem) or [""]
    return SPLIT_NAMES.get(words[0]) or SPLIT_NAMES.get(words[-1])


def _unpacked(table: str) -> str:
    """Its name in lower case, of a packed table without .gz."""
    name = table.lower()
    return name.removesuffix(".gz") if name.endswith(PACKED) else name


def names_images(file: Path, is_picture: Callable[[str], bool]) -> bool | None:
    """Whether most rows of a file name pictures that are here, so that it is no log. None: they do
    not, but it may be meant as a table of pictures that are missing, or it is damaged or empty.
    """
    is_table = file.name.lower().endswith(SUFFIXES)
    try:
        if not is_table and file.stat().st_size > MAX_TABLE:
            return False
        rows = [row for _, row in islice(_rows(file, []), SAMPLE)]
        if (
            file.suffix.lower() == ".json"
            and len(rows) == 1
            and not file_bytes(file).lstrip().startswith(b"[")
        ):
            return False  # what is said of one picture
    except (OSError, ValueError, UserError):
        return None if is_table else False
    guess = _image_column(rows, is_picture)
    is_named = any("image" in _known(tuple(row)) for row in rows)
    if not is_table and not is_named and guess and is_picture(guess):
        return False  # a list of pictures, without names of columns
    names = [_known(tuple(row)).get("image", guess) for row in rows]
    images = [row.get(name) for row, name in zip(rows, names) if name is not None]
    if sum(bool(image) and is_picture(str(image)) for image in images) > len(rows) / 2:
        return True
    suffixes = _image_column(rows, lambda cell: Path(cell).suffix.lower() in PICTURES)
    return None if is_table and (is_named or suffixes or not rows) else False


def same_rows(one: Path, other: Path) -> bool:
    """Whether two tables have the same rows, and have any. Raises UserError if one is damaged."""

    def rows(table: Path) -> Iterator[dict[str, str]]:
        return (
            {name: "" if cell is None else str(cell) for name, cell in row.items()}
            for _, row in _rows(table, [])
        )

    return any(rows(one)) and all(row == twin for row, twin in zip_longest(rows(one), rows(other)))


def _image_column(rows: Sequence[dict[str, Any]], is_picture: Callable[[str], bool]) -> str | None:
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


@lru_cache
def _known(names: tuple[str, ...]) -> dict[str, str]:
    """field -> the best named column, of the fields that are recognized by the names of their
    columns.
    """
    plain = {name: plain_name(name) for name in names}
    best = {}
    for field, known in COLUMNS.items():
        places = {plain_name(name): place for place, name in enumerate(known)}
        if fits := [(places[plain[name]], name) for name in names if plain[name] in places]:
            best[field] = min(fits)[1]
    return best


def table_rows(
    table: Path, notes: list[str], is_picture: Callable[[str], bool] | None
) -> Iterator[Cells]:
    """Yield the rows of a table. notes: gets sentences about what was recognized. Raises LineError.

    is_picture: whether a cell names a picture, to find their column if it has another name than
    usual; None: rows need not name any.
    """
    found: dict[str, list[str]] = {}
    names: dict[tuple[str, ...], list[tuple[str, str]]] = {}  # keys of a row -> (name, field)
    rows = _rows(table, notes)
    sample = list(islice(rows, SAMPLE if is_picture else 0))
    guess = _image_column([row for _, row in sample], is_picture) if is_picture else None
    for number, row in chain(sample, rows):
        keys = tuple(row)
        if keys not in names:
            names[keys] = _recognized(table, number, row, is_picture, guess)
            for name, field in names[keys]:
                known = found.setdefault(field, [])
                known += [name] * (name not in known)
        of_field: dict[str, dict[str, Any]] = {"image": {}, "text": {}, "": {}}
        for name, field in names[keys]:
            if field != "left out":
                place = of_field[field if field in of_field else ""]
                place[name if place is not of_field[""] or field == "attribute" else field] = row[
                    name
                ]
        yield number, of_field["image"], of_field["text"], of_field[""]
    if found:
        shown = {
            field: ", ".join(name or "(unnamed)" for name in columns)
            for field, columns in found.items()
        }
        notes.append(
            f"{table.name}: "
            + "; ".join(f"{field} from {shown[field]}" for field in COLUMNS if field in shown)
        )
        notes[-1] += "".join(
            f"; {field}: {shown[field]}" for field in ("attribute", "left out") if field in shown
        )


def _rows(table: Path, notes: list[str]) -> Iterator[Row]:
    """Number and cells of each row."""
    suffix = PurePosixPath(_unpacked(table.name)).suffix
    if suffix == ".parquet":
        return parquet_rows(table)
    text, page = decoded(file_bytes(table), table)
    if page:
        notes.append(code_page_note(table.name, page))
    if table.name in KARPATHY:
        return _karpathy_rows(table, text)
    if suffix in JSON and text.lstrip().startswith("["):  # one list of all
        return ((number, plain_row(row)) for number, row in _listed(table, text))
    if suffix == ".json" and (rows := _rows_of_object(text)):
        return _karpathy_rows(table, text) if "sentences" in rows[0] else enumerate(rows, 1)
    lines = [
        (number, line)
        for number, line in enumerate(io.StringIO(text, newline=None), 1)
        if line.strip()
    ]
    tokens = [TOKEN.fullmatch(line.strip()) for _, line in lines] if suffix == ".txt" else []
    if tokens and all(tokens):
        captions = (match.groups() for match in tokens if match)
        return (
            (number, dict(zip(("image", "caption"), each, strict=True)))
            for number, each in enumerate(captions, 1)
        )
    if suffix in JSON:
        return ((number, parse_object(table, number, line)) for number, line in lines)
    return ((number, plain_row(row)) for number, row in _csv_rows(table, lines, notes))


def _rows_of_object(text: str) -> list[dict[str, Any]]:
    """The rows of a JSON object: its only list of objects, or what it says by the names of
    pictures; else none.
    """
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return []  # an object a line
    if not isinstance(whole, dict):
        return []
    lists = [value for value in whole.values() if isinstance(value, list) and value]
    lists = [value for value in lists if all(isinstance(row, dict) for row in value)]
    if len(lists) == 1:
        return lists[0]
    rows = []
    for name, said in whole.items():
        if isinstance(said, dict):
            rows.append(said if "image" in _known(tuple(said)) else {"image": name, **said})
        else:
            column = (
                "captions"
                if isinstance(said, list)
                else "caption"
                if isinstance(said, str)
                else "label"
            )
            rows.append({"image": name, column: said})
    return rows


def _listed(table: Path, text: str) -> Iterator[Row]:
    """The objects of a JSON list, by number."""
    try:
        records = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LineError(table, 0, f"the file is not JSON ({error})") from None
    for number, record in enumerate(records, 1):
        yield number, parse_object(table, number, json.dumps(record))


def _karpathy_rows(table: Path, text: str) -> Iterator[Row]:
    """Its images, by number; `restval`, the part of MSCOCO's validation images that is trained on,
    is train.
    """
    try:
        for number, image in enumerate(json.loads(text)["images"], 1):
            path = "/".join(filter(None, (image.get("filepath"), image["filename"])))
            captions = [sentence["raw"] for sentence in image["sentences"]]
            split = "train" if image["split"] == "restval" else image["split"]
            yield number, {"filename": path, "captions": captions, "split": split}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        expected = '{"images": [{"filename": …, "split": …, "sentences": [{"raw": …}]}]}'
        message = f"expected {expected}, the layout of Karpathy’s splits ({error})"
        raise LineError(table, 0, message) from None


def _recognized(
    table: Path,
    number: int,
    row: dict[str, Any],
    is_picture: Callable[[str], bool] | None,
    guess: str | None,
) -> list[tuple[str, str]]:
    """(name, field) for each column; the image is the best named one or the guess, every text
    column is a text.
    """
    names = tuple(row)
    plain = {name: plain_name(name) for name in row}
    fields = {name: field for field, name in _known(names).items()}
    fields |= {name: "text" for name in names if plain[name] in COLUMNS["text"]}
    if is_picture and "image" not in fields.values() and guess in row:
        if is_picture(guess):
            message = "names a picture, not the columns; add a first row such as image,text"
            raise LineError(table, 1, f"the first row {message}")
        fields[guess] = "image"
    if is_picture and "image" not in fields.values():
        expected = ", ".join(COLUMNS["image"][:6])
        raise LineError(
            table,
            number,
            f"the row names no image; expected one of the fields {expected}, found "
            f"{', '.join(names) or 'none'}; "
            "a table begins with the names of its columns",
        )

    def field_of(name: str) -> str:
        # pandas' index, or an empty column
        if plain[name] in NUMBERS or plain[name].startswith("unnamed"):
            return "left out"
        return "text" if NUMBERED_TEXT.fullmatch(plain[name]) else "attribute"

    is_flat = not _unpacked(table.name).endswith(JSON)  # no lists in cells
    lists = {"captions": "text"} if is_flat else {}
    return [
        (name, lists.get(fields.get(name, ""), fields.get(name)) or field_of(name))
        for name in names
    ]


def plain_name(name: str) -> str:
    """ "Image Path" -> "imagepath"; exiftool's "XMP:Description" -> "description" """
    return re.sub(r"[\s_-]+", "", GROUP.sub("", name.strip().strip("\"'").lower()))


def _csv_rows(table: Path, lines: Sequence[tuple[int, str]], notes: list[str]) -> Iterator[Row]:
    """Yield (line number, row) for a CSV file with a header; quoted cells may contain line breaks.

    The header is the first row that names an image, and its separator the one by which it has most
    cells; a first line `sep=;` says it. Empty rows, and empty cells behind the last column, are
    what spreadsheets leave.
    """
    separators = SEPARATORS
    if lines and (said := re.fullmatch(r'"?sep=(.)"?[,;]*', lines[0][1].strip(), re.IGNORECASE)):
        separators, lines = said[1], lines[1:]
    separator = min(separators, key=lambda separator: _header(lines, separator)[0])
    (_, above, _), header = _header(lines, separator)
    if above:
        notes.append(f"{table.name}: {above:,} rows above the header are not read")
    numbers: list[int] = []
    reader = _reader(lines, separator, numbers)
    try:
        for _ in range(above + 1):
            next(reader, None)
        while header and not header[-1]:
            header.pop()
        named = [name for name in header if name]
        if len(set(named)) < len(named):
            twice = next(name for name in named if named.count(name) > 1)
            raise LineError(
                table, numbers[-1], f"two columns have the same name, {quoted(twice)}; rename one"
            )
        for cells in reader:
            if len(cells) < len(header) or any(cell.strip() for cell in cells[len(header) :]):
                raise LineError(
                    table,
                    numbers[-1],
                    f"the row has {len(cells)} cells, but the header has {len(header)}",
                )
            yield numbers[-1], dict(zip(header, cells, strict=False))
    except csv.Error as error:
        raise LineError(table, numbers[-1], f"the row is not valid CSV ({error})") from None


def _reader(
    lines: Sequence[tuple[int, str]], separator: str, numbers: list[int]
) -> Iterator[list[str]]:
    """The rows with cells that are not empty. numbers: gets those of the lines that were read."""

    def texts() -> Iterator[str]:
        for number, text in lines:
            numbers.append(number)
            yield text

    return (
        cells
        for cells in csv.reader(texts(), delimiter=separator, strict=True)
        if any(map(str.strip, cells))
    )


def _header(
    lines: Sequence[tuple[int, str]], separator: str
) -> tuple[tuple[bool, int, int], list[str]]:
    """The first row that names an image, or else the first, and how bad it is: (names none, rows
    above, −cells).
    """
    names = set(map(plain_name, COLUMNS["image"]))
    rows = list[list[str]]()
    with suppress(csv.Error):
        for cells in islice(_reader(lines, separator, []), HEAD):
            rows.append([cell.strip() for cell in cells])
            if names & set(map(plain_name, cells)):
                return (False, len(rows) - 1, -len(cells)), rows[-1]
    header = rows[0] if rows else []
    return (True, 0, -len(header)), header

"""The rows of a table's file: CSV as spreadsheets write it, JSON or Parquet, Karpathy's splits of
Flickr8k, Flickr30K and MSCOCO, exports of Label Studio; and the names that people give to columns.
"""

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from genius.collections.arrow import parquet_rows
from genius.collections.encodings import code_page_note, decoded
from genius.collections.lines import PACKED, LineError, file_bytes, parse_object
from genius.errors import quoted

SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet", *PACKED)
JSON = (".jsonl", ".json")
KARPATHY = tuple(f"dataset{name}.json" for name in ("", "_flickr8k", "_flickr30k", "_coco"))
SEPARATORS = ",;\t|"  # of a CSV file's cells
# names of the column of pictures, the best first
IMAGES = ["img_path", "image", "file", "image_path", "file_name", "path", "file_path"]
IMAGES += ["source_file", "img", "image_file", "image_name", "picture", "photo"]
IMAGES += ["image_src", "image_url", "image_link"]
TEXTS = ["txt", "text", "caption", "title", "description", "prompt", "sentence", "comment"]
TEXTS += ["alt", "alt_text", "image_description", "caption_abstract"]
FIELDS = ("image", "text", "id", "split", "captions", "qa", "attributes")
GROUP = re.compile(r"(xmp|xmp-dc|iptc|exif|ifd0|composite|file|png):", re.IGNORECASE)  # exiftool's
TOKEN = re.compile(r"(.+\.\w+)#\d+\t(.+)")  # a line of Flickr8k.token.txt
MAX_ABOVE = 20  # rows of a CSV file among which its header is looked for
WORK = {"annotation_id", "lead_time"}  # columns of Label Studio's CSV and JSON-MIN
# what they say of the work, not of the picture
ABOUT = WORK | {"annotator", "created_at", "updated_at"}
Row = tuple[int, dict[str, Any]]  # its number or line, and its cells


def file_rows(table: Path, notes: list[str]) -> Iterator[Row]:
    """The rows of a table. notes: gets sentences about what was recognized. Raises LineError."""
    suffix = PurePosixPath(table.name.lower().removesuffix(".gz")).suffix
    if suffix == ".parquet":
        return parquet_rows(table)
    text, page = decoded(file_bytes(table), table)
    if page:
        notes.append(code_page_note(table.name, page))
    if table.name in KARPATHY:
        return _karpathy_rows(table, text)
    if suffix in JSON and text.lstrip().startswith("["):  # one list of all
        return _listed(table, text)
    if suffix == ".json" and (rows := _rows_of_object(text)):
        return _karpathy_rows(table, text) if "sentences" in rows[0] else enumerate(rows, 1)
    lines = [each for each in enumerate(io.StringIO(text, newline=None), 1) if each[1].strip()]
    tokens = [TOKEN.fullmatch(line.strip()) for _, line in lines] if suffix == ".txt" else []
    if tokens and all(tokens):
        return enumerate(({"image": match[1], "caption": match[2]} for match in tokens if match), 1)
    if suffix in JSON:
        return ((number, parse_object(table, number, line)) for number, line in lines)
    return _csv_rows(table, lines, notes)


def plain_name(name: str) -> str:
    """ "Image Path" -> "imagepath"; exiftool's "XMP:Description" -> "description" """
    return re.sub(r"[\s_-]+", "", GROUP.sub("", name.strip().strip("\"'").lower()))


# field -> the names of its columns, plain
KNOWN = {field: [field] for field in FIELDS} | {
    "image": list(map(plain_name, IMAGES)),
    "text": list(map(plain_name, TEXTS)),
}


@lru_cache
def best_columns(names: tuple[str, ...]) -> dict[str, str]:
    """field -> the best named column, of the fields that have one."""
    best = {}
    for field, known in KNOWN.items():
        plain = ((plain_name(name), name) for name in names)
        if fits := [(known.index(one), name) for one, name in plain if one in known]:
            best[field] = min(fits)[1]
    return best


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
    columns: dict[type, str] = {list: "captions", str: "caption"}
    rows = []
    for name, said in whole.items():
        if not isinstance(said, dict):
            said = {columns.get(type(said), "label"): said}
        rows.append(said if "image" in best_columns(tuple(said)) else {"image": name, **said})
    return rows


def _listed(table: Path, text: str) -> Iterator[Row]:
    """The objects of a JSON list, by number."""
    try:
        records = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LineError(table, 0, f"the file is not JSON ({error})") from None
    for number, record in enumerate(records, 1):
        yield number, _plain_row(parse_object(table, number, json.dumps(record)))


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


def _csv_rows(table: Path, lines: Sequence[tuple[int, str]], notes: list[str]) -> Iterator[Row]:
    """Yield (line number, row) for a CSV file with a header; quoted cells may contain line breaks.

    The header is the first row that names an image, and its separator the one by which it has most
    cells; a first line `sep=;` says it. Empty rows, and empty cells behind the last column, are
    what spreadsheets leave.
    """
    separators = SEPARATORS
    if lines and (said := re.fullmatch(r'"?sep=(.)"?[,;]*', lines[0][1].strip(), re.IGNORECASE)):
        separators, lines = said[1], lines[1:]
    separator = min(separators, key=lambda separator: _header(table, lines, separator))
    _, above, _ = _header(table, lines, separator)
    if above:
        notes.append(f"{table.name}: {above:,} rows above the header are not read")
    rows = _csv_cells(table, lines, separator)
    number, header = next(islice(rows, above, None), (0, []))
    header = [name.strip() for name in header]
    while header and not header[-1]:
        header.pop()
    named = [name for name in header if name]
    if twice := next((name for name in named if named.count(name) > 1), None):
        message = f"two columns have the same name, {quoted(twice)}; rename one"
        raise LineError(table, number, message)
    for number, cells in rows:
        if len(cells) < len(header) or any(map(str.strip, cells[len(header) :])):
            message = f"the row has {len(cells)} cells, but the header has {len(header)}"
            raise LineError(table, number, message)
        yield number, _plain_row(dict(zip(header, cells, strict=False)))


def _csv_cells(
    table: Path, lines: Sequence[tuple[int, str]], separator: str
) -> Iterator[tuple[int, list[str]]]:
    """The number of the last line, and the cells, of each row with cells that are not empty."""
    reader = csv.reader((text for _, text in lines), delimiter=separator, strict=True)
    try:
        for cells in reader:
            if any(map(str.strip, cells)):
                yield lines[reader.line_num - 1][0], cells
    except csv.Error as error:
        message = f"the row is not valid CSV ({error})"
        raise LineError(table, lines[reader.line_num - 1][0], message) from None


def _header(table: Path, lines: Sequence[tuple[int, str]], separator: str) -> tuple[bool, int, int]:
    """How bad the header is, the first row that names an image, or else the first: (names none,
    rows above, −cells).
    """
    widths = []
    with suppress(LineError):
        for _, cells in islice(_csv_cells(table, lines, separator), MAX_ABOVE):
            widths.append(len(cells))
            if not set(KNOWN["image"]).isdisjoint(map(plain_name, cells)):
                return False, len(widths) - 1, -len(cells)
    return True, 0, -widths[0] if widths else 0


def _plain_row(row: dict[str, Any]) -> dict[str, Any]:
    """The row, with what was chosen and written if it is one of Label Studio's."""
    if isinstance(row.get("data"), dict) and isinstance(row.get("annotations"), list):
        return {"id": row.get("id"), **row["data"], **_answers(row["annotations"])}
    if row.keys() >= WORK:
        return {name: _plain(cell) for name, cell in row.items() if name not in ABOUT}
    return row


def _answers(annotations: list[Any]) -> dict[str, Any]:
    """The answers of all annotators to the questions about a task, by the name of the question."""
    answers: dict[str, Any] = {}
    valid = (one for one in annotations if isinstance(one, dict) and not one.get("was_cancelled"))
    lists = (results for one in valid if isinstance(results := one.get("result"), list))
    for result in (each for results in lists for each in results if isinstance(each, dict)):
        kind = str(result.get("type"))
        name = "captions" if kind == "textarea" else str(result.get("from_name", kind))
        words = answers.setdefault(name, [])
        words += [word for word in _words(result.get("value")) if word not in words]
    return {
        name: words if name == "captions" else _alone(words)
        for name, words in answers.items()
        if words
    }


def _plain(cell: Any) -> Any:
    """What a cell that holds JSON says in words."""
    if isinstance(cell, str) and cell.startswith(("[", "{")):
        with suppress(ValueError, RecursionError):
            cell = json.loads(cell)
    return _alone(list(dict.fromkeys(_words(cell)))) if isinstance(cell, list | dict) else cell


def _words(value: Any, depth: int = 6) -> Iterator[str]:
    """The texts in lists, and ratings: of a box its labels, not its numbers. depth: of lists that
    are looked into.
    """
    inner = value if isinstance(value, list) else []
    if isinstance(value, dict):
        inner = [cell for cell in value.values() if isinstance(cell, list)]
        inner += [str(cell) for name, cell in value.items() if name == "rating"]
    for cell in inner:
        if isinstance(cell, str):
            yield cell
        elif depth:
            yield from _words(cell, depth - 1)


def _alone(words: list[str]) -> Any:
    return words[0] if len(words) == 1 else words

"""Read the table of a source: CSV as spreadsheets write it, or JSONL, with the names that people give to columns."""

import codecs
import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from genius.collections.lines import LineError, json_lines, text_lines

SUFFIXES = (".csv", ".tsv", ".jsonl")
SEPARATORS = ",;\t|"  # of a CSV file's cells
COLUMNS = {  # field -> the names of its columns, the best first
    "image": ["img_path", "image", "file", "image_path", "file_name", "path", "file_path"]
    + ["img", "image_file", "image_name"],
    "text": ["txt", "text", "caption", "title", "description"],
    **{field: [field] for field in ("id", "split", "captions", "qa", "attributes")},
}
NUMBERED_TEXT = re.compile(rf"({'|'.join(COLUMNS['text'])})\d+")
UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
NUMBERS = ("", "#", "index", "row", "level0")  # columns that only count the rows
Row = tuple[int, dict[str, Any]]
Cells = tuple[int, dict[str, Any], dict[str, Any], dict[str, Any]]  # line, image and texts by column, others by field


def table_rows(table: Path, notes: list[str]) -> Iterator[Cells]:
    """Yield the rows of a table. notes: gets a sentence about what was recognized. Raises LineError."""
    rows = json_lines(table) if table.suffix.lower() == ".jsonl" else _csv_rows(table)
    found: dict[str, list[str]] = {}
    names: dict[tuple[str, ...], list[tuple[str, str]]] = {}  # keys of a row -> (name, field)
    for number, row in rows:
        keys = tuple(row)
        if keys not in names:
            names[keys] = _recognized(table, number, keys)
            for name, field in names[keys]:
                known = found.setdefault(field, [])
                known += [name] * (name not in known)
        of_field: dict[str, dict[str, Any]] = {"image": {}, "text": {}, "": {}}
        for name, field in names[keys]:
            if field != "left out":
                place = of_field[field if field in of_field else ""]
                place[name if place is not of_field[""] or field == "attribute" else field] = row[name]
        yield number, *of_field.values()
    if found:
        shown = {field: ", ".join(name or "(unnamed)" for name in columns) for field, columns in found.items()}
        notes.append(
            f"{table.name}: " + "; ".join(f"{field} from {shown[field]}" for field in COLUMNS if field in shown)
        )
        notes[-1] += "".join(f"; {field}: {shown[field]}" for field in ("attribute", "left out") if field in shown)


def _recognized(table: Path, number: int, names: tuple[str, ...]) -> list[tuple[str, str]]:
    """(name, field) for each column; the image is the best named one, every text column is a text."""
    plain = {name: plain_name(name) for name in names}
    fields = {}
    for field, known in COLUMNS.items():
        places = {plain_name(name): place for place, name in enumerate(known)}
        fits = sorted((places[plain[name]], name) for name in names if plain[name] in places)
        fields |= dict.fromkeys((name for _, name in (fits if field == "text" else fits[:1])), field)
    if "image" not in fields.values():
        expected = ", ".join(COLUMNS["image"][:6])
        raise LineError(
            table,
            number,
            f"the row names no image; expected one of the fields {expected}, found {', '.join(names) or 'none'}",
        )

    def field_of(name: str) -> str:
        if plain[name] in NUMBERS or plain[name].startswith("unnamed"):  # pandas' index, or an empty column
            return "left out"
        return "text" if NUMBERED_TEXT.fullmatch(plain[name]) else "attribute"

    is_flat = table.suffix.lower() != ".jsonl"  # no lists in cells
    lists = {"captions": "text"} if is_flat else {}
    return [(name, lists.get(fields.get(name, ""), fields.get(name)) or field_of(name)) for name in names]


def plain_name(name: str) -> str:
    """ "Image Path" -> "imagepath" """
    return re.sub(r"[\s_-]+", "", name.strip().strip("\"'").lower())


def _csv_rows(table: Path) -> Iterator[Row]:
    """Yield (line number, row) for a CSV file with a header; quoted cells may contain line breaks.

    Cells are separated by commas, or by what the header has more of; a first line `sep=;` says it. Empty rows, and
    empty cells behind the last column, are what spreadsheets leave.
    """
    lines = list(_lines(table))
    if lines and (said := re.fullmatch(r'"?sep=(.)"?[,;]*', lines[0][1].strip(" \r\n"), re.IGNORECASE)):
        separator = said[1]
        lines = lines[1:]
    else:
        header_line = re.sub(r'"[^"]*"', "", lines[0][1]) if lines else ""
        separator = max(SEPARATORS, key=header_line.count)
    numbers = []

    def texts() -> Iterator[str]:
        for number, text in lines:
            numbers.append(number)
            yield text + "\n"

    reader = csv.reader(texts(), delimiter=separator, strict=True)
    try:
        header = [name.strip() for name in next((cells for cells in reader if any(map(str.strip, cells))), [])]
        while header and not header[-1]:
            header.pop()
        named = [name for name in header if name]
        if len(set(named)) < len(named):
            raise LineError(table, numbers[-1], "two columns have the same name")
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) < len(header) or any(cell.strip() for cell in cells[len(header) :]):
                raise LineError(table, numbers[-1], f"the row has {len(cells)} cells, but the header has {len(header)}")
            yield numbers[-1], dict(zip(header, cells, strict=False))
    except csv.Error as error:
        raise LineError(table, numbers[-1], f"the row is not valid CSV ({error})") from None


def file_text(file: Path) -> str:
    """The text of a small file, in UTF-8 or UTF-16."""
    return "\n".join(text for _, text in _lines(file))


def _lines(table: Path) -> Iterator[tuple[int, str]]:
    """The nonblank lines of a file in UTF-8 or, as Excel's "Unicode text", in UTF-16."""
    try:
        with table.open("rb") as stream:
            head = stream.read(2)
    except OSError:
        head = b""
    wide = "utf-16" if head in UTF16 else {b"\0": "utf-16-be"}.get(head[:1]) or {b"\0": "utf-16-le"}.get(head[1:])
    if wide is None:
        yield from text_lines(table)
        return
    try:
        text = table.read_text(encoding=wide)
    except (UnicodeError, OSError):
        raise LineError(table, 0, "the file is not whole UTF-16; save it as UTF-8") from None
    for number, line in enumerate(io.StringIO(text), 1):
        if line.strip():
            yield number, line.rstrip("\r\n")

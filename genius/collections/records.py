"""One line of an M-BEIR file, read: a candidate, a query, or a relevance judgement.

The reader and the checker both read through here, so what one refuses the other does too.
Every complaint is a LineError, which names file and line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from genius.collections.keys import id_key
from genius.collections.layout import TASKS, leaves_folder
from genius.collections.lines import LineError, parse_object, text_lines
from genius.schema import Item, LabelledQuery, Modality


@dataclass(frozen=True, slots=True)
class Judgement:
    """One line of a qrels file."""

    query: int  # key of the query's id
    candidate: int  # key of the candidate's id
    relevant: bool


def items(file: Path) -> Iterator[Item]:
    """The candidates of a pool file."""
    for number, text in text_lines(file):
        yield parse_item(file, number, text)


def queries(file: Path) -> Iterator[LabelledQuery]:
    """The queries of a query file, with the positives that the query lines themselves name."""
    for number, text in text_lines(file):
        yield parse_query(file, number, text)


def judgements(file: Path) -> Iterator[Judgement]:
    """The relevance judgements of a qrels file."""
    for number, text in text_lines(file):
        yield parse_judgement(file, number, text)


def parse_item(file: Path, line: int, json: str) -> Item:
    record = parse_object(file, line, json)
    text, image = _text(file, line, record, "txt"), _image(file, line, record, "img_path")
    return Item(
        _id(file, line, record, "did"),
        _modality(file, line, record, "modality", text, image),
        text,
        image,
        _text(file, line, record, "src_content"),
    )


def parse_query(file: Path, line: int, json: str) -> LabelledQuery:
    record = parse_object(file, line, json)
    text, image = _text(file, line, record, "query_txt"), _image(file, line, record, "query_img_path")
    task = record.get("task_id")
    if type(task) is not int or task not in TASKS:
        raise LineError(file, line, f"task_id must be one of {', '.join(map(str, TASKS))}, found {task!r}")
    return LabelledQuery(
        _id(file, line, record, "qid"),
        _modality(file, line, record, "query_modality", text, image),
        task,
        text,
        image,
        _ids(file, line, record, "pos_cand_list"),
        _ids(file, line, record, "neg_cand_list"),
        _text(file, line, record, "query_src_content"),
    )


def parse_judgement(file: Path, line: int, text: str) -> Judgement:
    fields = text.split()
    if len(fields) < 4:
        raise LineError(file, line, "expected: query id, 0, candidate id, relevance, task id")
    if not fields[3].lstrip("-").isdigit():
        raise LineError(file, line, f"relevance must be a whole number, found {fields[3]!r}")
    try:
        return Judgement(id_key(fields[0]), id_key(fields[2]), int(fields[3]) > 0)
    except ValueError as error:
        raise LineError(file, line, str(error)) from None


def parse_modality(name: str) -> Modality:
    """Read M-BEIR's name; its card also writes "text,image". Raises ValueError that lists the choices."""
    return Modality.from_mbeir("image,text" if name == "text,image" else name)


def _id(file: Path, line: int, record: dict[str, Any], field: str) -> str:
    try:
        value = record[field]
        id_key(value)
    except KeyError:
        raise LineError(file, line, f"the field {field} is missing") from None
    except TypeError:
        raise LineError(file, line, f"{field} must be a text, found {type(value).__name__}") from None
    except ValueError as error:
        raise LineError(file, line, f"{field}: {error}") from None
    return value


def _ids(file: Path, line: int, record: dict[str, Any], field: str) -> tuple[str, ...]:
    """A list of ids; the benchmark's card shows objects with a did, its files plain ids."""
    values = record.get(field) or []
    if not isinstance(values, list):
        raise LineError(file, line, f"{field} must be a list of candidate ids")
    return tuple(_id(file, line, value if isinstance(value, dict) else {"did": value}, "did") for value in values)


def _text(file: Path, line: int, record: dict[str, Any], field: str) -> str:
    value = record.get(field)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise LineError(file, line, f"{field} must be a text or null, found {type(value).__name__}")
    return value


def _image(file: Path, line: int, record: dict[str, Any], field: str) -> str | None:
    value = _text(file, line, record, field)
    if leaves_folder(value):
        raise LineError(file, line, f"{field} {value!r} leaves the collection; give it relative to its root")
    return value or None


def _modality(file: Path, line: int, record: dict[str, Any], field: str, text: str, image: str | None) -> Modality:
    """The modality the line states, which must be that of what it holds."""
    stated = record.get(field)
    if stated is None:
        raise LineError(file, line, f"the field {field} is missing")
    try:
        modality, found = parse_modality(stated), Modality.of(text, image)
    except (ValueError, TypeError) as error:
        raise LineError(file, line, f"{field}: {error}") from None
    if modality != found:
        raise LineError(file, line, f"{field} says {modality.mbeir!r}, but the line holds {found.mbeir!r}")
    return modality

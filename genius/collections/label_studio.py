"""Rows of Label Studio's exports (CSV, JSON, JSON-MIN): what was chosen and written becomes plain
cells.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

# the work, not the picture
ABOUT = frozenset({"annotation_id", "annotator", "created_at", "updated_at", "lead_time"})
TEXTS = "captions"  # the field of what was written


def plain_row(row: dict[str, Any]) -> dict[str, Any]:
    """The row, with the cells of a task if it is one."""
    if isinstance(row.get("data"), dict) and isinstance(row.get("annotations"), list):
        return {"id": row.get("id"), **row["data"], **_answers(row["annotations"])}
    if {"annotation_id", "lead_time"} <= row.keys():
        return {name: _plain(cell) for name, cell in row.items() if name not in ABOUT}
    return row


def _answers(annotations: list[Any]) -> dict[str, Any]:
    """The answers of all annotators to the questions about a task, by the name of the question."""
    answers: dict[str, Any] = {}
    results = (
        each.get("result")
        for each in annotations
        if isinstance(each, dict) and not each.get("was_cancelled")
    )
    for result in (
        one for each in results if isinstance(each, list) for one in each if isinstance(one, dict)
    ):
        kind = str(result.get("type"))
        name = TEXTS if kind == "textarea" else str(result.get("from_name", kind))
        words = answers.setdefault(name, [])
        words += [word for word in _words(result.get("value")) if word not in words]
    return {
        name: words if name == TEXTS else _alone(words) for name, words in answers.items() if words
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

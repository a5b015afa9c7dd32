"""What a visitor asked lately. It lies in the visitor's browser, so what comes back is checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from genius.errors import UserError
from genius.search.checks import MAX_TEXT

MOST = 20


@dataclass(frozen=True)
class Entry:
    """A query that can be asked again: words, or an item of the index. Uploaded pictures are not kept."""

    text: str = ""
    instruction: str = ""
    item: str = ""  # id
    picture: bool = False  # there was an uploaded picture, too


def remembered(stored: Any, entry: Entry) -> list[dict[str, Any]]:
    """The entries with another one first, each once, ready to be stored."""
    kept = list(dict.fromkeys([entry, *entries(stored)])) if entry.text or entry.item else entries(stored)
    return [asdict(one) for one in kept[:MOST]]


def entries(stored: Any) -> list[Entry]:
    """What can be read of what a browser sends, latest first."""
    found = []
    for record in stored[:MOST] if isinstance(stored, list) else ():
        if isinstance(record, dict):
            text, instruction, item = (str(record.get(name, ""))[:MAX_TEXT] for name in ("text", "instruction", "item"))
            found.append(Entry(text, instruction, item, record.get("picture") is True))
    return found


def picked(stored: Any, index: Any) -> Entry:
    """The entry of that number. Raises UserError if there is none."""
    known = entries(stored)
    if type(index) is not int or not 0 <= index < len(known):
        raise UserError("That search is no longer in the history; reload the page.")
    return known[index]


def shown(known: Sequence[Entry]) -> dict[str, Any] | None:
    """What history.js draws; nothing if nothing was asked."""
    return {"entries": [asdict(one) for one in known]} if known else None


def address(entry: Entry) -> tuple[str, str, str]:
    """What the address of the page can say of it: text, instruction, item id. Of an uploaded picture nothing."""
    return ("", "", "") if entry.picture else (entry.text, entry.instruction, entry.item)

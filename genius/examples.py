"""Worked examples of a run: what a visitor may ask with one click.

    RUN/examples/examples.json    a list of {"title", "text", "picture", "asked": [{"instruction", "target"}]}
    RUN/examples/*.webp           the pictures that it names

Several instructions of one example are answered side by side. A run need not have examples.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from genius.collections.images import open_image
from genius.errors import UserError
from genius.schema import Modality, Query

FOLDER = "examples"
LIST = "examples.json"
MOST = 24  # examples
SIDE_BY_SIDE = 3  # instructions of one example, at most
LONGEST = 300  # characters of a text


@dataclass(frozen=True)
class Asked:
    """An instruction, and what it asks for."""

    instruction: str
    target: Modality


@dataclass(frozen=True)
class Example:
    """A text, a picture or both, and at least one instruction."""

    title: str
    text: str
    picture: Image.Image | None
    asked: tuple[Asked, ...]

    @property
    def modality(self) -> Modality:
        """What the query is made of."""
        return Modality.of(self.text, self.picture)

    @property
    def queries(self) -> list[Query]:
        """One for each instruction."""
        return [Query(self.text, self.picture, asked.instruction) for asked in self.asked]


def read_examples(run: Path) -> tuple[Example, ...]:
    """The examples of a run, none if it has no folder of them. Raises UserError that names what is wrong."""
    file = run / FOLDER / LIST
    if not file.parent.exists():
        return ()
    try:
        records = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(records, list) or len(records) > MOST:
            raise ValueError(f"expected a list of at most {MOST} examples")
        return tuple(_example(record, file.parent) for record in records)
    except (OSError, ValueError) as error:
        raise UserError(f"{file} cannot be shown ({error}); write the examples again or delete {file.parent}") from None


def _example(record: Any, folder: Path) -> Example:
    """Raises ValueError, or UserError for its picture."""
    title, text, picture = (_string(record, name) for name in ("title", "text", "picture"))
    asked = record.get("asked")
    if not isinstance(asked, list) or not 1 <= len(asked) <= SIDE_BY_SIDE:
        raise ValueError(f"“{title}” needs one to {SIDE_BY_SIDE} instructions")
    if not title or not (text or picture):
        raise ValueError("every example needs a title, and a text or a picture")
    if picture != Path(picture).name:
        raise ValueError(f"“{title}” names a picture elsewhere, {picture!r}")
    return Example(
        title,
        text,
        open_image(folder / picture) if picture else None,
        tuple(Asked(_string(one, "instruction"), Modality.from_mbeir(_string(one, "target"))) for one in asked),
    )


def _string(record: Any, name: str) -> str:
    """A field of a record; missing ones are empty."""
    value = record.get(name, "") if isinstance(record, Mapping) else None
    if not isinstance(value, str) or len(value) > LONGEST:
        raise ValueError(f"“{name}” is no text of at most {LONGEST} characters")
    return value

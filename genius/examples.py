"""Example queries of a run, which a visitor can run with one click.

    RUN/examples/examples.json    a list of {"title", "text", "picture", "asked": [{"instruction", "target"}]}
    RUN/examples/*.webp           the images that it names

The results of several instructions of one example are shown side by side. A run may have no examples.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from genius.collections.images import open_image
from genius.errors import UserError, quoted
from genius.reading import one_line, read_json
from genius.schema import Modality, Query

FOLDER = "examples"
LIST = "examples.json"
MAX_EXAMPLES = 24
MAX_INSTRUCTIONS = 3  # of one example
MAX_CHARACTERS = 300  # of a text
MAX_SIDE = 1_024  # pixels of a picture; far more than an encoder sees


@dataclass(frozen=True)
class TargetedInstruction:
    """An instruction and the modality that it asks for."""

    instruction: str
    target: Modality


@dataclass(frozen=True)
class Example:
    """A text, an image or both, and at least one instruction."""

    title: str
    text: str
    picture: Image.Image | None
    instructions: tuple[TargetedInstruction, ...]

    @property
    def modality(self) -> Modality:
        """The modality of the query."""
        return Modality.of(self.text, self.picture)

    @property
    def queries(self) -> list[Query]:
        """One query for each instruction."""
        return [Query(self.text, self.picture, asked.instruction) for asked in self.instructions]


def read_examples(run: Path) -> tuple[Example, ...]:
    """Read the examples of a run, none if it has no folder of them. Raises UserError for examples that do not fit."""
    file = run / FOLDER / LIST
    if not file.parent.exists():
        return ()
    try:
        records = read_json(file)
        if not isinstance(records, list) or len(records) > MAX_EXAMPLES:
            raise ValueError(f"expected a list of at most {MAX_EXAMPLES} examples")
        return tuple(_example(record, file.parent) for record in records)
    except (OSError, ValueError) as error:
        raise UserError(
            f"{file} cannot be shown ({one_line(error)}); write the examples again or delete {file.parent}"
        ) from None


def find_example(place: Any, examples: Sequence[Example]) -> Example:
    """The example at this place, a number that a browser sent. Raises UserError if there is none."""
    numbered = {str(number): example for number, example in enumerate(examples)}
    if str(place) not in numbered:
        raise UserError("There is no such example; reload the page.")
    return numbered[str(place)]


def _example(record: Any, folder: Path) -> Example:
    """Raises ValueError, or UserError for its picture."""
    title, text, picture = (_string(record, name) for name in ("title", "text", "picture"))
    instructions = record.get("asked")
    if not isinstance(instructions, list) or not 1 <= len(instructions) <= MAX_INSTRUCTIONS:
        raise ValueError(f"“{title}” needs one to {MAX_INSTRUCTIONS} instructions")
    if not title or not (text or picture):
        raise ValueError("every example needs a title, and a text or an image")
    if picture != Path(picture).name:
        raise ValueError(f"“{title}” names an image outside of its folder, {quoted(picture)}")
    targeted = tuple(
        TargetedInstruction(_string(asked, "instruction"), Modality.from_mbeir(_string(asked, "target")))
        for asked in instructions
    )
    return Example(title, text, open_image(folder / picture, max_side=MAX_SIDE) if picture else None, targeted)


def _string(record: Any, name: str) -> str:
    """A text field of a record; "" if it is missing."""
    value = record.get(name, "") if isinstance(record, Mapping) else None
    if not isinstance(value, str) or len(value) > MAX_CHARACTERS:
        raise ValueError(f"“{name}” is not a text of at most {MAX_CHARACTERS} characters")
    return value

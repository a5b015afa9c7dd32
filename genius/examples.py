"""Example queries of a run, which a visitor can run with one click.

    RUN/examples/examples.json    a list of {"title", "text", "picture", "asked": [{"instruction",
                                  "target"}]}
    RUN/examples/*.webp           the images that it names

The results of several instructions of one example are shown side by side. A run may have no
examples.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from PIL import Image
from pydantic import BaseModel, BeforeValidator, Field

from genius.collections.images import open_image
from genius.errors import UserError
from genius.reading import LOOSE, damage_explained, read_json
from genius.schema import Modality, Query

FOLDER = "examples"
LIST = "examples.json"
MAX_EXAMPLES = 24
MAX_INSTRUCTIONS = 3  # of one example
MAX_CHARACTERS = 300  # of a text
MAX_SIDE = 1_024  # pixels of a picture; far more than an encoder sees

Words = Annotated[str, Field(max_length=MAX_CHARACTERS)]


@dataclass(frozen=True)
class TargetedInstruction:
    """An instruction and the modality that it asks for, by its name in M-BEIR where it is read from
    a file.
    """

    instruction: Words
    target: Annotated[Modality, BeforeValidator(lambda name: Modality.from_mbeir(str(name)))]


class ListedExample(BaseModel):
    """An example in the list; its picture is a file of the same folder."""

    model_config = LOOSE
    title: Annotated[Words, Field(min_length=1)]
    text: Words = ""
    picture: Annotated[Words, Field(pattern="^[^/]*$")] = ""
    asked: Annotated[
        tuple[TargetedInstruction, ...], Field(min_length=1, max_length=MAX_INSTRUCTIONS)
    ]

    def opened(self, folder: Path) -> "Example":
        """Raises ValueError without a text and a picture, or UserError for a picture that cannot be
        opened.
        """
        if not (self.text or self.picture):
            raise ValueError(f"“{self.title}” needs a text or an image")
        picture = open_image(folder / self.picture, max_side=MAX_SIDE) if self.picture else None
        return Example(self.title, self.text, picture, self.asked)


ListedExamples = Annotated[list[ListedExample], Field(max_length=MAX_EXAMPLES)]


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
    """Read the examples of a run, none if it has no folder of them. Raises UserError for examples
    that do not fit.
    """
    file = run / FOLDER / LIST
    if not file.parent.exists():
        return ()
    with damage_explained(
        f"{file} cannot be shown", f"write the examples again or delete {file.parent}"
    ):
        return tuple(record.opened(file.parent) for record in read_json(file, ListedExamples))


def find_example(place: Any, examples: Sequence[Example]) -> Example:
    """The example at this place, a number that a browser sent. Raises UserError if there is
    none.
    """
    numbered = {str(number): example for number, example in enumerate(examples)}
    if str(place) not in numbered:
        raise UserError("There is no such example; reload the page.")
    return numbered[str(place)]

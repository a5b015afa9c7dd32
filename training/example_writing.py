"""Write worked examples into a run: queries of rows of its collection, in phrasings of the training split."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from genius.collections.layout import TASKS
from genius.examples import FOLDER, LIST
from genius.files import write_json

PIXELS = 256  # of a picture
QUALITY = 88

Phrasings = Mapping[tuple[str, int], tuple[Sequence[str], Sequence[str]]]  # (dataset, task) -> training, held out
Picture = TypeVar("Picture")  # what a picture is made of


@dataclass(frozen=True)
class Row:
    """A (dataset, task) row of the collection, and the number of the phrasing to use."""

    dataset: str
    task: int
    phrasing: int = 0

    def request(self, phrasings: Phrasings) -> dict[str, str]:
        training, _ = phrasings[self.dataset, self.task]
        return {"instruction": training[self.phrasing], "target": TASKS[self.task][1].mbeir}


@dataclass(frozen=True)
class Worked(Generic[Picture]):
    """An example before its picture is made."""

    title: str
    rows: tuple[Row, ...]
    text: str = ""
    picture: Picture | None = None


def write_worked(
    run: Path, examples: Sequence[Worked[Picture]], phrasings: Phrasings, webp: Callable[[Picture], bytes]
) -> None:
    """Write the examples into a run. webp: makes the file of a picture."""
    folder, listed = run / FOLDER, []
    folder.mkdir(parents=True, exist_ok=True)
    for number, worked in enumerate(examples, 1):
        name = f"{number:02d}.webp" if worked.picture else ""
        if worked.picture:
            (folder / name).write_bytes(webp(worked.picture))
        asked = [row.request(phrasings) for row in worked.rows]
        listed.append({"title": worked.title, "text": worked.text, "picture": name, "asked": asked})
    write_json(folder / LIST, listed)

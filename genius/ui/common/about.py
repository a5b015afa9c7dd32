"""What the About panel says: what the collection is, what to try, and how to use a collection of
your own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from genius.schema import Modality
from genius.ui.common.formatting import MODALITY_NAMES, Json, count
from genius.ui.runs import credits_file

MAX_LINE, MAX_PARAGRAPH = 100, 2_000  # characters of a title or instruction, and of a paragraph
MAX_PARAGRAPHS, MAX_ASK = 12, 4
COMMANDS = ("python -m training.folder FOLDER my-run", "python app.py --run my-run")


@dataclass(frozen=True)
class About:
    """What a run says about itself: the entry `about` of its manifest, and whether it has a list of
    credits.
    """

    title: str = ""
    paragraphs: tuple[str, ...] = ()
    # instructions to offer for an uploaded picture; the first is used where none is given
    ask: tuple[str, ...] = ()
    credits: bool = False
    ask_with_text: tuple[str, ...] = ()  # the same for a picture with a text
    ask_by_text: tuple[str, ...] = ()  # the same for a text alone

    @classmethod
    def read(cls, run: Path, manifest: Mapping[str, Any]) -> Self:
        """What is not a text, or too long, is left out or cut."""
        about = manifest.get("about")
        about = about if isinstance(about, Mapping) else {}
        title = next(iter(_texts([about.get("title")], 1, MAX_LINE)), "")
        paragraphs = _texts(about.get("paragraphs"), MAX_PARAGRAPHS, MAX_PARAGRAPH)
        asks = {
            name: _texts(about.get(name), MAX_ASK, MAX_LINE)
            for name in ("ask", "ask_with_text", "ask_by_text")
        }
        return cls(title, paragraphs, credits=credits_file(run) is not None, **asks)

    def instructions_for(self, query: Modality) -> tuple[str, ...]:
        """Instructions to offer for queries of this modality."""
        return {
            Modality.IMAGE: self.ask,
            Modality.PAIR: self.ask_with_text,
            Modality.TEXT: self.ask_by_text,
        }[query]


def _texts(values: Any, most: int, longest: int) -> tuple[str, ...]:
    listed = values if isinstance(values, list) else []
    return tuple(value[:longest] for value in listed if isinstance(value, str))[:most]


def about_view(about: About, items: Sequence[int]) -> Json | None:
    """What about.js draws; None for a run that says nothing about itself. items: their number for
    each Modality.
    """
    if about == About():
        return None
    held = [
        count(items[modality], MODALITY_NAMES[modality].lower())
        for modality in Modality
        if items[modality]
    ]
    return {
        "title": about.title,
        "paragraphs": list(about.paragraphs),
        "held": " and ".join(filter(None, [", ".join(held[:-1]), *held[-1:]])),
        "ask": about.ask[0] if about.ask else "",
        "credits": about.credits,
        "commands": list(COMMANDS),
    }

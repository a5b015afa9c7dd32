"""A box that a visitor draws on a picture, so that only this part of it is searched."""

from __future__ import annotations

from typing import Any

from genius.collections.images import Part
from genius.errors import UserError
from genius.ui.common.components import Panel

EDGES = ("left", "top", "right", "bottom")


class PartOfPicture(Panel):
    """Lets a visitor draw a box on the picture of an UploadedImage.

    As an input it is what `part_of` reads: a box, or nothing for the whole picture. A new picture removes the box. Its
    event `select`: a box was drawn, or removed.

    name: the elem_id, unique on the page. picture: that of the UploadedImage.
    """

    def __init__(self, name: str, picture: str, **layout: Any):
        super().__init__(name, "common/part.js", picture=picture, **layout)


def part_of(value: Any) -> Part | None:
    """The box that a browser sends, None for none. Raises UserError for what is no box within a picture."""
    if value in (None, ""):  # an empty panel has either
        return None
    box = [value.get(edge) for edge in EDGES] if isinstance(value, dict) else []
    if not all(type(edge) in (int, float) for edge in box) or len(box) != len(EDGES):
        raise UserError("The marked part is not a box; mark it again.")
    left, top, right, bottom = box
    if not (0 <= left < right <= 1 and 0 <= top < bottom <= 1):
        raise UserError("The marked part lies outside of the picture; mark it again.")
    return left, top, right, bottom

"""What a scene adds to the sky."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Land:
    """SVG of a landscape or a room."""

    defs: str
    behind: str  # over the sky, under the things
    before: str = ""  # over the things

"""A contact sheet: every kind, scene and relation in one image, for inspection."""

from __future__ import annotations

import io
from dataclasses import replace
from itertools import cycle
from pathlib import Path

from PIL import Image

from genius.collections.images import SUFFIXES
from genius.demo_world.paint import COLORS, PATTERNS
from genius.demo_world.picture import Picture, render
from genius.demo_world.placement import RELATIONS, Figure
from genius.demo_world.scenes import SCENES, TIMES, WEATHERS
from genius.demo_world.things import THINGS
from genius.errors import UserError

COLUMNS = 12
CELL = 160  # pixels


def write_sheet(file: Path) -> None:
    """Draw the sheet; the format follows the name of the file.

    Raises UserError for a name without a known ending, and for a folder that does not exist.
    """
    if file.suffix.lower() not in SUFFIXES:
        raise UserError(f"{file} has no known ending; expected one of {', '.join(sorted(SUFFIXES))}")
    if not file.parent.is_dir():
        raise UserError(f"{file.parent} is not a directory; make it first")
    pictures = [*kinds(), *settings(), *arrangements()]
    rows = -(-len(pictures) // COLUMNS)
    sheet = Image.new("RGB", (COLUMNS * CELL, rows * CELL), "white")
    for number, picture in enumerate(pictures):
        cell = Image.open(io.BytesIO(render(picture, CELL)))
        sheet.paste(cell, (number % COLUMNS * CELL, number // COLUMNS * CELL))
    sheet.save(file, quality=86)


def kinds() -> list[Picture]:
    """Every kind in every style, alone in front of a studio backdrop."""
    colors, patterns = cycle(COLORS), cycle(PATTERNS)
    return [
        Picture(
            (Figure(name, next(colors), next(patterns) if number % 2 else "plain", style, "large"),), variant=number
        )
        for number, (name, thing) in enumerate(THINGS.items())
        for style in thing.styles
    ]


def settings() -> list[Picture]:
    """Every scene at every time, in all weathers."""
    weathers, names, colors = cycle(WEATHERS), cycle(THINGS), cycle(COLORS)
    return [
        Picture(
            (Figure(name := next(names), next(colors), "plain", THINGS[name].styles[0]),),
            "",
            scene,
            time,
            next(weathers),
            number,
        )
        for number, scene in enumerate(SCENES)
        for time in TIMES
    ]


def arrangements() -> list[Picture]:
    """Relations, counts and sizes."""
    first, second = Figure("cat", "orange", "striped", "sitting"), Figure("drum", "blue", "plain")
    alone = Picture((first,), scene="meadow")
    return (
        [Picture((first, second), relation, "meadow", variant=number) for number, relation in enumerate(RELATIONS)]
        + [replace(alone, figures=(replace(first, count=count),), variant=count) for count in (1, 2, 3, 4)]
        + [replace(alone, figures=(replace(first, size=size),)) for size in ("small", "large")]  # one is medium
    )

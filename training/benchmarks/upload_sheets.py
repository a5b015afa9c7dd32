"""Sheets of uploads with what came back, as images to be judged by eye."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from genius.collections.images import open_image

ROWS = 10  # uploads of a sheet
HEIGHT, UPLOAD, RESULT, WIDTH = 170, 160, 120, 1200  # pixels: of a row, an upload, a result's picture, a sheet
FONT = ImageFont.load_default(13)
RIGHT, WRONG, PLAIN = "#0a7d32", "#b3261e", "#333333"


@dataclass(frozen=True)
class SheetRow:
    """One upload."""

    path: Path
    notes: list[str]  # captions, or what it is
    results: list[str]  # best first
    right: list[bool]
    pictures: list[bytes | None] = field(default_factory=list)  # of the results


def write_sheets(rows: Sequence[SheetRow], folder: Path, name: str) -> None:
    """Write FOLDER/NAME-1.png and so on."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, start in enumerate(range(0, len(rows), ROWS), start=1):
        draw_sheet(rows[start : start + ROWS]).save(folder / f"{name}-{number}.png")


def draw_sheet(rows: Sequence[SheetRow]) -> Image.Image:
    sheet = Image.new("RGB", (WIDTH, HEIGHT * len(rows)), "white")
    draw = ImageDraw.Draw(sheet)
    for number, row in enumerate(rows):
        top = number * HEIGHT + 5
        sheet.paste(fitted(open_image(row.path), UPLOAD), (5, top))
        notes = [line for note in row.notes for line in textwrap.wrap(note, 45)[:2]]
        draw.multiline_text((UPLOAD + 15, top), "\n".join(notes[:10]), PLAIN, FONT)
        left = UPLOAD + 330
        for place, (text, right) in enumerate(zip(row.results, row.right, strict=True)):
            color = RIGHT if right else WRONG
            if row.pictures:
                corner = (left + place * (RESULT + 10), top)
                if row.pictures[place]:
                    sheet.paste(fitted(open_image(row.pictures[place]), RESULT), corner)
                draw.text((corner[0], top + RESULT + 5), textwrap.shorten(text, 18), color, FONT)
            else:
                draw.text((left, top + 30 * place), textwrap.shorten(f"{place + 1}. {text}", 95), color, FONT)
    return sheet


def fitted(image: Image.Image, side: int) -> Image.Image:
    image = image.copy()
    image.thumbnail((side, side))
    return image

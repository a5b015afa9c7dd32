"""What a kind of thing is, to those who draw it and to those who write about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from genius.demo_world.paint import Paint

Draw = Callable[[Paint, str], str]  # (paint, style) -> SVG markup in a box of 100 × 100, facing right


@dataclass(frozen=True)
class Thing:
    """A kind of thing that can be drawn."""

    name: str
    family: str
    draw: Draw
    styles: tuple[str, ...] = ("",)  # poses of animals and vehicles, cuts of garments; "" if there is one form
    rests: float = 96  # y of the lowest point: where it touches the ground
    flies: bool = False  # at home in the air

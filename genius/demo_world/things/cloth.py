"""Pieces that garments and accessories are sewn from."""

from __future__ import annotations

import re

from genius.demo_world.paint import Paint, ellipse, solid, stroke

CREAM = "#f8f1e0"  # linings, fur
GOLD = "#e8c25a"  # buckles, clasps
WOOD = "#b07a45"


def cloth(d: str, paint: Paint, fill: str = "") -> str:
    """A piece of cloth, in the garment's fill unless another is given."""
    return solid(f'<path d="{d}"/>', fill or paint.fill, paint.line, 1.6)


def opposite(d: str) -> str:
    """A path of absolute points "x y", mirrored in the middle of the box."""
    return re.sub(r"(-?[\d.]+) (-?[\d.]+)", lambda point: f"{100 - float(point[1]):g} {point[2]}", d)


def both(d: str, paint: Paint, fill: str = "") -> str:
    """A left and a right piece of cloth."""
    return cloth(d, paint, fill) + cloth(opposite(d), paint, fill)


def folds(d: str, paint: Paint, width: float = 1.5) -> str:
    """Soft lines within cloth."""
    return f'<g opacity=".45">{stroke(d, paint.line, width)}</g>'


def shade(d: str, strength: float = 0.18) -> str:
    """A shadow on cloth. Where shadows alternate they must be faint, or they pass for a striped pattern."""
    return f'<path d="{d}" fill="#140a28" opacity="{strength}"/>'


def cord(d: str, paint: Paint, color: str, width: float) -> str:
    """An outlined line: a strap, a handle, a lace."""
    return stroke(d, paint.line, width + 2) + stroke(d, color, width)


def stitches(d: str, paint: Paint) -> str:
    """A seam: a thin dashed line."""
    return f'<path d="{d}" fill="none" stroke="{paint.line}" stroke-width="1.1" stroke-dasharray="2.6 2" opacity=".7"/>'


def fluff(d: str, paint: Paint, width: float = 7) -> str:
    """A fur trim along a path: beads, outlined together."""
    return "".join(
        f'<path d="{d}" fill="none" stroke="{color}" stroke-width="{thick}" stroke-dasharray=".1 {width * 0.62:g}" '
        'stroke-linecap="round"/>'
        for color, thick in ((paint.line, width + 2.6), (CREAM, width))
    )


def buttons(points: tuple[tuple[float, float], ...], paint: Paint, fill: str = CREAM, radius: float = 2.1) -> str:
    return "".join(ellipse(x, y, radius, radius, fill, paint.line, 1) for x, y in points)

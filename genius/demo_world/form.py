"""Rounded forms for bodies: outlines of ovals and limbs, several of which merge into one solid.

Ovals and limbs are SVG path data and all run clockwise, so that where they overlap they add up.
"""

from __future__ import annotations

from itertools import pairwise
from math import acos, atan2, cos, hypot, radians, sin

from genius.demo_world.paint import Paint, ellipse, path, stroke

Joint = tuple[float, float, float]  # x, y, radius


def oval(x: float, y: float, rx: float, ry: float, turn: float = 0) -> str:
    """An ellipse turned by `turn` degrees clockwise."""
    dx, dy = rx * cos(radians(turn)), rx * sin(radians(turn))
    arc = f"A{rx} {ry} {turn} 0 1"
    return f"M{x - dx:.1f} {y - dy:.1f}{arc} {x + dx:.1f} {y + dy:.1f}{arc} {x - dx:.1f} {y - dy:.1f}Z"


def limb(*joints: Joint) -> str:
    """A chain of round joints, each two of them wrapped in their common tangents."""
    return "".join(_segment(one, other) for one, other in pairwise(joints))


def _segment(one: Joint, other: Joint) -> str:
    (x1, y1, r1), (x2, y2, r2) = one, other
    heading, spread = atan2(y2 - y1, x2 - x1), acos((r1 - r2) / hypot(x2 - x1, y2 - y1))

    def on(x: float, y: float, r: float, angle: float) -> str:
        return f"{x + r * cos(angle):.1f} {y + r * sin(angle):.1f}"

    return (
        f"M{on(x1, y1, r1, heading + spread)}A{r1} {r1} 0 {int(r1 > r2)} 1 {on(x1, y1, r1, heading - spread)}"
        f"L{on(x2, y2, r2, heading - spread)}A{r2} {r2} 0 {int(r2 > r1)} 1 {on(x2, y2, r2, heading + spread)}Z"
    )


def merged(d: str, fill: str, line: str) -> str:
    """Overlapping outlines as one solid: lit as a whole, with a line around it but none inside."""
    return path(d, fill, line, 3) + path(d, fill) + path(d, "url(#lit)")


def coat(d: str, paint: Paint) -> str:
    """Overlapping outlines as one solid in the thing's own color and pattern."""
    seamless = path(d, paint.base) if paint.fill != paint.base else ""  # nothing shows between a pattern's tiles
    return path(d, paint.base, paint.line, 3) + seamless + path(d, paint.fill) + path(d, "url(#lit)")


def tube(d: str, fill: str, line: str, width: float) -> str:
    """An open path with some thickness: a tail, a stalk."""
    return stroke(d, line, width + 3) + stroke(d, fill, width)


def tail(d: str, paint: Paint, width: float) -> str:
    """A tube in the thing's own color and pattern."""
    seamless = stroke(d, paint.base, width) if paint.fill != paint.base else ""
    return stroke(d, paint.line, width + 3) + seamless + stroke(d, paint.fill, width)


def placed(markup: str, x: float, y: float, scale: float = 1, turn: float = 0) -> str:
    """What is drawn around (0, 0), moved to (x, y)."""
    return f'<g transform="translate({x} {y}) rotate({turn}) scale({scale})">{markup}</g>'


def mirrored(markup: str) -> str:
    """What is drawn, and its mirror image about x = 50."""
    return f'{markup}<g transform="translate(100 0) scale(-1 1)">{markup}</g>'


def eye(x: float, y: float, size: float = 4.6) -> str:
    """An open eye that shines."""
    return (
        ellipse(x, y, size, size * 1.15, "#fffdf4", "#1d1a22", 1)
        + ellipse(x + size * 0.12, y + size * 0.1, size * 0.7, size * 0.86, "#1d1a22")
        + ellipse(x - size * 0.12, y - size * 0.32, size * 0.27, size * 0.3, "#ffffff")
    )


def closed_eye(x: float, y: float, line: str, size: float = 4.6) -> str:
    return stroke(f"M{x - size} {y} Q{x} {y + size * 1.1} {x + size} {y}", line, 1.8)

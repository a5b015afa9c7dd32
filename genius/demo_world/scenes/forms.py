"""Forms that scenes are made of: SVG path data, and markup of many like parts in one element."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

SIDE = 256  # of a picture
EDGE = 10  # how far ridges run past the sides

Point = tuple[float, float]


def at(*numbers: float) -> str:
    """Numbers as SVG writes them."""
    return " ".join([f"{number:.1f}" for number in numbers])  # a list: this runs hundreds of times a picture


def polygon(points: Iterable[Point]) -> str:
    return "M" + "L".join(at(*point) for point in points) + "Z"


def box(x: float, y: float, width: float, height: float) -> str:
    return f"M{at(x, y)}h{width:.1f}v{height:.1f}h{-width:.1f}z"


def disc(x: float, y: float, rx: float, ry: float | None = None) -> str:
    ry = rx if ry is None else ry
    return f"M{at(x - rx, y)}a{at(rx, ry)} 0 1 1 {at(2 * rx)} 0a{at(rx, ry)} 0 1 1 {at(-2 * rx)} 0z"


def star(x: float, y: float, radius: float) -> str:
    """A star of four rays."""
    return polygon(
        (
            x + math.cos(n * math.pi / 4) * radius * (0.28 if n % 2 else 1),
            y + math.sin(n * math.pi / 4) * radius * (0.28 if n % 2 else 1),
        )
        for n in range(8)
    )


def smooth(points: Sequence[Point]) -> str:
    """A soft line: the corners are control points, their middles lie on the line."""
    parts = ["M" + at(*points[0])]
    for here, there in itertools.pairwise(points):
        parts.append("Q" + at(*here, (here[0] + there[0]) / 2, (here[1] + there[1]) / 2))
    return "".join(parts) + "L" + at(*points[-1])


def heights(chance: random.Random, y: float, rise: float, bumps: int) -> list[Point]:
    """A wavering line across the picture, `rise` above and below y, high and low by turns."""
    up = chance.choice((-1, 1))
    step = (SIDE + 2 * EDGE) / bumps
    return [
        (
            -EDGE + step * (n + chance.uniform(-0.25, 0.25) * (0 < n < bumps)),
            y + up * (-1) ** n * rise * chance.uniform(0.35, 1),
        )
        for n in range(bumps + 1)
    ]


def hills(chance: random.Random, y: float, rise: float, bumps: int, foot: float = SIDE) -> str:
    """Soft land below a wavering line, down to `foot`."""
    return smooth(heights(chance, y, rise, bumps)) + f"V{foot:.1f}H{-EDGE}Z"


def filled(d: str, fill: str, opacity: float = 1.0) -> str:
    return f'<path d="{d}" fill="{fill}"' + (f' opacity="{opacity:.2f}"' if opacity < 1 else "") + "/>"


def drawn(d: str, line: str, width: float, opacity: float = 1.0) -> str:
    """An open line with round ends."""
    return (
        f'<path d="{d}" fill="none" stroke="{line}" stroke-width="{width:.1f}" stroke-linecap="round" '
        f'stroke-linejoin="round"' + (f' opacity="{opacity:.2f}"' if opacity < 1 else "") + "/>"
    )


def gradient(name: str, *stops: tuple[float, str, float]) -> str:
    """From top to bottom; a stop is (offset, color, opacity)."""
    return f'<linearGradient id="{name}" x2="0" y2="1">{_stops(stops)}</linearGradient>'


def halo(name: str, *stops: tuple[float, str, float]) -> str:
    """From the middle outwards."""
    return f'<radialGradient id="{name}">{_stops(stops)}</radialGradient>'


def _stops(stops: Iterable[tuple[float, str, float]]) -> str:
    return "".join(
        f'<stop offset="{offset}" stop-color="{color}"'
        + (f' stop-opacity="{opacity:.2f}"' if opacity < 1 else "")
        + "/>"
        for offset, color, opacity in stops
    )


def bush(chance: random.Random, x: float, y: float, width: float, height: float, lumps: int = 5) -> str:
    """A round-topped clump that stands on y."""
    parts = []
    for n in range(lumps):
        share = (n + 0.5) / lumps * 2 - 1
        high = height * (1 - 0.55 * share * share) * chance.uniform(0.85, 1)
        radius = max(width / lumps, high * 0.5)
        parts.append(disc(x + share * width / 2, y - high + radius, radius))
    return "".join(parts) + box(x - width / 2, y - height * 0.35, width, height * 0.35)


def fir(x: float, y: float, height: float, tiers: int = 4, spread: float = 0.24) -> str:
    """A fir's outline, standing on y."""
    right = []
    for n in range(tiers):
        top, low = y - height + height * 0.86 * n / tiers, y - height + height * 0.9 * (n + 1) / tiers
        wide = height * spread * (n + 1.1) / tiers
        right += [(wide * 0.42 if n else 0.0, top), (wide, low)]
    trunk = [(height * 0.035, y - height * 0.1), (height * 0.035, y)]
    side = right + trunk
    return polygon([(x + dx, py) for dx, py in side] + [(x - dx, py) for dx, py in reversed(side)])


def tufts(chance: random.Random, spots: Iterable[Point], tall: float) -> str:
    """Blades of grass, three to a tuft; drawn as lines."""
    parts = []
    for x, y in spots:
        for lean in (-0.5, 0, 0.5):
            rise = tall * chance.uniform(0.7, 1.1) * (1 - abs(lean) * 0.4)
            parts.append(f"M{at(x + lean * 3, y)}q{at(lean * 2, -rise * 0.6, lean * tall * 0.9, -rise)}")
    return "".join(parts)


def scattered(chance: random.Random, count: int, top: float, bottom: float) -> list[Point]:
    """Spots on the ground, evenly spread over its breadth, from the far to the near."""
    spots = [((n + chance.random()) * SIDE / count, top + (bottom - top) * chance.random()) for n in range(count)]
    return sorted(spots, key=lambda spot: spot[1])


@dataclass(frozen=True)
class Land:
    """SVG of a landscape or a room."""

    defs: str
    behind: str  # over the sky, under the things
    before: str = ""  # over the things

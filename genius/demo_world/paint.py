"""The colors and patterns of things, and the SVG definitions that their drawings name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

COLORS = {
    "red": "#d6322f",
    "orange": "#f08a24",
    "yellow": "#f6cf3a",
    "green": "#3f9c4f",
    "teal": "#1fa3a0",
    "blue": "#2f66d0",
    "purple": "#7d48b8",
    "pink": "#f07ab0",
    "brown": "#8a5a34",
    "black": "#34343c",
    "grey": "#959aa3",
    "white": "#f4f2ec",
}
PALE = ("yellow", "white", "pink", "orange", "grey")  # a pattern on these is darker than they are


@dataclass(frozen=True)
class Paint:
    """What a thing's own surfaces are painted with. All but `defs` are values of SVG's fill or stroke."""

    fill: str  # the main surfaces: the color with its pattern
    base: str  # the color without its pattern
    light: str  # lighter parts: bellies, panels, linings
    dark: str  # darker parts: hooves, wheels' rims, undersides
    line: str  # outlines, a very dark form of the color
    defs: str  # SVG definitions that `fill` names


def paint(color: str, pattern: str, name: str) -> Paint:
    """The paint of a color and a pattern. name: unique within one drawing."""
    base = COLORS[color]
    motif = mixed(base, "#1c1420", 0.55) if color in PALE else mixed(base, "#ffffff", 0.72)
    defs, fill = "", base
    if pattern != "plain":
        width, height, marks = PATTERNS[pattern](motif)
        fill = f"url(#{name})"
        defs = (
            f'<pattern id="{name}" width="{width}" height="{height}" patternUnits="userSpaceOnUse">'
            f'<rect width="{width}" height="{height}" fill="{base}"/>{marks}</pattern>'
        )
    return Paint(
        fill, base, mixed(base, "#ffffff", 0.45), mixed(base, "#1c1420", 0.32), mixed(base, "#1c1420", 0.68), defs
    )


@lru_cache(4096)  # a scene asks for the same few mixtures again and again
def mixed(one: str, other: str, share: float) -> str:
    """Two colors "#rrggbb", `share` of the second."""
    a, b = ([int(color[at : at + 2], 16) for at in (1, 3, 5)] for color in (one, other))
    return "#" + "".join(f"{round(x + (y - x) * share):02x}" for x, y in zip(a, b, strict=True))


SHARED_DEFS = (  # what every drawing may name
    '<radialGradient id="lit" cx=".35" cy=".25" r=".95"><stop offset="0" stop-color="#fff" stop-opacity=".34"/>'
    '<stop offset=".45" stop-color="#fff" stop-opacity="0"/><stop offset="1" stop-color="#140a28" '
    'stop-opacity=".36"/></radialGradient>'
    '<linearGradient id="fall" x2="0" y2="1"><stop offset="0" stop-color="#fff" stop-opacity=".22"/>'
    '<stop offset=".5" stop-color="#fff" stop-opacity="0"/><stop offset="1" stop-color="#140a28" '
    'stop-opacity=".32"/></linearGradient>'
)


def _striped(motif: str) -> tuple[float, float, str]:
    return 13, 13, f'<rect x="0" width="6" height="13" fill="{motif}"/>'


def _spotted(motif: str) -> tuple[float, float, str]:
    return 14, 14, f'<circle cx="4" cy="4" r="3" fill="{motif}"/><circle cx="11" cy="11" r="3" fill="{motif}"/>'


def _checkered(motif: str) -> tuple[float, float, str]:
    return (
        15,
        15,
        (
            f'<rect width="7.5" height="7.5" fill="{motif}"/>'
            f'<rect x="7.5" y="7.5" width="7.5" height="7.5" fill="{motif}"/>'
        ),
    )


def _zigzag(motif: str) -> tuple[float, float, str]:
    return (
        14,
        11,
        (
            f'<path d="M-3.5 9 L0 5.5 L7 -1.5 L14 5.5 L17.5 9 M-3.5 20 L7 9.5 L17.5 20 M0 5.5 L7 -1.5 L14 5.5" '
            f'fill="none" stroke="{motif}" stroke-width="3.4"/>'
        ),
    )


def _floral(motif: str) -> tuple[float, float, str]:
    petals = "".join(
        f'<circle cx="{9 + dx}" cy="{9 + dy}" r="2.7" fill="{motif}"/>'
        for dx, dy in ((0, -3.6), (3.4, -1.1), (2.1, 2.9), (-2.1, 2.9), (-3.4, -1.1))
    )
    return 18, 18, petals + '<circle cx="9" cy="9" r="2" fill="#f7d34a"/>'


def _starry(motif: str) -> tuple[float, float, str]:
    return (
        17,
        17,
        (
            f'<path d="M8.5 1.5 L10.4 6.3 L15.5 6.6 L11.6 9.9 L12.9 15 L8.5 12.2 L4.1 15 L5.4 9.9 L1.5 6.6 '
            f'L6.6 6.3 Z" fill="{motif}"/>'
        ),
    )


def _plaid(motif: str) -> tuple[float, float, str]:
    return (
        16,
        16,
        (
            f'<rect width="6" height="16" fill="{motif}" opacity=".55"/>'
            f'<rect width="16" height="6" fill="{motif}" opacity=".55"/>'
            f'<rect x="10.5" width="1.4" height="16" fill="{motif}"/>'
            f'<rect y="10.5" width="16" height="1.4" fill="{motif}"/>'
        ),
    )


PATTERNS: dict[str, Callable[[str], tuple[float, float, str]] | None] = {  # name -> width, height, marks of a tile
    "plain": None,
    "striped": _striped,
    "spotted": _spotted,
    "checkered": _checkered,
    "zigzag": _zigzag,
    "floral": _floral,
    "starry": _starry,
    "plaid": _plaid,
}

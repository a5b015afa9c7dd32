"""The benchmark as a picture: milliseconds a query against items, one panel for each kind of IDs.

SVG by hand: no drawing library is among the requirements that draws without a browser. It has its own light and dark
colours, and says in words what colours say.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

WIDTH, HEIGHT, LEFT, TOP, GAP, LABELS = 420, 330, 64, 44, 56, 150  # of a panel, and around it
COLOURS = {
    "generate": "#d1495b",
    "exact": "#8d5fd3",
    "set": "#2f6fde",
    "fast": "#0a9396",
    "geometry": "#7a8b99",
    "geometry, fast": "#9aa5ad",
    "scan of quantized vectors": "#b08968",
    "flat": "#e09f3e",
    "HNSW": "#99582a",
    "IVF-PQ": "#588157",
}
STYLE = """text { font: 12px system-ui, sans-serif; fill: #24292f } .title { font-weight: 600; font-size: 14px }
.grid { stroke: #8c959f; stroke-opacity: .3 } .back { fill: #ffffff }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .back { fill: #0d1117 } }"""


def draw(cells: Sequence[dict[str, Any]], batch: int) -> str:
    """SVG text of the cells of this batch size."""
    shown = [cell for cell in cells if cell["batch"] == batch]
    kinds = list(dict.fromkeys(cell["ids"] for cell in shown))
    panels = [
        _panel(
            [cell for cell in shown if cell["ids"] == kind],
            f"{kind.capitalize()} IDs, batch {batch}",
            _scales(shown),
            LEFT + place * (WIDTH + GAP + LABELS),
        )
        for place, kind in enumerate(kinds)
    ]
    width = LEFT + max(len(kinds), 1) * (WIDTH + GAP + LABELS)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT + TOP + 56}" role="img" '
        f'aria-label="Milliseconds a query against items in the collection, both logarithmic">\n'
        f'<style>{STYLE}</style>\n<rect class="back" width="100%" height="100%" rx="8"/>\n'
        + "\n".join(panels)
        + "\n</svg>\n"
    )


def _scales(cells: Sequence[dict[str, Any]]) -> tuple[float, float, float, float]:
    """log10 of the least and the most items and milliseconds."""
    items = [math.log10(cell["items"]) for cell in cells]
    times = [math.log10(cell["milliseconds"]["median"]) for cell in cells]
    return min(items), max(max(items), min(items) + 1), math.floor(min(times)), math.ceil(max(times) + 1e-9)


def _panel(cells: list[dict[str, Any]], title: str, scales: tuple[float, float, float, float], left: float) -> str:
    few, many, fast, slow = scales

    def at(items: float, milliseconds: float) -> tuple[float, float]:
        return (
            left + WIDTH * (math.log10(items) - few) / (many - few),
            TOP + HEIGHT * (slow - math.log10(milliseconds)) / (slow - fast),
        )

    parts = [f'<text class="title" x="{left}" y="{TOP - 18}">{escape(title)}</text>']
    for power in range(int(fast), int(slow) + 1):
        _, y = at(10**few, 10.0**power)
        parts += [
            f'<line class="grid" x1="{left}" x2="{left + WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>',
            f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:g} ms</text>',
        ]
    for items in sorted({cell["items"] for cell in cells}):
        x, _ = at(items, 10.0**slow)
        parts += [
            f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{TOP + HEIGHT}"/>',
            f'<text x="{x:.1f}" y="{TOP + HEIGHT + 20}" text-anchor="middle">{items:,}</text>',
        ]
    parts.append(f'<text x="{left + WIDTH / 2}" y="{TOP + HEIGHT + 42}" text-anchor="middle">items</text>')
    ends = []
    for system in dict.fromkeys(cell["system"] for cell in cells):
        points = sorted(at(cell["items"], cell["milliseconds"]["median"]) for cell in cells if cell["system"] == system)
        colour = COLOURS.get(system, "#57606a")
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in points]
        ends.append((points[-1][1], system, colour))
    return "\n".join(parts + _labels(sorted(ends), left + WIDTH + 10))


def _labels(ends: list[tuple[float, str, str]], x: float) -> list[str]:
    """Names beside the ends of their lines, pushed apart where they would touch."""
    parts, below = [], -math.inf
    for y, system, colour in ends:
        below = max(y, below + 15)
        parts.append(f'<text x="{x}" y="{below + 4:.1f}" style="fill: {colour}">{escape(system)}</text>')
    return parts

"""Animals."""

from __future__ import annotations

from genius.collections.world.paint import Paint, ellipse, path, solid, stroke
from genius.collections.world.things.thing import Thing


def cat(paint: Paint, style: str) -> str:
    body = solid('<path d="M30 94 C22 60 34 44 50 44 C68 44 78 62 74 94 Z"/>', paint.fill, paint.line)
    tail = stroke("M72 90 C92 88 92 66 84 58", paint.line, 9) + stroke("M72 90 C92 88 92 66 84 58", paint.base, 6)
    ears = path("M33 22 L31 2 L46 12 Z M67 22 L69 2 L54 12 Z", paint.base, paint.line)
    head = solid('<ellipse cx="50" cy="28" rx="24" ry="20"/>', paint.fill, paint.line)
    face = "".join(ellipse(x, 26, 3.4, 4.4, "#fffbe8", paint.line, 1) + ellipse(x, 26, 1.5, 3.6, "#1b1b22") for x in (41, 59))
    nose = path("M47 34 L53 34 L50 37.5 Z", "#e58a95") + stroke("M50 37 Q46 42 42 39 M50 37 Q54 42 58 39", paint.line, 1.3)
    return tail + body + ears + head + face + nose


THINGS = (Thing("cat", "animal", cat, ("sitting",)),)

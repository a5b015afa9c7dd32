"""Scenes by the water: beach and harbour."""

from __future__ import annotations

import math
import random
from itertools import pairwise

from genius.demo_world.scenes.forms import (
    SIDE,
    Land,
    at,
    box,
    disc,
    drawn,
    filled,
    gradient,
    hills,
    polygon,
    scattered,
    smooth,
)
from genius.demo_world.scenes.light import Light

GABLES = ("#d9574a", "#f0c04e", "#5d9ec4", "#e9e1d0", "#7fb48a", "#e08a4a", "#c97f9c")


def beach(light: Light, chance: random.Random) -> Land:
    """A turquoise sea, surf, sand with shells, a palm at the side."""
    defs = gradient(
        "s-sea", (0, light.on("#2577b8", 0.4), 1), (0.55, light.on("#2fa6c4"), 1), (1, light.on("#7fe0d2"), 1)
    ) + gradient("s-land", (0, light.ground("#f0d08a"), 1), (1, light.ground("#e6b766"), 1))
    island = chance.uniform(60, 196)
    parts = [
        filled(
            f"M{at(island - 44, 121)}q{at(18, -18, 34, -14)}q{at(12, -10, 24, 0)}q{at(20, 0, 34, 14)}z",
            light.ground("#5f9a80", 0.65, 0.5),
        ),
        filled(box(0, 118, SIDE, 70), "url(#s-sea)"),
        drawn(_waves(chance, 126, 162, 17), light.on("#d9fbf6"), 1.5, 0.7),
    ]
    surf = [(x, 174 + chance.uniform(-5, 5)) for x in range(-20, 290, 28)]
    for drop, color, opacity in ((-6, "#ffffff", 0.5), (-1, "#ffffff", 1), (5, "#c99a54", 0.55)):
        shade = light.on(color) if drop < 5 else light.ground(color, 0, 0.3)
        parts.append(filled(smooth([(x, y + drop) for x, y in surf]) + f"V{SIDE}H-20Z", shade, opacity))
    parts.append(filled(smooth([(x, y + 9) for x, y in surf]) + f"V{SIDE}H-20Z", "url(#s-land)"))
    ripples = "".join(f"M{at(x, y)}q{at(8, -3, 16, 0)}" for x, y in scattered(chance, 20, 194, 252))
    parts.append(drawn(ripples, light.ground("#c08f48", 0, 0.4), 1.3, 0.6))
    parts.append(filled("".join(disc(x, y, 2.4, 1.6) for x, y in scattered(chance, 9, 200, 252)), light.on("#fff3e2")))
    parts.append(
        _starfish(
            light,
            chance.choice((chance.uniform(20, 70), chance.uniform(186, 236))),
            chance.uniform(234, 246),
            chance.uniform(6, 8),
            chance.random(),
        )
    )
    side = chance.choice((-1, 1))
    if chance.random() < 0.45:
        parts.append(_castle(light, chance, 128 + side * chance.uniform(62, 92), chance.uniform(206, 216)))
    palms = _palm(light, chance, side) + (_palm(light, chance, -side) if chance.random() < 0.25 else "")
    return Land(defs, "".join(parts) + palms)


def _waves(chance: random.Random, top: float, bottom: float, count: int) -> str:
    """Short crests, longer towards the viewer."""
    return "".join(
        f"M{at(x, y)}q{at(w / 4, -1.6, w / 2, 0)}t{at(w / 2, 0)}"
        for x, y in scattered(chance, count, top, bottom)
        for w in ((y - top) * 0.35 + 8,)
    )


def _starfish(light: Light, x: float, y: float, radius: float, turn: float) -> str:
    points = [
        (
            x + math.cos(turn + n * math.pi / 5) * radius * (0.42 if n % 2 else 1),
            y + math.sin(turn + n * math.pi / 5) * radius * (0.42 if n % 2 else 1) * 0.7,
        )
        for n in range(10)
    ]
    return (
        f'<path d="{polygon(points)}" fill="{light.on("#f0623f")}" stroke="{light.on("#f0623f")}" stroke-width="2" '
        'stroke-linejoin="round"/>'
    )


def _castle(light: Light, chance: random.Random, x: float, y: float) -> str:
    """A castle of sand with a flag."""
    towers = "".join(
        box(x + dx - 4, y - high, 8, high)
        + "".join(box(x + dx - 4.8 + n * 3.6, y - high - 2.6, 2.4, 2.8) for n in range(3))
        for dx, high in ((-12, 15), (0, 22), (12, 15))
    )
    heap = f"M{at(x - 24, y + 3)}q6 -13 12 -13h24q6 0 12 13z"
    flag = f"M{at(x, y - 34)}l10 3.4l-10 3.6z"
    return (
        filled(disc(x + 3, y + 3, 27, 4), light.on("#8a6428"), 0.35)
        + filled(towers, light.ground("#d9a850", 0, 0.3))
        + filled(heap, light.ground("#e0b25c", 0, 0.5))
        + filled(box(x - 2.4, y - 9, 4.8, 9), light.on("#8a6428"))
        + drawn(f"M{at(x, y - 24)}v-10", light.on("#6e4a2a"), 1)
        + filled(flag, light.on(chance.choice(("#d6423f", "#2f7fc0", "#f4f0e6"))))
    )


def _palm(light: Light, chance: random.Random, side: int) -> str:
    """A leaning palm whose crown hangs into the picture from the left (-1) or the right (1)."""
    edge = 0 if side < 0 else SIDE
    foot, top = edge - side * chance.uniform(2, 10), edge - side * chance.uniform(22, 34)
    crown, low = chance.uniform(34, 46), chance.uniform(196, 208)
    bend = edge + side * 6
    trunk = f"M{at(foot - 6, low)}Q{at(bend - 4, 120, top - 3, crown)}h6Q{at(bend + 6, 120, foot + 7, low)}Z"
    rings = "".join(
        f"M{at(x - 4.4, y)}q{at(4.4, 2.4, 8.8, 0)}"
        for n in range(1, 9)
        for share in (n / 9,)
        for x, y in ((_on_curve(foot, bend, top, share), _on_curve(low, 120, crown, share)),)
    )
    back, front = [], []
    for n, turn in enumerate((-175, -148, -118, -88, -58, -28, -2)):
        angle = math.radians(turn + chance.uniform(-7, 7))
        (back if n % 2 else front).append(_frond(top, crown, angle, chance.uniform(50, 62)))
    nuts = disc(top - 4, crown + 5, 3.6) + disc(top + 4, crown + 6, 3.6)
    return (
        filled(trunk, light.on("#a87846"))
        + drawn(rings, light.on("#6e4a2a"), 1.3, 0.8)
        + filled("".join(back), light.ground("#2f7f4a", 0, 0.3))
        + filled(nuts, light.on("#6a4426"))
        + filled("".join(front), light.ground("#49a85a", 0, 0.45))
    )


def _on_curve(start: float, bend: float, end: float, share: float) -> float:
    """A coordinate along a quadratic curve."""
    return (1 - share) ** 2 * start + 2 * share * (1 - share) * bend + share**2 * end


def _frond(x: float, y: float, angle: float, long: float) -> str:
    """A feathered leaf that droops."""
    tip = (x + math.cos(angle) * long, y + math.sin(angle) * long * 0.55 + long * 0.42)
    rise = (x + math.cos(angle) * long * 0.55, y + math.sin(angle) * long * 0.75 - 6)
    under = []
    for n in range(7):
        share = 1 - n / 7
        px, py = (_on_curve(a, b, c, share) for a, b, c in zip((x, y), rise, tip, strict=True))
        under.append((px, py + (11 if n % 2 else 2.5) * math.sin(math.pi * min(1, share + 0.12))))
    return f"M{at(x, y)}Q{at(*rise, *tip)}" + "".join("L" + at(*point) for point in under) + "Z"


def harbour(light: Light, chance: random.Random) -> Land:
    """Gabled houses across the water, masts, a stone quay with bollards."""
    defs = gradient("s-sea", (0, light.on("#4f93a8", 0.25), 1), (1, light.on("#1f5f84"), 1)) + gradient(
        "s-land", (0, light.ground("#b3a896"), 1), (1, light.ground("#857a6c"), 1)
    )
    parts = [filled(hills(chance, 108, 10, 3, 140), light.ground("#7f9f94", 0.7, 0.5))]
    houses, mirrored = _houses(light, chance, 132)
    parts += [
        houses,
        filled(box(0, 130, SIDE, 5), light.ground("#7a7064", 0.2, 0.5)),
        filled(box(0, 135, SIDE, 60), "url(#s-sea)"),
        mirrored,
        drawn(_waves(chance, 142, 176, 20), light.on("#b8e0ea"), 1.4, 0.55),
    ]
    for x, tall in ((chance.uniform(26, 54), 92), (chance.uniform(202, 230), 80)):
        parts.append(_boat(light, chance, x, 166, tall * chance.uniform(0.88, 1.1)))
    parts.append(filled(box(0, 182, SIDE, 80), "url(#s-land)"))
    parts.append(filled(box(0, 182, SIDE, 5), light.ground("#d0c6b4")))
    parts.append(_joints(light, chance))
    for x in (chance.uniform(12, 26), chance.uniform(230, 244)):
        parts.append(_bollard(light, x, 192))
    rope = f"M18 184Q{at(128 + chance.uniform(-30, 30), 202)} 238 184"
    parts.append(drawn(rope, light.on("#e3c48a"), 1.8, 0.9))
    return Land(defs, "".join(parts))


def _houses(light: Light, chance: random.Random, foot: float) -> tuple[str, str]:
    """A row of houses with gables, and its broken reflection in the water."""
    x, walls, roofs, panes, mirror = -4.0, {}, "", "", {}
    last = ""
    while x < 258:
        wide, high = chance.uniform(21, 30), chance.uniform(28, 46)
        last = chance.choice([color for color in GABLES if color != last])
        top = foot - high
        walls[last] = walls.get(last, "") + box(x, top, wide, high)
        roofs += polygon(((x - 1, top + 1), (x + wide / 2, top - wide * 0.55), (x + wide + 1, top + 1)))
        panes += "".join(
            box(x + wide * share, top + 5 + row * 11, wide * 0.2, 6)
            for share in (0.18, 0.6)
            for row in range(int((high - 6) // 11))
        )
        mirror[last] = mirror.get(last, "") + "".join(
            box(x + chance.uniform(-1, 3), 137 + row * 5, wide - 3, 2.6) for row in range(int(high // 11))
        )
        x += wide
    pane = "#ffd873" if light.dark else light.on("#45586a", 0.25)
    row = "".join(filled(d, light.on(color, 0.22)) for color, d in walls.items())
    shown = "".join(filled(d, light.on(color, 0.1), 0.5) for color, d in mirror.items())
    return row + filled(roofs, light.ground("#8c4a3e", 0.22, 1)) + filled(panes, pane), shown


def _boat(light: Light, chance: random.Random, x: float, y: float, tall: float) -> str:
    """A fishing boat at anchor: hull, cabin, mast and shrouds."""
    hull = f"M{at(x - 30, y - 9)}h64q-6 15 -14 16h-42q-7 -3 -8 -16z"
    color = chance.choice(("#c8423a", "#2c6a8c", "#2f7f62", "#33455e"))
    rig = (
        f"M{at(x + 4, y - tall)}L{at(x + 33, y - 9)}M{at(x + 4, y - tall)}L{at(x - 29, y - 9)}"
        f"M{at(x + 4, y - tall * 0.62)}L{at(x - 22, y - tall * 0.3)}"
    )
    pane = "#ffd873" if light.dark else light.on("#7fb0c8")
    return (
        drawn(rig, light.on("#4a4038"), 1.1)
        + drawn(f"M{at(x + 4, y - 8)}V{y - tall:.1f}", light.on("#7a5a3c"), 2.8)
        + filled(box(x - 20, y - 22, 17, 14), light.ground("#f3ece0", 0, 0.5))
        + filled(box(x - 17, y - 19, 11, 5), pane)
        + filled(hull, light.on(color))
        + drawn(f"M{at(x - 29.5, y - 6)}H{x + 32.5:.1f}", light.on("#f6efe2"), 2.4)
    )


def _joints(light: Light, chance: random.Random) -> str:
    """The flagstones of the quay: rows grow taller and stones wider towards the viewer."""
    rows, parts = (187, 197, 211, 230, 262), ""
    for n, (y, below) in enumerate(pairwise(rows)):
        step = 26 + n * 13
        parts += f"M0 {below}H{SIDE}" + "".join(
            f"M{at(x, y)}L{at(128 + (x - 128) * 1.06, below)}"
            for x in (at_x + chance.uniform(-2, 2) for at_x in range(-(n % 2) * step // 2, SIDE + 1, step))
        )
    return drawn(parts, light.ground("#6a6054", 0, 0.4), 1.2, 0.7)


def _bollard(light: Light, x: float, y: float) -> str:
    body = f"M{at(x - 5, y)}v-14q0 -6 5 -6t5 6v14q-5 3 -10 0z"
    return (
        filled(disc(x + 2, y, 9, 2.6), light.on("#3a342e"), 0.4)
        + filled(body, light.on("#343a44"))
        + filled(disc(x, y - 16, 7, 3.4), light.ground("#4a525e"))
        + filled(box(x - 3.4, y - 13, 2, 12), "#ffffff", 0.25)
    )

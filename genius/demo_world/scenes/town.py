"""The city."""

from __future__ import annotations

import random
from collections.abc import Sequence

from genius.demo_world.scenes.forms import SIDE, Land, at, box, disc, drawn, filled, gradient, halo, polygon
from genius.demo_world.scenes.light import Light

WALLS = ("#c8705a", "#7f93ac", "#d8b98a", "#8d7f9a", "#a9b8b4", "#b58a72")
FOOT = 172  # y of the house fronts' lower edge


def city(light: Light, chance: random.Random) -> Land:
    """A skyline, a street front whose windows light up in the evening, a pavement and a road."""
    defs = gradient("s-land", (0, light.ground("#b9b6b4"), 1), (1, light.ground("#d3cfca"), 1)) + halo(
        "s-lamp", (0, "#ffdc8a", 0.8), (0.4, "#ffdc8a", 0.25), (1, "#ffdc8a", 0)
    )
    parts = [
        filled(_skyline(chance, 168, 60, 104, 15), light.on("#8ea4c0", 0.8)),
        filled(_skyline(chance, 168, 34, 76, 21), light.on("#7b8fae", 0.5)),
    ]
    houses, x, view = [], -6.0, chance.uniform(36, 68)  # lower houses leave a view of the skyline
    while x < 262:
        wide = chance.uniform(30, 42)
        middle = abs(x + wide / 2 - 128) < view
        high = chance.uniform(44, 62) if middle else chance.uniform(88, 132)
        houses.append((x, wide, high))
        x += wide
    colors = [chance.choice(WALLS)]
    while len(colors) < len(houses):
        colors.append(chance.choice([color for color in WALLS if color != colors[-1]]))
    parts.append(_fronts(light, chance, houses, colors))
    parts.append(filled(box(0, 172, SIDE, 56), "url(#s-land)"))
    slabs = "M0 184H256M0 202H256" + "".join(
        f"M{at(128 + (at_x - 128) * 0.82, 172)}L{at(128 + (at_x - 128) * 1.12, 222)}" for at_x in range(-20, 290, 24)
    )
    parts.append(drawn(slabs, light.ground("#8f8a86", 0, 0.5), 1.1, 0.75))
    parts.append(filled(box(0, 222, SIDE, 8), light.ground("#e6e2dc")))
    parts.append(filled(box(0, 227, SIDE, 30), light.ground("#4b4f5a", 0, 0.6)))
    shift = chance.uniform(0, 46)
    parts.append(
        filled(
            "".join(
                polygon(((x + 4, 239), (x + 28, 239), (x + 26, 245), (x, 245)))
                for x in (n * 46 - shift for n in range(7))
            ),
            light.on("#f3ead0"),
            0.9,
        )
    )
    for x in (chance.uniform(10, 18), chance.uniform(238, 246)):
        parts.append(_lantern(light, x, 182))
    return Land(defs, "".join(parts))


def _skyline(chance: random.Random, foot: float, low: float, high: float, wide: float) -> str:
    parts, x = "", -6.0
    while x < 262:
        step, tall = wide * chance.uniform(0.8, 1.4), chance.uniform(low, high)
        parts += box(x, foot - tall, step + 0.5, tall)
        if chance.random() < 0.3:
            parts += polygon(((x, foot - tall), (x + step / 2, foot - tall - step * 0.7), (x + step, foot - tall)))
        elif chance.random() < 0.4:
            parts += box(x + step * 0.45, foot - tall - 12, 1.6, 12)
        x += step
    return parts


def _fronts(
    light: Light, chance: random.Random, houses: Sequence[tuple[float, float, float]], colors: Sequence[str]
) -> str:
    """Houses side by side as (x, width, height): walls, cornices, windows of which some are lit, shops below.

    What has one color is one element, so that a street costs little to draw.
    """
    walls: dict[str, str] = {}
    lit, unlit, shade, cornices, shops, boards, awnings, doors = [""] * 8
    for (x, wide, high), color in zip(houses, colors, strict=True):
        top = FOOT - high
        walls[color] = walls.get(color, "") + box(x, top, wide + 0.5, high)
        shade += box(x + wide - 5, top, 5.5, high)
        cornices += box(x - 1, top - 3, wide + 2, 4.5)
        columns = 3 if wide > 34 else 2
        for row in range(int((high - 26) // 15)):
            for column in range(columns):
                pane = box(x + wide * (column + 0.5) / columns - 3.4, top + 9 + row * 15, 6.8, 9)
                lit, unlit = (lit + pane, unlit) if chance.random() < 0.62 else (lit, unlit + pane)
        shops += box(x + 4, 154, wide - 8, 18)
        doors += box(x + wide * 0.62, 157, 6.5, 15)
        boards += box(x + 2, 150, wide - 4, 7)
        stripe = (wide - 4) / 5
        awnings += "".join(box(x + 2 + n * stripe, 150, stripe, 7) for n in (0, 2, 4))
    evening = light.dark
    return (
        "".join(filled(d, light.on(color, 0.16)) for color, d in walls.items())
        + filled(shade, light.on("#2b2a3c", 0.16), 0.22)
        + filled(cornices, light.ground("#efe6d8", 0.16))
        + filled(unlit, light.on("#3f5670", 0.1))
        + filled(lit, "#ffd566" if evening else light.on("#8fb4d2", 0.16))
        + filled(shops, "#ffe09a" if evening else light.on("#5f7a90", 0.1))
        + filled(doors, light.on("#4a3a3c", 0.1))
        + filled(boards, light.on("#f4efe6", 0.1))
        + filled(awnings, light.on(chance.choice(("#c8453c", "#2f7f62", "#2f66a8")), 0.1))
    )


def _lantern(light: Light, x: float, y: float) -> str:
    post = drawn(f"M{at(x, y)}V88", light.on("#2c333c"), 3)
    head = polygon(((x - 6, 76), (x + 6, 76), (x + 4, 90), (x - 4, 90)))
    glow = filled(disc(x, 83, 34), "url(#s-lamp)") if light.dark else ""
    return (
        glow
        + post
        + filled(head, "#ffe59a" if light.dark else light.on("#e8f0f0"))
        + filled(polygon(((x - 8, 76), (x, 69), (x + 8, 76))), light.on("#2c333c"))
    )

"""The city."""

from __future__ import annotations

import random

from genius.collections.world.scenes.forms import SIDE, at, box, disc, drawn, filled, gradient, polygon
from genius.collections.world.scenes.land import Land
from genius.collections.world.scenes.light import Light

WALLS = ("#c8705a", "#7f93ac", "#d8b98a", "#8d7f9a", "#a9b8b4", "#b58a72")


def city(light: Light, chance: random.Random) -> Land:
    """A skyline, a street front whose windows light up in the evening, a pavement and a road."""
    defs = gradient("s-land", (0, light.ground("#b9b6b4"), 1), (1, light.ground("#d3cfca"), 1))
    parts = [filled(_skyline(chance, 168, 60, 104, 15), light.on("#8ea4c0", .8)),
             filled(_skyline(chance, 168, 34, 76, 21), light.on("#7b8fae", .5))]
    low, x = [], -6.0
    while x < 262:
        wide = chance.uniform(30, 42)
        middle = abs(x + wide / 2 - 128) < 62
        high = chance.uniform(44, 62) if middle else chance.uniform(88, 132)
        low.append((x, wide, high))
        x += wide
    colours = [chance.choice(WALLS)]
    while len(colours) < len(low):
        colours.append(chance.choice([colour for colour in WALLS if colour != colours[-1]]))
    for (left, wide, high), colour in zip(low, colours, strict=True):
        parts.append(_house(light, chance, left, wide, high, colour))
    parts.append(filled(box(0, 172, SIDE, 54), "url(#s-land)"))
    slabs = "M0 184H256M0 202H256" + "".join(
        f"M{at(128 + (at_x - 128) * .82, 172)}L{at(128 + (at_x - 128) * 1.12, 222)}" for at_x in range(-20, 290, 24))
    parts.append(drawn(slabs, light.ground("#8f8a86", 0, .5), 1.1, .75))
    parts.append(filled(box(0, 222, SIDE, 5), light.ground("#e6e2dc")) + filled(box(0, 227, SIDE, 30), light.ground("#4b4f5a", 0, .6)))
    shift = chance.uniform(0, 46)
    parts.append(filled("".join(polygon(((x + 4, 239), (x + 28, 239), (x + 26, 245), (x, 245)))
                                for x in (n * 46 - shift for n in range(7))), light.on("#f3ead0"), .9))
    if light.weather == "rainy":
        parts.append(filled("".join(disc(chance.uniform(10, 246), y, chance.uniform(14, 28), 2.6) for y in (190, 213, 250)),
                            light.sky[1], .55))
    for x in (chance.uniform(10, 18), chance.uniform(238, 246)):
        parts.append(_lantern(light, x, 182))
    return Land(defs, "".join(parts))


def _skyline(chance: random.Random, foot: float, low: float, high: float, wide: float) -> str:
    parts, x = "", -6.0
    while x < 262:
        step, tall = wide * chance.uniform(.8, 1.4), chance.uniform(low, high)
        parts += box(x, foot - tall, step + .5, tall)
        if chance.random() < .3:
            parts += polygon(((x, foot - tall), (x + step / 2, foot - tall - step * .7), (x + step, foot - tall)))
        elif chance.random() < .4:
            parts += box(x + step * .45, foot - tall - 12, 1.6, 12)
        x += step
    return parts


def _house(light: Light, chance: random.Random, x: float, wide: float, high: float, colour: str) -> str:
    """A street front: wall, cornice, windows of which some are lit, a shop below."""
    top = 172 - high
    columns, rows = (3 if wide > 34 else 2), int((high - 26) // 15)
    lit, unlit = "", ""
    for row in range(rows):
        for column in range(columns):
            pane = box(x + wide * (column + .5) / columns - 3.4, top + 9 + row * 15, 6.8, 9)
            if chance.random() < .62:
                lit += pane
            else:
                unlit += pane
    shop = box(x + 4, 154, wide - 8, 18)
    glass = light.on("#3f5670", .1)
    awning = "".join(polygon(((x + 3 + n * (wide - 6) / 5, 150), (x + 3 + (n + 1) * (wide - 6) / 5, 150),
                              (x + 2 + (n + 1) * (wide - 4) / 5, 157), (x + 2 + n * (wide - 4) / 5, 157))) for n in (0, 2, 4))
    return (filled(box(x, top, wide + .5, high), light.on(colour, .16))
            + filled(box(x + wide - 5, top, 5.5, high), light.on("#2b2a3c", .16), .22)
            + filled(box(x - 1, top - 3, wide + 2, 4.5), light.ground("#efe6d8", .16))
            + filled(unlit, glass) + filled(lit, "#ffd566" if light.dark else light.on("#8fb4d2", .16))
            + filled(shop, "#ffe09a" if light.dark else light.on("#5f7a90", .1))
            + filled(box(x + 2, 150, wide - 4, 7), light.on("#f4efe6", .1))
            + filled(awning, light.on(chance.choice(("#c8453c", "#2f7f62", "#2f66a8")), .1)))


def _lantern(light: Light, x: float, y: float) -> str:
    post = drawn(f"M{at(x, y)}V88", light.on("#2c333c"), 3)
    head = polygon(((x - 6, 76), (x + 6, 76), (x + 4, 90), (x - 4, 90)))
    glow = filled(disc(x, 83, 26), "#ffdc8a", .22) if light.dark else ""
    return (glow + post + filled(head, "#ffe59a" if light.dark else light.on("#e8f0f0"))
            + filled(polygon(((x - 8, 76), (x, 69), (x + 8, 76))), light.on("#2c333c")))

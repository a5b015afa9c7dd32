"""A stage whose set plays the hour and the weather."""

from __future__ import annotations

import random

from genius.demo_world.paint import mixed
from genius.demo_world.scenes.forms import (
    SIDE,
    Land,
    at,
    box,
    bush,
    disc,
    drawn,
    filled,
    fir,
    gradient,
    halo,
    hills,
    polygon,
    scattered,
    star,
)
from genius.demo_world.scenes.light import HOURS, Light


def stage(light: Light, chance: random.Random) -> Land:
    """Red curtains, planks, spotlights; sun, moon, clouds and weather hang on strings before a painted sky."""
    cloth = chance.choice(("#b3202e", "#a81c3c", "#8f1a2a"))
    top, middle, low = light.sky
    defs = (
        gradient("s-sky", (0, top, 1), (0.6, middle, 1), (1, low, 1))
        + gradient("s-land", (0, "#8a5a34", 1), (1, "#c58a50", 1))
        + gradient("s-beam", (0, "#fff2c0", 0.55), (1, "#fff2c0", 0.06))
    )
    parts = [
        filled(box(0, 0, SIDE, 180), "url(#s-sky)"),
        _cutouts(light, chance),
        filled(hills(chance, 150, 6, 4, 180), light.ground("#6f9a6a", 0.1)),
        filled(hills(chance, 164, 5, 5, 180), light.ground("#44744f")),
    ]
    if chance.random() < 0.5:  # cut-out firs at the foot of the set
        firs = "".join(fir(x + chance.uniform(-4, 4), 177, chance.uniform(24, 40)) for x in (58, 74, 180, 196))
        parts.append(filled(firs, light.ground("#2c5a44")))
    parts.append(filled(box(0, 176, SIDE, 84), "url(#s-land)"))
    planks = "".join(
        f"M{at(128 + (x - 128) * 0.72, 176)}L{at(128 + (x - 128) * 1.5, 258)}"
        for x in range(-60, 320, chance.choice((17, 20, 24)))
    )
    parts.append(drawn(planks + "M0 176H256", "#5c3418", 1.3, 0.75))
    shade = {"dawn": 0.08, "day": 0.0, "dusk": 0.2, "night": 0.42}[light.time]
    if shade:
        parts.append(filled(box(0, 176, SIDE, 84), "#160c2c", shade))
    parts.append(filled(disc(128, 214, 96, 24), "#fff0b8", 0.42))
    reach = chance.uniform(-16, 16)
    beams = polygon(((58, 20), (66, 20), (150 + reach, 214), (66 + reach, 214))) + polygon(
        ((190, 20), (198, 20), (190 + reach, 214), (106 + reach, 214))
    )
    parts.append(filled(beams, "url(#s-beam)", 1 if light.dark else 0.7))
    parts.append(_curtains(chance, cloth, shade))
    lamps = "".join(polygon(((x - 7, 14), (x + 7, 14), (x + 9, 27), (x - 9, 27))) for x in (62, 128, 194))
    parts.append(filled(lamps, "#2a2630") + filled("".join(disc(x, 27, 8, 2.6) for x in (62, 128, 194)), "#fff4c4"))
    spots = range(*chance.choice(((16, 250, 28), (14, 250, 38), (11, 250, 18))))
    bulbs = "".join(disc(x, 250, 5.4, 5) for x in spots)
    glow = "".join(disc(x, 250, 10, 9) for x in spots)
    rim = filled(box(0, 249, SIDE, 8), "#3a2016") + filled(glow, "#ffe9a8", 0.35)
    before = rim + filled(bulbs, "#fff0b4")
    if light.weather == "foggy":
        defs += halo("s-bank", (0, "#f2f0f4", 0.75), (0.5, "#f2f0f4", 0.4), (1, "#f2f0f4", 0))
        before = (
            "".join(
                filled(disc(chance.uniform(20, 236), y, chance.uniform(80, 120), 18), "url(#s-bank)")
                for y in (192, 212, 228, 238)
            )
            + before
        )
    return Land(defs, "".join(parts), before)


def _cutouts(light: Light, chance: random.Random) -> str:
    """Cardboard sun, moon, clouds, drops and flakes on strings."""
    chance = random.Random(chance.getrandbits(32))  # so that the rest of the stage stays as it is
    x, parts, strings = 128 + chance.choice((-1, 1)) * chance.uniform(40, 58), "", ""
    fair = light.weather in ("clear", "cloudy")
    if light.time == "night" and fair:
        parts += filled(f"M{at(x + 4, 46)}a20 20 0 1 0 16 30a16 16 0 0 1 -16 -30z", "#f8efc8")
        spots = scattered(chance, 9, 46, 118)
        parts += filled("".join(star(px, py, 5.5) for px, py in spots), "#ffe690")
        strings += "".join(f"M{at(px, py)}V0" for px, py in spots)
    elif fair:
        y = {"day": 62, "dawn": 112, "dusk": 118}[light.time]
        color = {"day": "#ffd93d", "dawn": "#ffe694", "dusk": "#ff6f3a"}[light.time]
        parts += filled(disc(x, y, 27), mixed(color, "#ffffff", 0.4), 0.6) + filled(disc(x, y, 20), color)
        strings += f"M{at(x, y)}V0"
    if light.weather in ("cloudy", "rainy", "snowy"):
        tone = {"cloudy": "#f4f6fa", "rainy": "#5a6476", "snowy": "#f4f8ff"}[light.weather]
        tone = mixed(tone, *HOURS[light.time].veil)
        for px in (chance.uniform(62, 82), chance.uniform(116, 140), chance.uniform(174, 194)):
            py = chance.uniform(56, 74)
            cloud = bush(chance, px, py, 44, 25, 4)
            parts += drawn(cloud, mixed(tone, "#2a3048", 0.45), 3) + filled(cloud, tone)
            strings += f"M{at(px - 12, py - 8)}V0M{at(px + 12, py - 8)}V0"
    spots = [(px + chance.uniform(-4, 4), chance.uniform(84, 152)) for px in range(48, 212, 9)]
    if light.weather == "rainy":
        parts += filled("".join(f"M{at(px, py)}q4.4 7 0 9.4q-4.4 -2.4 0 -9.4z" for px, py in spots), "#7fc4f2")
    elif light.weather == "snowy":
        flakes = "".join(
            f"M{at(px - 4, py)}h8M{at(px - 2, py - 3.5)}l4 7M{at(px + 2, py - 3.5)}l-4 7" for px, py in spots
        )
        parts += drawn(flakes, "#ffffff", 1.7)
    if light.weather in ("rainy", "snowy"):
        strings += "".join(f"M{at(px, py)}V66" for px, py in spots[::2])
    return drawn(strings, "#e9e2d0", 0.7, 0.55) + parts


def _curtains(chance: random.Random, cloth: str, shade: float) -> str:
    """Gathered at both sides, a scalloped valance above."""
    colors = (cloth, mixed(cloth, "#16040c", 0.45), "#f0bf4a")
    body, deep, rim = (mixed(color, "#160c2c", shade * 0.6) for color in colors)
    gap, waist = chance.uniform(44, 52), chance.uniform(120, 136)
    count, drop = chance.choice((6, 8, 10)), chance.uniform(18, 26)
    swags = f"q{at(-130 / count, drop, -260 / count, 0)}" * count
    sides = "".join(
        f"M{at(a(-4), 0)}H{a(gap):.1f}Q{at(a(gap - 4), waist * 0.8, a(gap * 0.48), waist)}"
        f"Q{at(a(gap * 0.7), 176, a(gap * 0.66), 206)}H{a(-4):.1f}Z"
        for a in (float, _mirrored)
    )
    folds = "".join(
        f"M{at(a(gap * share), 0)}Q{at(a(gap * share * 0.95), waist * 0.7, a(gap * share * 0.5), waist)}"
        f"Q{at(a(gap * share * 0.7), 174, a(gap * share * 0.66), 204)}"
        for a in (float, _mirrored)
        for share in (0.22, 0.45, 0.68, 0.88)
    )
    ties = "".join(
        f"M{at(a(-2), waist + 3)}Q{at(a(gap * 0.3), waist + 4, a(gap * 0.5), waist - 2)}" for a in (float, _mirrored)
    )
    scallops = "M-2 -2H258V16" + swags + "Z"
    return (
        filled(sides, body)
        + drawn(folds, deep, 2.6, 0.75)
        + drawn(ties, rim, 4)
        + filled(scallops, body)
        + drawn("M258 16" + swags, rim, 2.6)
    )


def _mirrored(x: float) -> float:
    return SIDE - x

"""Scenes under a roof: a room with a window, and a stage whose set plays the time and the weather."""

from __future__ import annotations

import random
from collections.abc import Callable

from genius.collections.world.paint import mixed
from genius.collections.world.scenes.forms import (
    SIDE, at, box, bush, disc, drawn, filled, gradient, halo, hills, polygon, scattered)
from genius.collections.world.scenes.land import Land
from genius.collections.world.scenes.light import HOURS, Light
from genius.collections.world.scenes.sky import sky
from genius.collections.world.scenes.weather import rain, snow

PAPERS = ("#e8cfa8", "#b9d3c2", "#e9bfb4", "#bccbe6", "#d9c4e0", "#e6dc9c")
RUGS = ("#b8434a", "#3d6f9c", "#4d8a68", "#8a5a9a", "#c98436")


def room(light: Light, chance: random.Random) -> Land:
    """Papered wall, a window that shows the hour and the weather, a picture, floorboards and a rug."""
    inside = _indoors(light)
    paper, rug = chance.choice(PAPERS), chance.choice(RUGS)
    left = chance.random() < .5
    x = chance.uniform(14, 24) if left else chance.uniform(134, 144)
    defs, outside = _view(light, chance)
    defs += (gradient("s-land", (0, inside("#b07a4a"), 1), (1, inside("#8a5630"), 1))
             + halo("s-lamp", (0, "#ffd27a", .85), (.45, "#ffb650", .34), (1, "#ffa840", 0)))
    stripes = "".join(box(at_x, 0, 7, 160) for at_x in range(int(chance.uniform(-14, 0)), SIDE, 22))
    parts = [filled(box(0, 0, SIDE, 170), inside(paper)), filled(stripes, inside(mixed(paper, "#ffffff", .38)), .7),
             filled(box(0, 0, SIDE, 9), inside("#f8f1e2")), filled(box(0, 9, SIDE, 3), inside(mixed(paper, "#3a2a30", .35)))]
    lamp = 128 + chance.uniform(-5, 5)
    if light.dark:
        parts.append(filled(disc(lamp, 24, 150, 140), "url(#s-lamp)"))
    parts.append(_window(light, inside, x, outside, chance.choice(RUGS)))
    parts.append(_framed(inside, chance, x + (150 if left else -68) + chance.uniform(-8, 4), chance.uniform(34, 46)))
    parts.append(filled(box(0, 158, SIDE, 15), inside("#f3e9d6")) + filled(box(0, 170, SIDE, 3), inside("#7a5636"), .6))
    parts.append(filled(box(0, 173, SIDE, 90), "url(#s-land)"))
    boards = "M0 184H256M0 199H256M0 219H256M0 243H256" + "".join(
        f"M{at(at_x + chance.uniform(-9, 9), top)}V{low}" for top, low, step in
        ((173, 184, 50), (184, 199, 62), (199, 219, 70), (219, 243, 84), (243, 260, 98)) for at_x in range(8, 264, step))
    parts.append(drawn(boards, inside("#6a4022"), 1.2, .6))
    width = chance.uniform(92, 108)
    for shrink, colour in ((1, mixed(rug, "#1c1420", .3)), (.93, "#f1e2c4"), (.86, rug), (.5, mixed(rug, "#ffffff", .3))):
        parts.append(filled(disc(128, 212, width * shrink, 27 * shrink), inside(colour)))
    if light.dark:
        parts.append(filled(disc(128, 212, 124, 36), "url(#s-lamp)", .6))
    else:
        beam = (x + 14, 173), (x + 82, 173), (x + 112, 256), (x - 4, 256)
        parts.append(filled(polygon(beam), mixed(light.sky[2], "#fff6d0", .4), .3 if light.weather == "clear" else .12))
    return Land(defs, "".join(parts) + _pendant(light, inside, lamp, rug))


def _pendant(light: Light, inside: Callable[[str], str], x: float, colour: str) -> str:
    """The lamp under the ceiling."""
    shade = polygon(((x - 6, 12), (x + 6, 12), (x + 15, 25), (x - 15, 25)))
    bulb = "#fff3c0" if light.dark else inside("#fbf6ea")
    return (drawn(f"M{at(x, 0)}V13", inside("#4a3a34"), 1.8) + filled(disc(x, 25, 7, 5), bulb)
            + filled(shade, mixed(colour, "#ffd98a", .35) if light.dark else inside(colour)))


def _indoors(light: Light) -> Callable[[str], str]:
    """What the light makes of a colour in a room: the evening is warm with lamps."""
    glow = {"dawn": ("#ffb8a0", .26), "day": ("#ffffff", 0.0), "dusk": ("#7a3440", .40), "night": ("#1c1840", .60)}[light.time]
    grey = light.air.dim * .5 + light.air.grey * .25

    def seen(colour: str) -> str:
        return mixed(mixed(colour, "#59606c", grey), *glow)

    return seen


def _view(light: Light, chance: random.Random) -> tuple[str, str]:
    """What a window shows, 256 × 180."""
    chance = random.Random(chance.getrandbits(32))
    defs, markup = sky(light, chance, 150, 128)
    markup += filled(hills(chance, 140, 10, 3), light.ground("#7fae78", .5)) + filled(
        hills(chance, 158, 8, 2), light.ground("#5f9a4e", .15))
    markup += filled(bush(chance, chance.uniform(40, 210), 168, 74, 54), light.ground("#3f7f45", .1, .5))
    if light.weather == "rainy":
        markup += rain(light, chance, 56).replace('stroke-width="1', 'stroke-width="3')
    elif light.weather == "snowy":
        markup += "".join(filled("".join(disc(chance.uniform(0, 256), chance.uniform(0, 180), chance.uniform(4, 7))
                                         for _ in range(40)), light.on("#ffffff")))
    elif light.weather == "foggy":
        markup += filled(box(0, 0, SIDE, 200), light.hour.fog, .55)
    return defs, markup


def _window(light: Light, inside: Callable[[str], str], x: float, outside: str, cloth: str) -> str:
    """A sash window with curtains and a sill, 98 wide."""
    frame = inside("#fbf6ea")
    view = f'<svg x="{x:.1f}" y="30" width="98" height="92" viewBox="40 0 188 176">{outside}</svg>'
    bars = f"M{at(x + 49, 30)}V122M{at(x, 72)}H{x + 98:.1f}"
    drapes = (f"M{at(x - 10, 24)}H{x + 20:.1f}Q{at(x + 18, 84, x - 2, 96)}L{at(x + 2, 134)}H{x - 12:.1f}Z"
              f"M{at(x + 108, 24)}H{x + 78:.1f}Q{at(x + 80, 84, x + 100, 96)}L{at(x + 96, 134)}H{x + 110:.1f}Z")
    folds = (f"M{at(x - 4, 27)}Q{at(x - 1, 80, x - 6, 96)}V132M{at(x + 6, 27)}Q{at(x + 8, 78, x - 3, 94)}"
             f"M{at(x + 102, 27)}Q{at(x + 99, 80, x + 104, 96)}V132M{at(x + 92, 27)}Q{at(x + 90, 78, x + 101, 94)}")
    return (filled(box(x - 5, 25, 108, 102), frame) + view + drawn(bars, frame, 3.6)
            + filled(box(x - 10, 124, 118, 7), inside("#efe6d2")) + filled(box(x - 10, 131, 118, 3), inside("#8a7358"), .6)
            + filled(drapes, inside(cloth)) + drawn(folds, inside(mixed(cloth, "#1c1420", .4)), 1.4, .8)
            + drawn(f"M{at(x - 16, 23)}H{x + 114:.1f}", inside("#8a5a30"), 3.4))


def _framed(inside: Callable[[str], str], chance: random.Random, x: float, y: float) -> str:
    """A small picture on the wall."""
    wide, high = chance.choice(((54, 42), (40, 52), (48, 48)))
    ground, upper = chance.choice((("#7fa860", "#cfe4f0"), ("#3f8aa8", "#f6d8b0"), ("#d9a860", "#b8d8e8"))), "#f6d36a"
    return (filled(box(x - 4, y - 4, wide + 8, high + 8), inside("#8a5c2e"))
            + filled(box(x, y, wide, high), inside(ground[1])) + filled(disc(x + wide * .7, y + high * .3, 5), inside(upper))
            + filled(f"M{at(x, y + high)}V{y + high * .6:.1f}L{at(x + wide * .35, y + high * .34, x + wide * .62)} "
                     f"{y + high * .72:.1f}L{at(x + wide, y + high * .5)}V{y + high:.1f}Z", inside(ground[0])))


def stage(light: Light, chance: random.Random) -> Land:
    """Red curtains, planks, spotlights; sun, moon, clouds and weather hang on strings before a painted sky."""
    cloth = chance.choice(("#b3202e", "#a81c3c", "#8f1a2a"))
    top, middle, low = light.sky
    defs = (gradient("s-sky", (0, top, 1), (.6, middle, 1), (1, low, 1))
            + gradient("s-land", (0, "#8a5a34", 1), (1, "#c58a50", 1))
            + gradient("s-beam", (0, "#fff2c0", .55), (1, "#fff2c0", .06)))
    parts = [filled(box(0, 0, SIDE, 180), "url(#s-sky)"), _cutouts(light, chance),
             filled(hills(chance, 150, 6, 4, 180), light.ground("#6f9a6a", .1)),
             filled(hills(chance, 164, 5, 5, 180), light.ground("#44744f"))]
    parts.append(filled(box(0, 176, SIDE, 84), "url(#s-land)"))
    planks = "".join(f"M{at(128 + (x - 128) * .72, 176)}L{at(128 + (x - 128) * 1.5, 258)}" for x in range(-60, 320, 20))
    parts.append(drawn(planks + "M0 176H256", "#5c3418", 1.3, .75))
    shade = {"dawn": .08, "day": 0.0, "dusk": .2, "night": .42}[light.time]
    if shade:
        parts.append(filled(box(0, 176, SIDE, 84), "#160c2c", shade))
    parts.append(filled(disc(128, 214, 96, 24), "#fff0b8", .42))
    reach = chance.uniform(-16, 16)
    beams = (polygon(((58, 20), (66, 20), (150 + reach, 214), (66 + reach, 214)))
             + polygon(((190, 20), (198, 20), (190 + reach, 214), (106 + reach, 214))))
    parts.append(filled(beams, "url(#s-beam)", 1 if light.dark else .7))
    parts.append(_curtains(chance, cloth, shade))
    lamps = "".join(polygon(((x - 7, 14), (x + 7, 14), (x + 9, 27), (x - 9, 27))) for x in (62, 128, 194))
    parts.append(filled(lamps, "#2a2630") + filled("".join(disc(x, 27, 8, 2.6) for x in (62, 128, 194)), "#fff4c4"))
    bulbs = "".join(disc(x, 250, 5.4, 5) for x in range(16, 250, 28))
    rim = filled(box(0, 249, SIDE, 8), "#3a2016") + filled("".join(disc(x, 250, 10, 9) for x in range(16, 250, 28)), "#ffe9a8", .35)
    before = rim + filled(bulbs, "#fff0b4")
    if light.weather == "foggy":
        defs += halo("s-bank", (0, "#f2f0f4", .75), (.5, "#f2f0f4", .4), (1, "#f2f0f4", 0))
        before = "".join(filled(disc(chance.uniform(20, 236), y, chance.uniform(80, 120), 18), "url(#s-bank)")
                         for y in (192, 212, 228, 238)) + before
    return Land(defs, "".join(parts), before)


def _cutouts(light: Light, chance: random.Random) -> str:
    """Cardboard sun, moon, clouds, drops and flakes on strings."""
    x, parts, strings = 128 + chance.choice((-1, 1)) * chance.uniform(40, 58), "", ""
    fair = light.weather in ("clear", "cloudy")
    if light.time == "night" and fair:
        parts += filled(f"M{at(x + 4, 46)}a20 20 0 1 0 16 30a16 16 0 0 1 -16 -30z", "#f8efc8")
        spots = scattered(chance, 9, 46, 118)
        parts += filled("".join(polygon(((px, py - 5), (px + 1.6, py - 1.6), (px + 5, py), (px + 1.6, py + 1.6), (px, py + 5),
                                         (px - 1.6, py + 1.6), (px - 5, py), (px - 1.6, py - 1.6))) for px, py in spots), "#ffe690")
        strings += "".join(f"M{at(px, py)}V0" for px, py in spots)
    elif fair:
        y = {"day": 62, "dawn": 112, "dusk": 118}[light.time]
        colour = {"day": "#ffd93d", "dawn": "#ffe694", "dusk": "#ff6f3a"}[light.time]
        parts += filled(disc(x, y, 27), mixed(colour, "#ffffff", .4), .6) + filled(disc(x, y, 20), colour)
        strings += f"M{at(x, y)}V0"
    if light.weather in ("cloudy", "rainy", "snowy"):
        tone = {"cloudy": "#f4f6fa", "rainy": "#5a6476", "snowy": "#f4f8ff"}[light.weather]
        tone = mixed(tone, *HOURS[light.time].veil)
        for px in (chance.uniform(62, 82), chance.uniform(116, 140), chance.uniform(174, 194)):
            py = chance.uniform(56, 74)
            cloud = bush(chance, px, py, 44, 25, 4)
            parts += drawn(cloud, mixed(tone, "#2a3048", .45), 3) + filled(cloud, tone)
            strings += f"M{at(px - 12, py - 8)}V0M{at(px + 12, py - 8)}V0"
    spots = [(px + chance.uniform(-4, 4), chance.uniform(84, 152)) for px in range(48, 212, 9)]
    if light.weather == "rainy":
        parts += filled("".join(f"M{at(px, py)}q4.4 7 0 9.4q-4.4 -2.4 0 -9.4z" for px, py in spots), "#7fc4f2")
    elif light.weather == "snowy":
        flakes = "".join(f"M{at(px - 4, py)}h8M{at(px - 2, py - 3.5)}l4 7M{at(px + 2, py - 3.5)}l-4 7" for px, py in spots)
        parts += drawn(flakes, "#ffffff", 1.7)
    if light.weather in ("rainy", "snowy"):
        strings += "".join(f"M{at(px, py)}V66" for px, py in spots[::2])
    return drawn(strings, "#e9e2d0", .7, .55) + parts


def _curtains(chance: random.Random, cloth: str, shade: float) -> str:
    """Gathered at both sides, a scalloped valance above."""
    body, deep, rim = (mixed(colour, "#160c2c", shade * .6) for colour in (cloth, mixed(cloth, "#16040c", .45), "#f0bf4a"))
    gap, waist = chance.uniform(44, 52), chance.uniform(120, 136)
    sides = "".join(f"M{at(a(-4), 0)}H{a(gap):.1f}Q{at(a(gap - 4), waist * .8, a(gap * .48), waist)}"
                    f"Q{at(a(gap * .7), 176, a(gap * .66), 206)}H{a(-4):.1f}Z" for a in (float, lambda x: SIDE - x))
    folds = "".join(f"M{at(a(gap * share), 0)}Q{at(a(gap * share * .95), waist * .7, a(gap * share * .5), waist)}"
                    f"Q{at(a(gap * share * .7), 174, a(gap * share * .66), 204)}"
                    for a in (float, lambda x: SIDE - x) for share in (.22, .45, .68, .88))
    ties = "".join(f"M{at(a(-2), waist + 3)}Q{at(a(gap * .3), waist + 4, a(gap * .5), waist - 2)}" for a in (float, lambda x: SIDE - x))
    scallops = "M-2 -2H258V16" + "".join(f"q-16.3 22 -32.6 0" for _ in range(8)) + "Z"
    return (filled(sides, body) + drawn(folds, deep, 2.6, .75) + drawn(ties, rim, 4) + filled(scallops, body)
            + drawn("M258 16" + "q-16.3 22 -32.6 0" * 8, rim, 2.6))

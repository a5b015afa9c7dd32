"""A room with a window."""

from __future__ import annotations

import random
from collections.abc import Callable

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
    gradient,
    halo,
    hills,
    polygon,
)
from genius.demo_world.scenes.light import Light
from genius.demo_world.scenes.sky import sky
from genius.demo_world.scenes.weather import rain, snow

PAPERS = ("#e8cfa8", "#b9d3c2", "#e9bfb4", "#bccbe6", "#d9c4e0", "#e6dc9c")
RUGS = ("#b8434a", "#3d6f9c", "#4d8a68", "#8a5a9a", "#c98436")


def room(light: Light, chance: random.Random) -> Land:
    """Papered wall, a window that shows the hour and the weather, a picture, floorboards and a rug."""
    inside = _indoors(light)
    paper, rug = chance.choice(PAPERS), chance.choice(RUGS)
    left = chance.random() < 0.5
    x = chance.uniform(14, 24) if left else chance.uniform(134, 144)
    defs, outside = _view(light, chance)
    defs += gradient("s-land", (0, inside("#b07a4a"), 1), (1, inside("#8a5630"), 1)) + halo(
        "s-lamp", (0, "#ffd27a", 0.85), (0.45, "#ffb650", 0.34), (1, "#ffa840", 0)
    )
    parts = [
        filled(box(0, 0, SIDE, 170), inside(paper)),
        filled(_motif(chance), inside(mixed(paper, "#ffffff", 0.38)), 0.7),
        filled(box(0, 0, SIDE, 9), inside("#f8f1e2")),
        filled(box(0, 9, SIDE, 3), inside(mixed(paper, "#3a2a30", 0.35))),
    ]
    lamp = 128 + chance.uniform(-5, 5)
    if light.dark:
        parts.append(filled(disc(lamp, 24, 150, 140), "url(#s-lamp)"))
    parts.append(_window(light, inside, x, outside, chance.choice(RUGS)))
    parts.append(_framed(inside, chance, x + (150 if left else -68) + chance.uniform(-8, 4), chance.uniform(34, 46)))
    parts.append(
        filled(box(0, 158, SIDE, 18), inside("#f3e9d6")) + filled(box(0, 170, SIDE, 3), inside("#7a5636"), 0.6)
    )
    parts.append(filled(box(0, 173, SIDE, 90), "url(#s-land)"))
    rows = ((173, 184, 50), (184, 199, 62), (199, 219, 70), (219, 243, 84), (243, 260, 98))  # top, bottom, length
    boards = "".join(
        f"M0 {low}H{SIDE}"
        + "".join(f"M{at(joint + chance.uniform(-9, 9), top)}V{low}" for joint in range(8, 264, step))
        for top, low, step in rows
    )
    parts.append(drawn(boards, inside("#6a4022"), 1.2, 0.6))
    width = chance.uniform(92, 108)
    rings = ((1, mixed(rug, "#1c1420", 0.3)), (0.93, "#f1e2c4"), (0.86, rug), (0.5, mixed(rug, "#ffffff", 0.3)))
    for shrink, color in rings:
        parts.append(filled(disc(128, 212, width * shrink, 27 * shrink), inside(color)))
    if light.dark:
        parts.append(filled(disc(128, 212, 124, 36), "url(#s-lamp)", 0.6))
    else:
        beam = (x + 14, 173), (x + 82, 173), (x + 112, 256), (x - 4, 256)
        parts.append(
            filled(polygon(beam), mixed(light.sky[2], "#fff6d0", 0.4), 0.3 if light.weather == "clear" else 0.12)
        )
    return Land(defs, "".join(parts) + _pendant(light, inside, lamp, rug))


def _motif(chance: random.Random) -> str:
    """What is printed on the wallpaper: stripes, dots or diamonds."""
    kind, shift = chance.choice(("stripes", "dots", "diamonds")), chance.uniform(0, 14)
    if kind == "stripes":
        return "".join(box(x - shift, 0, 7, 160) for x in range(0, SIDE + 16, 22))
    spots = [(x - shift + 10 * (row % 2), 20 + 17 * row) for row in range(9) for x in range(0, SIDE + 24, 20)]
    if kind == "dots":
        return "".join(disc(x, y, 2.4) for x, y in spots)
    return "".join(f"M{at(x, y - 5)}l3.4 5l-3.4 5l-3.4 -5z" for x, y in spots)


def _pendant(light: Light, inside: Callable[[str], str], x: float, color: str) -> str:
    """The lamp under the ceiling."""
    shade = polygon(((x - 6, 12), (x + 6, 12), (x + 15, 25), (x - 15, 25)))
    bulb = "#fff3c0" if light.dark else inside("#fbf6ea")
    return (
        drawn(f"M{at(x, 0)}V13", inside("#4a3a34"), 1.8)
        + filled(disc(x, 25, 7, 5), bulb)
        + filled(shade, mixed(color, "#ffd98a", 0.35) if light.dark else inside(color))
    )


def _indoors(light: Light) -> Callable[[str], str]:
    """What the light makes of a color in a room: the evening is warm with lamps."""
    glow = {"dawn": ("#ffb8a0", 0.26), "day": ("#ffffff", 0.0), "dusk": ("#7a3440", 0.40), "night": ("#1c1840", 0.60)}[
        light.time
    ]
    gray = light.air.dim * 0.5 + light.air.gray * 0.25

    def seen(color: str) -> str:
        return mixed(mixed(color, "#59606c", gray), *glow)

    return seen


def _view(light: Light, chance: random.Random) -> tuple[str, str]:
    """What a window shows, 256 × 180."""
    chance = random.Random(chance.getrandbits(32))
    defs, markup = sky(light, chance, 150, 128)
    markup += filled(hills(chance, 140, 10, 3), light.ground("#7fae78", 0.5)) + filled(
        hills(chance, 158, 8, 2), light.ground("#5f9a4e", 0.15)
    )
    markup += filled(bush(chance, chance.uniform(40, 210), 168, 74, 54), light.ground("#3f7f45", 0.1, 0.5))
    if light.weather == "rainy":
        markup += rain(light, chance, 60, 2)
    elif light.weather == "snowy":
        markup += snow(light, chance, 90, 1.9)
    elif light.weather == "foggy":
        markup += filled(box(0, 0, SIDE, 200), light.hour.fog, 0.55)
    return defs, markup


def _window(light: Light, inside: Callable[[str], str], x: float, outside: str, cloth: str) -> str:
    """A sash window with curtains and a sill, 98 wide."""
    frame = inside("#fbf6ea")
    view = f'<svg x="{x:.1f}" y="30" width="98" height="92" viewBox="40 0 188 176">{outside}</svg>'
    bars = f"M{at(x + 49, 30)}V122M{at(x, 72)}H{x + 98:.1f}"
    drapes = (
        f"M{at(x - 10, 24)}H{x + 20:.1f}Q{at(x + 18, 84, x - 2, 96)}L{at(x + 2, 134)}H{x - 12:.1f}Z"
        f"M{at(x + 108, 24)}H{x + 78:.1f}Q{at(x + 80, 84, x + 100, 96)}L{at(x + 96, 134)}H{x + 110:.1f}Z"
    )
    folds = (
        f"M{at(x - 4, 27)}Q{at(x - 1, 80, x - 6, 96)}V132M{at(x + 6, 27)}Q{at(x + 8, 78, x - 3, 94)}"
        f"M{at(x + 102, 27)}Q{at(x + 99, 80, x + 104, 96)}V132M{at(x + 92, 27)}Q{at(x + 90, 78, x + 101, 94)}"
    )
    return (
        filled(box(x - 5, 25, 108, 102), frame)
        + view
        + drawn(bars, frame, 3.6)
        + filled(box(x - 10, 124, 118, 7), inside("#efe6d2"))
        + filled(box(x - 10, 131, 118, 3), inside("#8a7358"), 0.6)
        + filled(drapes, inside(cloth))
        + drawn(folds, inside(mixed(cloth, "#1c1420", 0.4)), 1.4, 0.8)
        + drawn(f"M{at(x - 16, 23)}H{x + 114:.1f}", inside("#8a5a30"), 3.4)
    )


def _framed(inside: Callable[[str], str], chance: random.Random, x: float, y: float) -> str:
    """A small picture on the wall."""
    wide, high = chance.choice(((54, 42), (40, 52), (48, 48)))
    ground, air = chance.choice((("#7fa860", "#cfe4f0"), ("#3f8aa8", "#f6d8b0"), ("#d9a860", "#b8d8e8")))
    return (
        filled(box(x - 4, y - 4, wide + 8, high + 8), inside("#8a5c2e"))
        + filled(box(x, y, wide, high), inside(air))
        + filled(disc(x + wide * 0.7, y + high * 0.3, 5), inside("#f6d36a"))
        + filled(
            f"M{at(x, y + high)}V{y + high * 0.6:.1f}L{at(x + wide * 0.35, y + high * 0.34, x + wide * 0.62)} "
            f"{y + high * 0.72:.1f}L{at(x + wide, y + high * 0.5)}V{y + high:.1f}Z",
            inside(ground),
        )
    )

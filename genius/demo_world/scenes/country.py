"""Scenes far from the sea and the town: forest, mountains, desert, meadow, snowfield."""

from __future__ import annotations

import random

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
    heights,
    hills,
    polygon,
    scattered,
    smooth,
    tufts,
)
from genius.demo_world.scenes.light import Light

BARKS = (  # a trunk, its lit side, its cracks
    ("#5d4130", "#7a5840", "#3f2a20"),
    ("#54463c", "#6f6050", "#362c26"),
    ("#d9d4c6", "#f2efe4", "#4a443e"),
)
FLOWERS = ("#ffffff", "#ffd83d", "#e8506a", "#9a6be0")


def forest(light: Light, chance: random.Random) -> Land:
    """Trunks in three depths under a closed canopy, moss below."""
    defs = gradient(
        "s-land", (0, light.ground("#9dbb56"), 1), (0.5, light.ground("#668f3e"), 1), (1, light.ground("#3f6a34"), 1)
    )
    parts = [filled(box(0, 0, SIDE, 170), light.on("#cfe6b4", 0.35), 0.55)]
    rows = ((0.85, "#7d9a78", 13, 5, 150, 40, "#8fb583"), (0.5, "#6a6a48", 8, 10, 158, 32, "#5f9450"))
    for far, bark, count, thick, foot, low, leaf in rows:
        trunks = "".join(
            _trunk(chance, x, thick * chance.uniform(0.7, 1.2), foot + chance.uniform(-2, 6))
            for x in _apart(chance, count)
        )
        crown = "".join(disc(x, low - 22 + chance.uniform(-8, 8), chance.uniform(20, 29)) for x in range(-4, 270, 26))
        parts += [
            filled(trunks, light.on(bark, far)),
            filled(box(0, 0, SIDE, low - 18) + crown, light.on(leaf, far)),
            filled(_undergrowth(chance, foot + 2, 9), light.ground(leaf, far, 0.6)),
        ]
    parts.append(filled(hills(chance, 164, 4, 5), "url(#s-land)"))
    if chance.random() < 0.75:
        parts.append(filled(_path(chance, 163), light.ground("#c9ab78", 0.1)))
    bark = chance.choice(BARKS)
    for x in (chance.uniform(4, 20), chance.uniform(236, 252)):
        thick, foot = chance.uniform(26, 34), chance.uniform(196, 214)
        parts.append(filled(_trunk(chance, x, thick, foot), light.on(bark[0])))
        parts.append(filled(box(x - thick * 0.1, -4, thick * 0.22, foot - 4), light.on(bark[1]), 0.8))
        parts.append(
            drawn(
                "".join(
                    f"M{at(x + dx * thick, y)}v{chance.uniform(10, 24):.1f}"
                    for dx, y in ((-0.28, 70), (0.3, 96), (-0.22, 128), (0.25, 150))
                ),
                light.on(bark[2]),
                1.6,
            )
        )
        parts.append(filled(bush(chance, x, foot + 5, thick * 1.9, 13, 6), light.ground("#4f8a3a", 0, 0.7)))
    leaves = "".join(disc(x, chance.uniform(-16, 4), chance.uniform(20, 28)) for x in range(0, 262, 22))
    corners = "".join(disc(x, chance.uniform(4, 24), chance.uniform(17, 25)) for x in (2, 22, 40, 216, 236, 254))
    parts.append(filled(leaves + corners, light.ground("#2f6b36", 0, 0.35)))
    parts.append(
        filled(
            "".join(disc(chance.uniform(0, SIDE), chance.uniform(-4, 10), chance.uniform(7, 12)) for _ in range(16)),
            light.ground("#4d9044", 0, 0.5),
            0.8,
        )
    )
    shift = chance.uniform(-30, 30)
    if light.weather in ("clear", "cloudy") and light.time != "night":
        ray = {"dawn": "#ffe6b8", "day": "#fffbd2", "dusk": "#ffb070"}[light.time]
        parts.append(
            filled(
                "".join(
                    polygon(((x + shift, 0), (x + shift + 18, 0), (x + shift - 34, 190), (x + shift - 72, 190)))
                    for x in (96, 148, 204)
                ),
                ray,
                0.26 if light.weather == "clear" else 0.12,
            )
        )
    grass = drawn(tufts(chance, scattered(chance, 16, 182, 246), 8), light.ground("#2f5a2c", 0, 0.4), 1.3, 0.8)
    ferns = "".join(_fern(chance, x, 262, lean) for x, lean in ((8, 0.5), (34, 0.9), (226, -0.9), (250, -0.4)))
    return Land(defs, "".join(parts) + grass, filled(ferns, light.ground("#2c6a35", 0, 0.35)))


def _apart(chance: random.Random, count: int) -> list[float]:
    return [(n + chance.uniform(0.15, 0.85)) * SIDE / count for n in range(count)]


def _trunk(chance: random.Random, x: float, thick: float, foot: float) -> str:
    half = thick / 2
    top = x + chance.uniform(-6, 6) - half * 0.8
    return (
        f"M{at(top, -4)}h{half * 1.6:.1f}Q{at(x + half * 0.7, foot * 0.6, x + half, foot - 10)}"
        f"Q{at(x + half * 1.1, foot - 2, x + half * 1.8, foot)}h{-half * 3.6:.1f}"
        f"Q{at(x - half * 1.1, foot - 2, x - half, foot - 10)}Q{at(x - half * 0.7, foot * 0.6, top, -4)}Z"
    )


def _undergrowth(chance: random.Random, y: float, tall: float) -> str:
    return "".join(
        disc(x + chance.uniform(-6, 6), y, chance.uniform(10, 15), tall * chance.uniform(0.6, 1.2))
        for x in range(0, 262, 18)
    ) + box(0, y, SIDE, 14)


def _path(chance: random.Random, horizon: float) -> str:
    """A footpath that winds from the foreground to the horizon."""
    end, bend, width = chance.uniform(112, 144), chance.uniform(-26, 26), chance.uniform(62, 80)
    start = 128 - bend
    return (
        f"M{at(start - width, 260)}C{at(start - width * 0.3, 222, end + bend - 22, 200, end - 3, horizon)}"
        f"H{end + 4:.1f}C{at(end + bend + 24, 200, start + width * 0.7, 222, start + width, 260)}Z"
    )


def _fern(chance: random.Random, x: float, y: float, lean: float) -> str:
    parts = []
    for n in range(7):
        turn = lean + (n - 3) * 0.34
        long = 38 * chance.uniform(0.75, 1.1)
        tip = (x + turn * long, y - long * (1.15 - abs(turn) * 0.45))
        parts.append(
            f"M{at(x - 3, y)}Q{at(x + turn * long * 0.3 - 4, y - long * 0.8, *tip)}"
            f"Q{at(x + turn * long * 0.55 + 3, y - long * 0.5, x + 4, y)}Z"
        )
    return "".join(parts)


def mountains(light: Light, chance: random.Random) -> Land:
    """Snow-capped peaks over dark firs, an alp with boulders in front."""
    defs = gradient("s-land", (0, light.ground("#a9bf68"), 1), (1, light.ground("#5f8a4a"), 1))
    far = [
        (x + chance.uniform(-12, 12), 86 + chance.uniform(-22, 22) * (n % 2 or -1))
        for n, x in enumerate(range(-20, 300, 26))
    ]
    parts = [filled(polygon([(-20, 160), *far, (280, 160)]), light.on("#8fa3c6", 0.75))]
    count = chance.choice((2, 3, 3, 4))
    tops = sorted(
        (chance.uniform(22, 66) if n else chance.uniform(20, 32), (place + chance.uniform(0.3, 0.7)) * SIDE / count)
        for n, place in enumerate(chance.sample(range(count), count))
    )
    for top, x in tops:  # the highest stand behind
        parts.append(_peak(light, chance, x, top, 158, (158 - top) * chance.uniform(0.52, 0.64), 0.22))
    parts.append(filled(hills(chance, 146, 5, 4, 180), light.ground("#6f9a86", 0.5, 0.5)))
    for far_off, base, tall, step in ((0.42, 154, 20, 11), (0.2, 163, 28, 15)):
        trees = "".join(
            fir(x + chance.uniform(-4, 4), base + chance.uniform(-2, 4), tall * chance.uniform(0.7, 1.15), 3, 0.2)
            for x in range(-4, 264, step)
            if chance.random() < 0.86
        )
        parts.append(filled(trees + box(0, base - 2, SIDE, 12), light.ground("#35604e", far_off, 0.35)))
    parts.append(filled(hills(chance, 170, 5, 3), "url(#s-land)"))
    parts.append(filled(hills(chance, 222, 8, 2), light.ground("#4f7a40"), 0.55))
    for x, y, wide in (
        (chance.uniform(10, 34), chance.uniform(186, 200), 20),
        (chance.uniform(224, 246), chance.uniform(190, 206), 24),
        (chance.uniform(20, 236), 246, 15),
    ):
        parts.append(_boulder(light, chance, x, y, wide * chance.uniform(0.8, 1.2)))
    spots = scattered(chance, 15, 180, 250)
    parts.append(drawn(tufts(chance, spots, 6), light.ground("#3f6a38", 0, 0.3), 1.2, 0.8))
    parts.append(
        filled("".join(disc(x, y, 1.7) for x, y in scattered(chance, 20, 184, 252)), light.on("#f3e9ff"), 0.95)
    )
    return Land(defs, "".join(parts))


def _peak(light: Light, chance: random.Random, x: float, top: float, foot: float, half: float, far: float) -> str:
    """A mountain lit from the left: its body, its shaded side, its snow cap."""
    high = foot - top
    ridge = [(x, top)]
    for n in range(1, 6):
        ridge.append((x + (8 if n % 2 else -5) * chance.uniform(0.5, 1.3) + n * 1.5, top + high * n / 5))
    body = polygon(
        [
            (x - half, foot),
            (x - half * 0.45, top + high * 0.52),
            (x - half * 0.28, top + high * 0.3),
            (x, top),
            (x + half * 0.33, top + high * 0.27),
            (x + half * 0.5, top + high * 0.52),
            (x + half, foot),
        ]
    )
    shade = polygon(
        [*ridge, (x + half, foot), (x + half * 0.5, top + high * 0.52), (x + half * 0.33, top + high * 0.27)]
    )
    low = 0.42 + 0.14 * light.air.white
    cap = [(x, top), (x + half * 0.33, top + high * 0.27), (x + half * 0.42, top + high * low)]
    teeth = [
        (x + half * share, top + high * (low - 0.02 + dip * chance.uniform(0.7, 1.3)))
        for share, dip in ((0.3, -0.06), (0.2, 0.08), (0.08, -0.07), (-0.04, 0.1), (-0.15, -0.05), (-0.26, 0.07))
    ]
    left = [(x - half * 0.4, top + high * low), (x - half * 0.28, top + high * 0.3)]
    return (
        filled(body, light.ground("#7b84a0", far, 0.3))
        + filled(shade, light.ground("#566083", far, 0.25))
        + filled(polygon([*cap, *teeth, *left]), light.on("#ffffff", far * 0.4))
        + filled(polygon([(x, top), *ridge[1:2], *teeth[1:2], cap[2], cap[1]]), light.on("#bccbe6", far * 0.4))
    )


def _boulder(light: Light, chance: random.Random, x: float, y: float, wide: float) -> str:
    high = wide * chance.uniform(0.75, 0.95)
    body = [
        (x - wide, y),
        (x - wide * 0.8, y - high * 0.6),
        (x - wide * 0.2, y - high),
        (x + wide * 0.5, y - high * 0.8),
        (x + wide, y),
    ]
    lit = [
        (x - wide * 0.8, y - high * 0.6),
        (x - wide * 0.2, y - high),
        (x + wide * 0.5, y - high * 0.8),
        (x + wide * 0.1, y - high * 0.55),
    ]
    return filled(polygon(body), light.on("#7b8390")) + filled(polygon(lit), light.ground("#b9c0c9"))


def desert(light: Light, chance: random.Random) -> Land:
    """Red mesas behind long dunes, saguaros far off."""
    defs = gradient("s-land", (0, light.ground("#f2a44c", 0.1), 1), (1, light.ground("#d9762f"), 1))
    parts = []
    for x, wide, high, far in (
        (chance.uniform(18, 50), chance.uniform(40, 54), chance.uniform(46, 62), 0.35),
        (chance.uniform(196, 236), chance.uniform(42, 58), chance.uniform(38, 66), 0.25),
        (chance.uniform(100, 150), chance.uniform(24, 34), chance.uniform(18, 26), 0.75),
    ):
        parts.append(_mesa(light, chance, x, wide, 146, high, far))
    parts.append(filled(hills(chance, 144, 4, 4), light.ground("#e9b36a", 0.35)))
    saguaros = "".join(
        _saguaro(chance, x, y, tall)
        for x, y, tall in (
            (chance.uniform(14, 40), 172, 44),
            (chance.uniform(216, 244), 164, 34),
            (chance.uniform(60, 100), 152, 14),
            (chance.uniform(156, 196), 152, 13),
        )
    )
    crest = heights(chance, 164, 9, 3)
    parts.append(filled(smooth(crest) + f"V{SIDE}H-10Z", light.ground("#f0b45e", 0.15)))
    parts.append(
        filled(
            smooth(crest)
            + "L"
            + "L".join(at(px, py + (16 if n % 2 else 3)) for n, (px, py) in reversed(list(enumerate(crest))))
            + "Z",
            light.ground("#c96f34", 0.15),
            0.75,
        )
    )
    parts.append(drawn(saguaros, light.ground("#3d7a4c", 0.12, 0.3), 6.4))
    parts.append(filled(hills(chance, 190, 8, 2), "url(#s-land)"))
    ripples = "".join(f"M{at(x, y)}q{at(9, -4, 18, 0)}t{at(18, 0)}" for x, y in scattered(chance, 17, 200, 250))
    parts.append(drawn(ripples, light.ground("#b35a26", 0, 0.5), 1.5, 0.6))
    stones = "".join(disc(x, y, chance.uniform(1.4, 3.4), 1.5) for x, y in scattered(chance, 12, 198, 252))
    parts.append(filled(stones, light.on("#8d4a26"), 0.8))
    return Land(defs, "".join(parts))


def _mesa(light: Light, chance: random.Random, x: float, wide: float, foot: float, high: float, far: float) -> str:
    top, left, right = foot - high, x - wide * 0.5, x + wide * 0.5
    step = wide * chance.uniform(0.1, 0.2)
    body = [
        (left - wide * 0.45, foot),
        (left - step * 0.5, foot - high * 0.42),
        (left, top + high * 0.12),
        (left + step, top + high * 0.1),
        (left + step * 1.2, top),
        (right - step * 0.4, top + 2),
        (right, top + high * 0.2),
        (right + step * 0.5, foot - high * 0.42),
        (right + wide * 0.45, foot),
    ]
    shade = [
        (right - wide * 0.34, top + 1),
        *body[5:],
        (x + wide * 0.2, foot),
        (right - wide * 0.24, foot - high * 0.4),
    ]
    bands = "".join(
        f"M{at(left + step * 0.4, top + high * share)}L{at(right - step * 0.1, top + high * (share + 0.03))}"
        for share in (0.3, 0.46)
    )
    return (
        filled(polygon(body), light.ground("#c4512c", far, 0.35))
        + filled(polygon(shade), light.on("#8e3526", far), 0.8)
        + drawn(bands, light.on("#e58a55", far), 2.6, 0.75)
    )


def _saguaro(chance: random.Random, x: float, y: float, tall: float) -> str:
    """A cactus of three strokes."""
    out = tall * 0.24 * chance.choice((-1, 1))
    return (
        f"M{at(x, y)}V{y - tall:.1f}"
        f"M{at(x, y - tall * 0.35)}q{at(-out, 0, -out, -tall * 0.14)}v{-tall * 0.2:.1f}"
        f"M{at(x, y - tall * 0.5)}q{at(out, 0, out, -tall * 0.12)}v{-tall * 0.16:.1f}"
    )


def meadow(light: Light, chance: random.Random) -> Land:
    """Green hills with hedges and a farm, a fence, flowers up to the viewer's feet."""
    defs = gradient("s-land", (0, light.ground("#a6d65a"), 1), (1, light.ground("#5aa83e"), 1))
    parts = [
        filled(hills(chance, 122, 12, 3), light.ground("#8fbf8a", 0.7)),
        filled(hills(chance, 136, 9, 3), light.ground("#8cc860", 0.42)),
    ]
    hedge = "".join(
        bush(chance, x + chance.uniform(-8, 8), 146, chance.uniform(16, 30), chance.uniform(8, 15), 4)
        for x in range(4, 260, 34)
        if chance.random() < 0.75
    )
    parts.append(filled(hedge, light.ground("#4f8f4c", 0.4, 0.5)))
    parts.append(_farm(light, chance.choice((chance.uniform(24, 52), chance.uniform(200, 226))), 146))
    parts.append(filled(hills(chance, 152, 6, 3), light.ground("#9fd45c", 0.18)))
    if chance.random() < 0.65:
        parts.append(_fence(light, chance, 168))
    parts.append(filled(hills(chance, 172, 5, 3), "url(#s-land)"))
    if chance.random() < 0.4:
        parts.append(filled(_path(chance, 177), light.ground("#dcc48a", 0.1, 0.8)))
    parts.append(filled(hills(chance, 226, 7, 2), light.ground("#489638"), 0.5))
    parts.append(drawn(tufts(chance, scattered(chance, 20, 178, 252), 7), light.ground("#3a7f30", 0, 0.3), 1.2, 0.85))
    for color in FLOWERS:
        heads = "".join(disc(x, y, 1.2 + (y - 170) * 0.026) for x, y in scattered(chance, 13, 176, 254))
        parts.append(filled(heads, light.ground(color, 0, 0.25)))
    blades = drawn(
        tufts(chance, [(x + chance.uniform(-5, 5), 260) for x in range(2, 260, 13)], 19),
        light.ground("#2f7a2e", 0, 0.35),
        2.2,
    )
    blooms = "".join(_bloom(light, chance, x) for x in (chance.uniform(8, 60), chance.uniform(196, 246)))
    return Land(defs, "".join(parts), blades + blooms)


def _farm(light: Light, x: float, y: float) -> str:
    window = "#ffd667" if light.dark else light.on("#5a7a94", 0.3)
    return (
        filled(box(x - 11, y - 13, 22, 14), light.on("#f4e6cc", 0.25))
        + filled(
            polygon(((x - 14, y - 12), (x - 7, y - 23), (x + 7, y - 23), (x + 14, y - 12))),
            light.ground("#c8473a", 0.25, 0.6),
        )
        + filled(box(x - 7, y - 9, 4, 4) + box(x + 3, y - 9, 4, 4), window)
    )


def _fence(light: Light, chance: random.Random, y: float) -> str:
    posts = "".join(box(x, y - 15 + chance.uniform(-1, 1), 3.4, 24) for x in range(2, 260, 28))
    rails = f"M-4 {y - 10:.1f}H260M-4 {y - 3:.1f}H260"
    return drawn(rails, light.ground("#b98a58", 0.1, 0.5), 2.2) + filled(posts, light.ground("#96683e", 0.1, 0.4))


def _bloom(light: Light, chance: random.Random, x: float) -> str:
    """A daisy in the foreground."""
    y, radius = chance.uniform(234, 242), 5.2
    petals = "".join(
        disc(x + dx * radius, y + dy * radius, 3.1)
        for dx, dy in ((0, -1), (0.87, -0.5), (0.87, 0.5), (0, 1), (-0.87, 0.5), (-0.87, -0.5))
    )
    return (
        drawn(f"M{at(x, y)}q2 10 0 24", light.on("#2f7a2e"), 2)
        + filled(petals, light.on(chance.choice(FLOWERS)))
        + filled(disc(x, y, 3), light.on("#f5b52e"))
    )


def snowfield(light: Light, chance: random.Random) -> Land:
    """White drifts with blue shadows, laden firs, sometimes an igloo; northern lights on a clear night."""
    defs = gradient("s-land", (0, light.on("#ffffff"), 1), (1, light.on("#c4d8f2"), 1))
    parts = []
    polar = random.Random(chance.getrandbits(32))  # whether it shines or not, the land stays as it is
    if light.time == "night" and light.weather in ("clear", "cloudy"):
        defs += gradient("s-aurora", (0.2, "#9a6cf0", 0), (0.45, "#6c8cf0", 0.3), (1, "#5cf5b0", 0.75))
        for lift in (0, 30):  # a curtain of light, its lower hem sharp
            hem = smooth(heights(polar, 74 + lift, 17, 4))
            parts.append(filled(f"{hem}V{lift}H-10Z", "url(#s-aurora)", 0.7))
    parts.append(filled(hills(chance, 128, 8, 4), light.on("#b4cbe8", 0.6)))
    trees = "".join(
        fir(x + chance.uniform(-4, 4), 144 + chance.uniform(-2, 5), chance.uniform(14, 24), 3, 0.22)
        for x in range(0, 262, 16)
        if chance.random() < 0.6
    )
    parts.append(filled(trees, light.on("#7f9cb4", 0.4)))
    parts.append(filled(hills(chance, 144, 7, 3), light.on("#dbe8f8", 0.2)))
    left = chance.random() < 0.5
    for x, y, tall in (
        (chance.uniform(10, 26), 186, 96),
        (chance.uniform(46, 60), 168, 54),
        (chance.uniform(230, 248), 182, 86),
        (chance.uniform(196, 212), 164, 46),
    ):
        if (x < 128) == left or x < 30 or x > 228:
            parts.append(_laden(light, x, y, tall * chance.uniform(0.85, 1.1)))
    crest = heights(chance, 166, 7, 3)
    parts.append(filled(smooth(crest) + f"V{SIDE}H-10Z", light.on("#f6faff")))
    if chance.random() < 0.6:
        parts.append(_igloo(light, chance.uniform(196, 208) if left else chance.uniform(48, 60), 176))
    parts.append(filled(hills(chance, 186, 6, 2), "url(#s-land)"))
    parts.append(filled(hills(chance, 228, 8, 2), light.on("#aac6ea"), 0.45))
    dents = "".join(f"M{at(x, y)}q{at(10, 5, 24, 1)}" for x, y in scattered(chance, 11, 192, 250))
    parts.append(drawn(dents, light.on("#9dbbe2"), 1.8, 0.7))
    prints = "".join(
        disc(150 + (n % 2) * 7 + n * 3.2, 250 - n * 5.6, 2.6 - n * 0.12, 1.5 - n * 0.06) for n in range(12)
    )
    parts.append(filled(prints, light.on("#8fb0da"), 0.75))
    return Land(defs, "".join(parts))


def _laden(light: Light, x: float, y: float, tall: float) -> str:
    """A fir with snow on its boughs."""
    caps = ""
    for n, share in enumerate((0.085, 0.13, 0.17, 0.2)):
        top, wide = y - tall + tall * 0.215 * n, tall * share
        edge, dent = top + tall * 0.14, top + tall * 0.11
        caps += polygon(
            (
                (x, top - 1),
                (x + wide, edge),
                (x + wide * 0.4, dent),
                (x, top + tall * 0.17),
                (x - wide * 0.4, dent),
                (x - wide, edge),
            )
        )
    return filled(fir(x, y + 4, tall), light.on("#3f7468", 0.1)) + filled(caps, light.on("#ffffff"))


def _igloo(light: Light, x: float, y: float) -> str:
    dome = f"M{at(x - 24, y)}a24 24 0 0 1 48 0z"
    bricks = (
        f"M{at(x - 22, y - 9)}q22 6 44 0M{at(x - 16, y - 17)}q16 5 32 0"
        f"M{at(x - 8, y - 14)}v-9M{at(x + 8, y - 14)}v-9"
        f"M{at(x - 14, y - 7)}v-9M{at(x + 14, y - 7)}v-9"
    )
    door = f"M{at(x - 9, y)}v-5a9 9 0 0 1 18 0v5z"
    glow = "#ffd27a" if light.dark else light.on("#5f7fa8")
    return (
        filled(dome, light.on("#eef5ff"))
        + drawn(bricks, light.on("#a9c3e4"), 1.3)
        + drawn(door, light.on("#c9dcf2"), 4)
        + filled(door, glow)
    )

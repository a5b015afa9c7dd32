"""The sky: its colors, sun or moon, stars and clouds."""

from __future__ import annotations

import random

from genius.demo_world.paint import mixed
from genius.demo_world.scenes.forms import SIDE, box, disc, filled, gradient, halo, star
from genius.demo_world.scenes.light import Light


def sky(light: Light, chance: random.Random, horizon: float, skyline: float) -> tuple[str, str]:
    """SVG definitions and markup of the whole sky, down to a little below the horizon.

    skyline: y above which nothing hides a low sun.
    """
    chance = random.Random(chance.getrandbits(32))  # whatever the sky takes, the land stays where it is
    top, middle, low = light.sky
    side = chance.choice((-1, 1))
    defs = gradient("s-sky", (0, top, 1), (0.55, middle, 1), (1, low, 1)) + _glow(light)
    stars = _stars(light, chance, horizon)
    body = _moon(light, chance, side) if light.time == "night" else _sun(light, chance, side, skyline)
    return defs, filled(box(0, 0, SIDE, horizon + 12), "url(#s-sky)") + stars + body + _clouds(light, chance, horizon)


def _seen(light: Light) -> float:
    """How much of sun, moon and stars shows."""
    return {"clear": 1.0, "cloudy": 0.8, "rainy": 0.0, "snowy": 0.0, "foggy": 0.45}[light.weather]


def _glow(light: Light) -> str:
    color = {"dawn": "#fff3c4", "day": "#fffbe0", "dusk": "#ffc266", "night": "#9fb4f0"}[light.time]
    return halo("s-glow", (0, color, 0.85), (0.35, color, 0.35), (1, color, 0))


def _sun(light: Light, chance: random.Random, side: int, skyline: float) -> str:
    seen = _seen(light)
    if not seen:
        return ""
    x = SIDE / 2 + side * chance.uniform(62, 98)
    if light.time == "day":
        y, radius, color = chance.uniform(28, 44), 17.0, "#fff3a8"
    else:
        y, radius = skyline - chance.uniform(6, 18), 22.0
        color = "#fff0b0" if light.time == "dawn" else "#ff6a3a"
    if light.weather == "foggy":
        return filled(disc(x, y, radius), mixed(color, "#ffffff", 0.4), 0.55)
    return filled(disc(x, y, radius * 4), "url(#s-glow)") + filled(disc(x, y, radius), color, 0.5 + seen / 2)


def _moon(light: Light, chance: random.Random, side: int) -> str:
    seen = _seen(light)
    if not seen:
        return ""
    x, y, radius = SIDE / 2 + side * chance.uniform(70, 98), chance.uniform(30, 48), 17.0
    glow = filled(disc(x, y, radius * 3.4), "url(#s-glow)", 0.7 * seen)
    if chance.random() < 0.5:  # crescent
        d = (
            f"M{x + 5:.1f} {y - radius:.1f}A{radius} {radius} 0 1 0 {x + radius:.1f} {y + 5:.1f}"
            f"A{radius * 0.85:.1f} {radius * 0.85:.1f} 0 0 1 {x + 5:.1f} {y - radius:.1f}Z"
        )
        return glow + filled(d, "#fbf4d8", seen)
    marks = disc(x - 5, y - 4, 3.6) + disc(x + 5, y + 5, 4.4) + disc(x + 6, y - 7, 2.2)
    return glow + filled(disc(x, y, radius), "#fbf4d8", seen) + filled(marks, "#ddd3b4", seen)


def _stars(light: Light, chance: random.Random, horizon: float) -> str:
    if light.weather in ("rainy", "snowy", "foggy") or light.time in ("dawn", "day"):
        return ""
    count, low = (46, horizon * 0.85) if light.time == "night" else (12, horizon * 0.4)
    if light.weather == "cloudy":
        count //= 3
    small = "".join(
        disc(chance.uniform(2, 254), chance.uniform(2, low), chance.uniform(0.6, 1.3)) for _ in range(count)
    )
    large = "".join(
        star(chance.uniform(6, 250), chance.uniform(6, low * 0.8), chance.uniform(2.8, 4.4)) for _ in range(count // 7)
    )
    return filled(small + large, "#fdf6dc", 0.9)


def _clouds(light: Light, chance: random.Random, horizon: float) -> str:
    if light.weather == "foggy":
        return ""
    if light.weather == "clear":
        count, size, ceiling = chance.randint(1, 2), 20.0, horizon * 0.5
    elif light.weather == "cloudy":
        count, size, ceiling = 6, 32.0, horizon * 0.66
    else:
        return _bank(light, chance)
    body, shadow = _cloud_colors(light)
    parts = []
    order = [(n + chance.uniform(0.2, 0.8)) * SIDE / count for n in range(count)]
    chance.shuffle(order)
    for n, x in enumerate(order):
        y, wide = 18 + (ceiling - 18) * (n + chance.random()) / count, size * chance.uniform(0.8, 1.3)
        lumps = _lumps(chance, x, y, wide)
        parts.append(filled(_puff(lumps, 0.0), shadow, 0.9) + filled(_puff(lumps, wide * 0.13), body, 0.95))
    return "".join(parts)


def _cloud_colors(light: Light) -> tuple[str, str]:
    """Of the lit tops and of the undersides."""
    body = {"dawn": "#fff1ec", "day": "#ffffff", "dusk": "#f3958c", "night": "#4a5a8c"}[light.time]
    shadow = {"dawn": "#e2b4c6", "day": "#bfd6e8", "dusk": "#8a4474", "night": "#2a3868"}[light.time]
    if light.weather == "cloudy":
        body, shadow = mixed(body, light.cover, 0.3), mixed(mixed(shadow, light.cover, 0.6), "#30384a", 0.16)
    return body, shadow


def _lumps(chance: random.Random, x: float, y: float, wide: float) -> list[tuple[float, float, float]]:
    """The circles of a cloud whose flat base lies on y."""
    lumps = []
    for share in (-0.75, -0.35, 0.1, 0.5, 0.82):
        radius = wide * (0.46 - 0.3 * abs(share) ** 1.5) * chance.uniform(0.85, 1.15)
        lumps.append((x + share * wide, y - radius * 0.55, radius))
    return lumps


def _puff(lumps: list[tuple[float, float, float]], lift: float) -> str:
    """The outline of a cloud; the lit part is a little smaller and higher than the whole."""
    base = max(y + radius * 0.55 for _, y, radius in lumps)
    trim = lift * 0.35
    left, right = lumps[0][0], lumps[-1][0]
    return "".join(disc(x, y - lift * 0.5, max(1.0, radius - trim)) for x, y, radius in lumps) + box(
        left, base - lumps[2][2] * 0.5 - lift, right - left, lumps[2][2] * 0.5 + lift * 0.2
    )


def _bank(light: Light, chance: random.Random) -> str:
    """A closed bank of clouds along the top."""
    parts = []
    for depth, (low, dark) in enumerate(((52, 0.06), (36, 0.16), (20, 0.27))):
        tone = mixed(light.cover, "#20283a" if light.weather == "rainy" else "#5a6a84", dark)
        lumps = "".join(
            disc(x + chance.uniform(-8, 8), low - 20 + chance.uniform(-5, 5), chance.uniform(19, 27))
            for x in range(-6 + 9 * depth, 270, 30)
        )
        parts.append(filled(box(0, 0, SIDE, low - 16) + lumps, tone))
    return "".join(parts)

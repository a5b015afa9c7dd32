"""What falls or drifts between the viewer and the things."""

from __future__ import annotations

import random

from genius.demo_world.paint import mixed
from genius.demo_world.scenes.forms import SIDE, at, box, disc, drawn, filled, gradient, halo, scattered
from genius.demo_world.scenes.light import Light


def falling(light: Light, chance: random.Random) -> tuple[str, str]:
    """SVG definitions and markup of rain, snow or fog over the whole picture; both empty in dry weather."""
    chance = random.Random(chance.getrandbits(32))
    if light.weather == "rainy":
        return "", rain(light, chance, 62)
    if light.weather == "snowy":
        return "", snow(light, chance, 84)
    if light.weather == "foggy":
        return _fog(light, chance)
    return "", ""


def puddles(light: Light, chance: random.Random) -> str:
    """Wet spots that mirror the sky, and rings where drops strike them; empty unless it rains."""
    chance = random.Random(chance.getrandbits(32))
    if light.weather != "rainy":
        return ""
    pools, rings = "", ""
    for y in (198, 219, 242):
        x, wide = chance.uniform(24, 232), (y - 150) * chance.uniform(0.32, 0.55)
        pools += disc(x, y, wide, wide * 0.15) + disc(x + wide * 0.6, y + 3, wide * 0.55, wide * 0.1)
        rings += disc(x - wide * 0.3, y, 5, 1.4) + disc(x + wide * 0.4, y + 1, 7, 1.8)
    splashes = "".join(f"M{at(x - 3, y - 4)}l3 4l3 -4" for x, y in scattered(chance, 16, 190, 252))
    pale = mixed(light.sky[2], "#ffffff", 0.3)
    return filled(pools, pale, 0.5) + drawn(rings + splashes, mixed(pale, "#ffffff", 0.4), 1, 0.7)


def rain(light: Light, chance: random.Random, count: int, size: float = 1.0) -> str:
    """Slanting streaks, those near by longer and brighter."""
    color = {"dawn": "#f2f0fa", "day": "#f4faff", "dusk": "#e6cfe0", "night": "#a9bce8"}[light.time]
    slant = chance.uniform(0.14, 0.34) * chance.choice((-1, 1))

    def streaks(number: int, length: float) -> str:
        parts = []
        for _ in range(number):
            long = size * length * chance.uniform(0.7, 1.2)
            parts.append(f"M{at(chance.uniform(-10, 266), chance.uniform(-14, 250))}l{at(-slant * long, long)}")
        return "".join(parts)

    return drawn(streaks(count * 3 // 5, 13), color, 1.1 * size, 0.5) + drawn(
        streaks(count * 2 // 5, 22), color, 1.9 * size, 0.62
    )


def snow(light: Light, chance: random.Random, count: int, size: float = 1.0) -> str:
    """Flakes, small ones far off and large ones near by."""
    color = {"dawn": "#fffafa", "day": "#ffffff", "dusk": "#f8e2e6", "night": "#c6d2f2"}[light.time]

    def flakes(number: int, small: float, large: float) -> str:
        return "".join(
            disc(chance.uniform(0, SIDE), chance.uniform(0, SIDE), size * chance.uniform(small, large))
            for _ in range(number)
        )

    return filled(flakes(count * 2 // 3, 1.1, 1.9), color, 0.85) + filled(flakes(count // 3, 2.3, 3.9), color, 0.92)


def _fog(light: Light, chance: random.Random) -> tuple[str, str]:
    fog = mixed(light.hour.fog, "#ffffff", 0.12)
    defs = gradient("s-fog", (0, fog, 0.1), (0.45, fog, 0.26), (0.8, fog, 0.10), (1, fog, 0.38)) + halo(
        "s-bank", (0, fog, 0.8), (0.5, fog, 0.45), (1, fog, 0)
    )
    banks = "".join(
        filled(
            disc(
                x + chance.uniform(-30, 30), y + chance.uniform(-6, 6), chance.uniform(90, 140), chance.uniform(11, 18)
            ),
            "url(#s-bank)",
            0.8,
        )
        for x, y in ((40, 108), (210, 132), (60, 172), (190, 222), (50, 240))
    )
    return defs, filled(box(0, 0, SIDE, SIDE), "url(#s-fog)") + banks

"""Scenes: the places, hours and weathers that things are seen in, in a picture of 256 × 256 units.

Whatever the hour and the weather, one `variant` gives one and the same place.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from genius.demo_world.scenes.country import desert, forest, meadow, mountains, snowfield
from genius.demo_world.scenes.forms import Land
from genius.demo_world.scenes.light import TIMES, WEATHERS, Light
from genius.demo_world.scenes.room import room
from genius.demo_world.scenes.shore import beach, harbour
from genius.demo_world.scenes.sky import sky
from genius.demo_world.scenes.theater import stage
from genius.demo_world.scenes.town import city
from genius.demo_world.scenes.weather import falling, puddles
from genius.errors import UserError

__all__ = ["SCENES", "TIMES", "WEATHERS", "Scene", "scene"]


@dataclass(frozen=True)
class Scene:
    """SVG of a place, and where things go in it."""

    defs: str
    behind: str  # under the things
    before: str  # over the things
    ground: float  # y at which a thing stands that is neither near nor far
    horizon: float
    tint: tuple[str, float]  # color and opacity of a veil over the things


@dataclass(frozen=True)
class Place:
    """What is known of a scene before it is drawn."""

    horizon: float
    skyline: float  # y above which nothing hides a low sun
    land: Callable[[Light, random.Random], Land]
    indoors: bool = False  # no sky of its own, nothing falls in it


PLACES = {
    "beach": Place(118, 112, beach),
    "forest": Place(164, 140, forest),
    "city": Place(168, 66, city),
    "mountains": Place(158, 80, mountains),
    "desert": Place(146, 104, desert),
    "meadow": Place(140, 122, meadow),
    "harbour": Place(135, 84, harbour),
    "snowfield": Place(144, 126, snowfield),
    "room": Place(173, 0, room, indoors=True),
    "stage": Place(176, 0, stage, indoors=True),
}
SCENES = tuple(PLACES)
GROUND = 205


def scene(name: str, time: str, weather: str, variant: random.Random) -> Scene:
    """Draw a scene. variant: moves its hills, trees, clouds and stars."""
    for what, value, known in (("scene", name, SCENES), ("time", time, TIMES), ("weather", weather, WEATHERS)):
        if value not in known:
            raise UserError(f"Unknown {what} {value!r}; expected one of {', '.join(map(repr, known))}.")
    place, light = PLACES[name], Light(time, weather)
    if place.indoors:
        land = place.land(light, variant)
        return Scene(land.defs, land.behind, land.before, GROUND, place.horizon, _indoor_veil(light))
    sky_defs, above = sky(light, variant, place.horizon, place.skyline)
    fall_defs, fall = falling(light, variant)
    land, wet = place.land(light, variant), puddles(light, variant)
    return Scene(
        sky_defs + fall_defs + land.defs,
        above + land.behind + wet,
        land.before + fall,
        GROUND,
        place.horizon,
        light.veil(),
    )


def _indoor_veil(light: Light) -> tuple[str, float]:
    """Lamps keep the things bright under a roof."""
    color, opacity = light.veil()
    return color, round(opacity * 0.5, 3)

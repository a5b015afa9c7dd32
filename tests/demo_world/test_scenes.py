"""Scenes: every place at every hour in every weather, drawn and looked at."""

from __future__ import annotations

import io
import random
from functools import cache
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest
import resvg_py
from PIL import Image

from genius.demo_world.scenes import SCENES, TIMES, WEATHERS, Scene, scene
from genius.errors import UserError


@cache
def made(name: str, time: str = "day", weather: str = "clear", seed: int = 0) -> Scene:
    return scene(name, time, weather, random.Random(seed))


def markup(drawn: Scene) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64" viewBox="0 0 256 256">'
        f"<defs>{drawn.defs}</defs>{drawn.behind}{drawn.before}</svg>"
    )


@cache
def pixels(drawn: Scene) -> np.ndarray:
    """(64, 64, 4) RGBA, 0 … 255."""
    png = bytes(resvg_py.svg_to_bytes(svg_string=markup(drawn), skip_system_fonts=True))
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGBA")).astype(float)


def brightness(drawn: Scene) -> float:
    return pixels(drawn)[..., :3].mean()


def apart(one: Scene, other: Scene) -> float:
    """Mean difference of two scenes' pixels."""
    return np.abs(pixels(one) - pixels(other))[..., :3].mean()


@pytest.mark.parametrize("name", SCENES)
def test_every_hour_and_weather_fills_the_picture(name: str):
    for time in TIMES:
        for weather in WEATHERS:
            drawn = made(name, time, weather)

            assert pixels(drawn)[..., 3].min() == 255, (time, weather)  # no hole anywhere
            assert 0 <= drawn.tint[1] <= 0.6
            assert drawn.horizon < drawn.ground


@pytest.mark.parametrize("name", SCENES)
def test_the_markup_is_well_formed_cheap_and_names_only_its_own_definitions(name: str):
    for time in TIMES:
        for weather in WEATHERS:
            drawn = made(name, time, weather)
            root = ElementTree.fromstring(markup(drawn))
            definitions = root.find("{*}defs")
            defined = [element.get("id") for element in definitions]
            shown = [element for element in root.iter() if element not in set(definitions.iter())]

            assert all(identity.startswith("s-") for identity in defined)
            assert len(defined) == len(set(defined))
            assert {part.partition(")")[0] for part in markup(drawn).split("url(#")[1:]} <= set(defined)
            assert len(shown) <= 90
            assert not [element.tag for element in shown if element.tag.endswith(("filter", "text", "image"))]


@pytest.mark.parametrize("name", SCENES)
def test_variants_are_reproducible_and_differ(name: str):
    for time, weather in (("day", "clear"), ("night", "snowy")):
        assert scene(name, time, weather, random.Random(1)) == scene(name, time, weather, random.Random(1))
        assert len({made(name, time, weather, seed).behind for seed in range(12)}) == 12


@pytest.mark.parametrize("name", SCENES)
def test_time_and_weather_do_not_change_the_place(name: str):
    one, other = paths(made(name, "day", "clear", 5)), paths(made(name, "dusk", "rainy", 5))

    assert len(one & other) > 0.6 * len(one)
    assert len(one & paths(made(name, "day", "clear", 6))) < 0.6 * len(one & other)


def paths(drawn: Scene) -> set[str]:
    return {element.get("d") for element in ElementTree.fromstring(markup(drawn)).iter() if element.get("d")}


@pytest.mark.parametrize("name", SCENES)
def test_it_gets_darker_from_day_to_night(name: str):
    for weather in WEATHERS:
        day, dusk, night = (brightness(made(name, time, weather)) for time in ("day", "dusk", "night"))

        assert day > dusk + 8 and dusk > night + 5, weather
        assert brightness(made(name, "dawn", weather)) > dusk


@pytest.mark.parametrize("name", SCENES)
def test_times_and_weathers_look_different_at_thumbnail_size(name: str):
    for one, other in combinations(TIMES, 2):
        assert apart(made(name, one), made(name, other)) > 5, (one, other)
    for one, other in combinations(WEATHERS, 2):
        assert apart(made(name, "day", one), made(name, "day", other)) > 1.5, (one, other)


def test_scenes_differ_more_from_one_another_than_variants_of_a_scene_do():
    means = {name: np.mean([pixels(made(name, seed=seed)) for seed in range(4)], axis=0) for name in SCENES}
    for name in SCENES:
        for seed in range(10, 13):
            seen = pixels(made(name, seed=seed))
            nearest = min(SCENES, key=lambda other: np.abs(seen - means[other]).mean())

            assert nearest == name


@pytest.mark.parametrize("given", [("moon", "day", "clear"), ("beach", "noon", "clear"), ("beach", "day", "hail")])
def test_an_unknown_name_is_refused_with_the_choices(given: tuple[str, str, str]):
    with pytest.raises(UserError, match="Unknown .*; expected one of .*, "):
        made(*given)

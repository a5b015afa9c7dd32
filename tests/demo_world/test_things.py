"""What holds of every thing that can be drawn."""

import io
import re
from dataclasses import replace
from functools import cache
from xml.etree import ElementTree

import numpy as np
import pytest
import resvg_py
from PIL import Image

from genius.demo_world.paint import COLORS, PATTERNS, SHARED_DEFS, Paint, paint
from genius.demo_world.things import DRAWINGS, SEAM, THINGS

PIXELS = 128
BORDER = 14  # around the box of 100 × 100, so that what leaves it is seen
POSES = [(kind, style) for kind, thing in THINGS.items() for style in thing.styles]
DRAWN = {"path", "ellipse", "rect", "circle", "polygon", "polyline", "line", "g"}


def drawing(kind: str, style: str, dye: Paint) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{PIXELS}" height="{PIXELS}" '
        f'viewBox="{-BORDER} {-BORDER} {PIXELS} {PIXELS}"><defs>{SHARED_DEFS}{dye.defs}</defs>'
        f"{THINGS[kind].draw(dye, style)}</svg>"
    )


@cache
def pixels(kind: str, style: str, dye: Paint) -> np.ndarray:
    """(height, width, red green blue alpha), one pixel a unit."""
    png = bytes(resvg_py.svg_to_bytes(svg_string=drawing(kind, style, dye), skip_system_fonts=True))
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGBA")).astype(int)


def ink(kind: str, style: str) -> np.ndarray:
    return pixels(kind, style, paint("grey", "plain", "dye"))[..., 3] > 60


def changed(one: np.ndarray, other: np.ndarray, shape: np.ndarray, least: int = 60) -> float:
    """The share of a shape's pixels that clearly differ between two drawings."""
    return float((np.abs(one - other)[shape].sum(-1) > least).mean())


@pytest.mark.parametrize(("kind", "style"), POSES)
def test_a_thing_is_simple_markup_that_names_only_what_its_paint_defines(kind, style):
    dye = paint("teal", "starry", "dye")
    markup = drawing(kind, style, dye)
    drawn = ElementTree.fromstring(f"<g>{THINGS[kind].draw(dye, style)}</g>")
    assert {element.tag for element in drawn.iter()} <= DRAWN
    assert not any("id" in element.attrib for element in drawn.iter())
    assert sum(1 for _ in drawn.iter()) <= 70
    assert set(re.findall(r"url\(#([^)]*)\)", markup)) <= {"lit", "fall", "dye"}
    assert markup == drawing(kind, style, dye)


@pytest.mark.parametrize(("kind", "style"), POSES)
def test_a_thing_fills_its_box_and_stays_in_it(kind, style):
    rows, columns = (np.flatnonzero(ink(kind, style).any(axis)) - BORDER for axis in (1, 0))
    assert min(rows[0], columns[0]) >= -4 and max(rows[-1], columns[-1]) < 104
    assert max(rows[-1] - rows[0], columns[-1] - columns[0]) >= 84
    if not THINGS[kind].flies:
        assert abs(rows[-1] + 1 - THINGS[kind].rests) <= 4  # it stands on the ground


@pytest.mark.parametrize(("kind", "style"), POSES)
def test_most_of_a_thing_has_its_color_and_pattern(kind, style):
    plain = paint("grey", "plain", "dye")
    red, blue = (pixels(kind, style, replace(plain, fill=fill)) for fill in ("#ff0000", "#0000ff"))
    assert changed(red, blue, ink(kind, style), least=120) >= 0.35


@pytest.mark.parametrize("kind", THINGS)
def test_styles_of_a_thing_look_different(kind):
    shapes = [ink(kind, style) for style in THINGS[kind].styles]
    drawings = [pixels(kind, style, paint("grey", "plain", "dye")) for style in THINGS[kind].styles]
    for at, (shape, one) in enumerate(zip(shapes, drawings, strict=True)):
        for other_shape, other in zip(shapes[:at], drawings[:at], strict=True):
            assert changed(one, other, shape | other_shape) >= 0.06


@pytest.mark.parametrize(("kind", "style"), POSES)
def test_patterns_are_visible(kind, style):
    plain, checkered = (pixels(kind, style, paint("grey", pattern, "dye")) for pattern in ("plain", "checkered"))
    assert changed(plain, checkered, ink(kind, style)) >= 0.12


@pytest.mark.parametrize("kind", list(THINGS)[::7])
def test_patterns_look_different(kind):
    style = THINGS[kind].styles[0]
    drawings = [pixels(kind, style, paint("blue", pattern, "dye")) for pattern in PATTERNS]
    for at, one in enumerate(drawings):
        for other in drawings[:at]:
            assert changed(one, other, ink(kind, style)) >= 0.05


def test_colors_are_visible():
    for kind, thing in list(THINGS.items())[::6]:
        shape = ink(kind, thing.styles[0])
        means = [pixels(kind, thing.styles[0], paint(color, "plain", "dye"))[shape].mean(0) for color in COLORS]
        apart = [np.abs(one - other).sum() for at, one in enumerate(means) for other in means[:at]]
        assert min(apart) > 20


def test_kinds_have_distinct_names_and_silhouettes():
    shapes = {kind: ink(kind, thing.styles[0]) for kind, thing in THINGS.items()}
    kinds = list(shapes)
    assert all(kind == kind.lower().strip() for kind in kinds)
    for at, one in enumerate(kinds):
        for other in kinds[:at]:
            common, both = (shapes[one] & shapes[other]).sum(), (shapes[one] | shapes[other]).sum()
            assert common / both < 0.95, f"{one} and {other} have the same outline"


def test_each_style_has_one_file_and_each_file_shows_one_style():
    named = {(f"{kind}-{style}" if style else kind).replace(" ", "-") for kind, style in POSES}
    assert {file.stem for file in DRAWINGS.glob("*.svg")} == named


def test_a_plain_thing_is_drawn_without_what_lies_below_a_pattern():
    assert SEAM in (DRAWINGS / "cat-walking.svg").read_text()
    plain, striped = (THINGS["cat"].draw(paint("red", pattern, "dye"), "walking") for pattern in ("plain", "striped"))
    assert plain.count("<path") < striped.count("<path")
    assert SEAM not in plain + striped and "var(" not in plain + striped

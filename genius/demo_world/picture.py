"""A picture: one or two figures in a scene or before a studio backdrop, composed as SVG and rendered.

Coordinates are in a square of SIDE units, y downwards. Equal `Picture` objects give equal bytes.
"""

from __future__ import annotations

import io
import itertools
import random
import re
from collections.abc import Collection
from dataclasses import dataclass, replace

import resvg_py
from PIL import Image

from genius.demo_world.frames import FRAMES
from genius.demo_world.paint import COLORS, PATTERNS, SHARED_DEFS, Paint, mixed, paint
from genius.demo_world.placement import ALONE, RELATIONS, ROWS, SIDE, Block, Figure, Placed, Stage, place_figures
from genius.demo_world.scenes import SCENES, TIMES, WEATHERS, Scene, scene
from genius.demo_world.things import THINGS
from genius.errors import UserError

SHORES = {"beach": 172.0, "harbour": 170.0}  # scenes whose ground begins below the horizon, at these y
VEIL = 0.55  # how much of a scene's veil reaches what the picture is about: its color must be seen
HEXADECIMAL = re.compile(r"#([0-9a-f]{6}|[0-9a-f]{3})\b", re.IGNORECASE)  # colors

STUDIOS = (
    ("#e6e2da", "#c9c3b8"),
    ("#dfe4e8", "#bcc5cc"),
    ("#e9dfd0", "#cdbfa9"),
    ("#dde5da", "#bac7b6"),
    ("#e8dcda", "#c9b8b5"),
    ("#dfdde8", "#bdbacb"),
    ("#dae6e6", "#b5c8c9"),
    ("#d5d5d6", "#a9aaad"),
)

SHADE = (
    '<radialGradient id="shade"><stop offset="0" stop-color="#120c20" stop-opacity=".5"/>'
    '<stop offset=".55" stop-color="#120c20" stop-opacity=".3"/>'
    '<stop offset="1" stop-color="#120c20" stop-opacity="0"/></radialGradient>'
)


@dataclass(frozen=True)
class Picture:
    """The content of a picture. `variant` chooses among the many pictures with the same factors."""

    figures: tuple[Figure, ...]  # one or two; the first stands in `relation` to the second
    relation: str = ""
    scene: str = ""  # "": a studio backdrop, without time and weather
    time: str = "day"
    weather: str = "clear"
    variant: int = 0
    mirrored: bool = False  # the figures face the other way
    frame: str = ""  # the frame around it, see frames.py


def render(picture: Picture, pixels: int = SIDE) -> bytes:
    """The picture as an encoded JPEG of pixels × pixels."""
    drawn = resvg_py.svg_to_bytes(svg_string=svg(picture), width=pixels, height=pixels, skip_system_fonts=True)
    buffer = io.BytesIO()
    Image.open(io.BytesIO(bytes(drawn))).convert("RGB").save(
        buffer, "JPEG", quality=90, subsampling="4:4:4" if pixels <= 128 else "4:2:0"
    )
    return buffer.getvalue()


def svg(picture: Picture) -> str:
    """The picture as SVG."""
    _check(picture)
    place_chance = random.Random(picture.variant)
    chance = random.Random(f"figures {picture.variant}")  # its own generator: time and weather do not move figures
    setting = (
        scene(picture.scene, picture.time, picture.weather, place_chance) if picture.scene else _studio(place_chance)
    )
    stage = Stage(setting.ground, max(setting.horizon, SHORES.get(picture.scene, 0.0)), not picture.scene)
    placed = place_figures(picture.figures, picture.relation, stage, chance)
    defs, figures = [], []
    for index, place in enumerate(placed):
        mirrored = picture.mirrored if place.block.figure is picture.figures[0] else chance.random() < 0.5
        dye = _paint(place.block, f"dye{index}")
        defs.append(dye.defs)
        figures.append(_ledge(place, picture.scene) + _copies(place, dye, mirrored, chance))
    veil, opacity = setting.tint[0], VEIL * setting.tint[1]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{SIDE}" height="{SIDE}" viewBox="0 0 {SIDE} {SIDE}">'
        f"<defs>{SHARED_DEFS}{SHADE}{setting.defs}{_veiled(''.join(defs), veil, opacity)}</defs>"
        f"{setting.behind}{_veiled(''.join(figures), veil, opacity)}{setting.before}{FRAMES[picture.frame]}</svg>"
    )


def _check(picture: Picture) -> None:
    for figure in picture.figures:
        _choice("kind", figure.kind, THINGS)
        _choice("color", figure.color, COLORS)
        _choice("pattern", figure.pattern, PATTERNS)
        _choice(f"style of a {figure.kind}", figure.style, THINGS[figure.kind].styles)
        _choice("size", figure.size, ALONE)
        _choice("count", figure.count, ROWS)
    _choice("number of figures", len(picture.figures), (1, 2))
    _choice("relation", picture.relation, RELATIONS if len(picture.figures) == 2 else ("",))
    if picture.scene:
        _choice("scene", picture.scene, SCENES)
        _choice("time", picture.time, TIMES)
        _choice("weather", picture.weather, WEATHERS)


def _choice(what: str, value: object, choices: Collection[object]) -> None:
    if value not in choices:
        raise UserError(f"Unknown {what} {value!r}; expected one of {', '.join(map(repr, choices))}.")


def _studio(chance: random.Random) -> Scene:
    """A plain backdrop that curves into the floor, lit from above left."""
    wall, floor = chance.choice(STUDIOS)
    turned, x = chance.random() < 0.5, chance.uniform(60, 130)
    top, bottom = (floor, wall) if turned else (wall, floor)
    defs = (
        f'<linearGradient id="s-wall" x2="0" y2="1"><stop offset="0" stop-color="{top}"/>'
        f'<stop offset="1" stop-color="{bottom}"/></linearGradient>'
        f'<radialGradient id="s-glow" gradientUnits="userSpaceOnUse" cx="{x:.0f}" cy="{x * 0.8:.0f}" r="170">'
        '<stop offset="0" stop-color="#fff" stop-opacity=".5"/><stop offset="1" stop-color="#fff" '
        'stop-opacity="0"/></radialGradient>'
    )
    behind = "".join(f'<rect width="{SIDE}" height="{SIDE}" fill="url(#s-{name})"/>' for name in ("wall", "glow"))
    return Scene(defs, behind, "", SIDE * 0.8, 0, ("#ffffff", 0.0))


def _paint(block: Block, name: str) -> Paint:
    """The figure's paint; on what is drawn small the pattern is coarser, to be seen at all."""
    dye = paint(block.figure.color, block.figure.pattern, name)
    coarser = min(2.0, max(1.0, 1 / block.scale))
    if not dye.defs or coarser == 1:
        return dye
    wide = (
        f'<pattern id="{name}-wide" href="#{name}" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'xlink:href="#{name}" patternTransform="scale({coarser:.2f})"/>'
    )
    return replace(dye, fill=f"url(#{name}-wide)", defs=dye.defs + wide)


def _copies(place: Placed, dye: Paint, mirrored: bool, chance: random.Random) -> str:
    """The copies with their shadows, each a little different in size and place."""
    block = place.block
    drawing = THINGS[block.figure.kind].draw(dye, block.figure.style)
    width, height = block.copy
    room = block.extent
    shadows, copies = [], []
    for x, y in block.spots:
        scale = block.scale * chance.uniform(0.95, 1)
        x += place.x + (chance.uniform(-0.02, 0.02) * width if len(block.spots) > 1 else 0)
        y += place.base - (chance.uniform(0, 0.06) * height if block.floats and len(block.spots) > 1 else 0)
        across = -scale if mirrored else scale
        middle = (room.left + room.right) / 2
        if not block.floats:
            foot, half = x + across * (sum(room.foot) / 2 - middle), scale * (room.foot[1] - room.foot[0]) / 2
            wide = max(1.25 * half, 0.3 * width)
            shadows.append(
                f'<ellipse cx="{foot:.1f}" cy="{y - 0.5:.1f}" rx="{wide:.1f}" '
                f'ry="{1.5 + wide * 0.15:.1f}" fill="url(#shade)"/>'
            )
        copies.append(
            f'<g transform="translate({x - across * middle:.2f} {y - scale * room.bottom:.2f}) '
            f'scale({across:.4f} {scale:.4f})">{drawing}</g>'
        )
    return "".join(shadow + copy for shadow, copy in itertools.zip_longest(shadows, copies, fillvalue=""))


def _ledge(place: Placed, scene_name: str) -> str:
    """What a figure above another stands on: a shelf indoors, a cloud outdoors."""
    if not place.ledge:
        return ""
    half, x, y = place.block.width / 2 + 5, place.x, place.base
    if scene_name in ("", "room", "stage"):
        brackets = "".join(
            f'<path d="M{x + at:.1f} {y + 3:.1f} v6 h{6 * side}z" fill="#6b5138"/>'
            for at, side in ((-half * 0.7, 1), (half * 0.7, -1))
        )
        return (
            f'{brackets}<rect x="{x - half:.1f}" y="{y - 2:.1f}" width="{2 * half:.1f}" height="6.5" rx="2" '
            f'fill="#a98a64" stroke="#5b452f" stroke-width="1"/>'
            f'<rect x="{x - half + 1:.1f}" y="{y - 1.3:.1f}" width="{2 * half - 2:.1f}" height="2" rx="1" '
            f'fill="#c8ab84"/>'
        )
    puffs = "".join(
        f'<ellipse cx="{x + at * half:.1f}" cy="{y + drop:.1f}" rx="{half * wide:.1f}" ry="{tall}"/>'
        for at, drop, wide, tall in (
            (0, 3, 1, 5.5),
            (-0.66, 1, 0.3, 7),
            (0.7, 1.5, 0.27, 6.5),
            (-0.25, 4.5, 0.34, 7.5),
            (0.3, 4.5, 0.36, 7),
        )
    )
    return f'<g fill="#9fb0c4" transform="translate(0 1.8)">{puffs}</g><g fill="#f3f6fa">{puffs}</g>'


def _veiled(markup: str, veil: str, opacity: float) -> str:
    """Markup in the scene's light: each color as it looks through the veil. Cheaper to draw than a veil."""
    if not opacity:
        return markup

    def seen(found: re.Match[str]) -> str:
        digits = found.group(1)
        return mixed("#" + (digits if len(digits) == 6 else "".join(2 * digit for digit in digits)), veil, opacity)

    return HEXADECIMAL.sub(seen, markup)

"""Where the figures of a picture stand, and how large they are, for each relation between them.

Coordinates are in a square of SIDE units, y downwards.
"""

from __future__ import annotations

import io
import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import resvg_py
from PIL import Image

from genius.demo_world.paint import SHARED_DEFS, paint
from genius.demo_world.things import THINGS

SIDE = 256
MARGIN = 9  # free space at the picture's edges
ALONE = {"small": 0.44, "medium": 0.6, "large": 0.78}  # a figure's longer side, of SIDE
IN_PAIR = {"small": 0.35, "medium": 0.45, "large": 0.55}
CROWDED = {1: 1.0, 2: 0.72, 3: 0.66, 4: 0.6}  # what each of several copies keeps of that
ROWS = {1: ((1,),), 2: ((2,), (1, 1)), 3: ((3,), (1, 2), (2, 1)), 4: ((4,), (2, 2))}  # back to front
PITCH, STEP = 1.07, 0.75  # between copies of a row, of their width; between rows, of their height
LOOSE = 0.8  # preference for two rows relative to one
FAR = 4  # between the horizon and what stands farthest off
COVERED = 0.3  # the most that a figure in front hides of the one behind, of its box
LEDGE = 9  # height of what a figure above another stands on
GROUNDED = ("standing", "perched", "parked", "sitting", "walking")  # styles in which what flies stands
RELATIONS = ("left of", "right of", "in front of", "behind", "above", "below")


@dataclass(frozen=True)
class Figure:
    """One to four copies of a kind in a color, pattern, style and size."""

    kind: str
    color: str
    pattern: str
    style: str = ""
    size: str = "medium"  # small, medium, large
    count: int = 1  # 1 to 4


@dataclass(frozen=True)
class Extent:
    """What a drawing fills of its box of 100 × 100."""

    left: float
    top: float
    right: float
    bottom: float  # of what stands: where it touches the ground
    foot: tuple[float, float]  # from where to where it touches it


@dataclass(frozen=True)
class Block:
    """A figure's copies, in rows from back to front, at the size wished for."""

    figure: Figure
    extent: Extent
    rows: tuple[int, ...]
    side: float  # of a copy: its longer side

    @property
    def scale(self) -> float:
        return self.side / max(self.extent.right - self.extent.left, self.extent.bottom - self.extent.top)

    @property
    def copy(self) -> tuple[float, float]:
        """Width and height of one copy."""
        return (
            self.scale * (self.extent.right - self.extent.left),
            self.scale * (self.extent.bottom - self.extent.top),
        )

    @property
    def spots(self) -> list[tuple[float, float]]:
        """(x, y) of each copy's lowest middle, from back to front; the block's own is (0, 0)."""
        width, height = self.copy
        spots = []
        for index, length in enumerate(self.rows):
            shift = 0.0
            if len(set(self.rows)) == 1 and len(self.rows) > 1:  # rows alike: the nearer one stands beside
                shift = (index - 0.5) * width * (0.7 if length == 1 else 0.24)
            y = (index + 1 - len(self.rows)) * STEP * height
            spots += [(shift + (column - (length - 1) / 2) * PITCH * width, y) for column in range(length)]
        return spots

    @property
    def width(self) -> float:
        return 2 * max(abs(x) for x, _ in self.spots) + self.copy[0]

    @property
    def depth(self) -> float:
        """How far the last row stands behind the first."""
        return (len(self.rows) - 1) * STEP * self.copy[1]

    @property
    def height(self) -> float:
        return self.depth + self.copy[1]

    @property
    def floats(self) -> bool:
        return floats(self.figure)

    def scaled(self, factor: float) -> Block:
        return replace(self, side=self.side * factor)


@dataclass(frozen=True)
class Placed:
    """A block at its place: the lowest middle of its front row."""

    block: Block
    x: float
    base: float
    ledge: bool = False  # stands on a shelf or a cloud


@dataclass(frozen=True)
class Stage:
    """Where figures can stand."""

    ground: float  # y of the middle distance
    horizon: float  # y above which nothing can stand
    free: bool  # no ground to speak of: figures stand where they look best


@cache
def extent(kind: str, style: str) -> Extent:
    """What the drawing of a kind fills of its box, measured on its pixels."""
    thing, dye = THINGS[kind], paint("red", "plain", "dye")
    drawing = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="120" height="120" viewBox="-10 -10 120 120">'
        f"<defs>{SHARED_DEFS}</defs>{thing.draw(dye, style)}</svg>"
    )
    image = Image.open(io.BytesIO(bytes(resvg_py.svg_to_bytes(svg_string=drawing, skip_system_fonts=True))))
    ink = image.getchannel("A").point(lambda value: 255 * (value > 60))
    box = ink.getbbox()
    assert box, f"{kind} {style}: an empty drawing"
    low = ink.crop((0, box[3] - 9, 120, box[3])).getbbox()
    assert low
    left, top, right, bottom = (edge - 10 for edge in box)
    return Extent(left, top, right, bottom if thing.flies else thing.rests, (low[0] - 10, low[2] - 10))


def floats(figure: Figure) -> bool:
    """Whether a figure hangs in the air: it needs no ground and casts no shadow there."""
    return THINGS[figure.kind].flies and figure.style not in GROUNDED


def place_figures(figures: Sequence[Figure], relation: str, stage: Stage, chance: random.Random) -> list[Placed]:
    """One or two figures at their places, the farthest first; the first stands in this relation to the second."""
    if len(figures) == 1:
        return [_alone(figures[0], stage, chance)]
    first, second = figures
    if relation in ("left of", "right of"):
        left, right = (first, second) if relation == "left of" else (second, first)
        return _beside(left, right, stage, chance)
    if relation in ("in front of", "behind"):
        near, far = (first, second) if relation == "in front of" else (second, first)
        return _in_depth(near, far, stage, chance)
    upper, lower = (first, second) if relation == "above" else (second, first)
    return _stacked(upper, lower, stage, chance)


def _blocks(figure: Figure, sides: dict[str, float], chance: random.Random, single_row: bool = False) -> list[Block]:
    """The ways to arrange a figure's copies, preferred ones first."""
    ways = [rows for rows in ROWS[figure.count] if len(rows) == 1 or not single_row]
    chance.shuffle(ways)
    side = SIDE * sides[figure.size] * CROWDED[figure.count] * chance.uniform(0.95, 1.05)
    return [Block(figure, extent(figure.kind, figure.style), rows, side) for rows in ways]


def _liking(*blocks: Block) -> float:
    """One row is preferred: copies are easy to count and their places are clear."""
    return LOOSE ** sum(len(block.rows) > 1 for block in blocks)


def _rooms(base: float, horizon: float, *blocks: Block) -> list[float]:
    """The factors at which what stands on `base` keeps its last row below the horizon."""
    return [(base - horizon - FAR) / block.depth for block in blocks if block.depth and not block.floats]


def _alone(figure: Figure, stage: Stage, chance: random.Random) -> Placed:
    lowest, width = SIDE - MARGIN - 3, SIDE - 2 * MARGIN

    def fit(block: Block) -> float:
        return min(1, width / block.width, (lowest - MARGIN) / block.height, *_rooms(lowest, stage.horizon, block))

    block = max(_blocks(figure, ALONE, chance), key=lambda block: fit(block) * _liking(block) ** (figure.count == 2))
    block = block.scaled(fit(block))
    slack = (width - block.width) / 2
    x = SIDE / 2 + chance.uniform(-0.7, 0.7) * min(slack, 40)
    if stage.free:
        base = SIDE / 2 + block.height / 2 + chance.uniform(-6, 6)
    elif block.floats:
        base = SIDE * 0.44 + block.height / 2 + chance.uniform(-14, 14)
    else:
        base = stage.ground + chance.uniform(-2, 10) + max(0, block.side - SIDE * 0.54) * 0.3
        base = max(base, stage.horizon + FAR + block.depth)
    return Placed(block, x, min(lowest, max(base, MARGIN + block.height)))


def _beside(left: Figure, right: Figure, stage: Stage, chance: random.Random) -> list[Placed]:
    lowest, width, gap = SIDE - MARGIN - 6, SIDE - 2 * MARGIN, 8

    def fit(pair: tuple[Block, Block]) -> float:
        return min(
            1,
            (width - gap) / sum(block.width for block in pair),
            *((lowest - MARGIN) / block.height for block in pair),
            *_rooms(lowest, stage.horizon, *pair),
        )

    pair = max(
        itertools.product(_blocks(left, IN_PAIR, chance), _blocks(right, IN_PAIR, chance)),
        key=lambda pair: fit(pair) * _liking(*pair),
    )
    factor = fit(pair)
    one, other = (block.scaled(factor) for block in pair)
    slack = width - one.width - other.width - gap
    start, between = chance.uniform(0.15, 0.45) * slack, gap + chance.uniform(0, 0.3) * slack
    x_one = MARGIN + start + one.width / 2
    x_other = x_one + one.width / 2 + between + other.width / 2
    ground = stage.ground + chance.uniform(0, 10)
    if stage.free:
        ground = SIDE / 2 + max(one.height, other.height) / 2 + 6
    placed = []
    for block, x in ((one, x_one), (other, x_other)):
        base = max(ground, stage.horizon + block.depth, MARGIN + block.height)
        if block.floats:
            base = max(MARGIN + block.height, ground - chance.uniform(14, 60))
        placed.append(Placed(block, x, min(lowest, base)))
    return sorted(placed, key=lambda place: place.base)


def _in_depth(near: Figure, far: Figure, stage: Stage, chance: random.Random) -> list[Placed]:
    """The nearer figure is bigger and lower, and hides a part of the farther one."""
    lowest, width = SIDE - MARGIN - 3, SIDE - 2 * MARGIN

    def fit(pair: tuple[Block, Block]) -> float:
        front, back = pair
        apart, rise = _overlap(front, back)
        across = max(front.width, back.width, (front.width + back.width) / 2 + apart)
        return min(
            1,
            width / across,
            (lowest - MARGIN) / max(front.height, back.height + rise),
            *_rooms(lowest, stage.horizon, front),
            (lowest - stage.horizon - FAR) / (rise + back.depth),
        )

    pair = max(
        itertools.product(
            (block.scaled(1.3) for block in _blocks(near, IN_PAIR, chance)),
            [block.scaled(1.12) for block in _blocks(far, IN_PAIR, chance)],
        ),
        key=lambda pair: fit(pair) * _liking(*pair),
    )
    factor = fit(pair)
    front, back = (block.scaled(factor) for block in pair)
    apart, rise = _overlap(front, back)
    side = chance.choice((-1, 1))
    x_front = side * apart * chance.uniform(0.8, 1) if apart * 2 < back.width - front.width else side * apart
    left = min(x_front - front.width / 2, -back.width / 2)
    right = max(x_front + front.width / 2, back.width / 2)
    slack = width - (right - left)
    start = MARGIN - left + chance.uniform(0.3, 0.7) * slack
    tallest = max(front.height, back.height + rise)
    base = SIDE / 2 + tallest / 2 + 4 if stage.free else stage.ground + chance.uniform(18, 30)
    base = min(lowest, max(base, stage.horizon + max(front.depth, rise + back.depth), MARGIN + tallest))
    return [Placed(back, start, base - rise), Placed(front, start + x_front, base)]


def _overlap(front: Block, back: Block) -> tuple[float, float]:
    """How far apart the middles are, and how much higher the farther one stands, for it to be seen well enough."""
    width, height = back.copy
    rise = max(14.0, 0.28 * height)
    hidden = min(front.height - rise, height) / height
    across = width * min(1, COVERED / hidden) if hidden > 0 else width
    return max(0.0, (front.width + back.width) / 2 - across), rise


def _stacked(upper: Figure, lower: Figure, stage: Stage, chance: random.Random) -> list[Placed]:
    lowest, width = SIDE - MARGIN - 3, SIDE - 2 * MARGIN
    ledge = not floats(upper)
    gap = (LEDGE if ledge else 0) + 7

    def fit(pair: tuple[Block, Block]) -> float:
        return min(
            1,
            *(width / block.width for block in pair),
            (lowest - MARGIN - gap) / sum(block.height for block in pair),
            *_rooms(lowest, stage.horizon, pair[1]),
        )

    pair = max(
        itertools.product(_blocks(upper, IN_PAIR, chance, single_row=ledge), _blocks(lower, IN_PAIR, chance)),
        key=lambda pair: fit(pair) * _liking(*pair),
    )
    factor = fit(pair)
    high, low = (block.scaled(factor) for block in pair)
    slack = lowest - MARGIN - gap - high.height - low.height
    base = lowest - chance.uniform(0, 0.3) * slack
    if not stage.free and not low.floats:
        base = max(lowest - slack, min(base, stage.ground + 24), stage.horizon + low.depth)
    above = base - low.height - gap - chance.uniform(0.1, 0.5) * max(0.0, slack - (lowest - base))
    x_low = SIDE / 2 + chance.uniform(-0.5, 0.5) * min(50, width - low.width)
    free = (width - high.width) / 2 - (6 if ledge else 0)
    x_high = min(SIDE / 2 + free, max(SIDE / 2 - free, x_low + chance.uniform(-16, 16)))
    return [Placed(high, x_high, above, ledge), Placed(low, x_low, base)]

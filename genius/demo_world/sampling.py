"""What is drawn how often: long tails, and combinations that training never sees."""

from __future__ import annotations

import random
import zlib
from collections.abc import Sequence
from functools import cache

from genius.demo_world.paint import COLOURS, PATTERNS
from genius.demo_world.picture import Figure
from genius.demo_world.scenes import SCENES, TIMES, WEATHERS
from genius.demo_world.things import THINGS

HELD_OUT = 10  # one in so many (kind, colour) combinations is in no picture or text of the training part
PLAIN = 0.4  # share of things without a pattern
COUNT_WEIGHTS = (60, 20, 12, 8)


def source(*names: object) -> random.Random:
    """A generator for what these names say: the same on every machine, independent of all others."""
    return random.Random(":".join(map(str, names)))


def held_out(kind: str, colour: str) -> bool:
    """Whether the combination is kept out of training."""
    return zlib.crc32(f"{kind} {colour}".encode()) % HELD_OUT == 0


def draw_kind(rng: random.Random, families: Sequence[str]) -> str:
    """A kind of these families; some are ten times as frequent as others."""
    kinds, weights = _kinds(tuple(families))
    return rng.choices(kinds, weights)[0]


def draw_figure(rng: random.Random, families: Sequence[str], unseen: bool, single: bool = False) -> Figure:
    """A thing with all that can be said of it. unseen: held-out combinations are allowed."""
    while True:
        kind = draw_kind(rng, families)
        colour = draw_colour(rng, kind)
        if unseen or not held_out(kind, colour):
            break
    count = 1 if single else rng.choices(range(1, 5), COUNT_WEIGHTS)[0]
    return Figure(
        kind,
        colour,
        draw_pattern(rng),
        rng.choice(THINGS[kind].styles),
        rng.choices(("small", "medium", "large"), (3, 4, 3))[0],
        count,
    )


def draw_colour(rng: random.Random, kind: str) -> str:
    """Each kind has colours of its own that it mostly comes in."""
    names = list(COLOURS)
    random.Random(f"colours of {kind}").shuffle(names)
    return rng.choices(names, _tail(len(names), 0.6))[0]


def draw_pattern(rng: random.Random) -> str:
    if rng.random() < PLAIN:
        return "plain"
    return rng.choices(list(PATTERNS)[1:], _tail(len(PATTERNS) - 1, 0.5))[0]


def draw_setting(rng: random.Random, scenes: Sequence[str] = SCENES) -> tuple[str, str, str]:
    """(scene, time, weather)"""
    return (
        rng.choices(scenes, _tail(len(scenes), 0.4))[0],
        rng.choices(TIMES, (2, 5, 2, 3))[0],
        rng.choices(WEATHERS, (5, 2, 2, 2, 2))[0],
    )


def draw_variant(rng: random.Random) -> int:
    """The seed of what no text ever says: where clouds are, how far left a thing stands."""
    return rng.getrandbits(30)


@cache
def _kinds(families: tuple[str, ...]) -> tuple[list[str], list[float]]:
    kinds = [name for name, thing in THINGS.items() if thing.family in families]
    random.Random("kinds").shuffle(kinds)
    return kinds, _tail(len(kinds), 0.8)


@cache
def _tail(size: int, exponent: float) -> list[float]:
    """Weights that fall off as a power of the rank."""
    return [(rank + 2) ** -exponent for rank in range(size)]

"""Random choices: long-tailed frequencies, and combinations held out of training."""

from __future__ import annotations

import random
import zlib
from collections.abc import Sequence
from functools import cache

from genius.demo_world.paint import COLORS, PATTERNS
from genius.demo_world.placement import Figure
from genius.demo_world.scenes import SCENES, TIMES, WEATHERS
from genius.demo_world.things import THINGS

HELD_OUT_ONE_IN = 10  # one in ten (kind, color) combinations is in no training query and no target of one
PLAIN = 0.4  # share of figures without a pattern
COUNT_WEIGHTS = (60, 20, 12, 8)


def seeded_rng(*names: object) -> random.Random:
    """A random generator seeded by these names: reproducible, and independent of all others."""
    return random.Random(":".join(map(str, names)))


def is_held_out(kind: str, color: str) -> bool:
    """Whether the combination is held out of training."""
    return zlib.crc32(f"{kind} {color}".encode()) % HELD_OUT_ONE_IN == 0


def draw_kind(rng: random.Random, families: Sequence[str]) -> str:
    """A kind from these families; some are ten times as frequent as others."""
    kinds, weights = _kinds(tuple(families))
    return rng.choices(kinds, weights)[0]


def draw_figure(rng: random.Random, families: Sequence[str], unseen: bool, single: bool = False) -> Figure:
    """A figure with all of its factors. unseen: held-out combinations are allowed."""
    while True:
        kind = draw_kind(rng, families)
        color = draw_color(rng, kind)
        if unseen or not is_held_out(kind, color):
            break
    count = 1 if single else rng.choices(range(1, 5), COUNT_WEIGHTS)[0]
    return Figure(
        kind,
        color,
        draw_pattern(rng),
        rng.choice(THINGS[kind].styles),
        rng.choices(("small", "medium", "large"), (3, 4, 3))[0],
        count,
    )


def draw_color(rng: random.Random, kind: str) -> str:
    """A color; each kind has its own frequent colors."""
    names = list(COLORS)
    random.Random(f"colours of {kind}").shuffle(names)
    return rng.choices(names, _power_law(len(names), 0.6))[0]


def draw_pattern(rng: random.Random) -> str:
    if rng.random() < PLAIN:
        return "plain"
    return rng.choices(list(PATTERNS)[1:], _power_law(len(PATTERNS) - 1, 0.5))[0]


def draw_setting(rng: random.Random) -> tuple[str, str, str]:
    """(scene, time, weather)"""
    return (
        rng.choices(SCENES, _power_law(len(SCENES), 0.4))[0],
        rng.choices(TIMES, (2, 5, 2, 3))[0],
        rng.choices(WEATHERS, (5, 2, 2, 2, 2))[0],
    )


def draw_variant(rng: random.Random) -> int:
    """The seed of details that no text mentions: where clouds are, how far left a figure stands."""
    return rng.getrandbits(30)


@cache
def _kinds(families: tuple[str, ...]) -> tuple[list[str], list[float]]:
    kinds = [name for name, thing in THINGS.items() if thing.family in families]
    random.Random("kinds").shuffle(kinds)
    return kinds, _power_law(len(kinds), 0.8)


@cache
def _power_law(size: int, exponent: float) -> list[float]:
    """Weights that decrease as a power of the rank."""
    return [(rank + 2) ** -exponent for rank in range(size)]

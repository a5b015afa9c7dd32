"""Changes to a garment or a scene that a query text describes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from genius.demo_world.picture import Picture
from genius.demo_world.placement import RELATIONS, Figure
from genius.demo_world.sampling import draw_color, draw_figure, draw_pattern, draw_variant, is_held_out
from genius.demo_world.scenes import SCENES, TIMES, WEATHERS
from genius.demo_world.things import THINGS

CHANGES = ("count", "color", "kind", "scene", "time", "weather", "second")  # of a scene

T = TypeVar("T")


def restyled(rng: random.Random, figure: Figure, unseen: bool) -> Figure:
    """The figure with one or two of color, pattern and style changed. unseen: held-out combinations are allowed."""
    styles = [style for style in THINGS[figure.kind].styles if style != figure.style]
    for name in rng.sample(["color", "pattern"] + (["style"] if styles else []), rng.choice((1, 2))):
        if name == "color":
            figure = replace(figure, color=other_color(rng, figure, unseen))
        elif name == "pattern":
            figure = replace(figure, pattern=other_pattern(rng, figure.pattern))
        else:
            figure = replace(figure, style=rng.choice(styles))
    return figure


def edited(rng: random.Random, before: Picture, families: Sequence[str], unseen: bool) -> Picture:
    """The picture with one or two CHANGES made. families: of figures that may be added."""
    after = replace(before, variant=draw_variant(rng))
    for name in rng.sample(CHANGES, rng.choice((1, 2))):
        after = _changed(rng, after, name, families, unseen)
    different = replace(after, variant=before.variant) != before
    return after if different else edited(rng, before, families, unseen)


def _changed(rng: random.Random, picture: Picture, name: str, families: Sequence[str], unseen: bool) -> Picture:
    """The picture with one change made, or unchanged if the random choice does not fit."""
    first = picture.figures[0]
    if name == "count":
        return with_first(picture, replace(first, count=other(rng, (1, 2, 3, 4), first.count)))
    if name == "color":
        return with_first(picture, replace(first, color=other_color(rng, first, unseen)))
    if name == "kind":
        drawn = draw_figure(rng, families, unseen, single=True)
        fits = drawn.kind != first.kind and (unseen or not is_held_out(drawn.kind, first.color))
        return with_first(picture, replace(first, kind=drawn.kind, style=drawn.style)) if fits else picture
    if name == "second":
        second = draw_figure(rng, families, unseen, single=True)
        if second.kind == first.kind:
            return picture
        return replace(
            picture, figures=(replace(first, count=min(2, first.count)), second), relation=rng.choice(RELATIONS)
        )
    choices = {"scene": SCENES, "time": TIMES, "weather": WEATHERS}[name]
    return replace(picture, **{name: other(rng, choices, getattr(picture, name))})


def with_first(picture: Picture, figure: Figure) -> Picture:
    """The picture with another first figure."""
    return replace(picture, figures=(figure, *picture.figures[1:]))


def other(rng: random.Random, choices: Sequence[T], value: T) -> T:
    """A random choice other than this value."""
    return rng.choice([choice for choice in choices if choice != value])


def other_pattern(rng: random.Random, pattern: str) -> str:
    while (drawn := draw_pattern(rng)) == pattern:
        pass
    return drawn


def other_color(rng: random.Random, figure: Figure, unseen: bool) -> str:
    while True:
        color = draw_color(rng, figure.kind)
        if color != figure.color and (unseen or not is_held_out(figure.kind, color)):
            return color

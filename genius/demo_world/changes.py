"""Changes to a garment or a scene that a person may ask for in words."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from genius.demo_world.picture import RELATIONS, Figure, Picture
from genius.demo_world.sampling import draw_colour, draw_figure, draw_pattern, draw_variant, held_out
from genius.demo_world.scenes import SCENES, TIMES, WEATHERS
from genius.demo_world.things import THINGS

CHANGES = ("count", "colour", "kind", "scene", "time", "weather", "second")  # of a scene

T = TypeVar("T")


def restyled(rng: random.Random, figure: Figure, unseen: bool) -> Figure:
    """With one or two of colour, pattern and style changed. unseen: held-out combinations are allowed."""
    styles = [style for style in THINGS[figure.kind].styles if style != figure.style]
    for name in rng.sample(["colour", "pattern"] + (["style"] if styles else []), rng.choice((1, 2))):
        if name == "colour":
            figure = replace(figure, colour=other_colour(rng, figure, unseen))
        elif name == "pattern":
            figure = replace(figure, pattern=other_pattern(rng, figure.pattern))
        else:
            figure = replace(figure, style=rng.choice(styles))
    return figure


def edited(rng: random.Random, before: Picture, families: Sequence[str], unseen: bool) -> Picture:
    """With one or two of the things changed that an edit can name. families: of what may come in."""
    after = replace(before, variant=draw_variant(rng))
    for name in rng.sample(CHANGES, rng.choice((1, 2))):
        after = _changed(rng, after, name, families, unseen)
    different = replace(after, variant=before.variant) != before
    return after if different else edited(rng, before, families, unseen)


def _changed(rng: random.Random, picture: Picture, name: str, families: Sequence[str], unseen: bool) -> Picture:
    """With one thing changed, or as it was if what was drawn for it does not fit."""
    first = picture.figures[0]
    if name == "count":
        return with_first(picture, replace(first, count=other(rng, (1, 2, 3, 4), first.count)))
    if name == "colour":
        return with_first(picture, replace(first, colour=other_colour(rng, first, unseen)))
    if name == "kind":
        drawn = draw_figure(rng, families, unseen, single=True)
        fits = drawn.kind != first.kind and (unseen or not held_out(drawn.kind, first.colour))
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
    """With another first figure."""
    return replace(picture, figures=(figure, *picture.figures[1:]))


def other(rng: random.Random, choices: Sequence[T], value: T) -> T:
    """Any of the choices but this."""
    return rng.choice([choice for choice in choices if choice != value])


def other_pattern(rng: random.Random, pattern: str) -> str:
    while (drawn := draw_pattern(rng)) == pattern:
        pass
    return drawn


def other_colour(rng: random.Random, figure: Figure, unseen: bool) -> str:
    while True:
        colour = draw_colour(rng, figure.kind)
        if colour != figure.colour and (unseen or not held_out(figure.kind, colour)):
            return colour

"""The guided tour: a panel over the page that leads through it, a step at a time.

The steps come from the run (genius.explore.tour). The address of a step is ?tour=2.
"""

import csv
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import gradio as gr
import pandas as pd

from genius.errors import UserError
from genius.examples import Example
from genius.explore.code_patterns import format_pattern
from genius.explore.tour import Tour, TourStep, tour_of
from genius.ui.common.components import LATEST, UNQUEUED, Panel
from genius.ui.common.context import Context
from genius.ui.common.formatting import data_uri, shared_prefix, small_webp, tiles

NUMBERS = ("no", "one", "two", "three", "four", "five", "six")
# By TourStep: the elem_id of the part of the page that it is about, and what it says
STEPS = pd.read_csv(Path(__file__).with_name("steps.tsv"), sep="\t", quoting=csv.QUOTE_NONE, index_col="step")
NOTHING = "This run has nothing for a tour: it needs examples, pictures whose IDs begin alike, or maps."


def step_view(tour: Tour, number: int, items: Sequence[dict[str, Any]], examples: Sequence[Example]) -> dict[str, Any]:
    """What tour.js draws at a step, numbered from 1.

    items: the two of TourStep.SHARED, as `tiles` gives them.
    """
    step, several = tour.steps[number - 1], None if tour.several is None else examples[tour.several]
    title, text = STEPS.loc[step, ["title", "text"]]
    spelled = {"instructions": spell(len(several.instructions) if several else 0), "shared": spell(len(tour.shared))}
    asked = several.picture if several and step == TourStep.INSTRUCTIONS else None  # scrolled out of view by `reveals`
    return {
        "number": number,
        "of": len(tour.steps),
        "step": step,
        "title": title.format(**spelled),
        "text": text.format(**spelled, pattern=format_pattern(tour.pattern)),
        "reveals": STEPS.reveals[step],
        "picture": data_uri(small_webp(asked)) if asked else None,
        "pair": [{**item, "shared": shared_prefix(*(shown["codes"] for shown in items))} for item in items]
        if step == TourStep.SHARED
        else [],
        "views": [
            {"label": label, "name": name}
            for label, name in zip(("Before: everything", "After: codes"), tour.views or (), strict=False)
        ]
        if step == TourStep.MAP
        else [],
    }


def spell(number: int) -> str:
    return NUMBERS[number] if number < len(NUMBERS) else str(number)


class TourCallbacks:
    """The callbacks of one page. They keep nothing of a visitor, only what follows from the current index."""

    def __init__(self, context: Context):
        self.engine, self.examples = context.engine, context.served.examples
        views = () if isinstance(context.maps, str) else context.maps.views
        self.tour_of = lru_cache(1)(lambda index: tour_of(index, self.examples, views))

    def on_step(self, number: Any) -> tuple[Any, ...]:
        """The panel at a step, from 1 on, and the signals that show it in the page. Raises UserError without steps."""
        index = self.engine.index
        tour = self.tour_of(index)
        if not tour.steps:
            raise UserError(NOTHING)
        number = min(max(number, 1), len(tour.steps)) if type(number) is int else 1
        step = tour.steps[number - 1]
        searched = {TourStep.INSTRUCTIONS: tour.several, TourStep.STRIP: tour.single}.get(step)
        return (
            step_view(tour, number, tiles(index, tour.pair or ()), self.examples),
            None if searched is None else {"example": str(searched)},
            {
                TourStep.SHARED: format_pattern(tour.shared, "."),
                TourStep.PATTERN: format_pattern(tour.pattern, "."),
            }.get(step),
            tour.views[0] if step == TourStep.MAP else None,
            tour.single if step == TourStep.DENSE else None,
        )

    def on_move(self, event: gr.EventData) -> tuple[Any, ...]:
        return self.on_step(getattr(event, "number", 1))

    def on_address(self, number: Any) -> tuple[Any, ...]:
        """Open the step that the address of the page names, or close the tour if it names none."""
        if not isinstance(number, str) or not number.isdecimal():
            return (None,) * 5
        return self.on_step(int(number[:3]))


def on_view(event: gr.EventData) -> str:
    """The name of the map to show."""
    return str(getattr(event, "name", ""))


def tour_panel(context: Context, header: Panel) -> None:
    """Lay the panel out inside the page's Blocks. header: its event `tour` starts it."""
    shared, callbacks = context.shared, TourCallbacks(context)
    panel = Panel("tour", "tour/tour.js")
    outputs = [panel, shared.ask, shared.open_code, shared.map_view, shared.compare_example]
    header.tour(lambda: callbacks.on_step(1), None, outputs, **LATEST)
    panel.move(callbacks.on_move, None, outputs, **LATEST)
    panel.view(on_view, None, shared.map_view, **UNQUEUED)
    panel.leave(lambda: None, None, panel, **UNQUEUED)
    shared.tour.sent(callbacks.on_address, shared.tour, outputs, **LATEST)

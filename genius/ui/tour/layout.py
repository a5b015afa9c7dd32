"""The guided tour: a panel over the page that leads through it, a step at a time.

The steps come from the run (genius.explore.tour). The page gets all of them at once, and walks through them by itself
(tour.js). The address of a step is ?tour=2.
"""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from genius.errors import UserError
from genius.examples import Example
from genius.explore.code_patterns import format_pattern
from genius.explore.tour import Tour, TourStep, tour_of
from genius.ui.common.components import LATEST, Panel
from genius.ui.common.context import Context
from genius.ui.common.formatting import data_uri, shared_prefix, small_webp, tiles

NUMBERS = ("no", "one", "two", "three", "four", "five", "six")
# By TourStep: the elem_id of the part of the page that it is about, and what it says
STEPS = pd.read_csv(Path(__file__).with_name("steps.tsv"), sep="\t", quoting=csv.QUOTE_NONE, index_col="step")
NOTHING = "This run has nothing for a tour: it needs examples, pictures whose IDs begin alike, or maps."


def step_view(
    step: TourStep, tour: Tour, items: Sequence[dict[str, Any]], examples: Sequence[Example]
) -> dict[str, Any]:
    """What tour.js draws at a step, and what it `sends`, by the names of signals, for the step's tab to show.

    items: the two of TourStep.SHARED, as `tiles` gives them.
    """
    several = None if tour.several is None else examples[tour.several]
    spelled = {"instructions": spell(len(several.instructions) if several else 0), "shared": spell(len(tour.shared))}
    own: dict[str, Any] = {
        TourStep.INSTRUCTIONS: {"sends": {"ask": {"example": str(tour.several)}}},
        TourStep.STRIP: {"sends": {"ask": {"example": str(tour.single)}}},
        TourStep.SHARED: {"sends": {"open_code": format_pattern(tour.shared, ".")}},
        TourStep.PATTERN: {"sends": {"open_code": format_pattern(tour.pattern, ".")}},
        TourStep.MAP: {"sends": {"map_view": tour.views and tour.views[0]}},
        TourStep.DENSE: {"sends": {"compare_example": tour.single}},
    }[step]
    if step == TourStep.INSTRUCTIONS and several and several.picture:  # scrolled out of view by `reveals`
        own["picture"] = data_uri(small_webp(several.picture))
    if step == TourStep.SHARED:
        shared = shared_prefix(*(item["codes"] for item in items))
        own["pair"] = [{**item, "shared": shared} for item in items]
    if step == TourStep.MAP:
        labels = ("Before: everything", "After: codes")
        own["views"] = [{"label": label, "name": name} for label, name in zip(labels, tour.views or (), strict=False)]
    title, text, reveals = STEPS.loc[step, ["title", "text", "reveals"]]
    words = {"title": title.format(**spelled), "text": text.format(**spelled, pattern=format_pattern(tour.pattern))}
    return {"step": step, "reveals": reveals, **words, **own}


def spell(number: int) -> str:
    return NUMBERS[number] if number < len(NUMBERS) else str(number)


class TourCallbacks:
    """The callbacks of one page. They keep nothing of a visitor, only what follows from the current index."""

    def __init__(self, context: Context):
        self.engine, self.examples = context.engine, context.served.examples
        views = () if isinstance(context.maps, str) else context.maps.views
        self.tour_of = self.engine.versions.cached(lambda index: tour_of(index, self.examples, views))

    def on_tour(self, number: Any) -> dict[str, Any] | None:
        """The tour at a step, from "1" on; what is no number closes it. Raises UserError for a tour without steps."""
        if not isinstance(number, str) or not number.isdecimal():
            return None
        index = self.engine.index
        tour = self.tour_of(index)
        if not tour.steps:
            raise UserError(NOTHING)
        items = tiles(index, tour.pair or ())
        steps = [step_view(step, tour, items, self.examples) for step in tour.steps]
        return {"steps": steps, "number": min(max(int(number[:3]), 1), len(steps))}


def tour_panel(context: Context, header: Panel) -> None:
    """Lay the panel out inside the page's Blocks. header: its event `tour` starts it."""
    callbacks, panel = TourCallbacks(context), Panel("tour", "tour/tour.js")
    header.tour(lambda: callbacks.on_tour("1"), None, panel, **LATEST)
    context.shared.tour.sent(callbacks.on_tour, context.shared.tour, panel, **LATEST)

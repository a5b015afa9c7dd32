"""The guided tour: a panel over the page that leads through it, a step at a time.

The steps come from the run (genius.explore.tour). The page gets all of them at once, and walks
through them by itself (static/tour/tour.js). The address of a step is ?tour=2.
"""

import csv
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from genius.errors import UserError
from genius.examples import Example
from genius.explore.code_patterns import format_pattern
from genius.explore.tour import Tour, TourStep, tour_of
from genius.ui.common.context import Context, Panel
from genius.ui.common.formatting import Json, shared_prefix, tiles

NUMBERS = ("no", "one", "two", "three", "four", "five", "six")
# By TourStep: the id of the part of the page that it is about, and what it says
STEPS = pd.read_csv(
    Path(__file__).with_name("tour.tsv"), sep="\t", quoting=csv.QUOTE_NONE, index_col="step"
)
NOTHING = (
    "This run has nothing for a tour: it needs examples, pictures whose IDs begin alike, or maps."
)


def step_view(
    step: TourStep, tour: Tour, items: Sequence[Json], examples: Sequence[Example]
) -> Json:
    """What tour.js draws at a step, and what of the page it `opens`, as an address has it.

    items: the two of TourStep.SHARED, as `tiles` gives them.
    """
    several = None if tour.several is None else examples[tour.several]
    spelled = {
        "instructions": spell(len(several.instructions) if several else 0),
        "shared": spell(len(tour.shared)),
    }
    opens = {
        TourStep.INSTRUCTIONS: {"example": str(tour.several)},
        TourStep.STRIP: {"example": str(tour.single)},
        TourStep.SHARED: {"tab": "codes", "code": format_pattern(tour.shared, ".")},
        TourStep.PATTERN: {"tab": "codes", "code": format_pattern(tour.pattern, ".")},
        TourStep.MAP: {"tab": "map", "keep": str(tour.views[0] or "") if tour.views else ""},
        TourStep.DENSE: {"tab": "compare", "example": str(tour.single)},
        TourStep.GUESS: {"tab": "codes", "play": "guess", "item": items[0]["id"] if items else ""},
    }
    own: Json = {"opens": opens[step]}
    # scrolled out of view by `reveals`
    if step == TourStep.INSTRUCTIONS and several and several.picture:
        own["picture"] = f"examples/{tour.several}/picture"
    if step == TourStep.SHARED:
        shared = shared_prefix(*(item["codes"] for item in items))
        own["pair"] = [{**item, "shared": shared} for item in items]
    if step == TourStep.MAP:
        labels = ("Before: everything", "After: codes")
        kept = [str(depth or "") for depth in tour.views or ()]
        own["views"] = [
            {"label": label, "keep": keep} for label, keep in zip(labels, kept, strict=False)
        ]
    title, text, reveals = STEPS.loc[step, ["title", "text", "reveals"]]
    words = {
        "title": title.format(**spelled),
        "text": text.format(**spelled, pattern=format_pattern(tour.pattern)),
    }
    return {"step": step, "reveals": reveals, **words, **own}


def spell(number: int) -> str:
    return NUMBERS[number] if number < len(NUMBERS) else str(number)


def panel(context: Context) -> Panel:
    engine, examples = context.engine, context.served.examples
    maps = context.maps
    views = () if isinstance(maps, str) else maps.views
    tours = engine.snapshots.cached(lambda index: tour_of(index, examples, views))

    def on_tour() -> Json:
        """The steps of the tour."""
        index = engine.index
        tour = tours(index)
        if not tour.steps:
            raise UserError(NOTHING)
        items = tiles(index, tour.pair or ())
        return {"steps": [step_view(step, tour, items, examples) for step in tour.steps]}

    return Panel({"tour": on_tour})

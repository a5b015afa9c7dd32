"""Data for the panel of the guided tour, as plain JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from genius.examples import Example
from genius.explore.code_patterns import format_pattern
from genius.explore.tour import Tour, TourStep
from genius.ui.common.formatting import data_uri, shared_prefix, small_webp

NUMBERS = ("no", "one", "two", "three", "four", "five", "six")
REVEALED = {  # elem_id of the part of the page that a step is about
    TourStep.INSTRUCTIONS: "cards",
    TourStep.STRIP: "strip",
    TourStep.SHARED: "codes-summary",
    TourStep.PATTERN: "codes-items",
    TourStep.MAP: "map",
    TourStep.DENSE: "compare",
}


def step_view(tour: Tour, number: int, items: Sequence[dict[str, Any]], several: Example | None) -> dict[str, Any]:
    """What tour.js draws at a step, numbered from 1.

    items: the two of TourStep.SHARED, as `tile` gives them, with "codes". several: the example of
    TourStep.INSTRUCTIONS.
    """
    step = tour.steps[number - 1]
    title, text = words(tour, step, len(several.instructions) if several else 0)
    asked = several.picture if several and step == TourStep.INSTRUCTIONS else None  # scrolled out of view by `reveals`
    return {
        "number": number,
        "of": len(tour.steps),
        "step": step,
        "title": title,
        "text": text,
        "reveals": REVEALED[step],
        "picture": data_uri(small_webp(asked)) if asked else None,
        "pair": [{**item, "shared": shared_prefix(*(one["codes"] for one in items))} for item in items]
        if step == TourStep.SHARED
        else [],
        "views": [
            {"label": label, "name": name}
            for label, name in zip(("Before: features", "After: codes"), tour.views or (), strict=False)
        ]
        if step == TourStep.MAP
        else [],
    }


def words(tour: Tour, step: TourStep, instructions: int) -> tuple[str, str]:
    """Title and text of a step."""
    shared = len(tour.shared)
    return {
        TourStep.INSTRUCTIONS: (
            f"One picture, {spelled(instructions)} instructions",
            "The picture is the same in every column; only the instruction differs. From its words the search knows "
            "what you want: a text, a picture, or both.",
        ),
        TourStep.STRIP: (
            "How an answer is found",
            "Every item has an ID, a short sequence of codes from coarse to fine. The search writes the ID of what it "
            "expects, one code at a time; below each code stand the items that are still possible.",
        ),
        TourStep.SHARED: (
            "Similar things have similar IDs",
            f"These two pictures share their first {spelled(shared)} codes and differ after that. Nobody assigned the "
            "codes; they were learned from the collection.",
        ),
        TourStep.PATTERN: (
            "Codes have a meaning",
            f"These are all items with the codes {format_pattern(tour.pattern)}. The star stands for any kind of item, "
            "so pictures and texts of the same thing come together.",
        ),
        TourStep.MAP: (
            "What the codes keep",
            "Each point is an item, and similar items lie near each other. On the second map only the codes are left "
            "of each item; groups that stay together kept their meaning.",
        ),
        TourStep.DENSE: (
            "The same question, asked the usual way",
            "Dense search compares the query with every single item. Generation writes the ID instead. Here are the "
            "answers of both side by side, with their times.",
        ),
    }[step]


def spelled(number: int) -> str:
    return NUMBERS[number] if number < len(NUMBERS) else str(number)

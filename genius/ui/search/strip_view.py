"""Data for the generation strip, as plain JSON made from a `Narrowing`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from genius.explore.beam_figure import format_probability
from genius.explore.code_patterns import format_pattern
from genius.explore.narrowing import CodeChoice, CodeStep, Narrowing
from genius.schema import Hit, Item, Modality
from genius.ui.common.formatting import MODALITY_NAMES, count, tile

NOTE = "Percentages compare the codes that lead to items."
MEANING = (
    "Ruled out: the share of all probability that was on codes that lead to no item (masked). The percentages above it "
    "are shares of the rest.",
    "The search follows many IDs at once (its beam) and keeps the best as a whole, so a code need not be the most "
    "probable one.",
)
STOPPED_EARLY = "The search stopped here; re-ranking orders the items that are left."


def strip(
    narrowing: Narrowing,
    items: Mapping[int, tuple[Item, bytes | None]],
    forced: bool,
    *,
    levels: int,
    hits: Sequence[Hit] = (),
    paths: Sequence[Mapping[str, Any]] = (),
    replaced: tuple[int, int] | None = None,
    play: int = 0,
    typical: Mapping[tuple[int, ...], int] | None = None,
    unnamed: bool = False,
) -> dict[str, Any]:
    """What strip.js draws. items: item and thumbnail by row, of all rows that are shown.

    levels: codes of an ID. hits: of the search. paths: which IDs may be shown. replaced: level and code that the search
    itself chose, if this is a what-if. play: the first column that appears late. typical: row of a typical item by
    prefix. unnamed: the names of the codes are not known yet.
    """
    codes, typical = narrowing.codes, typical or {}
    return {
        "title": "How the ID was generated" if replaced is None else "What if …",
        "sentence": sentence(narrowing, hits, levels) if replaced is None else what_if(narrowing, replaced, forced),
        "note": NOTE,
        "meaning": [*MEANING, *[STOPPED_EARLY] * (len(codes) < levels)],
        "columns": [
            {
                "head": "Start",
                "code": None,
                "masked": None,
                "items": f"{narrowing.items:,}",
                "share": 1.0,
                "settled": False,
                "others": [],
                "rows": list(narrowing.shown),
            },
            *(
                column(codes[:level], step, narrowing.items, forced, typical)
                for level, step in enumerate(narrowing.steps)
            ),
        ],
        "ending": ending(narrowing),
        "items": {str(row): thumbnail(row, item, picture) for row, (item, picture) in items.items()},
        "paths": list(paths),
        "branched": replaced is not None,
        "play": play,
        "unnamed": unnamed,
    }


def column(
    prefix: tuple[int, ...], step: CodeStep, total: int, forced: bool, typical: Mapping[tuple[int, ...], int]
) -> dict[str, Any]:
    """One level. prefix: the codes of the levels before it. typical: row of a typical item by prefix."""
    level, chosen, others = len(prefix), step.chosen, []
    if chosen.probability is not None:  # a rounded 1 is no certainty while others are possible
        others_share = sum(other.probability or 0.0 for other in step.others)
        chosen = replace(chosen, probability=min(chosen.probability, 1 - others_share))
    if not step.settled:
        others = [
            choice_data(prefix, other, forced) | {"row": typical.get((*prefix, other.code))} for other in step.others
        ]
    return {
        "head": "Modality" if forced and level == 0 else str(level) if step.settled else f"Level {level}",
        "code": choice_data(prefix, chosen, forced),
        "masked": None if step.masked is None else format_probability(step.masked),
        "items": f"{step.chosen.items:,}",
        "share": (1 + math.log(step.chosen.items)) / (1 + math.log(total)),
        "settled": step.settled,
        "others": others,
        "rows": [] if step.settled else list(step.shown),
    }


def choice_data(prefix: tuple[int, ...], choice: CodeChoice, forced: bool) -> dict[str, Any]:
    """A code with its probability, None if it was not decoded. prefix: the codes before it."""
    return {
        "level": len(prefix),
        "code": choice.code,
        "prefix": format_pattern((*prefix, choice.code), "."),
        "name": modality_name(choice.code) if forced and not prefix else "",
        "probability": None if choice.probability is None else format_probability(choice.probability),
        "items": count(choice.items, "item"),
    }


def modality_name(code: int) -> str:
    """The modality that a first code stands for."""
    return MODALITY_NAMES[Modality(code)]


def thumbnail(row: int, item: Item, picture: bytes | None) -> dict[str, Any]:
    """An item as a thumbnail or a few words."""
    data = tile(row, item, picture)
    return {name: data[name] for name in ("label", "modality", "text", "picture")}


def sentence(narrowing: Narrowing, hits: Sequence[Hit], levels: int) -> str:
    """The narrowing in words, and where its items stand among the results."""
    wrote = (
        f"The search wrote an ID of {count(levels, 'code')}, one at a time."
        if narrowing.place
        else f"The search wrote the first codes of this ID of {levels}, and chose among the items whose IDs start with "
        "them."
    )
    text = f"{wrote} Items still possible, code by code: {count_path(narrowing)}."
    rank = next((hit.rank for hit in hits if hit.codes[: len(narrowing.codes)] == narrowing.codes), None)
    if rank is not None:
        text += f" {'That item is' if narrowing.left == 1 else 'The best of them is'} result {rank}."
    if narrowing.place and narrowing.place > 1:
        text += f" Its ID was number {narrowing.place} of those that the search kept."
    return text


def count_path(narrowing: Narrowing) -> str:
    """How many items were possible, each number once: 12,663 → 4,259 → 1."""
    narrowed = [narrowing.items, *(step.chosen.items for step in narrowing.steps)]
    distinct = [items for items, previous in zip(narrowed, [None, *narrowed], strict=False) if items != previous]
    return " → ".join(f"{items:,}" for items in distinct)


def ending(narrowing: Narrowing) -> dict[str, Any]:
    """The items whose ID is the only one left, where it is known before its last code."""
    settled = sum(step.settled for step in narrowing.steps)
    more = "One ID is left, so its last code is" if settled == 1 else f"One ID is left, so its last {settled} codes are"
    alone = "" if narrowing.left == 1 else f" {narrowing.left:,} items have it."
    return {"rows": list(narrowing.steps[-1].shown), "note": f"{more} certain.{alone}"}


def what_if(narrowing: Narrowing, replaced: tuple[int, int], forced: bool) -> str:
    """Which code was replaced by which."""
    level, code = replaced
    by_modality = forced and level == 0
    before, after = (modality_name(one) if by_modality else str(one) for one in (code, narrowing.codes[level]))
    return (
        f"With {after} in place of {before} at level {level}, the search goes on from there by itself: "
        f"{count_path(narrowing)}."
    )

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
from genius.ui.common.formatting import NAMES, count, tile

NOTE = "Percentages compare the codes that lead to items."
MEANING = (
    "Ruled out: the share of all probability that was on codes that lead to no item (masked). The percentages above it "
    "are shares of the rest.",
    "The search follows many IDs at once (its beam) and keeps the best as a whole, so a code need not be the most "
    "probable one.",
)
OPEN = "The search stopped here; re-ranking orders the items that are left."


def strip(
    found: Narrowing,
    items: Mapping[int, tuple[Item, bytes | None]],
    forced: bool,
    *,
    levels: int,
    hits: Sequence[Hit] = (),
    paths: Sequence[Mapping[str, Any]] = (),
    instead: tuple[int, int] | None = None,
    play: int = 0,
    rows: Mapping[tuple[int, ...], int] | None = None,
    unnamed: bool = False,
) -> dict[str, Any]:
    """What strip.js draws. items: item and thumbnail by row, of all rows that are shown.

    levels: codes of an ID. hits: of the search. paths: which IDs may be shown. instead: level and code that the search
    itself chose, if this is a what-if. play: the first column that appears late. rows: of a
    typical item of a prefix. unnamed: the names of the codes are not known yet.
    """
    codes, rows = found.codes, rows or {}
    return {
        "title": "How the ID was generated" if instead is None else "What if …",
        "sentence": sentence(found, hits, levels) if instead is None else what_if(found, instead, forced),
        "note": NOTE,
        "meaning": [*MEANING, *[OPEN] * (len(codes) < levels)],
        "columns": [
            {
                "head": "Start",
                "code": None,
                "masked": None,
                "items": f"{found.items:,}",
                "share": 1.0,
                "settled": False,
                "others": [],
                "rows": list(found.shown),
            },
            *(column(codes[:level], step, found.items, forced, rows) for level, step in enumerate(found.steps)),
        ],
        "ending": ending(found),
        "items": {str(row): small(row, item, picture) for row, (item, picture) in items.items()},
        "paths": list(paths),
        "branched": instead is not None,
        "play": play,
        "unnamed": unnamed,
    }


def column(
    before: tuple[int, ...], step: CodeStep, total: int, forced: bool, rows: Mapping[tuple[int, ...], int]
) -> dict[str, Any]:
    """One level. before: the codes of those before it. rows: of a typical item of a prefix."""
    level, chosen = len(before), step.chosen
    if chosen.probability is not None:  # a rounded 1 is no certainty while others are possible
        rest = sum(other.probability or 0.0 for other in step.others)
        chosen = replace(chosen, probability=min(chosen.probability, 1 - rest))
    return {
        "head": "Modality" if forced and level == 0 else str(level) if step.settled else f"Level {level}",
        "code": choice(before, chosen, forced),
        "masked": None if step.masked is None else format_probability(step.masked),
        "items": f"{step.chosen.items:,}",
        "share": (1 + math.log(step.chosen.items)) / (1 + math.log(total)),
        "settled": step.settled,
        "others": []
        if step.settled
        else [choice(before, other, forced) | {"row": rows.get((*before, other.code))} for other in step.others],
        "rows": [] if step.settled else list(step.shown),
    }


def choice(before: tuple[int, ...], one: CodeChoice, forced: bool) -> dict[str, Any]:
    """A code with its probability, None if it was not decoded. before: the codes before it."""
    return {
        "level": len(before),
        "code": one.code,
        "prefix": format_pattern((*before, one.code), "."),
        "name": first_code(one.code) if forced and not before else "",
        "probability": None if one.probability is None else format_probability(one.probability),
        "items": count(one.items, "item"),
    }


def first_code(code: int) -> str:
    """The modality that a first code stands for."""
    return NAMES[Modality(code)]


def small(row: int, item: Item, picture: bytes | None) -> dict[str, Any]:
    """An item as a thumbnail or a few words."""
    shown = tile(row, item, picture)
    return {name: shown[name] for name in ("label", "kind", "text", "picture")}


def sentence(found: Narrowing, hits: Sequence[Hit], levels: int) -> str:
    """The narrowing in words, and where its items stand among the results."""
    wrote = (
        f"The search wrote an ID of {count(levels, 'code')}, one at a time."
        if found.place
        else f"The search wrote the first codes of this ID of {levels}, and chose among the items whose IDs begin so."
    )
    text = f"{wrote} Items still possible, code by code: {way(found)}."
    rank = next((hit.rank for hit in hits if hit.codes[: len(found.codes)] == found.codes), None)
    if rank is not None:
        text += f" {'That item is' if found.left == 1 else 'The best of them is'} result {rank}."
    if found.place and found.place > 1:
        text += f" Its ID was number {found.place} of those that the search kept."
    return text


def way(found: Narrowing) -> str:
    """How many items were possible, each number once: 12,663 → 4,259 → 1."""
    narrowed = [found.items, *(step.chosen.items for step in found.steps)]
    distinct = [items for items, before in zip(narrowed, [None, *narrowed], strict=False) if items != before]
    return " → ".join(f"{items:,}" for items in distinct)


def ending(found: Narrowing) -> dict[str, Any]:
    """The items whose ID is the only one left, where it is known before its last code."""
    settled = sum(step.settled for step in found.steps)
    more = "One ID is left, so its last code is" if settled == 1 else f"One ID is left, so its last {settled} codes are"
    alone = "" if found.left == 1 else f" {found.left:,} items have it."
    return {"rows": list(found.steps[-1].shown), "note": f"{more} certain.{alone}"}


def what_if(found: Narrowing, instead: tuple[int, int], forced: bool) -> str:
    """Which code was replaced by which."""
    level, code = instead
    before, after = (first_code(one) if forced and level == 0 else str(one) for one in (code, found.codes[level]))
    return f"With {after} in place of {before} at level {level}, the search goes on from there by itself: {way(found)}."

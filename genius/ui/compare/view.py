"""Data for the Compare panel, as plain JSON made from the results of the systems."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from genius.explore.comparison import FLAT, Agreement, SystemResults
from genius.schema import Item
from genius.ui.common import formatting


def comparison_view(
    title: str,
    encoding: Mapping[str, float],
    by_system: Sequence[SystemResults],
    agreement: Agreement,
    items: Sequence[Item],
    thumbnails: Sequence[bytes | None],
) -> dict[str, Any]:
    """title: the query in a few words; encoding: milliseconds by stage; items, thumbnails: of `agreement.rows`."""
    place = {row: number for number, row in enumerate(agreement.rows.tolist())}
    numbers, slowest = range(len(by_system)), max(results.total for results in by_system)
    return {
        "sentence": _sentence(title, agreement),
        "encoding": _encoding_sentence(encoding),
        "reference": next(number for number in numbers if by_system[number].system is FLAT),
        "systems": [_system_view(by_system[number], agreement, number, slowest) for number in numbers],
        "agreement": [[_pair_view(agreement, one, other) for other in numbers] for one in numbers],
        "items": [
            {**formatting.item_view(item, picture), "ranks": ranks}
            for item, picture, ranks in zip(items, thumbnails, agreement.ranks.T.tolist(), strict=True)
        ],
        "columns": [
            [
                {"item": place[row], "cosine": formatting.number(cosine, 3)}
                for row, cosine in zip(results.rows.tolist(), results.cosines.tolist(), strict=True)
            ]
            for results in by_system
        ],
    }


def _sentence(title: str, agreement: Agreement) -> str:
    by_all, by_one = int((agreement.ranks > 0).all(axis=0).sum()), int(agreement.found_by_one.sum())
    items = formatting.count(len(agreement.rows), "different item")
    return (
        f"For {title}, the {len(agreement.ranks)} ways found {items}: "
        f"{by_all:,} by all of them, {by_one:,} by only one."
    )


def _encoding_sentence(milliseconds: Mapping[str, float]) -> str:
    if not milliseconds:
        return "The query was already encoded."
    return f"It leaves out what is the same for all, turning the query into numbers: {_stage_times(milliseconds)}."


def _stage_times(milliseconds: Mapping[str, float]) -> str:
    return ", ".join(
        f"{formatting.STAGES.get(stage, stage)} {formatting.milliseconds(time)}" for stage, time in milliseconds.items()
    )


def _system_view(results: SystemResults, agreement: Agreement, number: int, slowest: float) -> dict[str, Any]:
    return {
        "name": results.system.name,
        "how": results.system.how + weight_note(results.weight),
        "time": formatting.milliseconds(results.total),
        "share": results.total / slowest if slowest else 0.0,
        "stages": _stage_times(results.milliseconds),
        "only": int(agreement.found_by_one[number].sum()),
    }


def weight_note(weight: float | None) -> str:
    """The decoder's weight against codeword geometry, as a sentence after another; empty for a dense search."""
    return "" if weight is None else f" Decoder weight {weight:g}."


def _pair_view(agreement: Agreement, one: int, other: int) -> dict[str, Any] | None:
    """How far two systems agree; None for one with itself."""
    if one == other:
        return None
    share, shift = float(agreement.overlap[one, other]), float(agreement.shift[one, other])
    return {"share": share, "overlap": f"{100 * share:.0f} %", "shift": "–" if math.isnan(shift) else f"±{shift:.1f}"}

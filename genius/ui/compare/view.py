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
    found: Sequence[SystemResults],
    agreed: Agreement,
    items: Sequence[Item],
    thumbnails: Sequence[bytes | None],
) -> dict[str, Any]:
    """title: the query in a few words; encoding: milliseconds by stage; items, thumbnails: of `agreed.rows`."""
    place = {row: number for number, row in enumerate(agreed.rows.tolist())}
    return {
        "sentence": _sentence(title, agreed),
        "encoding": _encoding(encoding),
        "reference": next(number for number, one in enumerate(found) if one.system is FLAT),
        "systems": [_system(one, agreed, number, max(one.total for one in found)) for number, one in enumerate(found)],
        "agreement": [[_pair(agreed, one, other) for other in range(len(found))] for one in range(len(found))],
        "items": [
            {**formatting.item_view(item, picture), "ranks": ranks}
            for item, picture, ranks in zip(items, thumbnails, agreed.ranks.T.tolist(), strict=True)
        ],
        "columns": [
            [
                {"item": place[row], "cosine": formatting.number(cosine, 3)}
                for row, cosine in zip(one.rows.tolist(), one.cosines.tolist(), strict=True)
            ]
            for one in found
        ],
    }


def _sentence(title: str, agreed: Agreement) -> str:
    everywhere, alone = int((agreed.ranks > 0).all(axis=0).sum()), int(agreed.found_by_one.sum())
    return (
        f"For {title}, the {len(agreed.ranks)} ways found {formatting.count(len(agreed.rows), 'different item')}: "
        f"{everywhere:,} by all of them, {alone:,} by only one."
    )


def _encoding(milliseconds: Mapping[str, float]) -> str:
    spent = [f"{formatting.STAGES[stage]} {formatting.milliseconds(one)}" for stage, one in milliseconds.items()]
    return (
        f"It leaves out what all share, to turn the query into numbers: {', '.join(spent)}."
        if spent
        else "The query was already encoded."
    )


def _system(found: SystemResults, agreed: Agreement, number: int, slowest: float) -> dict[str, Any]:
    stages = [
        f"{formatting.STAGES.get(stage, stage)} {formatting.milliseconds(one)}"
        for stage, one in found.milliseconds.items()
    ]
    return {
        "name": found.system.name,
        "how": found.system.how + weight_note(found.weight),
        "time": formatting.milliseconds(found.total),
        "share": found.total / slowest if slowest else 0.0,
        "stages": ", ".join(stages),
        "only": int(agreed.found_by_one[number].sum()),
    }


def weight_note(weight: float | None) -> str:
    """The decoder's weight against codeword geometry, as a sentence after another; empty for a dense search."""
    return "" if weight is None else f" Decoder weight {weight:g}."


def _pair(agreed: Agreement, one: int, other: int) -> dict[str, Any] | None:
    """How far two systems agree; None for one with itself."""
    if one == other:
        return None
    share, shift = float(agreed.overlap[one, other]), float(agreed.shift[one, other])
    return {"share": share, "overlap": f"{100 * share:.0f} %", "shift": "–" if math.isnan(shift) else f"±{shift:.1f}"}

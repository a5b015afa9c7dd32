"""Cells and tables of the reports in Markdown. Rates are percentages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from genius.collections.layout import TASKS
from genius.metrics.hit_rate import USUAL_CUT
from genius.schema import Modality

MODALITY_NAMES = {Modality.IMAGE: "image", Modality.TEXT: "text", Modality.PAIR: "pair"}
UNKNOWN = "–"


def table(heading: Sequence[str], lines: Sequence[Sequence[str]], words: int = 1) -> str:
    """A Markdown table; the first `words` columns are left-aligned, the others hold figures."""
    widths = [max(3, *map(len, column)) for column in zip(heading, *lines, strict=True)]
    rule = ["-" * width if at < words else "-" * (width - 1) + ":" for at, width in enumerate(widths)]
    aligned = [
        [
            cell.ljust(width) if at < words else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        for line in (heading, rule, *lines)
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in aligned)


def task_name(task: int) -> str:
    query, candidate = TASKS[task]
    return f"{task} {MODALITY_NAMES[query]} → {MODALITY_NAMES[candidate]}"


def dataset_name(row: dict[str, Any]) -> str:
    """Its name, and where its hit rate is taken if that is not the usual cut."""
    return row["dataset"] if row["cut"] == USUAL_CUT else f"{row['dataset']} (hit@{row['cut']})"


def with_interval(figures: dict[str, Any]) -> str:
    low, high = figures["interval"]
    return f"{percent(figures['headline'])} [{percent(low)}, {percent(high)}]"


def percent(rate: float | None) -> str:
    return figure(rate, 100, 1)


def figure(value: float | None, factor: float, digits: int) -> str:
    return UNKNOWN if value is None else f"{value * factor:.{digits}f}"


def count(value: float | None) -> str:
    return "" if value is None else f"{value:,}"

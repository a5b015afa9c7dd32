"""Cells and tables of the Markdown reports. Rates are percentages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from genius.collections.layout import TASKS
from genius.metrics.hit_rate import USUAL_CUT

UNKNOWN = "–"


def table(
    cells: Sequence[Mapping[str, str]] | Mapping[str, Sequence[str]] | pd.DataFrame, text_columns: int = 1
) -> str:
    """A Markdown table of formatted cells, by row or by column; the first `text_columns` are left-aligned."""
    frame = pd.DataFrame(cells)
    alignment = ["left"] * text_columns + ["right"] * (frame.shape[1] - text_columns)
    return frame.to_markdown(index=False, tablefmt="pipe", disable_numparse=True, colalign=alignment)


def task_name(task: int) -> str:
    """2 -> 2 text → pair."""
    return f"{task} {modalities_of(task)}"


def modalities_of(task: int) -> str:
    """2 -> text → pair."""
    return " → ".join(modality.name.lower() for modality in TASKS[task])


def dataset_name(row: dict[str, Any]) -> str:
    """The dataset of a row, and the k of its hit rate if that is not the usual one."""
    return row["dataset"] if row["cut"] == USUAL_CUT else f"{row['dataset']} (hit@{row['cut']})"


def percent(rate: float | None) -> str:
    return decimals(rate, 1, factor=100)


def decimals(value: float | None, digits: int, factor: float = 1) -> str:
    return UNKNOWN if value is None else f"{value * factor:.{digits}f}"


def with_interval(figures: dict[str, Any]) -> str:
    """A hit rate or difference and its 95 % interval."""
    return between(figures["headline"], *figures["interval"])


def between(rate: float, low: float, high: float) -> str:
    """A rate and an interval around it."""
    return f"{percent(rate)} [{percent(low)}, {percent(high)}]"

"""A cell of a table: hit rates of each seed, their mean, and its interval."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np
from scipy import stats

from genius.evaluation.tables import between
from genius.metrics.hit_rate import wilson_interval

Cell = dict[str, Any]  # {"published", "mean", "interval", "values", "queries"}
LEVEL = 0.95


def cell(values: Sequence[float], queries: int, figure: float | None = None, level: float = LEVEL) -> Cell:
    """values: a rate of each seed; queries: that it is of; figure: published, in percent; level: of the interval."""
    mean = float(np.mean(values))
    if len(values) > 1:
        half = student_half_width(values, level)
        low, high = mean - half, mean + half
    else:
        low, high = wilson_interval(round(mean * queries), queries, level)
        low, high = min(low, mean), max(high, mean)
    return {
        "published": None if figure is None else figure / 100,
        "mean": mean,
        "interval": [max(0.0, low), min(1.0, high)],
        "values": [float(value) for value in values],
        "queries": queries,
    }


def average(cells: Sequence[Cell]) -> Cell:
    """The mean of cells with equally many seeds, and of their published figures if all have one.

    The interval of one seed takes their queries as those of one cell.
    """
    values = np.mean([one["values"] for one in cells], axis=0)  # by seed
    figures = [one["published"] for one in cells]
    known = None if None in figures else 100 * float(np.mean(figures))
    return cell(values, sum(one["queries"] for one in cells), known)


def student_half_width(values: Sequence[float], level: float) -> float:
    """Half of Student's t interval of the mean of at least two values."""
    return float(stats.t.ppf((1 + level) / 2, len(values) - 1) * np.std(values, ddof=1) / sqrt(len(values)))


def shown(one: Cell) -> str:
    """A mean and its interval in percent."""
    return between(one["mean"], *one["interval"])

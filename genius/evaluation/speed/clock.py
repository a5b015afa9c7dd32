"""Measure several systems side by side: in turns, in one process, on the same queries.

A processor's speed changes from minute to minute, and from process to process by more than systems differ. So
nothing is measured en bloc: each round asks every system once, with queries that no round before had, and the next
round begins with the next system. Medians over rounds are compared.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TypeVar

Batch = TypeVar("Batch", bound=Sequence)

LEAST = 2  # rounds of a slow system


@dataclass(frozen=True)
class Times:
    """Milliseconds per query."""

    median: float
    least: float
    most: float
    rounds: int

    @classmethod
    def of(cls, milliseconds: list[float]) -> Times:
        return cls(statistics.median(milliseconds), min(milliseconds), max(milliseconds), len(milliseconds))

    def to_json(self) -> dict[str, float]:
        return asdict(self)


def measure_in_turns(
    systems: dict[str, Callable[[Batch], object]],
    draw: Callable[[int], Batch],
    rounds: int,
    patience: float,
    now: Callable[[], float] = time.perf_counter,
) -> dict[str, Times]:
    """Time each system on one batch a round.

    draw: round number -> queries; a system returns when its results are there. rounds: how many are measured, after
    each system had one query that is not. patience: seconds after which a system that had its `LEAST` rounds drops out.
    """
    names = list(systems)
    spent: dict[str, list[float]] = {name: [] for name in names}
    queries = draw(0)
    for system in systems.values():  # loads what is loaded once
        system(queries[:1])
    for number in range(1, rounds + 1):
        queries = draw(number)
        for name in rotated(names, number):
            if len(spent[name]) >= LEAST and sum(spent[name]) * len(queries) > patience * 1000:
                continue
            start = now()
            systems[name](queries)
            spent[name].append(1000 * (now() - start) / len(queries))
    return {name: Times.of(milliseconds) for name, milliseconds in spent.items()}


def rotated(names: list[str], by: int) -> list[str]:
    by %= len(names)
    return names[by:] + names[:by]

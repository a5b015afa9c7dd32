"""Time several systems in turns, in one process, on the same queries.

A processor's speed changes from minute to minute, and between processes by more than the systems differ. So every
round times each system once, on queries that no other round has, and starts with the next system. Compare medians
over rounds.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any, TypeVar

Queries = TypeVar("Queries")
Times = dict[str, float]  # median, least, most: milliseconds per query; rounds

MIN_ROUNDS = 2  # even of a slow system


def measure_in_turns(
    systems: dict[str, Callable[[Queries], Any]],
    draw_queries: Callable[[int, int], Queries],
    batch: int,
    rounds: int,
    patience: float,
    now: Callable[[], float] = time.perf_counter,
) -> dict[str, Times]:
    """Time each system, if there are any, on one batch per round.

    draw_queries: (batch size, round) -> queries. A system returns when its results are complete; each answers one
    query of round 0 first, which is not timed. patience: seconds after which a system that had `MIN_ROUNDS` drops out.
    """
    names, spent = list(systems), {name: [] for name in systems}
    for search in systems.values():
        search(draw_queries(1, 0))
    for number in range(1, rounds + 1):
        queries = draw_queries(batch, number)
        names = names[1:] + names[:1]
        for name in names:
            if len(spent[name]) >= MIN_ROUNDS and sum(spent[name]) > patience:
                continue
            start = now()
            systems[name](queries)
            spent[name].append(now() - start)
    return {name: _times([1000 * second / batch for second in seconds]) for name, seconds in spent.items()}


def _times(milliseconds: list[float]) -> Times:
    return {
        "median": statistics.median(milliseconds),
        "least": min(milliseconds),
        "most": max(milliseconds),
        "rounds": len(milliseconds),
    }

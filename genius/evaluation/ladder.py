"""The oracle ladder: for each benchmark row, where the next point of hit rate is lost.

Each rung searches with less than the one before: all embeddings, all fused features, all quantized vectors, what beam
search hands over (the share of queries with a positive among its candidates: the most that any re-ranking can reach),
and the order of these candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from genius.evaluation.tables import percent

EXPLAINED = """What each step from exhaustive search to the served result keeps, in percent. *dense*, *fused*,
*quantized*: exhaustive search over the embeddings, the fused features z and the quantized vectors. *candidates*:
queries with a positive among the items that the beam search hands over, the most that re-ranking can reach. Then the
hit rate after re-ranking."""
EXHAUSTIVE = ("dense", "fused", "quantized")
SEARCHES = ("beam", "fast")  # by IDs; each hands over candidates that are then re-ranked
ORDERS = ("re-rank", "ranker")  # of the candidates: by embedding, and by the run's ranker if it has one


def rungs(entry: dict[str, Any]) -> list[str]:
    """Headings of the ladder of a pool's row or average: those that were measured."""
    systems = entry["systems"]
    found = [system for system in EXHAUSTIVE if system in systems]
    for search in SEARCHES:
        orders = [f"{search} + {order}" for order in ORDERS if f"{search} + {order}" in systems]
        found += [f"{search}: candidates", *orders] if orders and "beam" in entry else orders
    return found


def ladder(entries: Sequence[dict[str, Any]]) -> dict[str, list[str]]:
    """Rung -> its cell for each of these rows or averages of one pool."""
    return {rung: [percent(_rate(entry, rung)) for entry in entries] for rung in rungs(entries[-1])}


def _rate(entry: dict[str, Any], rung: str) -> float | None:
    search, colon, _ = rung.partition(": ")
    if colon:
        return entry["beam"][f"{search} + {ORDERS[0]}"]["candidate_recall"]
    return entry["systems"][rung]["headline"]

"""Summarize search results as the figures of a table: one entry per row, and their average.

Shapes: q queries of a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from genius.evaluation.queries import QuerySet, TargetGroups, right_first_codes
from genius.evaluation.systems import RowResults
from genius.index.store import Index
from genius.metrics.hit_rate import (
    CUTS,
    bootstrap_differences,
    bootstrap_hit_rates,
    headline_cut,
    hit_rate,
    interval,
    mean_known,
)

DRAWS = 2000  # bootstrap samples
MIN_DENSE = 0.10  # hit rate of dense search below which a share of it means nothing
COMPARED = [
    ("beam", "geometry"),
    ("beam + re-rank", "geometry + re-rank"),
    ("fast + re-rank", "beam + re-rank"),
    ("fast + re-rank", "fast geometry + re-rank"),
]  # pairs: the difference in hit rate, first minus second


@dataclass(frozen=True)
class RowLabels:
    """The labels of one row's queries in one pool."""

    queries: QuerySet
    first_codes: np.ndarray  # (q, codes) bool: the ID of a positive starts with this code
    inside: np.ndarray  # (q,) number of positives inside the pool
    judged: int  # positives of all queries, including those that are not in the index
    groups: TargetGroups
    candidates: int  # items in the pool

    @classmethod
    def read(cls, queries: QuerySet, index: Index, pool: np.ndarray, targets: np.ndarray) -> RowLabels:
        """pool: rows of the index. targets: (n,) bool, the item was a training target."""
        qrels = queries.qrels
        member = np.zeros(index.n, dtype=bool)
        member[pool] = True
        return cls(
            queries,
            right_first_codes(qrels, index),
            qrels.count(member),
            len(qrels.rows) + queries.unknown,
            TargetGroups.of(qrels, targets),
            len(pool),
        )


def summarize(rows: list[tuple[RowLabels, RowResults]], seed: int) -> dict[str, Any]:
    """{"rows": [...], "average": {...}} of one pool, ready for JSON.

    The average weighs all rows equally; a figure that some rows lack is averaged over the others.
    """
    entries, draws = [], []
    for number, (labels, results) in enumerate(rows):
        rng, cut = np.random.default_rng((seed, number)), headline_cut(labels.queries.row.dataset)
        wins = _wins(results.ranks, cut)
        samples = {
            "systems": {system: bootstrap_hit_rates(ranks, cut, DRAWS, rng) for system, ranks in results.ranks.items()},
            "differences": {pair: bootstrap_differences(values, DRAWS, rng) for pair, values in wins.items()},
        }
        entries.append(_entry(labels, results, wins, samples))
        draws.append(samples)
    average = _average(
        [{key: entry[key] for key in ("systems", "beam", "differences", "milliseconds")} for entry in entries]
    )
    for system, figures in average["beam"].items():
        figures["most_items"] = max(entry["beam"][system]["most_items"] for entry in entries)
    for table in ("systems", "differences"):
        for name, figures in average[table].items():
            figures["interval"] = interval(np.mean([samples[table][name] for samples in draws], axis=0))
    return {"rows": entries, "average": average}


def _wins(ranks: dict[str, np.ndarray], cut: int) -> dict[str, np.ndarray]:
    """Pair of systems -> (q,): 1 where only the first hits, −1 where only the second does, else 0."""
    return {
        f"{first} − {second}": (ranks[first] <= cut).astype(int) - (ranks[second] <= cut) for first, second in COMPARED
    }


def _entry(
    labels: RowLabels, results: RowResults, wins: dict[str, np.ndarray], samples: dict[str, dict[str, np.ndarray]]
) -> dict[str, Any]:
    row, ranks = labels.queries.row, results.ranks
    cut = headline_cut(row.dataset)
    systems = {
        system: {
            "headline": hit_rate(found, cut),
            "share_of_dense": share_of_dense(found, ranks["dense"], cut),
            "hit": {str(k): hit_rate(found, k) for k in CUTS},
            "interval": interval(samples["systems"][system]),
            "trained_targets": hit_rate(found[labels.groups.every], cut),
            "new_targets": hit_rate(found[labels.groups.none], cut),
        }
        for system, found in ranks.items()
    }
    beam = {
        system: {
            "candidate_recall": float(found.recalled.mean()),
            "items": float(found.items.mean()),
            "most_items": int(found.items.max()),
            "first_code": float(np.take_along_axis(labels.first_codes, found.first_code[:, None], axis=1).mean()),
            "scored": float(found.scored.mean()),
            "certified": None if found.certified is None else float(found.certified.mean()),
        }
        for system, found in results.beams.items()
    }
    differences = {
        pair: {"headline": float(values.mean()), "interval": interval(samples["differences"][pair])}
        for pair, values in wins.items()
    }
    return {
        "task": row.task,
        "dataset": row.dataset,
        "cut": cut,
        "queries": len(labels.queries),
        "candidates": labels.candidates,
        "without_positive": int((labels.inside == 0).sum()),
        "judgements": labels.judged,
        "judgements_outside": labels.judged - int(labels.inside.sum()),
        "queries_trained": int(labels.groups.every.sum()),
        "queries_new": int(labels.groups.none.sum()),
        "systems": systems,
        "beam": beam,
        "differences": differences,
        "milliseconds": results.milliseconds,
    }


def share_of_dense(ranks: np.ndarray, dense: np.ndarray, cut: int) -> float | None:
    """Hit rate of a system over that of dense search; None where dense search finds too little."""
    reference = hit_rate(dense, cut)
    return hit_rate(ranks, cut) / reference if reference >= MIN_DENSE else None


def _average(values: list[Any]) -> Any:
    """Mean over entries of the same structure, leaf by leaf; intervals, which are tuples, are left out."""
    if isinstance(values[0], dict):
        return {
            key: _average([value[key] for value in values])
            for key in values[0]
            if not isinstance(values[0][key], tuple)
        }
    return mean_known(values)

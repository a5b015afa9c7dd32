"""The figures of searched queries: hit rates with intervals by row and system, and their averages.

Shapes: q queries of a row, n items of the index.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from genius.evaluation.pools import PoolKind
from genius.evaluation.queries import QuerySet, TargetGroups
from genius.evaluation.systems import CANDIDATES, STAGES
from genius.metrics.hit_rate import (
    CUTS,
    bootstrap_differences,
    bootstrap_shares,
    headline_cut,
    interval,
)

DRAWS = 2000  # bootstrap samples
MIN_DENSE = 0.10  # hit rate of dense search below which a share of it means nothing
COMPARED = [
    ("beam", "scan"),
    ("beam + re-rank", "scan + re-rank"),
    ("both + re-rank", "beam + re-rank"),
    ("both + re-rank", "scan + re-rank"),
    ("both + fused", "scan + fused"),
]  # pairs: the difference in hit rate, first minus second

Estimate = tuple[float, float, float]  # a value and its 95 % interval


@dataclass(frozen=True)
class RowFigures:
    """One benchmark row in one pool, or the average over the rows, which has no counts.

    The columns of `systems` are `rate`: the hit rate at the headline cut; `hit@k` for each of CUTS;
    `of dense`: the share of the hit rate of dense search, missing where that finds too little;
    `seen`, `new`: the hit rate of the queries all of whose positives were training targets, and of
    those none of whose positives was one; the means of CANDIDATES, and `most items`; and the
    milliseconds of STAGES.
    """

    systems: pd.DataFrame  # by system
    differences: dict[str, float]  # "first − second" -> difference of their hit rates
    # (DRAWS,) bootstrap samples of hit rates and differences, by system and by pair
    draws: dict[str, np.ndarray]
    task: int | None = None  # None: the average
    dataset: str = ""
    cut: int | None = None  # k of the headline hit rate
    # "queries", "candidates", …, see `row_figures`
    counts: dict[str, int] = field(default_factory=dict)
    phrasings: int = 0  # of the row's instruction, if all were searched with
    # system -> mean, lowest and highest hit rate
    by_phrasing: dict[str, Estimate] = field(default_factory=dict)

    def rate(self, system: str) -> Estimate:
        """Hit rate at the headline cut."""
        return float(self.systems.loc[system, "rate"]), *interval(self.draws[system])

    def difference(self, pair: str) -> Estimate:
        """Of the hit rates of two systems, "first − second"."""
        return self.differences[pair], *interval(self.draws[pair])

    def figure(self, system: str, name: str) -> float | None:
        """One of a system's figures; None if it is missing."""
        value = float(self.systems.loc[system, name])
        return None if np.isnan(value) else value


@dataclass(frozen=True)
class PoolFigures:
    """All rows in one kind of pool, searched with one beam size."""

    kind: PoolKind
    beams: int
    rows: list[RowFigures]
    # weighs all rows equally; a figure that some rows lack is averaged over the others
    average: RowFigures

    def row(self, task: int | None, dataset: str) -> RowFigures:
        """Raises KeyError if there is none."""
        return {(row.task, row.dataset): row for row in self.rows}[task, dataset]


def row_figures(
    found: pd.DataFrame,
    queries: QuerySet,
    rows: np.ndarray,
    targets: np.ndarray,
    rng: np.random.Generator,
    compared: Sequence[tuple[str, str]] = COMPARED,
) -> RowFigures:
    """The figures of what was found for the queries of a row, see systems.py.

    rows (m,): of the index, in the pool. targets (n,) bool: the item was a training target.
    compared: pairs of systems.
    """
    row = queries.row
    cut = headline_cut(queries.row.dataset)
    groups = TargetGroups.of(queries.qrels, targets)
    member = np.zeros(len(targets), dtype=bool)
    member[rows] = True
    inside = queries.qrels.count(member)
    hits = {
        name: of_system.to_numpy() <= cut
        for name, of_system in found.groupby("system", sort=False)["rank"]
    }
    ahead = {
        f"{first} − {second}": hits[first].astype(int) - hits[second]
        for first, second in compared
        if first in hits and second in hits
    }
    draws = {name: bootstrap_shares(of_system, DRAWS, rng) for name, of_system in hits.items()}
    draws |= {pair: bootstrap_differences(of_pair, DRAWS, rng) for pair, of_pair in ahead.items()}
    rate = (found["rank"] <= cut).astype(float)
    measured = {
        "rate": rate,
        **{f"hit@{k}": found["rank"] <= k for k in CUTS},
        "seen": rate.where(groups.every[found["query"]]),
        "new": rate.where(groups.none[found["query"]]),
    }
    columns = found.reindex(columns=["system", *CANDIDATES, *STAGES]).assign(**measured)
    by_system = columns.groupby("system", sort=False)
    systems = by_system.mean().assign(**{"most items": by_system["items"].max()})
    dense = systems["rate"].get("dense", 0.0)
    systems["of dense"] = systems["rate"] / dense if dense >= MIN_DENSE else np.nan
    differences = {pair: float(of_pair.mean()) for pair, of_pair in ahead.items()}
    counts = {
        "queries": len(queries),
        "candidates": len(rows),
        "no positive in pool": int((inside == 0).sum()),  # queries that nothing in the pool answers
        # the pool
        "judgments outside": len(queries.qrels.rows) + queries.unknown - int(inside.sum()),
        "seen: queries": int(groups.every.sum()),
        "new: queries": int(groups.none.sum()),
    }
    return RowFigures(systems, differences, draws, row.task, row.dataset, cut, counts)


def pool_figures(kind: PoolKind, beams: int, rows: list[RowFigures]) -> PoolFigures:
    """The figures of all rows in a pool, and their average."""
    draws = {name: np.mean([row.draws[name] for row in rows], axis=0) for name in rows[0].draws}
    by_system = pd.concat([row.systems for row in rows]).groupby("system", sort=False)
    systems = by_system.agg(lambda known: known.dropna().mean()).assign(
        **{"most items": by_system["most items"].max()}
    )
    differences = {
        pair: float(np.mean([row.differences[pair] for row in rows]))
        for pair in rows[0].differences
    }
    return PoolFigures(kind, beams, rows, RowFigures(systems, differences, draws))

"""The figures of searched queries: hit rates with intervals by row and system, and their averages.

Shapes: q queries of a row.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np

from genius.evaluation.pools import PoolKind
from genius.evaluation.queries import QuerySet, TargetGroups, right_first_codes
from genius.evaluation.systems import CandidateStatistics, RowResults
from genius.index.store import Index
from genius.metrics.hit_rate import (
    CUTS,
    bootstrap_differences,
    bootstrap_shares,
    headline_cut,
    hit_rate,
    interval,
    mean_known,
)
from genius.search.retrieval import Milliseconds

DRAWS = 2000  # bootstrap samples
MIN_DENSE = 0.10  # hit rate of dense search below which a share of it means nothing
COMPARED = [
    ("beam", "scan"),
    ("beam + re-rank", "scan + re-rank"),
    ("both + re-rank", "beam + re-rank"),
    ("both + re-rank", "scan + re-rank"),
    ("both + ranker", "scan + ranker"),
]  # pairs: the difference in hit rate, first minus second

Estimate = tuple[float, float, float]  # a value and its 95 % interval


@dataclass(frozen=True)
class BeamFigures:
    """What a search by IDs hands over, before re-ranking; means over queries."""

    recall: float  # queries with a positive among the candidates
    items: float
    most_items: int
    scored: float  # beams whose continuations were scored, over all levels
    first_code: float  # queries whose most probable first code is that of a positive


@dataclass(frozen=True)
class SystemFigures:
    """One system, for the queries of a row, or the average over rows."""

    rate: Estimate  # hit rate at the headline cut
    hit: dict[int, float]  # at each of CUTS
    of_dense: float | None  # share of the hit rate of dense search; None where that finds too little
    seen: float | None  # hit rate of the queries all of whose positives were training targets
    new: float | None  # of those none of whose positives was one
    milliseconds: Milliseconds  # per query, by stage
    beam: BeamFigures | None = None  # of dense search: None


@dataclass(frozen=True)
class RowFigures:
    """One benchmark row in one pool, or the average over the rows, which has no counts."""

    systems: dict[str, SystemFigures]
    differences: dict[str, Estimate]  # "first − second" -> difference of their hit rates
    task: int | None = None  # None: the average
    dataset: str = ""
    cut: int | None = None  # k of the headline hit rate
    queries: int | None = None
    candidates: int | None = None  # items of the pool
    without_positive: int | None = None  # queries that nothing in the pool answers
    outside: int | None = None  # judgments of items outside the pool
    queries_seen: int | None = None
    queries_new: int | None = None


@dataclass(frozen=True)
class PoolFigures:
    """All rows in one kind of pool, searched with one beam size."""

    kind: PoolKind
    beams: int
    rows: list[RowFigures]
    average: RowFigures  # weighs all rows equally; a figure that some rows lack is averaged over the others

    def row(self, task: int, dataset: str) -> RowFigures:
        """Raises KeyError if there is none."""
        return {(row.task, row.dataset): row for row in self.rows}[task, dataset]


@dataclass(frozen=True)
class SearchedRow:
    """What the queries of one row found in one pool, and which results are right."""

    queries: QuerySet
    index: Index
    rows: np.ndarray  # of the pool
    targets: np.ndarray  # (n,) bool: the item was a training target
    results: RowResults


def pool_figures(
    kind: PoolKind,
    beams: int,
    searched: Sequence[SearchedRow],
    seed: int,
    compared: Sequence[tuple[str, str]] = COMPARED,
) -> PoolFigures:
    """The figures of the rows that were searched in a pool; seed: of the intervals. compared: pairs of systems."""
    rows, draws = [], []
    for number, row in enumerate(searched):
        figures, samples = _row_figures(row, compared, np.random.default_rng((seed, number)))
        rows.append(figures)
        draws.append(samples)
    limits = {name: interval(np.mean([samples[name] for samples in draws], axis=0)) for name in draws[0]}
    systems, differences = _mean([row.systems for row in rows]), _mean([row.differences for row in rows])
    for name, average in systems.items():
        systems[name] = replace(average, rate=(average.rate[0], *limits[name]))
        if average.beam:
            most = max(row.systems[name].beam.most_items for row in rows)
            systems[name] = replace(systems[name], beam=replace(average.beam, most_items=most))
    differences = {pair: (difference[0], *limits[pair]) for pair, difference in differences.items()}
    return PoolFigures(kind, beams, rows, RowFigures(systems, differences))


def _row_figures(
    searched: SearchedRow, compared: Sequence[tuple[str, str]], rng: np.random.Generator
) -> tuple[RowFigures, dict[str, np.ndarray]]:
    """The figures, and the bootstrap draws by system and by pair of systems."""
    queries, ranks, beams = searched.queries, searched.results.ranks, searched.results.beams
    row, cut = queries.row, headline_cut(queries.row.dataset)
    wins = {
        f"{first} − {second}": (ranks[first] <= cut).astype(int) - (ranks[second] <= cut)
        for first, second in compared
        if first in ranks and second in ranks
    }
    samples = {system: bootstrap_shares(system_ranks <= cut, DRAWS, rng) for system, system_ranks in ranks.items()}
    samples |= {pair: bootstrap_differences(values, DRAWS, rng) for pair, values in wins.items()}
    groups, member = TargetGroups.of(queries.qrels, searched.targets), np.zeros(searched.index.n, dtype=bool)
    member[searched.rows] = True
    inside = queries.qrels.count(member)
    right = right_first_codes(queries.qrels, searched.index)
    systems = {
        system: SystemFigures(
            rate=(hit_rate(system_ranks, cut), *interval(samples[system])),
            hit={k: hit_rate(system_ranks, k) for k in CUTS},
            of_dense=share_of_dense(system_ranks, ranks["dense"], cut) if "dense" in ranks else None,
            seen=hit_rate(system_ranks[groups.every], cut),
            new=hit_rate(system_ranks[groups.none], cut),
            milliseconds=searched.results.milliseconds.get(system, {}),
            beam=_beam_figures(beams[system], right) if system in beams else None,
        )
        for system, system_ranks in ranks.items()
    }
    figures = RowFigures(
        systems,
        {pair: (float(won.mean()), *interval(samples[pair])) for pair, won in wins.items()},
        row.task,
        row.dataset,
        cut,
        queries=len(queries),
        candidates=len(searched.rows),
        without_positive=int((inside == 0).sum()),
        outside=len(queries.qrels.rows) + queries.unknown - int(inside.sum()),
        queries_seen=int(groups.every.sum()),
        queries_new=int(groups.none.sum()),
    )
    return figures, samples


def _beam_figures(statistics: CandidateStatistics, right: np.ndarray) -> BeamFigures:
    """right (q, codes) bool: the ID of a positive starts with this code."""
    return BeamFigures(
        recall=float(statistics.recalled.mean()),
        items=float(statistics.items.mean()),
        most_items=int(statistics.items.max()),
        scored=float(statistics.scored.mean()),
        first_code=float(np.take_along_axis(right, statistics.first_code[:, None], axis=1).mean()),
    )


def share_of_dense(ranks: np.ndarray, dense: np.ndarray, cut: int) -> float | None:
    """Hit rate of a system over that of dense search; None where dense search finds too little."""
    reference = hit_rate(dense, cut)
    return hit_rate(ranks, cut) / reference if reference >= MIN_DENSE else None


def _mean(values: Sequence[Any]) -> Any:
    """The mean of values of one form, number by number; where some are unknown, of the others."""
    first = values[0]
    if isinstance(first, dict):
        return {key: _mean([value[key] for value in values]) for key in first}
    if isinstance(first, tuple):
        return tuple(_mean(each) for each in zip(*values, strict=True))
    if is_dataclass(first):
        names = [field.name for field in fields(first)]
        return type(first)(**{name: _mean([getattr(value, name) for value in values]) for name in names})
    return mean_known(list(values))

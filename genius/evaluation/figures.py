"""The figures of searched queries: hit rates with intervals by row and system, and their averages.

Shapes: q queries of a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from genius.evaluation.pools import PoolKind
from genius.evaluation.queries import QuerySet, TargetGroups, right_first_codes
from genius.evaluation.systems import BeamStatistics, RowResults
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
from genius.search.retrieval import Milliseconds

DRAWS = 2000  # bootstrap samples
MIN_DENSE = 0.10  # hit rate of dense search below which a share of it means nothing
COMPARED = [
    ("beam", "geometry"),
    ("beam + re-rank", "geometry + re-rank"),
    ("fast + re-rank", "beam + re-rank"),
    ("fast + re-rank", "fast geometry + re-rank"),
]  # pairs: the difference in hit rate, first minus second

Estimate = tuple[float, float, float]  # a value and its 95 % interval


@dataclass(frozen=True)
class BeamFigures:
    """What a beam search hands over, before re-ranking; means over queries."""

    recall: float  # queries with a positive among the candidates
    items: float
    most_items: int
    scored: float  # beams whose continuations were scored, over all levels
    certified: float | None  # queries whose IDs are provably the best; None: not measured
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
    beam: BeamFigures | None = None  # of exhaustive search: None


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


@dataclass
class _Samples:
    """Bootstrap draws of one row, or their means over rows."""

    systems: dict[str, np.ndarray] = field(default_factory=dict)
    differences: dict[str, np.ndarray] = field(default_factory=dict)


def pool_figures(
    kind: PoolKind, beams: int, searched: Sequence[tuple[RowLabels, RowResults]], seed: int
) -> PoolFigures:
    """The figures of the rows that were searched in a pool; seed: of the intervals."""
    rows, draws = [], []
    for number, (labels, results) in enumerate(searched):
        rng = np.random.default_rng((seed, number))
        row, samples = _row_figures(labels, results, rng)
        rows.append(row)
        draws.append(samples)
    return PoolFigures(kind, beams, rows, _average(rows, draws))


def _row_figures(labels: RowLabels, results: RowResults, rng: np.random.Generator) -> tuple[RowFigures, _Samples]:
    row, ranks, samples = labels.queries.row, results.ranks, _Samples()
    cut = headline_cut(row.dataset)
    wins = {
        f"{first} − {second}": (ranks[first] <= cut).astype(int) - (ranks[second] <= cut)
        for first, second in COMPARED
        if first in ranks and second in ranks
    }
    samples.systems = {system: bootstrap_hit_rates(found, cut, DRAWS, rng) for system, found in ranks.items()}
    samples.differences = {pair: bootstrap_differences(values, DRAWS, rng) for pair, values in wins.items()}
    systems = {}
    for system, found in ranks.items():
        beams = results.beams.get(system)
        systems[system] = SystemFigures(
            rate=(hit_rate(found, cut), *interval(samples.systems[system])),
            hit={k: hit_rate(found, k) for k in CUTS},
            of_dense=share_of_dense(found, ranks["dense"], cut) if "dense" in ranks else None,
            seen=hit_rate(found[labels.groups.every], cut),
            new=hit_rate(found[labels.groups.none], cut),
            milliseconds=results.milliseconds.get(system, {}),
            beam=None if beams is None else _beam_figures(beams, labels),
        )
    differences = {pair: (float(won.mean()), *interval(samples.differences[pair])) for pair, won in wins.items()}
    figures = RowFigures(
        systems,
        differences,
        row.task,
        row.dataset,
        cut,
        queries=len(labels.queries),
        candidates=labels.candidates,
        without_positive=int((labels.inside == 0).sum()),
        outside=labels.judged - int(labels.inside.sum()),
        queries_seen=int(labels.groups.every.sum()),
        queries_new=int(labels.groups.none.sum()),
    )
    return figures, samples


def _beam_figures(found: BeamStatistics, labels: RowLabels) -> BeamFigures:
    right = np.take_along_axis(labels.first_codes, found.first_code[:, None], axis=1)
    return BeamFigures(
        recall=float(found.recalled.mean()),
        items=float(found.items.mean()),
        most_items=int(found.items.max()),
        scored=float(found.scored.mean()),
        certified=None if found.certified is None else float(found.certified.mean()),
        first_code=float(right.mean()),
    )


def share_of_dense(ranks: np.ndarray, dense: np.ndarray, cut: int) -> float | None:
    """Hit rate of a system over that of dense search; None where dense search finds too little."""
    reference = hit_rate(dense, cut)
    return hit_rate(ranks, cut) / reference if reference >= MIN_DENSE else None


def _average(rows: Sequence[RowFigures], draws: Sequence[_Samples]) -> RowFigures:
    systems, differences = {}, {}
    for name in rows[0].systems:
        limits = interval(np.mean([samples.systems[name] for samples in draws], axis=0))
        systems[name] = _average_of([row.systems[name] for row in rows], limits)
    for pair in rows[0].differences:
        limits = interval(np.mean([samples.differences[pair] for samples in draws], axis=0))
        differences[pair] = (mean_known([row.differences[pair][0] for row in rows]), *limits)
    return RowFigures(systems, differences)


def _average_of(rows: Sequence[SystemFigures], limits: tuple[float, float]) -> SystemFigures:
    """limits: of the mean hit rate."""
    beams = [row.beam for row in rows if row.beam is not None]
    return SystemFigures(
        rate=(mean_known([row.rate[0] for row in rows]), *limits),
        hit={cut: mean_known([row.hit[cut] for row in rows]) for cut in rows[0].hit},
        of_dense=mean_known([row.of_dense for row in rows]),
        seen=mean_known([row.seen for row in rows]),
        new=mean_known([row.new for row in rows]),
        milliseconds={stage: mean_known([row.milliseconds[stage] for row in rows]) for stage in rows[0].milliseconds},
        beam=BeamFigures(
            recall=mean_known([beam.recall for beam in beams]),
            items=mean_known([beam.items for beam in beams]),
            most_items=max(beam.most_items for beam in beams),
            scored=mean_known([beam.scored for beam in beams]),
            certified=mean_known([beam.certified for beam in beams]),
            first_code=mean_known([beam.first_code for beam in beams]),
        )
        if beams
        else None,
    )

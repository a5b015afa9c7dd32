"""Search one pool for the queries of a benchmark row with the systems that the tables compare.

Shapes: q queries of a row, n items of the index, t rows of it, d embedding dim and dim of z.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from torch import Tensor

from genius.evaluation.queries import EncodedRow, mean_milliseconds
from genius.metrics.hit_rate import Qrels, first_hits, found_queries
from genius.schema import SearchOptions
from genius.search.candidates import expand_beams
from genius.search.dense import flat_search, quantized_norms, quantized_search
from genius.search.engine import Engine, batch_size
from genius.search.rerank import rank_candidates
from genius.search.stopwatch import Milliseconds
from genius.trie.pool import Pool

K = 50  # results per query
SCAN_BATCH = 1024  # queries per pass over all vectors


@dataclass(frozen=True)
class BeamStatistics:
    """A beam search of each query, before re-ranking."""

    recalled: np.ndarray  # (q,) bool: a positive is among its candidates
    items: np.ndarray  # (q,) number of its candidates
    first_code: np.ndarray  # (q,) the most probable one
    scored: np.ndarray  # (q,) beams whose continuations were scored, over all levels
    certified: np.ndarray | None  # (q,) bool: its IDs are provably the best; None: not measured


@dataclass(frozen=True)
class RowResults:
    """Results of searching one pool for the queries of one row. A system is a way to search and to rank."""

    ranks: dict[str, np.ndarray]  # system -> (q,) rank of the first positive, see first_hits
    milliseconds: dict[str, Milliseconds] = field(default_factory=dict)
    beams: dict[str, BeamStatistics] = field(default_factory=dict)

    def __or__(self, other: RowResults) -> RowResults:
        """Results of both, for the same queries and pool."""
        return RowResults(self.ranks | other.ranks, self.milliseconds | other.milliseconds, self.beams | other.beams)

    def ordered(self, systems: Mapping[str, SearchOptions]) -> RowResults:
        """The same, in the order of these systems, all of which are beam searches."""
        return RowResults(
            {name: self.ranks[name] for name in systems},
            {name: self.milliseconds[name] for name in systems},
            {name: self.beams[name] for name in systems},
        )


@dataclass(frozen=True)
class SearchedPool:
    """A pool, ready to be searched for any row by some of the systems: all of them where none is named.

    "dense": exact search over the embeddings; "quantized": over the quantized vectors. The others are those of
    `beam_systems`.
    """

    engine: Engine
    pool: Pool
    rows: np.ndarray  # its items, as rows of the index
    systems: Sequence[str] = ()

    @cached_property
    def norms(self) -> Tensor | None:
        """Of the quantized vectors; see `quantized_norms`."""
        return quantized_norms(self.engine.quantizer.codebooks, self.pool.table)

    def search(self, queries: EncodedRow, qrels: Qrels, beams: int) -> RowResults:
        """Results of all systems."""
        return self.exhaustive(queries, qrels) | self.generated(queries, qrels, beams)

    def exhaustive(self, queries: EncodedRow, qrels: Qrels) -> RowResults:
        """Results of the systems that compare a query with every item of the pool."""
        ranks, milliseconds = {}, {}
        for name, scan in (("dense", self._dense), ("quantized", self._quantized)):
            if self.systems and name not in self.systems:
                continue
            if name == "quantized":
                _ = self.norms  # computed once for a pool, and not timed
            hits, seconds = [], 0.0
            for start in range(0, len(queries.z), SCAN_BATCH):
                before = time.perf_counter()
                rows = scan(queries, start)
                seconds += time.perf_counter() - before
                hits.append(first_hits(rows, qrels, start))
            ranks[name] = np.concatenate(hits)
            stages = ("encode",) if name == "dense" else ("encode", "fuse")
            spent = {stage: each for stage, each in queries.milliseconds.items() if stage in stages}
            milliseconds[name] = spent | {"scan": 1000 * seconds / len(queries.z)}
        return RowResults(ranks, milliseconds)

    def generated(self, queries: EncodedRow, qrels: Qrels, beams: int) -> RowResults:
        """Results of the systems that search by IDs."""
        all_systems = beam_systems(beams, self.engine.has_ranker)
        chosen = {name: how for name, how in all_systems.items() if not self.systems or name in self.systems}
        return search_beams(chosen, self.engine, self.pool, queries, qrels)

    def _dense(self, queries: EncodedRow, start: int) -> np.ndarray:
        asked = queries.embeddings[start : start + SCAN_BATCH]
        return flat_search(self.engine.index.embeddings, asked, K, self.rows)[1]

    def _quantized(self, queries: EncodedRow, start: int) -> np.ndarray:
        """Items that share an ID are in the order of index rows."""
        batch, table = slice(start, start + SCAN_BATCH), self.pool.table
        nearest = quantized_search(self.engine.quantizer.codebooks, table, queries.z[batch], K, self.norms)
        asked = queries.embeddings[batch]
        return rank_candidates(expand_beams(nearest, table), self.engine.index.embeddings, asked, K, rerank=False).rows


def beam_systems(beams: int, ranker: bool = False) -> dict[str, SearchOptions]:
    """System -> its options: by geometry alone, and by the decoder as the run was tuned, each in every mode.

    ranker: also with candidates in the order of the run's ranker.
    """
    systems = {}
    for name, fast, weight in (("geometry", "fast geometry", 0.0), ("beam", "fast", None)):
        exact = SearchOptions(beams=beams, k=K, mode="exact", decoder_weight=weight, ranking="cosine")
        systems[name] = replace(exact, rerank=False)  # in the only mode whose order is that of the scores
        systems[f"{name} + re-rank"] = exact  # the published candidates; set may add to them
        systems[f"{fast} + re-rank"] = replace(exact, mode="fast")
        if ranker:
            systems[f"{name} + ranker"] = replace(exact, ranking="ranker")
            systems[f"{fast} + ranker"] = replace(exact, mode="fast", ranking="ranker")
    return systems


def search_beams(
    systems: Mapping[str, SearchOptions], engine: Engine, pool: Pool, queries: EncodedRow, qrels: Qrels
) -> RowResults:
    """Results of beam searches with these options, in the engine's own batch size.

    Systems that only order the same candidates in another way share one search.
    """
    searches: dict[SearchOptions, dict[str, SearchOptions]] = defaultdict(dict)
    for name, options in systems.items():
        searches[replace(options, rerank=True, ranking=None, mode=engine.resolved(options).mode)][name] = options
    results = RowResults({})
    for orders in searches.values():
        results |= _search_once(orders, engine, pool, queries, qrels)
    return results.ordered(systems)


def _search_once(
    orders: Mapping[str, SearchOptions], engine: Engine, pool: Pool, queries: EncodedRow, qrels: Qrels
) -> RowResults:
    """The same for systems that share one search."""
    first, *others = orders
    beams, statistics, start = orders[first].beams, [], 0
    ranks: dict[str, list[np.ndarray]] = {name: [] for name in orders}
    spent: dict[str, list[tuple[Milliseconds, int]]] = {name: [] for name in orders}
    for batch in queries.split(batch_size(beams)):
        retrieved, size = engine.retrieve(batch, orders[first], pool), len(batch.z)
        candidates, certified = retrieved.candidates, retrieved.beams.certified(beams)
        ordered = {first: retrieved} | {name: engine.reorder(retrieved, orders[name]) for name in others}
        for name, retrieval in ordered.items():
            ranks[name].append(first_hits(retrieval.ranked.rows, qrels, start))
            spent[name].append((retrieval.milliseconds, size))
        statistics.append(
            (
                found_queries(candidates.query, candidates.row, qrels, start, size),
                candidates.counts,
                retrieved.beams.first_log_probs.argmax(-1).cpu().numpy(),
                retrieved.beams.scored.cpu().numpy(),
                None if certified is None else certified.cpu().numpy(),
            )
        )
        start += size
    shared = BeamStatistics(
        *(None if parts[0] is None else np.concatenate(parts) for parts in zip(*statistics, strict=True))
    )
    return RowResults(
        {name: np.concatenate(ranks[name]) for name in orders},
        {name: mean_milliseconds(spent[name]) for name in orders},
        dict.fromkeys(orders, shared),
    )

"""Search one pool for the queries of a benchmark row with the systems that the tables compare.

Shapes: q queries of a row, n items of the index, t rows of it, d embedding dim and dim of z.
"""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from genius.evaluation.queries import EncodedRow, mean_milliseconds
from genius.metrics.hit_rate import Qrels, first_hits, found_queries
from genius.schema import SearchOptions
from genius.search.dense import flat_search
from genius.search.engine import Engine, batch_size
from genius.search.stopwatch import Milliseconds
from genius.trie.pool import Pool

K = 50  # results per query
SCAN_BATCH = 1024  # queries per pass over all vectors


@dataclass(frozen=True)
class CandidateStatistics:
    """What was found for each query, before re-ranking."""

    recalled: np.ndarray  # (q,) bool: a positive is among its candidates
    items: np.ndarray  # (q,) number of its candidates
    first_code: np.ndarray  # (q,) the most probable one
    scored: np.ndarray  # (q,) beams whose continuations were scored, over all levels


@dataclass(frozen=True)
class RowResults:
    """Results of searching one pool for the queries of one row. A system is a way to search and to rank."""

    ranks: dict[str, np.ndarray]  # system -> (q,) rank of the first positive, see first_hits
    milliseconds: dict[str, Milliseconds] = field(default_factory=dict)
    beams: dict[str, CandidateStatistics] = field(default_factory=dict)  # of all but dense search

    def __or__(self, other: "RowResults") -> "RowResults":
        """Results of both, for the same queries and pool."""
        return RowResults(self.ranks | other.ranks, self.milliseconds | other.milliseconds, self.beams | other.beams)


@dataclass(frozen=True)
class SearchedPool:
    """A pool, ready to be searched for any row by some of the systems: all of them where none is named.

    "dense": exact search over the embeddings. The others are those of `id_systems`.
    """

    engine: Engine
    pool: Pool
    rows: np.ndarray  # its items, as rows of the index
    systems: Sequence[str] = ()

    def search(self, queries: EncodedRow, qrels: Qrels, beams: int) -> RowResults:
        """Results of all systems."""
        return self.dense(queries, qrels) | self.by_ids(queries, qrels, beams)

    def dense(self, queries: EncodedRow, qrels: Qrels) -> RowResults:
        """Results of comparing a query with every item of the pool."""
        if self.systems and "dense" not in self.systems:
            return RowResults({})
        found, seconds = [], 0.0
        for start in range(0, len(queries.z), SCAN_BATCH):
            before = time.perf_counter()
            asked = queries.embeddings[start : start + SCAN_BATCH]
            rows = flat_search(self.engine.index.embeddings, asked, K, self.rows)[1]
            seconds += time.perf_counter() - before
            found.append(first_hits(rows, qrels, start))
        spent = {stage: each for stage, each in queries.milliseconds.items() if stage == "encode"}
        spent |= {"scan": 1000 * seconds / len(queries.z)}
        return RowResults({"dense": np.concatenate(found)}, {"dense": spent})

    def by_ids(self, queries: EncodedRow, qrels: Qrels, beams: int) -> RowResults:
        """Results of the systems that search by IDs."""
        all_systems = id_systems(beams, self.engine.has_ranker)
        chosen = {name: how for name, how in all_systems.items() if not self.systems or name in self.systems}
        return search_by_ids(chosen, self.engine, self.pool, queries, qrels)


def id_systems(beams: int, ranker: bool = False) -> dict[str, SearchOptions]:
    """System -> its options: the scan, the beam search and both, in each order of their candidates.

    ranker: also in the order of the run's ranker.
    """
    systems = {}
    for name, mode in (("scan", "scan"), ("beam", "generate"), ("both", "both")):
        options = SearchOptions(beams=beams, k=K, mode=mode, order="score")
        systems |= {} if mode == "both" else {name: options}  # whose candidates have no scores in common
        systems[f"{name} + re-rank"] = replace(options, order="cosine")
        systems |= {f"{name} + ranker": replace(options, order="ranker")} if ranker else {}
    return systems


def search_by_ids(
    systems: Mapping[str, SearchOptions], engine: Engine, pool: Pool, queries: EncodedRow, qrels: Qrels
) -> RowResults:
    """Results of searches by IDs with these options, in the engine's own batch size.

    Systems that only order the same candidates in another way share one search; a beam search whose scores order its
    results goes on to whole IDs.
    """
    searches: dict[SearchOptions, dict[str, SearchOptions]] = defaultdict(dict)
    for name, options in systems.items():
        whole = options.mode == "generate" and options.order == "score"
        searches[replace(options, order="score" if whole else None)][name] = options
    found = RowResults({})
    for orders in searches.values():
        found |= _search_once(orders, engine, pool, queries, qrels)
    return found


def _search_once(
    orders: Mapping[str, SearchOptions], engine: Engine, pool: Pool, queries: EncodedRow, qrels: Qrels
) -> RowResults:
    """The same for systems that share one search."""
    first, *others = orders
    beams, statistics, start = orders[first].beams, [], 0
    ranks: dict[str, list[np.ndarray]] = {name: [] for name in orders}
    spent: dict[str, list[tuple[Milliseconds, int]]] = {name: [] for name in orders}
    for batch in queries.split(batch_size(beams)):
        found, size = engine.retrieve(batch, orders[first], pool), len(batch.z)
        candidates = found.candidates
        ordered = {first: found} | {name: engine.reorder(found, orders[name]) for name in others}
        for name, retrieval in ordered.items():
            ranks[name].append(first_hits(retrieval.ranked.rows, qrels, start))
            spent[name].append((retrieval.milliseconds, size))
        statistics.append(
            (
                found_queries(candidates.query, candidates.row, qrels, start, size),
                candidates.counts,
                found.first_log_probs.argmax(-1).cpu().numpy(),
                np.zeros(size, dtype=np.int64) if found.beams is None else found.beams.scored.cpu().numpy(),
            )
        )
        start += size
    shared = CandidateStatistics(*map(np.concatenate, zip(*statistics, strict=True)))
    return RowResults(
        {name: np.concatenate(ranks[name]) for name in orders},
        {name: mean_milliseconds(spent[name]) for name in orders},
        dict.fromkeys(orders, shared),
    )

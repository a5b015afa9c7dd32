"""Search one pool for the queries of one row with all systems that the tables compare.

Shapes: q queries of a row, n items of the index, d embedding dim.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from torch import Tensor

from genius.evaluation.encoded_queries import EncodedRow, mean_milliseconds
from genius.metrics.hit_rate import Qrels, first_hits, found_queries
from genius.schema import SearchOptions
from genius.search.candidates import expand_beams
from genius.search.dense import flat_search, quantized_norms, quantized_search
from genius.search.engine import Engine, batch_size
from genius.search.rerank import rank_candidates
from genius.search.retrieval import Milliseconds
from genius.trie.pool import Pool

K = 50  # results per query
SCAN_BATCH = 1024  # queries per pass over all vectors


@dataclass(frozen=True)
class RowResults:
    """Results of searching one pool for the queries of one row. A system is a way to rank."""

    ranks: dict[str, np.ndarray]  # system -> (q,) rank of the first positive, see first_hits
    milliseconds: dict[str, Milliseconds] = field(default_factory=dict)
    beams: dict[str, BeamStatistics] = field(default_factory=dict)

    def __or__(self, other: RowResults) -> RowResults:
        """Results of both, for the same queries and pool."""
        return RowResults(self.ranks | other.ranks, self.milliseconds | other.milliseconds, self.beams | other.beams)

    def ordered(self, systems: Iterable[str]) -> RowResults:
        """The same, in the order of these systems, all of which are beam searches."""
        parts = self.ranks, self.milliseconds, self.beams
        return RowResults(*({name: part[name] for name in systems} for part in parts))


@dataclass(frozen=True)
class BeamStatistics:
    """A beam search of each query, before re-ranking."""

    recalled: np.ndarray  # (q,) bool: a positive is among its candidates
    items: np.ndarray  # (q,) number of its candidates
    first_code: np.ndarray  # (q,) the most probable one
    scored: np.ndarray  # (q,) beams whose continuations were scored, over all levels
    certified: np.ndarray | None  # (q,) bool: its IDs are provably the best; None: not measured


def search_dense(
    embeddings: np.ndarray, rows: np.ndarray, queries: np.ndarray, qrels: Qrels
) -> tuple[np.ndarray, float]:
    """Exact search by embedding or fused feature: ranks of the first positive (q,), and milliseconds per query.

    embeddings (n, d) of all items, of which `rows` are in the pool; queries (q, d); both normalized.
    """
    ranks, seconds = [], 0.0
    for start in range(0, len(queries), SCAN_BATCH):
        before = time.perf_counter()
        _, found = flat_search(embeddings, queries[start : start + SCAN_BATCH], K, rows)
        seconds += time.perf_counter() - before
        ranks.append(first_hits(found, qrels, start))
    return np.concatenate(ranks), 1000 * seconds / len(queries)


def search_quantized(
    engine: Engine, pool: Pool, encoded: EncodedRow, qrels: Qrels, norms: Tensor | None = None
) -> tuple[np.ndarray, float]:
    """Every ID scored by the distance of its quantized vector; items that share an ID in the order of index rows.

    norms: those of the pool's IDs, if they are known. Returns what `search_dense` returns; the time is without them.
    """
    codebooks, ranks, seconds = engine.quantizer.codebooks, [], 0.0
    norms = quantized_norms(codebooks, pool.table) if norms is None else norms
    for start in range(0, len(encoded.z), SCAN_BATCH):
        batch = slice(start, start + SCAN_BATCH)
        before = time.perf_counter()
        found = quantized_search(codebooks, pool.table, encoded.z[batch], K, norms)
        ranked = rank_candidates(
            expand_beams(found, pool.table), engine.index.embeddings, encoded.embeddings[batch], K, rerank=False
        )
        seconds += time.perf_counter() - before
        ranks.append(first_hits(ranked.rows, qrels, start))
    return np.concatenate(ranks), 1000 * seconds / len(encoded.z)


def search_all_systems(
    engine: Engine,
    pool: Pool,
    rows: np.ndarray,
    encoded: EncodedRow,
    qrels: Qrels,
    beams: Sequence[int],
    decoder_weight: float | None = None,
    fused: np.ndarray | None = None,
    norms: Callable[[], Tensor | None] = lambda: None,
) -> dict[int, RowResults]:
    """Beam size -> results of "dense", "quantized" and the systems of `beam_systems`, a ranker's too if there is one.

    rows: index rows of the pool. fused (n, d): fused features of the items; with them also the system "fused".
    norms: computes those of the pool's IDs, or knows them; see `search_quantized`.
    """
    dense, dense_ms = search_dense(engine.index.embeddings, rows, encoded.embeddings, qrels)
    quantized, quantized_ms = search_quantized(engine, pool, encoded, qrels, norms())
    exhaustive = RowResults(
        {"dense": dense, "quantized": quantized},
        milliseconds={
            "dense": {"encode": encoded.milliseconds["encode"], "scan": dense_ms},
            "quantized": encoded.milliseconds | {"scan": quantized_ms},
        },
    )
    if fused is not None:
        ranks, milliseconds = search_dense(fused, rows, encoded.z.cpu().numpy(), qrels)
        exhaustive |= RowResults({"fused": ranks}, {"fused": encoded.milliseconds | {"scan": milliseconds}})
    results = {}
    for size in beams:
        systems = beam_systems(size, decoder_weight, engine.has_ranker)
        found = search_beams(systems, engine, pool, encoded, qrels)
        results[size] = exhaustive | found.ordered(systems)
    return results


def ranks_by_system(
    systems: Iterable[str],
    engine: Engine,
    pool: Pool,
    rows: np.ndarray,
    encoded: EncodedRow,
    qrels: Qrels,
    beams: int,
    decoder_weight: float | None = None,
) -> dict[str, np.ndarray]:
    """System -> (q,) rank of the first positive, for some of the systems of `search_all_systems`."""
    exhaustive = {
        "dense": lambda: search_dense(engine.index.embeddings, rows, encoded.embeddings, qrels)[0],
        "quantized": lambda: search_quantized(engine, pool, encoded, qrels)[0],
    }
    by_beams, systems = beam_systems(beams, decoder_weight, engine.has_ranker), [*systems]
    chosen = {name: by_beams[name] for name in systems if name not in exhaustive}
    found = search_beams(chosen, engine, pool, encoded, qrels).ranks
    return {name: exhaustive[name]() if name in exhaustive else found[name] for name in systems}


def beam_systems(beams: int, decoder_weight: float | None, ranker: bool = False) -> dict[str, SearchOptions]:
    """System -> its options: by geometry alone, and by the decoder, each in every mode.

    decoder_weight: of the decoder against geometry; None: the run's tuned weight. ranker: also with candidates in the
    order of the run's ranker.
    """

    def by(weight: float | None, name: str, fast: str) -> dict[str, SearchOptions]:
        options = SearchOptions(beams=beams, k=K, decoder_weight=weight, ranking="cosine")
        reranked = {
            f"{name} + re-rank": replace(options, mode="exact"),  # the published candidates; set may add to them
            f"{fast} + re-rank": replace(options, mode="fast"),
        }
        ranked = {
            system.replace("re-rank", "ranker"): replace(how, ranking="ranker") for system, how in reranked.items()
        }
        return {
            name: replace(options, mode="exact", rerank=False),  # the only mode whose order is that of the scores
            **reranked,
            **(ranked if ranker else {}),
        }

    return by(0.0, "geometry", "fast geometry") | by(decoder_weight, "beam", "fast")


def search_beams(
    systems: Mapping[str, SearchOptions], engine: Engine, pool: Pool, encoded: EncodedRow, qrels: Qrels
) -> RowResults:
    """Results of beam searches with these options, in the engine's own batch size.

    Systems that only order the same candidates in another way share one search.
    """
    searches: dict[SearchOptions, dict[str, SearchOptions]] = defaultdict(dict)
    for name, options in systems.items():
        searches[replace(options, rerank=True, ranking=None, mode=engine.mode_of(options))][name] = options
    results = RowResults({})
    for orders in searches.values():
        results |= _search_once(orders, engine, pool, encoded, qrels)
    return results


def _search_once(
    orders: Mapping[str, SearchOptions], engine: Engine, pool: Pool, encoded: EncodedRow, qrels: Qrels
) -> RowResults:
    """The same for systems that share one search."""
    first, *others = orders
    beams, statistics, start = orders[first].beams, [], 0
    ranks, spent = ({name: [] for name in orders} for _ in range(2))
    for batch in encoded.split(batch_size(beams)):
        found, size = engine.retrieve(batch, orders[first], pool), len(batch.z)
        candidates, certified = found.candidates, found.beams.certified(beams)
        ordered = {first: found} | {name: engine.reorder(found, batch, orders[name], pool) for name in others}
        for name, retrieval in ordered.items():
            ranks[name].append(first_hits(retrieval.ranked.rows, qrels, start))
            spent[name].append((retrieval.milliseconds, size))
        statistics.append(
            (
                found_queries(candidates.query, candidates.row, qrels, start, size),
                candidates.counts,
                found.beams.first_log_probs.argmax(-1).cpu().numpy(),
                found.beams.scored.cpu().numpy(),
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

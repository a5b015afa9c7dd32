"""Generating IDs compared with dense search on a trained run: time and memory at equal hit rate.

Every system answers the run's own test queries in the global pool and is timed on them. For each way of generating
IDs the report names the fastest dense search that finds at least as much, and the other way round. Times are without
encoding, which all systems share; bytes are without the weights of models.

Shapes: q queries of a row, n items, d embedding dim, K results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import faiss
import numpy as np
import torch

from genius.evaluation.encoded_queries import EncodedSplit
from genius.evaluation.speed.faiss_indexes import MAX_IN_MEMORY, build_flat, build_scaled_ivf_pq, index_bytes
from genius.evaluation.speed.timing import Times, measure_in_turns
from genius.metrics.hit_rate import first_hits, hit_rate
from genius.schema import SearchOptions
from genius.search.candidates import expand_beams
from genius.search.dense import build_hnsw, flat_search, quantized_norms, quantized_search
from genius.search.engine import Engine
from genius.search.rerank import rank_candidates
from genius.search.retrieval import EncodedQueries

K, CUT = 50, 5  # results per query; k of the hit rate
LIMIT = 50  # queries per (task, dataset) row
BATCH = 64  # queries searched together where time does not matter
EF_SEARCH = (4, 8, 16, 32, 64, 128, 256)  # of HNSW
PROBES = (1, 2, 4, 8, 16, 32, 64, 128)  # inverted lists that IVF-PQ reads
PATIENCE = 20.0  # seconds for the rounds of one system
ROUNDING = 1e-9  # two means over rows that are equal on paper may differ by this


@dataclass(frozen=True)
class SearchSetting:
    """A way to search, at one setting."""

    name: str
    dense: bool
    bytes_per_item: float
    search: Callable[[EncodedQueries], np.ndarray]  # b queries -> rows (b, K), best first


def measure_at_equal_hit_rate(
    engine: Engine, queries: EncodedSplit, batches: Sequence[int] = (1, 32), rounds: int = 9, seed: int = 0
) -> dict[str, Any]:
    """The report, ready for JSON."""
    settings = [*generating(engine), *dense(engine.index.embeddings)]
    rates = [mean_hit_rate(setting, queries) for setting in settings]
    measured = time_settings(settings, rates, queries.encoded, batches, rounds, seed)
    return {
        "items": engine.index.n,
        "dim": engine.index.config.dim,
        "queries": len(queries.cuts),
        "rows": len(queries.sets),
        "limit": LIMIT,
        "seed": seed,
        "cut": CUT,
        "batches": list(batches),
        "systems": measured,
        "equal": equal_pairs(measured, str(max(batches))),
    }


def time_settings(
    settings: Sequence[SearchSetting],
    rates: Sequence[float],
    queries: EncodedQueries,
    batches: Sequence[int],
    rounds: int,
    seed: int,
) -> list[dict[str, Any]]:
    """The figures of each setting with its hit rate, ready for JSON; each round draws its own of the queries."""

    def draw_queries(count: int, number: int) -> EncodedQueries:
        rng = np.random.default_rng((seed, count, number))
        return queries.select(torch.from_numpy(rng.integers(len(queries.z), size=count)))

    searches = {setting.name: setting.search for setting in settings}
    times = {size: measure_in_turns(searches, draw_queries, size, rounds, PATIENCE) for size in batches}
    return [
        {
            "system": setting.name,
            "dense": setting.dense,
            "bytes_per_item": setting.bytes_per_item,
            "hit_rate": rate,
            "milliseconds": {str(size): times[size][setting.name] for size in batches},
        }
        for setting, rate in zip(settings, rates, strict=True)
    ]


def generating(engine: Engine) -> list[SearchSetting]:
    """The modes as the run was tuned, geometry alone, and the scan of all quantized vectors."""
    pool, index = engine.pool, engine.index
    id_bytes = (pool.table.nbytes + pool.trie.nbytes) / index.n
    embedding_bytes = 2 * index.config.dim  # fp16, as stored
    norms = quantized_norms(engine.quantizer.codebooks, pool.table)

    def by_beams(name: str, **chosen: Any) -> SearchSetting:
        options = SearchOptions(k=K, ranking="cosine", **chosen)  # as dense search ranks
        size = id_bytes + embedding_bytes * options.rerank
        return SearchSetting(name, False, size, lambda queries: engine.retrieve(queries, options).ranked.rows)

    def scan(queries: EncodedQueries) -> np.ndarray:
        nearest = quantized_search(engine.quantizer.codebooks, pool.table, queries.z, K, norms)
        candidates = expand_beams(nearest, pool.table)
        return rank_candidates(candidates, index.embeddings, queries.embeddings.cpu().numpy(), K, rerank=False).rows

    return [
        by_beams("exact", mode="exact", rerank=False),
        by_beams("exact + re-rank", mode="exact"),
        by_beams("set + re-rank", mode="set"),
        by_beams("fast + re-rank", mode="fast"),
        by_beams("geometry", mode="exact", rerank=False, decoder_weight=0.0),
        by_beams("geometry + re-rank", mode="set", decoder_weight=0.0),
        by_beams("geometry, fast + re-rank", mode="fast", decoder_weight=0.0),
        SearchSetting("scan of quantized vectors", False, (pool.table.nbytes + norms.nbytes) / index.n, scan),
    ]


def dense(embeddings: np.ndarray) -> list[SearchSetting]:
    """Exact search, and faiss's approximate indexes, each built once and searched at several settings.

    Above MAX_IN_MEMORY items without those that hold all vectors in float32.
    """

    def by_faiss(name: str, index: faiss.Index, values: Sequence[int]) -> list[SearchSetting]:
        """One for each value of the parameter that the name ends with."""
        size, parameter = index_bytes(index) / len(embeddings), name.split()[-1]
        tuned = index.hnsw if isinstance(index, faiss.IndexHNSW) else index

        def search(value: int, queries: EncodedQueries) -> np.ndarray:
            setattr(tuned, parameter, value)
            return index.search(queries.embeddings.cpu().numpy(), K)[1]

        return [SearchSetting(f"{name} {value}", True, size, partial(search, value)) for value in values]

    def flat(queries: EncodedQueries) -> np.ndarray:
        return in_memory.search(queries.embeddings.cpu().numpy(), K)[1]

    def streamed(queries: EncodedQueries) -> np.ndarray:
        return flat_search(embeddings, queries.embeddings.cpu().numpy(), K)[1]

    n, dim = embeddings.shape
    settings = [SearchSetting("flat, fp16 streamed", True, 2 * dim, streamed)]
    if n <= MAX_IN_MEMORY:
        in_memory = build_flat(embeddings)
        settings = [
            SearchSetting("flat", True, index_bytes(in_memory) / n, flat),
            *settings,
            *by_faiss("HNSW, efSearch", build_hnsw(embeddings), EF_SEARCH),
        ]
    ivf_pq = build_scaled_ivf_pq(embeddings, max_training=100_000)
    return settings + by_faiss("IVF-PQ, nprobe", ivf_pq, PROBES)


def mean_hit_rate(setting: SearchSetting, queries: EncodedSplit) -> float:
    """Hit rate at CUT, the mean over (task, dataset) rows."""
    rates = []
    for row, query_set in zip(queries.rows, queries.sets, strict=True):
        ranked = np.concatenate([setting.search(batch) for batch in row.split(BATCH)])
        rates.append(hit_rate(first_hits(ranked, query_set.qrels), CUT))
    return float(np.mean(rates))


def equal_pairs(systems: Sequence[dict[str, Any]], batch: str) -> list[dict[str, Any]]:
    """For each system, the fastest one of the other kind that finds at least as much; None if there is none."""

    def median(system: dict[str, Any]) -> float:
        times: Times = system["milliseconds"][batch]
        return times["median"]

    pairs = []
    for one in systems:
        least = one["hit_rate"] - ROUNDING
        able = [other for other in systems if other["dense"] != one["dense"] and other["hit_rate"] >= least]
        best = min(able, key=median, default=None)
        pairs.append(
            {
                "system": one["system"],
                "dense": one["dense"],
                "other": best["system"] if best else None,
                "times_slower": median(one) / median(best) if best else None,
                "times_the_bytes": one["bytes_per_item"] / best["bytes_per_item"] if best else None,
            }
        )
    return pairs

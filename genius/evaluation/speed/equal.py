"""Generating IDs beside dense search on a trained run: time and memory at equal hit rate.

Every system answers the run's own test queries in the global pool; it is then timed on them, and for each way of
generating IDs the cheapest dense search is named that finds as much, and the other way round. Encoding, which is the
same for all, is left out of the times. Weights of models are left out of the bytes.

Shapes: q queries of a row, b queries of a batch, n items, d embedding dim, K results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import faiss
import numpy as np
import torch

from genius.collections.mbeir import Collection
from genius.evaluation.queries import QuerySet, read_queries
from genius.evaluation.report_cells import table
from genius.evaluation.speed.clock import Times, measure_in_turns
from genius.metrics.hit_rate import first_hits, hit_rate
from genius.schema import SearchOptions
from genius.search.dense import build_hnsw, build_ivf_pq, flat_search, quantized_norms, quantized_search
from genius.search.engine import EncodedQueries, Engine
from genius.search.rerank import expand, rank

K, CUT = 50, 5  # results asked for; hit rate at
TOGETHER = 64  # queries of a batch where time does not matter
EFFORTS = (4, 8, 16, 32, 64, 128, 256)  # HNSW's efSearch
PROBES = (1, 2, 4, 8, 16, 32, 64, 128)  # inverted lists that are read
PATIENCE = 20.0  # seconds for the rounds of one system

Search = Callable[[EncodedQueries], np.ndarray]  # b queries -> rows (b, K), best first


@dataclass(frozen=True)
class System:
    """A way to search, at one setting."""

    name: str
    dense: bool
    bytes_per_item: float
    search: Search


@dataclass(frozen=True)
class Measured:
    """A system's figures."""

    name: str
    dense: bool
    bytes_per_item: float
    hit_rate: float  # at CUT, the mean over rows
    times: dict[int, Times]  # by batch size


def measure_at_equal_hit_rate(
    engine: Engine,
    collection: Collection,
    batches: Sequence[int] = (1, 32),
    limit: int = 50,
    rounds: int = 9,
    seed: int = 0,
) -> dict[str, Any]:
    """The report, ready for JSON. limit: queries of each (task, dataset) row."""
    sets = read_queries(collection, engine.index, "test", limit=limit, seed=seed, phrasing="seeded")
    encoded = [engine.encode(queries) for some in sets for queries in some.opened(collection, len(some))]
    systems = [*generating(engine), *dense(engine.index.embeddings)]
    rates = {system.name: mean_hit_rate(system.search, sets, encoded) for system in systems}
    everything = np.cumsum([0, *map(len, sets)])

    def drawn(size: int) -> Callable[[int], list[tuple[int, int]]]:
        """(row, query) pairs of a round; all of one row, so that they are one batch of what was encoded."""

        def draw(number: int) -> list[tuple[int, int]]:
            rng = np.random.default_rng((seed, size, number))
            row = int(rng.integers(len(sets)))
            return [(row, int(query)) for query in rng.integers(everything[row + 1] - everything[row], size=size)]

        return draw

    def timed(system: System) -> Callable[[list[tuple[int, int]]], object]:
        return lambda asked: system.search(encoded[asked[0][0]].select(torch.tensor([query for _, query in asked])))

    times = {
        size: measure_in_turns({system.name: timed(system) for system in systems}, drawn(size), rounds, PATIENCE)
        for size in batches
    }
    measured = [
        Measured(
            system.name,
            system.dense,
            system.bytes_per_item,
            rates[system.name],
            {size: times[size][system.name] for size in batches},
        )
        for system in systems
    ]
    return {
        "items": engine.index.n,
        "dim": engine.index.config.dim,
        "queries": int(everything[-1]),
        "rows": len(sets),
        "limit": limit,
        "seed": seed,
        "cut": CUT,
        "batches": list(batches),
        "systems": [entry(system) for system in measured],
        "equal": at_equal_hit_rate(measured, max(batches)),
    }


def generating(engine: Engine) -> list[System]:
    """The modes as the run was tuned, geometry alone, and the scan of all quantized vectors."""
    pool, index = engine.pool, engine.index
    ids = (pool.table.nbytes + pool.trie.nbytes) / index.n
    embedding = 2 * index.config.dim  # fp16, as stored

    def system(name: str, **options: Any) -> System:
        asked = SearchOptions(k=K, **options)
        return System(
            name, False, ids + embedding * asked.rerank, lambda encoded: engine.retrieve(encoded, asked).ranked.rows
        )

    norms = quantized_norms(engine.quantizer.codebooks, pool.table)

    def scan(encoded: EncodedQueries) -> np.ndarray:
        found = quantized_search(engine.quantizer.codebooks, pool.table, encoded.z, K, norms)
        return rank(expand(found, pool.table), index.embeddings, encoded.embeddings.cpu().numpy(), K, rerank=False).rows

    return [
        system("exact", mode="exact", rerank=False),
        system("exact + re-rank", mode="exact"),
        system("set + re-rank", mode="set"),
        system("fast + re-rank", mode="fast"),
        system("geometry", mode="exact", rerank=False, decoder_weight=0.0),
        system("geometry + re-rank", mode="set", decoder_weight=0.0),
        system("geometry, fast + re-rank", mode="fast", decoder_weight=0.0),
        System("scan of quantized vectors", False, (pool.table.nbytes + norms.nbytes) / index.n, scan),
    ]


def dense(embeddings: np.ndarray) -> list[System]:
    """Exact, and faiss's approximate indexes at several settings of one build."""
    n, dim = embeddings.shape
    flat = faiss.IndexFlatIP(dim)
    flat.add(np.asarray(embeddings, dtype=np.float32))
    hnsw = build_hnsw(embeddings)
    inverted = build_ivf_pq(
        embeddings, lists=max(1, min(int(4 * n**0.5), n // 39)), code_bytes=dim // 8, training=min(n, 100_000)
    )

    def system(name: str, index: faiss.Index, prepare: Callable[[], None] = lambda: None) -> System:
        def search(encoded: EncodedQueries) -> np.ndarray:
            prepare()
            return index.search(encoded.embeddings.cpu().numpy(), K)[1]

        return System(name, True, len(faiss.serialize_index(index)) / n, search)

    def effort(value: int) -> Callable[[], None]:
        return lambda: setattr(hnsw.hnsw, "efSearch", value)

    def probe(value: int) -> Callable[[], None]:
        return lambda: setattr(inverted, "nprobe", value)

    streamed = System(
        "flat, fp16 streamed",
        True,
        2 * dim,
        lambda encoded: flat_search(embeddings, encoded.embeddings.cpu().numpy(), K)[1],
    )
    return [
        system("flat", flat),
        streamed,
        *(system(f"HNSW, efSearch {value}", hnsw, effort(value)) for value in EFFORTS),
        *(system(f"IVF-PQ, nprobe {value}", inverted, probe(value)) for value in PROBES),
    ]


def mean_hit_rate(search: Search, sets: Sequence[QuerySet], encoded: Sequence[EncodedQueries]) -> float:
    """At CUT, every row weighs the same; encoded: the queries of each row."""
    rates = []
    for some, queries in zip(sets, encoded, strict=True):
        found = [search(queries.select(part)) for part in torch.arange(len(some)).split(TOGETHER)]
        rates.append(hit_rate(first_hits(np.concatenate(found), some.qrels), CUT))
    return float(np.mean(rates))


def at_equal_hit_rate(systems: Sequence[Measured], batch: int) -> list[dict[str, Any]]:
    """For each system, the fastest of the other kind that finds at least as much; None if none does."""
    pairs = []
    for one in systems:
        able = [other for other in systems if other.dense != one.dense and other.hit_rate >= one.hit_rate]
        best = min(able, key=lambda other: other.times[batch].median, default=None)
        pairs.append(
            {
                "system": one.name,
                "dense": one.dense,
                "other": best.name if best else None,
                "times_slower": one.times[batch].median / best.times[batch].median if best else None,
                "times_the_bytes": one.bytes_per_item / best.bytes_per_item if best else None,
            }
        )
    return pairs


def entry(system: Measured) -> dict[str, Any]:
    return {
        "system": system.name,
        "dense": system.dense,
        "bytes_per_item": system.bytes_per_item,
        "hit_rate": system.hit_rate,
        "milliseconds": {str(size): times.to_json() for size, times in system.times.items()},
    }


def markdown(report: dict[str, Any]) -> str:
    """Two tables: every system, and who equals whom."""
    sizes = [str(size) for size in report["batches"]]
    every = [
        [
            found["system"],
            f"{found['hit_rate']:.1%}",
            *(f"{found['milliseconds'][size]['median']:.2f}" for size in sizes),
            f"{found['bytes_per_item']:.0f}",
        ]
        for found in report["systems"]
    ]
    equal = [
        [
            pair["system"],
            pair["other"] or "none finds as much",
            *(f"{pair[key]:.2f}" if pair["other"] else "–" for key in ("times_slower", "times_the_bytes")),
        ]
        for pair in report["equal"]
        if not pair["dense"] or pair["other"]
    ]
    return (
        "\n\n".join(
            [
                f"{report['items']:,} items, embeddings of {report['dim']}; {report['queries']:,} test queries of "
                f"{report['rows']} rows, global pool. Hit rate at {report['cut']}, the mean over rows; ms a query "
                "for the search alone, medians; bytes an item without the weights of models.",
                table(
                    ["system", f"hit@{report['cut']}", *(f"ms, batch {size}" for size in sizes), "bytes an item"], every
                ),
                "At equal hit rate: fastest search of the other kind that finds at least as much, "
                "and how many times its "
                f"time (batch {sizes[-1]}) and its bytes a system needs.",
                table(["system", "equalled by", "× its time", "× its bytes"], equal, words=2),
            ]
        )
        + "\n"
    )

"""Search one pool for the queries of one row, in every way that the tables compare.

Shapes: q queries of a row, n items of the index, d embedding dim.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from genius.evaluation.metrics import Qrels, first_hits, found_queries
from genius.index.pool import Pool
from genius.schema import Query, SearchOptions
from genius.search.dense import flat_search, quantized_norms, quantized_search
from genius.search.engine import EncodedQueries, Engine, Milliseconds
from genius.search.rerank import expand, rank

K = 50               # results looked at
BATCH = 64           # queries that are encoded, and searched by beams, together
SCAN_BATCH = 1024    # queries of one pass over all vectors


@dataclass(frozen=True)
class Encoded:
    """The queries of one row as the engine encodes them; all systems start from these."""

    batches: list[EncodedQueries]

    @classmethod
    def by(cls, engine: Engine, queries: Iterable[list[Query]]) -> Encoded:
        """queries: batches, opened one at a time."""
        return cls([engine.encode(batch) for batch in queries])

    @cached_property
    def embeddings(self) -> np.ndarray:
        """(q, d) fp32, normalised."""
        return torch.cat([batch.embeddings for batch in self.batches]).cpu().numpy()

    @cached_property
    def z(self) -> Tensor:
        """(q, d) fused."""
        return torch.cat([batch.z for batch in self.batches])

    @cached_property
    def milliseconds(self) -> Milliseconds:
        """Of encoding and fusing."""
        return _mean([(batch.milliseconds, len(batch.z)) for batch in self.batches])


@dataclass(frozen=True)
class Outcome:
    """What searching one pool gave for the queries of one row. A system is a way to rank."""

    ranks: dict[str, np.ndarray]    # system -> (q,) rank of the first positive, see first_hits
    # of the beam searches alone, before re-ranking:
    kept: dict[str, np.ndarray] = field(default_factory=dict)           # (q,) bool: a positive is a candidate
    considered: dict[str, np.ndarray] = field(default_factory=dict)     # (q,) candidates
    first_code: dict[str, np.ndarray] = field(default_factory=dict)     # (q,) the most probable
    milliseconds: dict[str, Milliseconds] = field(default_factory=dict)

    def __or__(self, other: Outcome) -> Outcome:
        """Both, for the same queries and pool."""
        return Outcome(self.ranks | other.ranks, self.kept | other.kept, self.considered | other.considered,
                       self.first_code | other.first_code, self.milliseconds | other.milliseconds)


def search_dense(embeddings: np.ndarray, rows: np.ndarray, queries: np.ndarray,
                 qrels: Qrels) -> tuple[np.ndarray, float]:
    """Exact search by embedding -> ranks of the first positive (q,), and milliseconds a query.

    embeddings (n, d) of the index, of which `rows` are the pool; queries (q, d).
    """
    ranks, seconds = [], 0.0
    for start in range(0, len(queries), SCAN_BATCH):
        before = time.perf_counter()
        _, found = flat_search(embeddings, queries[start:start + SCAN_BATCH], K, rows)
        seconds += time.perf_counter() - before
        ranks.append(first_hits(found, qrels, start))
    return np.concatenate(ranks), 1000 * seconds / len(queries)


def search_quantized(engine: Engine, pool: Pool, encoded: Encoded, qrels: Qrels) -> tuple[np.ndarray, float]:
    """Every ID scored by the distance of its quantized vector; items that share an ID, by index row.

    Returns the same as `search_dense`; the time is without that of the norms, which are computed once.
    """
    codebooks, ranks, seconds = engine.quantizer.codebooks, [], 0.0
    norms = quantized_norms(codebooks, pool.table)
    for start in range(0, len(encoded.z), SCAN_BATCH):
        batch = slice(start, start + SCAN_BATCH)
        before = time.perf_counter()
        found = quantized_search(codebooks, pool.table, encoded.z[batch], K, norms)
        ranked = rank(expand(found, pool.table), engine.index.embeddings, encoded.embeddings[batch], K,
                      rerank=False)
        seconds += time.perf_counter() - before
        ranks.append(first_hits(ranked.rows, qrels, start))
    return np.concatenate(ranks), 1000 * seconds / len(encoded.z)


def search_every_way(engine: Engine, pool: Pool, rows: np.ndarray, encoded: Encoded, qrels: Qrels,
                     beams: Sequence[int]) -> dict[int, Outcome]:
    """Beam size -> the systems "dense", "quantized", "geometry", "beam" and the last two re-ranked.

    rows: those of the index that are in the pool.
    """
    dense, dense_ms = search_dense(engine.index.embeddings, rows, encoded.embeddings, qrels)
    quantized, quantized_ms = search_quantized(engine, pool, encoded, qrels)
    exhaustive = Outcome({"dense": dense, "quantized": quantized}, milliseconds={
        "dense": {"encode": encoded.milliseconds["encode"], "scan": dense_ms},
        "quantized": encoded.milliseconds | {"scan": quantized_ms}})
    return {size: exhaustive
            | search_beam("geometry", engine, pool, encoded, qrels, size, decoder_weight=0.0)
            | search_beam("beam", engine, pool, encoded, qrels, size) for size in beams}


def search_beam(name: str, engine: Engine, pool: Pool, encoded: Encoded, qrels: Qrels, beams: int,
                decoder_weight: float | None = None) -> Outcome:
    """Beam search as generated (the system `name`) and re-ranked by embedding (`name + re-rank`).

    decoder_weight: 0 for geometry alone; None as the run was tuned.
    """
    options = SearchOptions(beams=beams, k=K, decoder_weight=decoder_weight)
    generated, reranked, kept, considered, first, spent = [], [], [], [], [], []
    start = 0
    for batch in encoded.batches:
        found, size = engine.retrieve(batch, options, pool), len(batch.z)
        in_order = rank(found.candidates, engine.index.embeddings, batch.embeddings.cpu().numpy(), K,
                        rerank=False)
        generated.append(first_hits(in_order.rows, qrels, start))
        reranked.append(first_hits(found.ranked.rows, qrels, start))
        kept.append(found_queries(found.candidates.query, found.candidates.row, qrels, start, size))
        considered.append(found.candidates.counts)
        first.append(found.beams.first.argmax(-1).cpu().numpy())
        spent.append((found.milliseconds, size))
        start += size
    return Outcome({name: np.concatenate(generated), f"{name} + re-rank": np.concatenate(reranked)},
                   {name: np.concatenate(kept)}, {name: np.concatenate(considered)},
                   {name: np.concatenate(first)}, {name: _mean(spent)})


def _mean(batches: list[tuple[Milliseconds, int]]) -> Milliseconds:
    """Mean over queries of what each stage took; batches with their sizes."""
    queries = sum(size for _, size in batches)
    return {stage: sum(spent[stage] * size for spent, size in batches) / queries for stage in batches[0][0]}

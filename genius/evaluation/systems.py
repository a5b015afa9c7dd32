"""Search one pool for the queries of one row, in every way that the tables compare.

Shapes: q queries of a row, n items of the index, d embedding dim.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from genius.metrics.hit_rate import Qrels, first_hits, found_queries
from genius.schema import Query, SearchOptions
from genius.search.dense import flat_search, quantized_norms, quantized_search
from genius.search.engine import EncodedQueries, Engine, Milliseconds, batch_size
from genius.search.rerank import expand, rank
from genius.trie.pool import Pool

K = 50  # results looked at
BATCH = 64  # queries that are encoded together
SCAN_BATCH = 1024  # queries of one pass over all vectors


@dataclass(frozen=True)
class Encoded:
    """The queries of one row as the engine encodes them; all systems start from these."""

    batches: list[EncodedQueries]

    @classmethod
    def by(cls, engine: Engine, queries: Iterable[list[Query]]) -> Encoded:
        """queries: batches, opened one at a time. Their features are not kept: searches need only what follows."""
        return cls([replace(engine.encode(batch), features=None) for batch in queries])

    def together(self, size: int) -> Iterator[EncodedQueries]:
        """In batches of at most `size` queries."""
        for batch in self.batches:
            yield from map(batch.select, torch.arange(len(batch.z)).split(size))

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

    ranks: dict[str, np.ndarray]  # system -> (q,) rank of the first positive, see first_hits
    milliseconds: dict[str, Milliseconds] = field(default_factory=dict)
    beams: dict[str, BeamFigures] = field(default_factory=dict)  # of the beam searches

    def __or__(self, other: Outcome) -> Outcome:
        """Both, for the same queries and pool."""
        return Outcome(self.ranks | other.ranks, self.milliseconds | other.milliseconds, self.beams | other.beams)


@dataclass(frozen=True)
class BeamFigures:
    """What a beam search did with each query, before any re-ranking."""

    kept: np.ndarray  # (q,) bool: a positive is among the items that it handed over
    items: np.ndarray  # (q,) how many those were
    first_code: np.ndarray  # (q,) the most probable
    scored: np.ndarray  # (q,) beams whose continuations were scored, over all levels
    certified: np.ndarray | None  # (q,) bool: its IDs are provably the best; None: it was not asked


def search_dense(
    embeddings: np.ndarray, rows: np.ndarray, queries: np.ndarray, qrels: Qrels
) -> tuple[np.ndarray, float]:
    """Exact search by embedding -> ranks of the first positive (q,), and milliseconds a query.

    embeddings (n, d) of the index, of which `rows` are the pool; queries (q, d).
    """
    ranks, seconds = [], 0.0
    for start in range(0, len(queries), SCAN_BATCH):
        before = time.perf_counter()
        _, found = flat_search(embeddings, queries[start : start + SCAN_BATCH], K, rows)
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
        ranked = rank(expand(found, pool.table), engine.index.embeddings, encoded.embeddings[batch], K, rerank=False)
        seconds += time.perf_counter() - before
        ranks.append(first_hits(ranked.rows, qrels, start))
    return np.concatenate(ranks), 1000 * seconds / len(encoded.z)


def search_every_way(
    engine: Engine,
    pool: Pool,
    rows: np.ndarray,
    encoded: Encoded,
    qrels: Qrels,
    beams: Sequence[int],
    decoder_weight: float | None = None,
) -> dict[int, Outcome]:
    """Beam size -> the systems "dense", "quantized" and those of `beam_systems`.

    rows: those of the index that are in the pool.
    """
    dense, dense_ms = search_dense(engine.index.embeddings, rows, encoded.embeddings, qrels)
    quantized, quantized_ms = search_quantized(engine, pool, encoded, qrels)
    exhaustive = Outcome(
        {"dense": dense, "quantized": quantized},
        milliseconds={
            "dense": {"encode": encoded.milliseconds["encode"], "scan": dense_ms},
            "quantized": encoded.milliseconds | {"scan": quantized_ms},
        },
    )
    outcomes = {}
    for size in beams:
        outcomes[size] = exhaustive
        for name, options in beam_systems(size, decoder_weight).items():
            outcomes[size] |= search_beam(name, engine, pool, encoded, qrels, options)
    return outcomes


def ranks_of(
    systems: Iterable[str],
    engine: Engine,
    pool: Pool,
    rows: np.ndarray,
    encoded: Encoded,
    qrels: Qrels,
    beams: int,
    decoder_weight: float | None = None,
) -> dict[str, np.ndarray]:
    """System -> (q,) rank of the first positive, of those systems of `search_every_way` that are named."""
    exhaustive = {
        "dense": lambda: search_dense(engine.index.embeddings, rows, encoded.embeddings, qrels)[0],
        "quantized": lambda: search_quantized(engine, pool, encoded, qrels)[0],
    }
    ways = beam_systems(beams, decoder_weight)
    return {
        name: exhaustive[name]()
        if name in exhaustive
        else search_beam(name, engine, pool, encoded, qrels, ways[name]).ranks[name]
        for name in systems
    }


def beam_systems(beams: int, decoder_weight: float | None) -> dict[str, SearchOptions]:
    """System -> how it searches: by geometry alone, and by the decoder, each in every mode.

    decoder_weight: of the decoder against geometry; None: as the run was tuned.
    """

    def by(weight: float | None, name: str, fast: str) -> dict[str, SearchOptions]:
        how = SearchOptions(beams=beams, k=K, decoder_weight=weight)
        return {
            name: replace(how, mode="exact", rerank=False),  # in the order of scores, which only it gives
            f"{name} + re-rank": replace(how, mode="set"),
            f"{fast} + re-rank": replace(how, mode="fast"),
        }

    return by(0.0, "geometry", "fast geometry") | by(decoder_weight, "beam", "fast")


def search_beam(
    name: str, engine: Engine, pool: Pool, encoded: Encoded, qrels: Qrels, options: SearchOptions
) -> Outcome:
    """The system `name`: beam search as these options say, in batches as large as the engine's own."""
    ranks, spent, figures = [], [], []
    start = 0
    for batch in encoded.together(batch_size(options.beams)):
        found, size = engine.retrieve(batch, options, pool), len(batch.z)
        candidates, certified = found.candidates, found.beams.certified(options.beams)
        ranks.append(first_hits(found.ranked.rows, qrels, start))
        spent.append((found.milliseconds, size))
        figures.append(
            (
                found_queries(candidates.query, candidates.row, qrels, start, size),
                candidates.counts,
                found.beams.first.argmax(-1).cpu().numpy(),
                found.beams.rows.cpu().numpy(),
                None if certified is None else certified.cpu().numpy(),
            )
        )
        start += size
    return Outcome(
        {name: np.concatenate(ranks)},
        {name: _mean(spent)},
        {
            name: BeamFigures(
                *(None if parts[0] is None else np.concatenate(parts) for parts in zip(*figures, strict=True))
            )
        },
    )


def _mean(batches: list[tuple[Milliseconds, int]]) -> Milliseconds:
    """Mean over queries of what each stage took; batches with their sizes."""
    queries = sum(size for _, size in batches)
    return {stage: sum(spent[stage] * size for spent, size in batches) / queries for stage in batches[0][0]}

"""The systems that are timed, each built once for a collection: queries (b, d) -> something found.

Shapes: b queries, d dim, n items.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import faiss
import numpy as np
import torch

from genius.evaluation.speed.published import Generate, nested_bytes, nested_trie, read_nested, read_pool
from genius.evaluation.speed.world import World
from genius.models.incremental_decoder import IncrementalDecoder
from genius.search.beam import beam_search
from genius.search.beam_state import Beams
from genius.search.dense import build_hnsw, build_ivf_pq, flat_search, quantized_norms, quantized_search
from genius.trie.pool import Pool
from genius.trie.trie import Trie

K = 50  # results of the systems that have no beams
EFFORT, PROBES = 64, 16  # HNSW's efSearch; inverted lists that are read
TRAINING = 50_000  # vectors that IVF-PQ is trained on, at most
RAM = 1_000_000  # items up to which faiss and nested dicts hold everything


@dataclass
class Contender:
    """A system, built."""

    search: Callable[[np.ndarray], Any]
    build_seconds: float
    bytes_per_item: float
    whole_vocabulary: bool | None = None  # of the decoder's softmax; None where no decoder of ours runs
    dtype: str = "float32"
    rows: list[float] = field(default_factory=list)  # of each search of ours: beams decoded a query,
    candidates: list[float] = field(default_factory=list)  # and items found


def build(
    name: str, world: World, pool: Pool, items: int, beams: int, weight: float, fast_dtype: str = "float32"
) -> Contender:
    """fast_dtype: of the decoder in mode fast. Raises KeyError for an unknown name."""
    builder = BUILDERS[name]
    return builder(world, pool, items, beams, weight, **({"dtype": fast_dtype} if builder is BUILDERS["fast"] else {}))


def on_device(pool: Pool, device: torch.device) -> Trie:
    return Trie(pool.table, device, pool.trie.crowded)


def _generate(world: World, pool: Pool, items: int, beams: int, weight: float) -> Contender:
    start = time.perf_counter()
    if items <= RAM:
        nested = nested_trie(world.packed[:items], world.decoder)
        seconds = time.perf_counter() - start
        allowed, size = read_nested(nested), nested_bytes(nested)
    else:
        seconds, allowed, size = 0.0, read_pool(pool, world.decoder), pool.table.nbytes + pool.trie.nbytes
    generate = Generate(world.decoder, allowed, beams)
    return Contender(lambda queries: generate(torch.from_numpy(queries)), seconds, size / items)


def _beams(mode: str, geometry: bool = False) -> Callable[..., Contender]:
    def builder(world: World, pool: Pool, items: int, beams: int, weight: float, dtype: str = "float32") -> Contender:
        device = pool.trie.device
        decoder = IncrementalDecoder(world.decoder, getattr(torch, dtype))

        def search(queries: np.ndarray) -> Beams:
            found = beam_search(
                decoder,
                torch.from_numpy(queries).to(device),
                pool.trie,
                beams,
                mode=mode,
                decoder_weight=0.0 if geometry else weight,
            )
            contender.rows.append(found.rows.float().mean().item())
            contender.candidates.append((found.high - found.low).sum(1).float().mean().item())
            return found

        contender = Contender(
            search, 0.0, (pool.table.nbytes + pool.trie.nbytes) / items, None if geometry else mode != "fast", dtype
        )
        return contender

    return builder


def _scan(world: World, pool: Pool, items: int, beams: int, weight: float) -> Contender:
    start = time.perf_counter()
    books = world.decoder.codebooks
    norms = quantized_norms(books, pool.table)
    seconds = time.perf_counter() - start
    return Contender(
        lambda queries: quantized_search(books, pool.table, torch.from_numpy(queries), K, norms),
        seconds,
        (pool.table.nbytes + norms.nbytes) / items,
    )


def _flat(world: World, pool: Pool, items: int, beams: int, weight: float) -> Contender:
    embeddings, start = world.embeddings(items), time.perf_counter()
    if items > RAM:
        return Contender(lambda queries: flat_search(embeddings, queries, K), 0.0, embeddings.nbytes / items)
    index = faiss.IndexFlatIP(embeddings.shape[1])
    index.add(np.asarray(embeddings, dtype=np.float32))
    return _faiss(index, start, items, 4.0 * index.d)


def _hnsw(world: World, pool: Pool, items: int, beams: int, weight: float) -> Contender:
    embeddings, start = world.embeddings(items), time.perf_counter()
    index = build_hnsw(embeddings)
    index.hnsw.efSearch = EFFORT
    return _faiss(index, start, items)


def _ivf_pq(world: World, pool: Pool, items: int, beams: int, weight: float) -> Contender:
    embeddings, start = world.embeddings(items), time.perf_counter()
    index = build_ivf_pq(
        embeddings,
        lists=max(1, min(int(4 * items**0.5), items // 39)),
        code_bytes=embeddings.shape[1] // 8,
        training=min(items, TRAINING),
    )
    index.nprobe = PROBES
    return _faiss(index, start, items)


def _faiss(index: faiss.Index, start: float, items: int, size: float | None = None) -> Contender:
    seconds = time.perf_counter() - start
    size = len(faiss.serialize_index(index)) / items if size is None else size
    return Contender(lambda queries: index.search(queries, K), seconds, size)


BUILDERS: dict[str, Callable[[World, Pool, int, int, float], Contender]] = {
    "generate": _generate,
    "exact": _beams("exact"),
    "set": _beams("set"),
    "fast": _beams("fast"),
    "geometry": _beams("set", geometry=True),
    "geometry, fast": _beams("fast", geometry=True),
    "scan of quantized vectors": _scan,
    "flat": _flat,
    "HNSW": _hnsw,
    "IVF-PQ": _ivf_pq,
}

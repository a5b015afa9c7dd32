"""The systems that are timed, each built once per collection.

Shapes: b queries, d dim, n items.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import faiss
import numpy as np
import torch

from genius.evaluation.speed.faiss_indexes import MAX_IN_MEMORY, build_flat, build_scaled_ivf_pq, index_bytes
from genius.evaluation.speed.hf_generate import HFGenerate, nested_bytes, nested_callback, nested_trie, trie_callback
from genius.evaluation.speed.machine import synchronize
from genius.evaluation.speed.workloads import Setup
from genius.models.incremental_decoder import IncrementalDecoder
from genius.schema import SearchOptions
from genius.search.beam_state import Beams
from genius.search.candidates import CandidateSearch
from genius.search.dense import build_hnsw, flat_search, norms_by_row, quantized_norms, quantized_search
from genius.search.retrieval import EncodedQueries

K = 50  # results of the systems without beams
EF_SEARCH, PROBES = 64, 16  # of HNSW; of IVF-PQ, the inverted lists that are read


@dataclass(frozen=True)
class TimedSystem:
    """A system over one collection, built."""

    search: Callable[[EncodedQueries], Any]
    build_seconds: float
    bytes_per_item: float
    dtype: str | None = None  # of the decoder; None: it is not a beam search of ours
    whole_vocabulary: bool | None = None  # of the decoder's softmax; None: no incremental decoder runs


def _generate(setup: Setup) -> TimedSystem:
    decoder, pool, start = setup.workload.decoder, setup.pool, time.perf_counter()
    if setup.items <= MAX_IN_MEMORY:
        nested = nested_trie(setup.workload.packed[: setup.items], decoder)
        seconds = time.perf_counter() - start
        allowed, size = nested_callback(nested), nested_bytes(nested)
    else:
        seconds, allowed, size = 0.0, trie_callback(pool, decoder), pool.table.nbytes + pool.trie.nbytes
    generate = HFGenerate(decoder, allowed, setup.beams)
    return TimedSystem(lambda queries: generate(queries.z), seconds, size / setup.items)


def _beam_search(mode: str, geometry: bool = False) -> Callable[[Setup], TimedSystem]:
    def builder(setup: Setup) -> TimedSystem:
        dtype = "float32" if mode == "exact" else setup.decoder_dtype
        candidate_search = CandidateSearch(IncrementalDecoder(setup.workload.decoder, getattr(torch, dtype)))
        weight, table, budget = 0.0 if geometry else setup.decoder_weight, setup.pool.table, SearchOptions().budget
        start, norms = time.perf_counter(), np.empty(0, dtype=np.float32)
        if mode == "fast" and setup.pool.trie.device.type == "cpu":  # as after many searches; GPUs compute them anew
            norms = norms_by_row(quantized_norms(setup.workload.decoder.codebooks, table), table)

        def search(queries: EncodedQueries) -> Beams:
            beams, _ = candidate_search.search(
                queries.z, setup.pool, norms, mode=mode, beams=setup.beams, budget=budget, decoder_weight=weight
            )
            synchronize(setup.pool.trie.device)
            return beams

        size = (table.nbytes + setup.pool.trie.nbytes + norms.nbytes) / setup.items
        whole_vocabulary = None if geometry else mode != "fast"
        return TimedSystem(search, time.perf_counter() - start, size, dtype, whole_vocabulary)

    return builder


def _quantized_scan(setup: Setup) -> TimedSystem:
    start, codebooks, table = time.perf_counter(), setup.workload.decoder.codebooks, setup.pool.table
    norms = quantized_norms(codebooks, table)
    return TimedSystem(
        lambda queries: quantized_search(codebooks, table, queries.z, K, norms),
        time.perf_counter() - start,
        (table.nbytes + norms.nbytes) / setup.items,
    )


def _flat(setup: Setup) -> TimedSystem:
    embeddings = setup.embeddings
    if setup.items > MAX_IN_MEMORY:
        return TimedSystem(
            lambda queries: flat_search(embeddings, queries.embeddings.cpu().numpy(), K),
            0.0,
            embeddings.nbytes / setup.items,
        )
    start = time.perf_counter()
    return _faiss(build_flat(embeddings), start, bytes_per_item=4.0 * embeddings.shape[1])


def _hnsw(setup: Setup) -> TimedSystem:
    embeddings, start = setup.embeddings, time.perf_counter()
    index = build_hnsw(embeddings)
    index.hnsw.efSearch = EF_SEARCH
    return _faiss(index, start)


def _ivf_pq(setup: Setup) -> TimedSystem:
    embeddings, start = setup.embeddings, time.perf_counter()
    index = build_scaled_ivf_pq(embeddings)
    index.nprobe = PROBES
    return _faiss(index, start)


def _faiss(index: faiss.Index, start: float, bytes_per_item: float | None = None) -> TimedSystem:
    seconds = time.perf_counter() - start
    size = index_bytes(index) / index.ntotal if bytes_per_item is None else bytes_per_item
    return TimedSystem(lambda queries: index.search(queries.embeddings.cpu().numpy(), K), seconds, size)


SYSTEM_BUILDERS: dict[str, Callable[[Setup], TimedSystem]] = {  # name in reports -> builds it over a collection
    "generate": _generate,
    "exact": _beam_search("exact"),
    "set": _beam_search("set"),
    "fast": _beam_search("fast"),
    "geometry": _beam_search("set", geometry=True),
    "geometry, fast": _beam_search("fast", geometry=True),
    "scan of quantized vectors": _quantized_scan,
    "flat": _flat,
    "HNSW": _hnsw,
    "IVF-PQ": _ivf_pq,
}

"""IDs compared with indexes of the vectors that they quantize; writes OUT/vector_index.json and .md.

    python -m genius.evaluation.speed.vector_index OUT --run RUN [--items 100000,1000000]

Every system searches the same fused vectors with the fused features of the run's test queries: first the run's items,
where hits are counted, then more items made of them (fused_pool.py), where the truth is the exactly nearest vector.
"+ vectors" orders the first results by the vectors themselves, kept in half precision. Needs the fused features of
the run's items: those that training left in RUN/features, else they are encoded again.

Shapes: b queries, q test queries, n items, m of the run, d dim, K results, t rows to order.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import faiss
import numpy as np
import torch

from genius.errors import UserError, exit_on_user_error
from genius.evaluation.arguments import (
    add_collection_and_device,
    add_seed,
    command_line,
    command_parser,
    parse_integers,
    parse_positive,
)
from genius.evaluation.encoded_queries import EncodedSplit
from genius.evaluation.fused_items import fused_items
from genius.evaluation.queries import read_queries
from genius.evaluation.redraw import run_collection
from genius.evaluation.speed.equal_hit_rate import CUT, LIMIT, SearchSetting, equal_pairs, mean_hit_rate, time_settings
from genius.evaluation.speed.faiss_indexes import (
    MAX_IN_MEMORY,
    build_flat,
    build_scaled_ivf_pq,
    code_bytes,
    index_bytes,
)
from genius.evaluation.speed.fused_pool import FusedPool, make_pool
from genius.evaluation.speed.machine import describe_machine
from genius.evaluation.speed.timed_systems import K
from genius.evaluation.speed.vector_index_report import markdown
from genius.files import write_report
from genius.models.incremental_decoder import IncrementalDecoder
from genius.runtime import keep_freed_memory, usable_device
from genius.schema import SearchOptions
from genius.search.candidates import CandidateSearch, expand_beams
from genius.search.dense import build_hnsw, flat_search, norms_by_row, quantized_norms, quantized_search
from genius.search.engine import Engine
from genius.search.retrieval import EncodedQueries

ITEMS, BATCHES, ROUNDS = "100000,1000000,5600000", (1, 32), 9
ORDERED = 200  # results that are ordered by the vectors
BUDGETS = (50, 200, 1000)  # of mode fast
EF_SEARCH, PROBES = (16, 64, 256), (1, 4, 16, 64, 256)
DIMS_PER_BYTE = (32, 8)  # of IVF-PQ: as few bytes as an ID, and the usual
CHANGED = 1000  # items added and removed
Rows = Callable[[EncodedQueries], np.ndarray]  # b queries -> rows (b, t), best first, padded with −1
Update = Callable[[np.ndarray], tuple[float, float | None]]  # vectors (t, d) -> seconds to add and to remove them


class System:
    """One index, built, with its settings."""

    def __init__(self, name: str, vectors: bool, build_seconds: float, size: float, update: Update):
        """vectors: it is an index of vectors. size: bytes per item."""
        self.name, self.vectors, self.build_seconds, self.size, self.update = name, vectors, build_seconds, size, update
        self.settings: list[SearchSetting] = []

    def add(self, name: str, search: Rows, kept: np.ndarray | None = None) -> None:
        """kept (n, d): vectors that order the results."""
        if kept is None:
            self.settings.append(SearchSetting(name, self.vectors, self.size, lambda queries: search(queries)[:, :K]))
            return
        self.settings.append(
            SearchSetting(
                f"{name} + vectors",
                self.vectors,
                self.size + 2 * kept.shape[1],
                lambda queries: ordered(search(queries), kept, queries.z.cpu().numpy()),
            )
        )


def measure(engine: Engine, pool: FusedPool, queries: EncodedSplit, own: bool, seed: int) -> dict[str, Any]:
    """All systems on one pool. own: it holds the run's items alone, so hits of the test queries are counted."""
    z = queries.encoded.z
    nearest = None if own else flat_search(pool.vectors, z.cpu().numpy(), 1)[1]  # (q, 1)
    systems = [by_ids(engine, pool), *by_vectors(pool.vectors)]
    settings = [setting for system in systems for setting in system.settings]

    def rate(setting: SearchSetting) -> float:
        if nearest is None:
            return mean_hit_rate(setting, queries)
        found = [setting.search(queries.encoded.select(part)) for part in torch.arange(len(z)).split(64)]
        return float((np.concatenate(found)[:, :CUT] == nearest).any(1).mean())

    measured = time_settings(settings, list(map(rate, settings)), queries.encoded, BATCHES, ROUNDS, seed)
    return {
        "items": len(pool.vectors),
        "own": own,
        "queries": len(z),
        "systems": measured,
        "equal": {str(size): equal_pairs(measured, str(size)) for size in BATCHES},
        "indexes": [_costs(system, pool.vectors) for system in systems],
    }


def by_ids(engine: Engine, pool: FusedPool) -> System:
    """Mode fast of the run and of geometry alone, and the scan of all quantized vectors."""
    quantizer, table = engine.quantizer, pool.pool.table
    candidate_search, start = CandidateSearch(IncrementalDecoder(engine.decoder)), time.perf_counter()
    of_ids = quantized_norms(quantizer.codebooks, table)
    norms = norms_by_row(of_ids, table)
    seconds = pool.build_seconds + time.perf_counter() - start
    size = (table.nbytes + pool.pool.trie.nbytes + norms.nbytes) / len(table)

    def update(vectors: np.ndarray) -> tuple[float, float]:
        device, rows = quantizer.codebook_0.device, np.arange(len(table), len(table) + len(vectors))
        start = time.perf_counter()
        modality = torch.from_numpy(pool.codes[: len(vectors), 0].astype(np.int64)).to(device)
        codes = quantizer.encode(torch.from_numpy(vectors).to(device), modality).cpu().numpy()
        grown = pool.pool.inserted(codes, rows)
        added = time.perf_counter()
        grown.removed(rows)
        return added - start, time.perf_counter() - added

    def fast(weight: float, budget: int) -> Rows:
        def search(queries: EncodedQueries) -> np.ndarray:
            beams = SearchOptions().beams
            _, found = candidate_search.search(
                queries.z, pool.pool, norms, mode="fast", beams=beams, budget=budget, decoder_weight=weight
            )
            rows = np.full((len(queries.z), max(budget, K)), -1)
            rows[found.query, found.generated_rank - 1] = found.row
            return rows

        return search

    def scan(queries: EncodedQueries) -> np.ndarray:
        found = expand_beams(quantized_search(quantizer.codebooks, table, queries.z, K, of_ids), table)
        rows = np.full((len(queries.z), int(found.counts.max())), -1)
        rows[found.query, found.generated_rank - 1] = found.row
        return rows

    system = System("IDs", False, seconds, size, update)
    for budget in BUDGETS:
        search = fast(0.0, budget)
        system.add(f"geometry, fast, {budget}", search)
        system.add(f"geometry, fast, {budget}", search, pool.vectors)
    search = fast(engine.decoder.config.decoder_weight, ORDERED)
    system.add(f"fast, {ORDERED}", search)
    system.add(f"fast, {ORDERED}", search, pool.vectors)
    system.add("scan of quantized vectors", scan)
    return system


def by_vectors(vectors: np.ndarray) -> Iterator[System]:
    """faiss's indexes: exact search, HNSW and IVF-PQ of two sizes.

    Above MAX_IN_MEMORY vectors exact search is in half precision, and HNSW and the smaller IVF-PQ are left out.
    """
    n, dim = vectors.shape
    yield _faiss("flat" if n <= MAX_IN_MEMORY else "flat, fp16", lambda: build_flat(vectors), {}, ())
    if n <= MAX_IN_MEMORY:
        yield _faiss("HNSW", lambda: build_hnsw(vectors), {"efSearch": EF_SEARCH}, ())
    for dims in DIMS_PER_BYTE:
        if n <= MAX_IN_MEMORY or dims == min(DIMS_PER_BYTE):
            name = f"IVF-PQ of {code_bytes(dim, dims)} bytes"
            index = _faiss(
                name, lambda dims=dims: build_scaled_ivf_pq(vectors, dims_per_byte=dims), {"nprobe": PROBES}, vectors
            )
            yield index


def _faiss(
    name: str, build: Callable[[], faiss.Index], parameter: dict[str, Sequence[int]], kept: Sequence[Any]
) -> System:
    """parameter: its name and values. kept (n, d): also with results that these vectors order."""
    start = time.perf_counter()
    index = build()
    seconds = time.perf_counter() - start

    def update(vectors: np.ndarray) -> tuple[float, float | None]:
        n, start = index.ntotal, time.perf_counter()
        index.add(vectors)
        added = time.perf_counter()
        if isinstance(index, faiss.IndexHNSW):  # cannot remove
            return added - start, None
        index.remove_ids(faiss.IDSelectorRange(n, n + len(vectors)))
        return added - start, time.perf_counter() - added

    def search(count: int, value: int | None) -> Rows:
        def found(queries: EncodedQueries) -> np.ndarray:
            for key in parameter:
                setattr(index.hnsw if key == "efSearch" else index, key, value)
            return index.search(queries.z.cpu().numpy(), count)[1]

        return found

    system = System(name, True, seconds, index_bytes(index) / index.ntotal, update)
    for key, values in parameter.items() or ((None, (None,)),):
        for value in values:
            setting = name if key is None else f"{name}, {key} {value}"
            system.add(setting, search(K, value))
            if len(kept):
                system.add(setting, search(ORDERED, value), kept)
    return system


def ordered(rows: np.ndarray, vectors: np.ndarray, z: np.ndarray) -> np.ndarray:
    """The K rows (b, K) of rows (b, t), padded with −1, with the highest inner products with z (b, d)."""
    products = np.einsum("btd,bd->bt", vectors[rows].astype(np.float32), z)
    order = np.argsort(np.where(rows >= 0, -products, np.inf), axis=1, kind="stable")[:, :K]
    return np.take_along_axis(rows, order, axis=1)


def _costs(system: System, vectors: np.ndarray) -> dict[str, Any]:
    added, removed = system.update(np.asarray(vectors[:CHANGED], dtype=np.float32))
    return {
        "system": system.name,
        "build_seconds": system.build_seconds,
        "add_seconds": added,
        "remove_seconds": removed,
        "bytes_per_item": system.size,
    }


def main(arguments: Sequence[str]) -> None:
    parser = command_parser("genius.evaluation.speed.vector_index", __doc__)
    parser.add_argument("out", type=Path, help="directory for the report")
    parser.add_argument("--run", type=Path, required=True, help="a directory made by python -m training")
    add_collection_and_device(parser)
    parser.add_argument("--items", default=ITEMS, metavar="N,N,…", help="sizes of the larger pools")
    parser.add_argument(
        "--limit",
        type=partial(parse_positive, "--limit"),
        default=LIMIT,
        help="queries per (task, dataset) row (default: %(default)s)",
    )
    add_seed(parser, "vectors and queries")
    parser.add_argument("--work", type=Path, help="directory for large temporary files")
    options = parser.parse_args(arguments)
    keep_freed_memory()
    device = usable_device(options.device)
    engine, sizes = Engine.load(options.run, options.device), parse_integers(options.items, "--items", 1)
    if sizes[0] < engine.index.n:
        raise UserError(f"--items {sizes[0]}: expected at least the {engine.index.n:,} items of the run")
    for folder in filter(None, (options.out, options.work)):
        folder.mkdir(parents=True, exist_ok=True)
    report = {
        "command": command_line("genius.evaluation.speed.vector_index", arguments),
        "machine": describe_machine(device),
        "dim": engine.index.config.dim,
        "seed": options.seed,
        "cut": CUT,
        "pools": [],
    }
    rows = np.arange(engine.index.n)
    with run_collection(options.run, options.collection, "test", True) as collection:
        with TemporaryDirectory(dir=options.work) as folder:
            z = fused_items(engine, collection, encode=True, scratch=Path(folder))[rows]
        sets = read_queries(
            collection, engine.index, "test", limit=options.limit, seed=options.seed, phrasing="seeded", answerable=True
        )
        queries = EncodedSplit.encode(engine, collection, sets)
    for items in (len(rows), *sizes):
        print(f"{items:,} items", flush=True)
        with TemporaryDirectory(dir=options.work) as folder:
            pool = make_pool(z, engine.index.codes(rows), engine.quantizer, items, options.seed, Path(folder))
            report["pools"].append(measure(engine, pool, queries, items == len(rows), options.seed))
        write_report(options.out / "vector_index", report, markdown(report))


if __name__ == "__main__":
    with exit_on_user_error():
        main(sys.argv[1:])

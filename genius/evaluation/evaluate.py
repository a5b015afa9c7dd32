"""Evaluate a run on the labeled queries of a collection: every row, pool and system.

Queries are encoded once; a pool is built once and searched for all rows that share it.

Shapes: n items of the index.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from genius.collections.mbeir import Collection
from genius.evaluation.all_phrasings import average_phrasings, count_phrasings, measure_phrasings
from genius.evaluation.encoded_queries import BATCH, EncodedSplit
from genius.evaluation.fused_items import fused_items
from genius.evaluation.instruction_following import measure_following
from genius.evaluation.kept_searches import KeptSearches
from genius.evaluation.pools import PoolKind, Pools, read_pools
from genius.evaluation.queries import Phrasing, read_queries, training_targets
from genius.evaluation.summary import RowLabels, summarize
from genius.evaluation.systems import RowResults, search_all_systems
from genius.evaluation.untrained_baseline import UntrainedBaseline
from genius.index.store import Index
from genius.metrics.code_health import table_health
from genius.metrics.factor_agreement import factor_table, read_factors
from genius.schema import SearchOptions
from genius.search.dense import quantized_norms
from genius.search.engine import Engine, batch_size
from genius.trie.ids import packed_bytes

MAX_FACTOR_ITEMS = 20_000  # items that factors are read from: a sample fixed by the seed


@dataclass(frozen=True)
class EvaluationOptions:
    """What to evaluate."""

    split: str = "test"
    beams: tuple[int, ...] = (50,)  # ascending: the last for the tables, all for the sweep
    limit: int | None = None  # queries per row; None: all
    seed: int = 0  # of instructions, samples, intervals and the untrained encoder
    instruction: Phrasing = "seeded"
    untrained: bool = False  # also dense search by an untrained encoder: encodes all items again
    fused: bool = False  # also search by fused features where training left none: encodes all items again
    decoder_weight: float | None = None  # of the decoder against geometry; None: the run's tuned weight
    every_phrasing: bool = False  # also the mean over all phrasings: encodes and searches once per phrasing
    answerable: bool = False  # only queries with a positive in the index
    rows: tuple[str, ...] = ()  # only these benchmark rows, see select_rows; empty: all
    items: str = ""  # only pools of these items, "all" or the split; empty: both
    trained_on: str = ""  # name of another collection that the run was trained on; empty: this one


Labeled = tuple[RowLabels, RowResults]


@dataclass(frozen=True)
class SearchedPools:
    """What was found for each row; rows are counted as the sets of queries are."""

    tables: dict[PoolKind, dict[int, Labeled]]  # with the widest beam
    sweep: dict[tuple[PoolKind, int], dict[int, Labeled]]  # by beam size, of the kinds that are swept
    phrased: dict[int, dict[str, Any]]  # over all phrasings, in the headline pool; empty: not measured


def evaluate(
    engine: Engine, collection: Collection, options: EvaluationOptions, kept: KeptSearches | None = None
) -> dict[str, Any]:
    """The report, ready for JSON, without the names of run, collection and command.

    kept: searches of an evaluation that was stopped, and of this one; None: they are not kept.
    Raises UserError if the collection lacks queries, instructions or items, or is not that of the index; nothing has
    been encoded then.
    """
    engine.encoder.check()
    read = partial(
        read_queries,
        collection,
        engine.index,
        options.split,
        limit=options.limit,
        seed=options.seed,
        answerable=options.answerable,
        rows=options.rows,
    )
    sets = read(phrasing=options.instruction)
    held_out = read(phrasing="held-out") if collection.has_held_out_instructions() else [None] * len(sets)
    if options.every_phrasing:
        for queries in sets:
            count_phrasings(queries, collection.instructions())
    pools = read_pools(collection, engine.index, [queries.row for queries in sets], options.split, options.items)
    encoded = EncodedSplit.encode(engine, collection, sets)
    searched = search_pools(engine, collection, encoded, pools, options, kept or KeptSearches(None))
    following = measure_following(
        engine,
        collection,
        sets,
        held_out,
        [row.batches for row in encoded.rows],
        seed=options.seed,
        decoder_weight=options.decoder_weight,
    )
    return (
        asdict(options)
        | _facts(engine, options)
        | _figures(searched, pools, options)
        | {
            "unknown_judgements": sum(queries.unknown for queries in sets),
            "following": following,
            "codes": measure_codes(engine.index, pools.candidates(), options.seed),
        }
    )


def search_pools(
    engine: Engine,
    collection: Collection,
    encoded: EncodedSplit,
    pools: Pools,
    options: EvaluationOptions,
    kept: KeptSearches,
) -> SearchedPools:
    """Search every pool for every row with every system; all beam sizes where they are compared, else the widest."""
    index, sets, widest, weight = engine.index, encoded.sets, options.beams[-1], options.decoder_weight
    swept, instructions = swept_kinds(pools, options.split), collection.instructions()
    targets = np.zeros(index.n, dtype=bool) if options.trained_on else training_targets(collection, index)
    tables, sweep, phrased = defaultdict(dict), defaultdict(dict), {}
    with tempfile.TemporaryDirectory() as scratch:
        fused, baseline = fused_items(engine, collection, options.fused, Path(scratch) / "items"), None
        if options.untrained:
            baseline = UntrainedBaseline.build(engine, collection, sets, options.seed, Path(scratch) / "untrained")
        for shared in tqdm(pools.shared, desc="search pools", unit="pool"):
            rows = shared.rows
            pool = engine.pool if len(rows) == index.n else index.pool(rows, engine.device)
            norms = cache(partial(quantized_norms, engine.quantizer.codebooks, pool.table))
            for number, kinds in shared.uses.items():
                queries = sets[number]
                sizes = options.beams if any(kind in swept for kind in kinds) else options.beams[-1:]
                labels = RowLabels.read(queries, index, rows, targets)
                untrained = baseline.search(rows, number, queries.qrels) if baseline else RowResults({})
                search = partial(
                    search_all_systems,
                    engine,
                    pool,
                    rows,
                    encoded.rows[number],
                    queries.qrels,
                    sizes,
                    weight,
                    fused,
                    norms,
                )
                found = kept.get(queries, rows, [*sizes, fused is not None], search)
                for kind in kinds:
                    tables[kind][number] = labels, untrained | found[widest]
                    for beams in sizes if kind in swept else ():
                        sweep[kind, beams][number] = labels, untrained | found[beams]
                if pools.kinds[0] in kinds and options.every_phrasing:
                    phrased[number] = measure_phrasings(
                        engine, collection, instructions, queries, pool, rows, widest, weight
                    )
    return SearchedPools(tables, sweep, phrased)


def _facts(engine: Engine, options: EvaluationOptions) -> dict[str, Any]:
    """What the figures were measured with."""
    index, tuned = engine.index, engine.decoder.config.decoder_weight
    return {
        "batch": {"encoded": BATCH, "searched": batch_size(options.beams[-1])},
        "machine": _machine(engine.device),
        "decoder_weight": tuned if options.decoder_weight is None else options.decoder_weight,
        "budget": SearchOptions().budget,
        "decoder_dtype": engine.decoder_dtype,
        "index": {"items": index.n, "ids": engine.pool.table.distinct, "code_sizes": list(index.code_sizes)},
        "bytes_per_item": bytes_per_item(index.code_sizes, index.config.dim),
    }


def _figures(searched: SearchedPools, pools: Pools, options: EvaluationOptions) -> dict[str, Any]:
    """Hit rates by pool and by beam size."""

    def figures(by_row: dict[int, Labeled]) -> dict[str, Any]:
        return summarize([by_row[number] for number in sorted(by_row)], options.seed)

    def by_beams(kind: PoolKind) -> list[dict[str, Any]]:
        return [{"beams": beams} | figures(searched.sweep[kind, beams]) for beams in options.beams]

    headline, *others = swept_kinds(pools, options.split)
    phrased = searched.phrased
    return {
        "pools": [asdict(kind) | figures(searched.tables[kind]) for kind in pools.kinds],
        "phrasings": average_phrasings([phrased[number] for number in sorted(phrased)]) if phrased else None,
        "sweep": by_beams(headline),
        "swept": [asdict(kind) | {"sweep": by_beams(kind)} for kind in others if len(options.beams) > 1],
    }


def swept_kinds(pools: Pools, split: str) -> list[PoolKind]:
    """The pools that are searched with all beam sizes: the headline, then those that the paper is compared with."""
    headline = pools.kinds[0]
    return [headline, *(kind for kind in compared_kinds(pools, split) if kind != headline)]


def compared_kinds(pools: Pools, split: str) -> list[PoolKind]:
    """The pools that the paper's tables are compared with: those of the split alone, as M-BEIR's, if there are any."""
    return [kind for kind in pools.kinds if kind.items == split] or [
        kind for kind in pools.kinds if kind.items == pools.kinds[0].items
    ]


def measure_codes(index: Index, candidates: np.ndarray, seed: int) -> dict[str, Any]:
    """Query-independent code statistics, ready for JSON.

    {"health": of all items, "factors": of the candidates}; candidates: rows of the index.
    """
    if len(candidates) > MAX_FACTOR_ITEMS:
        candidates = np.sort(np.random.default_rng(seed).choice(candidates, MAX_FACTOR_ITEMS, replace=False))
    factors = factor_table(index.codes(candidates), read_factors(index.items(candidates)), seed)
    return {"health": table_health(index.pool().table, index.modalities), "factors": factors}


def bytes_per_item(code_sizes: tuple[int, ...], dim: int) -> dict[str, float]:
    """Bytes per item, and the paper's figures (supplementary, section on storage)."""
    return {
        "ID": sum((size - 1).bit_length() for size in code_sizes) / 8,
        "ID, in whole bytes as stored": packed_bytes(code_sizes),
        f"embedding of {dim}, fp16 as stored": 2 * dim,
        f"embedding of {dim}, fp32": 4 * dim,
        "paper: ID of 2 + 8 · 12 bits": 12.25,
        "paper: embedding of 768, fp32": 3072,
    }


def _machine(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{device.type}, {torch.get_num_threads()} threads"

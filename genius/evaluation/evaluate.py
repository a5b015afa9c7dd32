"""Evaluate a run on the labeled queries of a collection: every row, pool and system.

Queries are encoded once; a pool is built once and searched for all rows that share it.

Shapes: n items of the index.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from genius.collections.mbeir import Collection
from genius.evaluation.all_phrasings import average_phrasings, measure_phrasings
from genius.evaluation.encoded_queries import BATCH, EncodedSplit
from genius.evaluation.fused_items import fused_items
from genius.evaluation.instruction_following import measure_following
from genius.evaluation.pools import PoolKind, Pools, read_pools
from genius.evaluation.queries import Phrasing, read_queries, training_targets
from genius.evaluation.summary import RowLabels, summarize
from genius.evaluation.systems import RowResults, search_all_systems
from genius.evaluation.untrained_baseline import UntrainedBaseline
from genius.index.store import Index
from genius.metrics.code_health import table_health
from genius.metrics.factor_agreement import factor_table, read_factors
from genius.schema import SearchOptions
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
    trained_on: str = ""  # name of another collection that the run was trained on; empty: this one


def evaluate(engine: Engine, collection: Collection, options: EvaluationOptions) -> dict[str, Any]:
    """The report, ready for JSON, without the names of run, collection and command.

    Raises UserError if the collection lacks queries, instructions or items, or is not that of the index.
    """
    engine.encoder.check()
    index, widest = engine.index, options.beams[-1]
    sets = read_queries(
        collection,
        index,
        options.split,
        limit=options.limit,
        seed=options.seed,
        phrasing=options.instruction,
        answerable=options.answerable,
    )
    pools = read_pools(collection, index, [queries.row for queries in sets], options.split)
    headline = pools.kinds[0]
    targets = np.zeros(index.n, dtype=bool) if options.trained_on else training_targets(collection, index)
    swept = [kind for kind in pools.kinds if kind == headline or kind in compared_kinds(pools, options.split)]
    encoded = EncodedSplit.encode(engine, collection, sets).rows
    tables, sweep = defaultdict(dict), defaultdict(dict)  # by pool kind, and beam size: row number -> (labels, results)
    phrased, instructions = {}, collection.instructions()
    with tempfile.TemporaryDirectory() as scratch:
        fused, baseline = fused_items(engine, collection, options.fused, Path(scratch) / "items"), None
        if options.untrained:
            baseline = UntrainedBaseline.build(engine, collection, sets, options.seed, Path(scratch) / "untrained")
        for shared in tqdm(pools.shared, desc="search pools", unit="pool"):
            pool = engine.pool if len(shared.rows) == index.n else index.pool(shared.rows, engine.device)
            for number, kinds in shared.uses.items():
                queries, rows, weight = sets[number], shared.rows, options.decoder_weight
                sizes = options.beams if any(kind in swept for kind in kinds) else options.beams[-1:]
                labels = RowLabels.read(queries, index, rows, targets)
                untrained = baseline.search(rows, number, queries.qrels) if baseline else RowResults({})
                found = search_all_systems(engine, pool, rows, encoded[number], queries.qrels, sizes, weight, fused)
                for kind in kinds:
                    tables[kind][number] = labels, untrained | found[widest]
                for kind in kinds:
                    for beams in sizes if kind in swept else ():
                        sweep[kind, beams][number] = labels, untrained | found[beams]
                if headline in kinds and options.every_phrasing:
                    phrased[number] = measure_phrasings(
                        engine, collection, instructions, queries, pool, rows, widest, weight
                    )

    following = measure_following(
        engine,
        collection,
        sets,
        [row.batches for row in encoded],
        split=options.split,
        limit=options.limit,
        seed=options.seed,
        decoder_weight=options.decoder_weight,
        answerable=options.answerable,
    )

    def figures(by_row: dict[int, tuple[RowLabels, RowResults]]) -> dict[str, Any]:
        return summarize([by_row[number] for number in range(len(sets))], options.seed)

    tuned = engine.decoder.config.decoder_weight
    return asdict(options) | {
        "batch": {"encoded": BATCH, "searched": batch_size(widest)},
        "machine": _machine(engine.device),
        "decoder_weight": tuned if options.decoder_weight is None else options.decoder_weight,
        "budget": SearchOptions().budget,
        "fast_dtype": engine.fast_dtype,
        "index": {"items": index.n, "ids": engine.pool.table.distinct, "code_sizes": list(index.code_sizes)},
        "bytes_per_item": bytes_per_item(index.code_sizes, index.config.dim),
        "pools": [asdict(kind) | figures(tables[kind]) for kind in pools.kinds],
        "unknown_judgements": sum(queries.unknown for queries in sets),
        "phrasings": average_phrasings([phrased[number] for number in sorted(phrased)]) if phrased else None,
        "following": following,
        "codes": measure_codes(index, pools.candidates(), options.seed),
        "sweep": [{"beams": beams} | figures(sweep[headline, beams]) for beams in options.beams],
        "swept": [
            asdict(kind) | {"sweep": [{"beams": beams} | figures(sweep[kind, beams]) for beams in options.beams]}
            for kind in swept
            if kind != headline and len(options.beams) > 1
        ],
    }


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

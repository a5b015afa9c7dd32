"""Evaluate a run on the labelled queries of a collection: every row, pool and system.

Queries are encoded once; a pool is built once and searched for all rows that share it.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from genius.collections.mbeir import Collection
from genius.evaluation.code_report import measure_codes
from genius.evaluation.instruction_following import measure_following
from genius.evaluation.phrasings import ask_in_every_phrasing, average
from genius.evaluation.pools import read_pools
from genius.evaluation.queries import Phrasing, read_queries, training_targets
from genius.evaluation.summary import Labels, summarise
from genius.evaluation.systems import BATCH, Encoded, Outcome, search_every_way
from genius.evaluation.untrained_baseline import Control
from genius.schema import SearchOptions
from genius.search.engine import Engine, batch_size
from genius.trie.ids import packed_bytes


@dataclass(frozen=True)
class EvaluationOptions:
    """What to evaluate."""

    split: str = "test"
    beams: tuple[int, ...] = (50,)  # ascending: the last for the tables, all for the sweep
    limit: int | None = None  # queries a row; None: all
    seed: int = 0  # of instructions, samples, intervals and the untrained encoder
    instruction: Phrasing = "seeded"
    untrained: bool = False  # also dense search by an untrained encoder: encodes every item anew
    decoder_weight: float | None = None  # of the decoder against geometry; None: as the run was tuned
    every_phrasing: bool = False  # also the mean over all phrasings: encodes and searches once for each


def evaluate(engine: Engine, collection: Collection, options: EvaluationOptions) -> dict[str, Any]:
    """The report, ready for JSON, but for the names of run, collection and command.

    Raises UserError if the collection lacks queries, instructions or items, or is not the index's.
    """
    index, widest = engine.index, options.beams[-1]
    sets = read_queries(
        collection, index, options.split, limit=options.limit, seed=options.seed, phrasing=options.instruction
    )
    pools = read_pools(collection, index, [queries.row for queries in sets], options.split)
    headline, targets = pools.kinds[0], training_targets(collection, index)
    engine.encode(next(sets[0].opened(collection, 1)))  # the first one loads what the times should not hold
    encoded = [
        Encoded.by(engine, queries.opened(collection, BATCH))
        for queries in tqdm(sets, desc="encode queries", unit="row")
    ]
    tables, sweep = defaultdict(dict), defaultdict(dict)  # by kind of pool, by beam size: row number -> …
    phrased, instructions = {}, collection.instructions()  # row number -> …
    with tempfile.TemporaryDirectory() as scratch:
        control = Control.build(engine, collection, sets, options.seed, Path(scratch)) if options.untrained else None
        for shared in tqdm(pools.shared, desc="search pools", unit="pool"):
            pool = engine.pool if len(shared.rows) == index.n else index.pool(shared.rows, engine.device)
            for number, kinds in shared.uses.items():
                queries, qrels = encoded[number], sets[number].qrels
                sizes = options.beams if headline in kinds else options.beams[-1:]
                labels = Labels.of(sets[number], index, shared.rows, targets)
                untrained = control.search(shared.rows, number, qrels) if control else Outcome({})
                outcomes = {
                    beams: (labels, untrained | outcome)
                    for beams, outcome in search_every_way(
                        engine, pool, shared.rows, queries, qrels, sizes, options.decoder_weight
                    ).items()
                }
                for kind in kinds:
                    tables[kind][number] = outcomes[widest]
                if headline in kinds:
                    for beams in options.beams:
                        sweep[beams][number] = outcomes[beams]
                if headline in kinds and options.every_phrasing:
                    phrased[number] = ask_in_every_phrasing(
                        engine,
                        collection,
                        instructions,
                        sets[number],
                        pool,
                        shared.rows,
                        widest,
                        options.decoder_weight,
                    )

    following = measure_following(
        engine,
        collection,
        sets,
        [queries.batches for queries in encoded],
        split=options.split,
        limit=options.limit,
        seed=options.seed,
        decoder_weight=options.decoder_weight,
    )

    def figures(outcomes: dict[int, tuple[Labels, Outcome]]) -> dict[str, Any]:
        return summarise([outcomes[number] for number in range(len(sets))], options.seed)

    tuned = engine.decoder.config.decoder_weight
    return asdict(options) | {
        "batch": {"encoded": BATCH, "searched": batch_size(widest)},
        "machine": _machine(engine.device),
        "decoder_weight": tuned if options.decoder_weight is None else options.decoder_weight,
        "budget": SearchOptions().budget,
        "fast_dtype": engine.fast_dtype,
        "index": {"items": index.n, "ids": engine.pool.table.distinct, "code_sizes": list(index.code_sizes)},
        "bytes_per_item": _bytes(index.code_sizes, index.config.dim),
        "pools": [asdict(kind) | figures(tables[kind]) for kind in pools.kinds],
        "unknown_judgements": sum(queries.unknown for queries in sets),
        "phrasings": average([phrased[number] for number in sorted(phrased)]) if phrased else None,
        "following": following,
        "codes": measure_codes(index, pools.candidates(), options.seed),
        "sweep": [{"beams": beams} | figures(sweep[beams]) for beams in options.beams],
    }


def _bytes(code_sizes: tuple[int, ...], dim: int) -> dict[str, float]:
    """What one item costs, beside the paper's figures (supplementary, section on storage)."""
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

"""Evaluate a run on the labeled queries of a collection: every row, pool and system.

    options = EvaluationOptions(rows=("0:mscoco", "3:mscoco"), systems=("beam", "beam + re-rank"),
    details=False)
    evaluation = evaluate(Engine.load(Path("my-run")), Collection(Path("my-collection")), options)
    evaluation.pool("local").row(0, "mscoco").figure("beam", "hit@10")
    report_of(evaluation, run, collection, command,
    version).save(Path("my-run/reports/retrieval.json"))

Queries are encoded once; a pool is built once and searched for all rows that share it.

Shapes: n items of the index.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from tqdm import tqdm

from genius.collections.mbeir import Collection
from genius.evaluation.figures import PoolFigures, RowFigures, pool_figures, row_figures
from genius.evaluation.pools import PoolKind, Pools, read_pools
from genius.evaluation.queries import (
    BATCH,
    EncodedSplit,
    QuerySet,
    encode,
    read_queries,
    training_targets,
)
from genius.evaluation.systems import SearchedPool
from genius.index.store import Index
from genius.metrics.code_health import table_health
from genius.metrics.factor_agreement import factor_table, read_factors
from genius.metrics.hit_rate import headline_cut
from genius.search.engine import Engine, batch_size

PHRASED_SYSTEMS = ("dense", "beam", "beam + re-rank")
MAX_FACTOR_ITEMS = 20_000  # items that factors are read from: a sample fixed by the seed


@dataclass(frozen=True)
class EvaluationOptions:
    """What to evaluate."""

    split: str = "test"
    beams: tuple[int, ...] = (50,)  # ascending: the last for the tables, all for the sweep
    limit: int | None = None  # queries per row; None: all
    seed: int = 0  # of instructions, samples and intervals
    systems: tuple[str, ...] = ()  # see SearchedPool; empty: all
    details: bool = True  # also code health and factors
    # also the mean over all phrasings: encodes and searches once per phrasing
    every_phrasing: bool = False
    answerable: bool = False  # only queries with a positive in the index
    rows: tuple[str, ...] = ()  # only these benchmark rows, see select_rows; empty: all
    items: str = ""  # only pools of these items, "all" or the split; empty: both


@dataclass(frozen=True)
class Evaluation:
    """All figures, unrounded."""

    options: EvaluationOptions
    settings: str  # what was asked, of what, on which machine, in sentences
    code_sizes: tuple[int, ...]
    dim: int  # of an embedding
    searched: list[PoolFigures]  # each kind of pool with each beam size
    # of the codes, see `table_health`; empty: not measured
    health: dict[str, Any] = field(default_factory=dict)
    factors: list[dict[str, Any]] = field(default_factory=list)  # see `factor_table`

    @property
    def pools(self) -> list[PoolFigures]:
        """All kinds with the widest beam; the first is the headline."""
        return [pool for pool in self.searched if pool.beams == self.options.beams[-1]]

    def sweep(self, kind: PoolKind) -> list[PoolFigures]:
        """One kind with each of its beam sizes."""
        return [pool for pool in self.searched if pool.kind == kind]

    def pool(self, scope: str = "global", items: str = "", beams: int | None = None) -> PoolFigures:
        """items: "": those of the first pool of this scope. beams: None: the widest. Raises
        KeyError if none fits.
        """
        for pool in self.searched:
            wanted = scope, items or pool.kind.items, beams or self.options.beams[-1]
            if (*pool.kind, pool.beams) == wanted:
                return pool
        raise KeyError(
            f"no {scope} pool of {items or 'any'} items was searched with "
            f"{beams or 'any number of'} beams"
        )


def evaluate(engine: Engine, collection: Collection, options: EvaluationOptions) -> Evaluation:
    """Raises UserError if the collection lacks queries, instructions or items, or is not that of
    the index; nothing has been encoded then.
    """
    engine.encoder.check()
    sets = read_queries(
        collection,
        engine.index,
        options.split,
        limit=options.limit,
        seed=options.seed,
        answerable=options.answerable,
        rows=options.rows,
    )
    pools = read_pools(
        collection, engine.index, [queries.row for queries in sets], options.split, options.items
    )
    searched = search_pools(
        engine, collection, EncodedSplit.encode(engine, collection, sets), pools, options
    )
    health: dict[str, Any] = {}
    factors: list[dict[str, Any]] = []
    if options.details:
        # the split's candidates
        narrowest = [rows for (kind, _), rows in pools.items() if kind.scope == "global"][-1]
        health, factors = measure_codes(engine.index, narrowest, options.seed)
    index = engine.index
    settings = describe(engine, options, sets)
    return Evaluation(
        options, settings, tuple(index.code_sizes), index.config.dim, searched, health, factors
    )


def search_pools(
    engine: Engine,
    collection: Collection,
    encoded: EncodedSplit,
    pools: Pools,
    options: EvaluationOptions,
) -> list[PoolFigures]:
    """Search every pool, of rows (m,) of the index, for every row of the benchmark, each distinct
    pool once.
    """
    index = engine.index
    headline = next(kind for kind, _ in pools)
    targets = training_targets(collection, index)
    uses = defaultdict(list)  # the rows of a pool -> where it is searched
    for use, rows in pools.items():
        uses[rows.tobytes()].append(use)
    measured: dict[tuple[PoolKind, int, int], RowFigures] = {}
    for same in tqdm(uses.values(), desc="search pools", unit="pool"):
        rows = pools[same[0]]
        pool = engine.pool if len(rows) == index.n else index.pool(rows, engine.device)
        searched = SearchedPool(engine, pool, rows, options.systems)
        for number in dict.fromkeys(number for _, number in same):
            kinds = [kind for kind, of in same if of == number]
            queries, asked = encoded.sets[number], encoded.rows[number]
            of_sizes = searched.search(asked, queries.qrels, options.beams)
            for beams, found in zip(options.beams, of_sizes, strict=True):
                rng = np.random.default_rng((options.seed, number))
                figures = row_figures(found, queries, rows, targets, rng)
                if options.every_phrasing and headline in kinds and beams == options.beams[-1]:
                    phrased = measure_phrasings(searched, collection, queries, beams)
                    figures = replace(figures, **phrased)
                measured |= {(kind, beams, number): figures for kind in kinds}
    numbers = range(len(encoded.sets))
    return [
        pool_figures(kind, beams, [measured[kind, beams, number] for number in numbers])
        for kind in dict.fromkeys(kind for kind, _ in pools)
        for beams in options.beams
    ]


def measure_phrasings(
    pool: SearchedPool, collection: Collection, queries: QuerySet, beams: int
) -> dict[str, Any]:
    """What `RowFigures` has of searching for every query of a row with every phrasing of the row's
    instruction.

    A query with fewer phrasings than others repeats its first ones.
    """
    chosen = replace(pool, systems=PHRASED_SYSTEMS)
    cut = headline_cut(queries.row.dataset)
    count = max(map(len, queries.phrasings))
    rates = []
    for number in range(count):
        rephrased = queries.rephrased(number)
        encoded = encode(pool.engine, rephrased.opened(collection, BATCH))
        (found,) = chosen.search(encoded, rephrased.qrels, [beams])
        rates.append((found["rank"] <= cut).groupby(found["system"], sort=False).mean())
    by_phrasing = {
        system: (float(each.mean()), float(each.min()), float(each.max()))
        for system, each in pd.DataFrame(rates).items()
    }
    return {"phrasings": count, "by_phrasing": by_phrasing}


def describe(engine: Engine, options: EvaluationOptions, sets: Sequence[QuerySet]) -> str:
    """What is asked, of what, and all that changes arithmetic."""
    index = engine.index
    beams = options.beams[-1]
    queries = sum(map(len, sets))
    limit = f", at most {options.limit} per row" if options.limit else ""
    answerable = ", those with a positive in the index" if options.answerable else ""
    machine = f"{engine.device.type}, {engine.batcher.call(torch.get_num_threads)} threads"
    if engine.device.type == "cuda":
        machine = torch.cuda.get_device_name(engine.device)
    text = (
        f"{queries:,} {options.split} queries in {len(sets)} rows{limit}{answerable}; instructions "
        f"chosen by seed {options.seed}. {index.n:,} items with {engine.pool.table.distinct:,} "
        f"distinct IDs; codes per level: {', '.join(map(str, index.code_sizes))}. {beams} beams, "
        f"decoder weight {engine.decoder.config.decoder_weight:g} against geometry. {machine}; "
        f"batches of {BATCH} queries to encode and of {batch_size(beams)} to search."
    )
    unknown = sum(queries.unknown for queries in sets)
    return text + f" {unknown:,} judgments name items that are not in the index." * bool(unknown)


def measure_codes(
    index: Index, candidates: np.ndarray, seed: int
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Health of all codes, and agreement with the factors of the candidates, which are rows (m,) of
    the index.
    """
    if len(candidates) > MAX_FACTOR_ITEMS:
        candidates = np.sort(
            np.random.default_rng(seed).choice(candidates, MAX_FACTOR_ITEMS, replace=False)
        )
    factors = factor_table(index.codes(candidates), read_factors(index.items(candidates)), seed)
    return table_health(index.pool().table, index.modalities), factors

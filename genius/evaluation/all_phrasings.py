"""Does the wording of an instruction matter? Every query with every phrasing of its row's instruction."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from genius.collections.instructions import Instructions
from genius.collections.layout import INSTRUCTIONS
from genius.collections.mbeir import Collection
from genius.evaluation.encoded_queries import BATCH, EncodedRow
from genius.evaluation.queries import QuerySet, phrasings_of
from genius.evaluation.systems import ranks_by_system
from genius.metrics.hit_rate import headline_cut, hit_rate, mean_known
from genius.schema import Modality
from genius.search.engine import Engine
from genius.trie.pool import Pool

SYSTEMS = ("dense", "beam", "beam + re-rank")


def measure_phrasings(
    engine: Engine,
    collection: Collection,
    phrasings: Instructions,
    queries: QuerySet,
    pool: Pool,
    rows: np.ndarray,
    beams: int,
    decoder_weight: float | None,
) -> dict[str, Any]:
    """The figures of one row, ready for JSON: the mean hit rate over phrasings, the lowest and the highest.

    rows: index rows of the pool. A query with fewer phrasings than others repeats its first ones.
    """
    count = count_phrasings(queries, phrasings)
    cut, rates = headline_cut(queries.row.dataset), defaultdict(list)
    for number in range(count):
        rephrased = queries.rephrased(phrasings, number)
        encoded = EncodedRow.encode(engine, rephrased.opened(collection, BATCH))
        found = ranks_by_system(SYSTEMS, engine, pool, rows, encoded, rephrased.qrels, beams, decoder_weight)
        for system, ranks in found.items():
            rates[system].append(hit_rate(ranks, cut))
    return {
        "task": queries.row.task,
        "dataset": queries.row.dataset,
        "cut": cut,
        "phrasings": count,
        "systems": {
            system: {"mean": float(np.mean(each)), "least": min(each), "most": max(each)}
            for system, each in rates.items()
        },
    }


def count_phrasings(queries: QuerySet, phrasings: Instructions) -> int:
    """The most phrasings that a query of the row has. Raises UserError for a query without one."""
    return max(
        len(phrasings_of(query, Modality(target), queries.row, phrasings, INSTRUCTIONS.name))
        for query, target in zip(queries.queries, queries.targets.tolist(), strict=True)
    )


def average_phrasings(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """{"rows": …, "average": system -> mean over rows of their means}."""
    return {
        "rows": rows,
        "average": {system: mean_known([row["systems"][system]["mean"] for row in rows]) for system in SYSTEMS},
    }

"""Does the first code, which determines the modality, follow the instruction?

Measured with the instructions of the tables, with phrasings that training never used (held out), and with
instructions for another target modality (swapped).

Shapes: q queries of a row, n items of the index.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from tqdm import tqdm

from genius.collections.instructions import Instructions
from genius.collections.mbeir import Collection
from genius.evaluation.encoded_queries import BATCH
from genius.evaluation.queries import QuerySet, right_first_codes, stable_hash
from genius.index.store import Index
from genius.metrics.hit_rate import Qrels, mean_known
from genius.schema import Modality, SearchOptions
from genius.search.engine import Engine
from genius.search.retrieval import EncodedQueries
from genius.trie.code_table import CodeTable

CONDITIONS = ("asked", "held_out", "swapped")


def swap_instructions(queries: QuerySet, phrasings: Instructions, seed: int) -> QuerySet:
    """The queries of a row with an instruction for another target modality; queries without one are left out.

    The instruction is one for queries of the same modality, chosen by seed and query id. Positives are unknown, so
    there are none.
    """
    chosen, instructions, targets = [], [], []
    for query, target in zip(queries.queries, queries.targets, strict=True):
        others = sorted(key for key in phrasings if key[1] == query.modality and key[2] != target)
        if others:
            key = others[stable_hash(seed, "swap", query.id) % len(others)]
            chosen.append(query)
            instructions.append(phrasings[key][stable_hash(seed, "instruction", query.id) % len(phrasings[key])])
            targets.append(key[2])
    return replace(
        queries,
        queries=chosen,
        instructions=instructions,
        qrels=Qrels.from_lists([[]] * len(chosen)),
        targets=np.array(targets, dtype=np.int64),
    )


def measure_following(
    engine: Engine,
    collection: Collection,
    sets: list[QuerySet],
    held_out: Sequence[QuerySet | None],
    encoded: list[Iterable[EncodedQueries]],
    *,
    seed: int,
    decoder_weight: float | None,
) -> dict[str, Any]:
    """{"rows": [...], "average": {...}}: shares of right first codes by condition; None where there are no queries.

    sets: the queries of the tables. held_out: the same with held-out phrasings; None where there are none. encoded: the
    batches of each set. seed: of swapped instructions. decoder_weight: that of the searches.
    """
    index, phrasings = engine.index, collection.instructions()
    right_by_modality = np.eye(index.code_sizes[0], dtype=bool)[most_frequent_first_codes(index)]  # (3, codes)

    def share(right: np.ndarray, batches: Iterable[EncodedQueries]) -> float | None:
        """right: (q, codes) bool."""
        if not len(right):
            return None
        codes = first_codes(engine, batches, decoder_weight)
        return float(np.take_along_axis(right, codes[:, None], axis=1).mean())

    def encode(queries: QuerySet) -> Iterable[EncodedQueries]:
        return map(engine.encode, queries.opened(collection, BATCH))

    rows = []
    for queries, batches, rephrased in zip(tqdm(sets, desc="first codes", unit="row"), encoded, held_out, strict=True):
        other, right = swap_instructions(queries, phrasings, seed), right_first_codes(queries.qrels, index)
        rows.append(
            {
                "task": queries.row.task,
                "dataset": queries.row.dataset,
                "asked": share(right, batches),
                "held_out": None if rephrased is None else share(right, encode(rephrased)),
                "swapped": share(right_by_modality[other.targets], encode(other)),
            }
        )
    return {
        "rows": rows,
        "average": {condition: mean_known([row[condition] for row in rows]) for condition in CONDITIONS},
    }


def first_codes(engine: Engine, batches: Iterable[EncodedQueries], decoder_weight: float | None) -> np.ndarray:
    """(q,) the most probable first code of each query."""
    options = SearchOptions(beams=1, k=1, mode="exact", rerank=False, decoder_weight=decoder_weight)
    return np.concatenate(
        [engine.retrieve(batch, options).beams.first_log_probs.argmax(-1).cpu().numpy() for batch in batches]
    )


def most_frequent_first_codes(index: Index) -> np.ndarray:
    """(3,) the most frequent first code of each modality's items: the modality itself, unless first codes emerged."""
    table = index.pool().table
    codes, modalities = CodeTable(table).match(()).codes(0), index.modalities[table.rows]
    counts = np.stack(
        [np.bincount(codes[modalities == modality], minlength=index.code_sizes[0]) for modality in Modality]
    )
    return counts.argmax(1)

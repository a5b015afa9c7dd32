"""The labelled queries of a split, a set for each (task, dataset) row, with their answers as index rows.

Shapes: q queries of a row, n items of the index.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Literal, get_args

import numpy as np

from genius.collections.images import open_image
from genius.collections.instructions import Instructions
from genius.collections.keys import id_key, key_dataset
from genius.collections.layout import HELD_OUT_INSTRUCTIONS, INSTRUCTIONS, TASKS
from genius.collections.mbeir import BenchmarkRow, Collection
from genius.encoding.features import batched
from genius.errors import UserError
from genius.index.store import Index
from genius.metrics.hit_rate import Qrels
from genius.schema import LabelledQuery, Modality, Query

Phrasing = Literal["seeded", "first", "held-out"]
PHRASINGS: tuple[Phrasing, ...] = get_args(Phrasing)


@dataclass(frozen=True)
class QuerySet:
    """The test queries of one row."""

    row: BenchmarkRow
    queries: list[LabelledQuery]  # q
    instructions: list[str]  # q
    qrels: Qrels  # over index rows
    targets: np.ndarray  # (q,) modality that the instruction wants
    unknown: int = 0  # judgements that name an item which the index does not hold

    def __len__(self) -> int:
        return len(self.queries)

    def opened(self, collection: Collection, size: int) -> Iterator[list[Query]]:
        """Batches of at most `size` queries as a person would ask them, images opened."""
        for batch in batched(zip(self.queries, self.instructions, strict=True), size):
            yield [
                Query(
                    text=query.text,
                    instruction=instruction,
                    image=open_image(collection.image_path(query.image)) if query.image else None,
                )
                for query, instruction in batch
            ]

    def rephrased(self, phrasings: Instructions, number: int) -> QuerySet:
        """The same queries under this phrasing of their instructions; one with fewer begins again at its first."""
        choices = (
            phrasings[self.row.dataset_id, query.modality, Modality(target)]
            for query, target in zip(self.queries, self.targets.tolist(), strict=True)
        )
        return replace(self, instructions=[texts[number % len(texts)] for texts in choices])


def read_queries(
    collection: Collection, index: Index, split: str, *, limit: int | None, seed: int, phrasing: Phrasing
) -> list[QuerySet]:
    """One QuerySet for each row that has queries in this split, by task and dataset.

    limit: at most so many queries a row, a sample fixed by the seed; None: all.
    phrasing: which instruction of (dataset, query modality, target modality) a query gets: "first", or
    "seeded", a choice by seed and query id that depends on nothing else; "held-out" chooses likewise among
    phrasings that training never reads. As in M-BEIR the target modality is that of the first positive of
    the query's own dataset; that of the task where the index holds none.
    Judgements may name items that the index does not hold: they are counted, and a query of which no positive is
    there stays, as a miss.
    Raises UserError for a query without judgements, a missing instruction, a split without queries, and where the
    index holds no positive of any query.
    """
    phrasings = collection.held_out_instructions() if phrasing == "held-out" else collection.instructions()
    sets = []
    for row in sorted(collection.rows(), key=lambda row: (row.task, row.dataset_id)):
        queries = (
            list(collection.queries(split, row))
            if limit is None
            else heapq.nsmallest(
                limit, collection.queries(split, row), key=lambda query: draw(seed, "sample", query.id)
            )
        )
        if queries:
            positives, unknown = _positives(queries, row, index, split)
            targets = [int(index.modalities[rows[0]]) if rows else TASKS[row.task][1] for rows in positives]
            instructions = [
                _instruction(query, Modality(target), row, phrasings, seed, phrasing)
                for query, target in zip(queries, targets, strict=True)
            ]
            sets.append(QuerySet(row, queries, instructions, Qrels.of(positives), np.array(targets), unknown))
    if not sets:
        raise UserError(f"{collection.root} has no {split} queries; evaluate another split or add queries")
    if not any(len(queries.qrels.rows) for queries in sets):
        raise UserError(
            f"no {split} query of {collection.root} is answered by an item that the index holds; "
            "name the collection that the index was built from: --collection DIR"
        )
    return sets


def training_targets(collection: Collection, index: Index) -> np.ndarray:
    """(n,) bool: the item is a positive of some training query. Positives outside the index are left out."""
    targets = np.zeros(index.n, dtype=bool)
    for batch in batched(collection.queries("train"), 10_000):
        rows = index.rows_of(chain.from_iterable(query.positives for query in batch))
        targets[rows[rows >= 0]] = True
    return targets


def right_first_codes(qrels: Qrels, index: Index) -> np.ndarray:
    """(q, codes) bool: the ID of a positive starts with this code."""
    right = np.zeros((len(qrels), index.code_sizes[0]), dtype=bool)
    right[qrels.owners, index.codes(qrels.rows)[:, 0]] = True
    return right


def draw(seed: int, purpose: str, name: str) -> int:
    """A number that looks random and depends only on what it is given (64 bits)."""
    digest = hashlib.blake2b(f"{seed}/{purpose}/{name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def _positives(
    queries: list[LabelledQuery], row: BenchmarkRow, index: Index, split: str
) -> tuple[list[list[int]], int]:
    """The index rows that answer each query, those of its own dataset first, and how many answers have no row."""
    ordered = [sorted(query.positives, key=lambda did: key_dataset(id_key(did)) != row.dataset_id) for query in queries]
    rows = index.rows_of(chain.from_iterable(ordered))
    places, positives = iter(rows.tolist()), []
    for query, ids in zip(queries, ordered, strict=True):
        if not ids:
            raise UserError(f"query {query.id} of split {split} has no positive; add one to its qrels")
        positives.append([place for place in islice(places, len(ids)) if place >= 0])
    return positives, int((rows < 0).sum())


def _instruction(
    query: LabelledQuery, target: Modality, row: BenchmarkRow, phrasings: Instructions, seed: int, phrasing: Phrasing
) -> str:
    choices = phrasings.get((row.dataset_id, query.modality, target))
    if not choices:
        file = HELD_OUT_INSTRUCTIONS if phrasing == "held-out" else INSTRUCTIONS
        raise UserError(
            f"{row.dataset} has no instruction from {query.modality.mbeir} to {target.mbeir} ({file.name}); add a line"
        )
    return choices[0 if phrasing == "first" else draw(seed, "instruction", query.id) % len(choices)]

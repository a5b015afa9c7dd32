"""The labelled queries of a split, a set for each (task, dataset) row, with their answers as index rows.

Shapes: q queries of a row, n items of the index.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Literal, get_args

import numpy as np

from genius.collections.images import open_image
from genius.collections.keys import id_key, key_dataset
from genius.collections.layout import INSTRUCTIONS
from genius.collections.mbeir import HELD_OUT, Collection, Row
from genius.errors import UserError
from genius.evaluation.metrics import Qrels
from genius.index.features import batched
from genius.index.store import Index
from genius.schema import LabelledQuery, Modality, Query

Phrasing = Literal["seeded", "first", "held-out"]
PHRASINGS: tuple[Phrasing, ...] = get_args(Phrasing)


@dataclass(frozen=True)
class QuerySet:
    """The test queries of one row."""

    row: Row
    queries: list[LabelledQuery]    # q
    instructions: list[str]         # q
    qrels: Qrels                    # over index rows

    def __len__(self) -> int:
        return len(self.queries)

    def opened(self, collection: Collection, size: int) -> Iterator[list[Query]]:
        """Batches of at most `size` queries as a person would ask them, images opened."""
        for batch in batched(zip(self.queries, self.instructions, strict=True), size):
            yield [Query(text=query.text, instruction=instruction,
                         image=open_image(collection.image_path(query.image)) if query.image else None)
                   for query, instruction in batch]


def read_queries(collection: Collection, index: Index, split: str, *, limit: int | None, seed: int,
                 phrasing: Phrasing) -> list[QuerySet]:
    """One QuerySet for each row that has queries in this split, by task and dataset.

    limit: at most so many queries a row, a sample fixed by the seed; None: all.
    phrasing: which instruction of (dataset, query modality, target modality) a query gets: "first", or
    "seeded", a choice by seed and query id that depends on nothing else; "held-out" chooses likewise among
    phrasings that training never reads. As in M-BEIR the target modality is that of the first positive of
    the query's own dataset.
    Raises UserError for an item that the index does not hold, a query without positives, a missing
    instruction, and a split without queries.
    """
    phrasings = collection.held_out_instructions() if phrasing == "held-out" else collection.instructions()
    sets = []
    for row in sorted(collection.rows(), key=lambda row: (row.task, row.dataset_id)):
        queries = list(collection.queries(split, row)) if limit is None else heapq.nsmallest(
            limit, collection.queries(split, row), key=lambda query: draw(seed, "sample", query.id))
        if queries:
            positives = _positives(queries, row, index, split)
            instructions = [_instruction(query, rows, row, index, phrasings, seed, phrasing)
                            for query, rows in zip(queries, positives, strict=True)]
            sets.append(QuerySet(row, queries, instructions, Qrels.of(positives)))
    if not sets:
        raise UserError(f"{collection.root} has no {split} queries; evaluate another split or add queries")
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


def _positives(queries: list[LabelledQuery], row: Row, index: Index, split: str) -> list[list[int]]:
    """The index rows that answer each query, those of its own dataset first."""
    ordered = [sorted(query.positives, key=lambda did: key_dataset(id_key(did)) != row.dataset_id)
               for query in queries]
    rows = iter(index.rows_of(chain.from_iterable(ordered)).tolist())
    positives = []
    for query, ids in zip(queries, ordered, strict=True):
        found = [next(rows) for _ in ids]
        if not found:
            raise UserError(f"query {query.id} of split {split} has no positive; add one to its qrels")
        if -1 in found:
            raise UserError(f"query {query.id} of split {split} names {ids[found.index(-1)]}, which the "
                            "index does not hold; check the collection, or build the index from it again")
        positives.append(found)
    return positives


def _instruction(query: LabelledQuery, positives: list[int], row: Row, index: Index,
                 phrasings: dict[tuple[int, Modality, Modality], list[str]], seed: int,
                 phrasing: Phrasing) -> str:
    target = Modality(int(index.modalities[positives[0]]))
    choices = phrasings.get((row.dataset_id, query.modality, target))
    if not choices:
        file = HELD_OUT if phrasing == "held-out" else INSTRUCTIONS
        raise UserError(f"{row.dataset} has no instruction from {query.modality.mbeir} to {target.mbeir} "
                        f"({file.name}); add a line")
    return choices[0 if phrasing == "first" else draw(seed, "instruction", query.id) % len(choices)]

"""Queries as the engine encodes them: all systems start from these.

Shapes: q queries, d embedding dim.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from genius.collections.mbeir import Collection
from genius.evaluation.queries import QuerySet, read_queries
from genius.metrics.hit_rate import headline_cut
from genius.schema import Query
from genius.search.engine import Engine
from genius.search.retrieval import EncodedQueries
from genius.search.stopwatch import Milliseconds

BATCH = 64  # queries encoded together


@dataclass(frozen=True)
class EncodedRow:
    """The queries of one (task, dataset) row."""

    batches: list[EncodedQueries]

    @classmethod
    def encode(cls, engine: Engine, queries: Iterable[list[Query]]) -> EncodedRow:
        """queries: batches, opened one at a time, and timed as if no picture had been encoded before. Searches need no
        features, so they are not kept.
        """
        batches = []
        for batch in queries:
            engine.forget_images()
            batches.append(replace(engine.encode(batch), features=None))
        return cls(batches)

    def split(self, size: int) -> Iterator[EncodedQueries]:
        """In batches of at most `size` queries."""
        for batch in self.batches:
            yield from map(batch.select, torch.arange(len(batch.z)).split(size))

    @cached_property
    def embeddings(self) -> np.ndarray:
        """(q, d) fp32, normalized."""
        return torch.cat([batch.embeddings for batch in self.batches]).cpu().numpy()

    @cached_property
    def z(self) -> Tensor:
        """(q, d) fused features."""
        return torch.cat([batch.z for batch in self.batches])

    @cached_property
    def milliseconds(self) -> Milliseconds:
        """Per query, of encoding and fusing."""
        return mean_milliseconds([(batch.milliseconds, len(batch.z)) for batch in self.batches])


@dataclass(frozen=True)
class EncodedSplit:
    """The queries of all rows of a split, in the order of the rows."""

    sets: list[QuerySet]
    rows: list[EncodedRow]

    @classmethod
    def read(cls, engine: Engine, collection: Collection, split: str, limit: int | None, seed: int) -> EncodedSplit:
        """Read and encode them. limit: queries per row. Raises UserError as `read_queries` does."""
        sets = read_queries(collection, engine.index, split, limit=limit, seed=seed, phrasing="seeded")
        return cls.encode(engine, collection, sets)

    @classmethod
    def encode(cls, engine: Engine, collection: Collection, sets: list[QuerySet]) -> EncodedSplit:
        engine.encode(next(sets[0].opened(collection, 1)))  # warm-up: not timed
        rows = [
            EncodedRow.encode(engine, queries.opened(collection, BATCH))
            for queries in tqdm(sets, desc="encode queries", unit="row")
        ]
        return cls(sets, rows)

    @cached_property
    def encoded(self) -> EncodedQueries:
        """All q queries in one batch."""
        batches = [batch for row in self.rows for batch in row.batches]
        return EncodedQueries(
            None, torch.cat([batch.embeddings for batch in batches]), torch.cat([batch.z for batch in batches])
        )

    @cached_property
    def positives(self) -> list[np.ndarray]:
        """Index rows of the positives of each query."""
        return [rows for queries in self.sets for rows in np.split(queries.qrels.rows, queries.qrels.offsets[1:-1])]

    @cached_property
    def cuts(self) -> np.ndarray:
        """(q,) the k at which each query's hit rate is taken."""
        cuts = [headline_cut(queries.row.dataset) for queries in self.sets]
        return np.repeat(cuts, [len(queries) for queries in self.sets])


def mean_milliseconds(batches: list[tuple[Milliseconds, int]]) -> Milliseconds:
    """Mean over queries of what each stage took, from batches with their sizes."""
    queries = sum(size for _, size in batches)
    return {stage: sum(spent[stage] * size for spent, size in batches) / queries for stage in batches[0][0]}

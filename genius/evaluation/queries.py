"""The labeled queries of a split, one set per (task, dataset) row, with their positives as index
rows; and encoded.

Shapes: q queries of a row, n items of the index.
"""

import hashlib
import heapq
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from typing import NamedTuple, Self

import numpy as np
import torch
from tqdm import tqdm

from genius.collections.images import open_image
from genius.collections.keys import id_key, key_dataset
from genius.collections.layout import HELD_OUT_INSTRUCTIONS, INSTRUCTIONS, TASKS
from genius.collections.mbeir import BenchmarkRow, Collection
from genius.collections.records import Instructions
from genius.encoding.features import batched
from genius.errors import UserError
from genius.index.store import Index
from genius.metrics.hit_rate import Qrels, headline_cut
from genius.schema import LabeledQuery, Modality, Query
from genius.search.engine import Engine
from genius.search.retrieval import EncodedQueries

LOOKED_UP = 10_000  # queries whose positives are looked up together
BATCH = 64  # queries encoded together


@dataclass(frozen=True)
class QuerySet:
    """The test queries of one row."""

    row: BenchmarkRow
    queries: list[LabeledQuery]  # q
    instructions: list[str]  # q
    qrels: Qrels  # over index rows
    targets: np.ndarray  # (q,) target modality of the instruction
    unknown: int = 0  # judgments that name an item outside the index
    phrasings: Sequence[list[str]] = ()  # (q,) that each instruction was chosen from

    def __len__(self) -> int:
        return len(self.queries)

    def opened(self, collection: Collection, size: int) -> Iterator[list[Query]]:
        """Batches of at most `size` queries, ready to encode, the images of each opened on
        threads.
        """

        def open_query(query: LabeledQuery, instruction: str) -> Query:
            image = open_image(collection.image_path(query.image)) if query.image else None
            return Query(text=query.text, instruction=instruction, image=image)

        with ThreadPoolExecutor() as threads:
            for batch in batched(zip(self.queries, self.instructions, strict=True), size):
                yield list(threads.map(open_query, *zip(*batch, strict=True)))

    def rephrased(self, number: int) -> Self:
        """The same queries with this phrasing of their instructions, counted modulo the number of
        phrasings.
        """
        return replace(self, instructions=[texts[number % len(texts)] for texts in self.phrasings])


def read_queries(
    collection: Collection,
    index: Index,
    split: str,
    *,
    limit: int | None,
    seed: int,
    held_out: bool = False,
    answerable: bool = False,
    rows: Sequence[str] = (),
) -> list[QuerySet]:
    """One QuerySet per row that has queries in this split, ordered by task and dataset.

    limit: queries per row, a sample fixed by the seed; None: all. held_out: instructions are in
    phrasings that training never uses. Of those of (dataset, query modality, target modality) a
    query gets one by seed and query id alone. answerable: leave out queries without a positive in
    the index, for an index of a pool that has no answers to others. rows: names of the rows that
    are read, see `select_rows`; empty: all. As in M-BEIR the target modality is that of the first
    positive from the query's own dataset, or that of the task if no positive is in the index.
    Judgments of items outside the index are counted; a query without a positive in the index
    otherwise stays, as a miss. Raises UserError for an unknown row, a query without judgments, a
    missing instruction, a split without queries, and if no positive of any query is in the index.
    """
    phrasings = collection.instructions()
    file = INSTRUCTIONS.name
    if held_out:
        phrasings = collection.held_out_instructions()
        file = HELD_OUT_INSTRUCTIONS.name
    sets = []
    for row in sorted(
        select_rows(collection.rows(), rows), key=lambda row: (row.task, row.dataset_id)
    ):
        of_row = collection.queries(split, row)
        if answerable:
            of_row = with_positives(of_row, index)
        if limit is None:
            queries = list(of_row)
        else:
            queries = heapq.nsmallest(
                limit, of_row, key=lambda query: seeded_hash(seed, "sample", query.id)
            )
        if queries:
            positives, unknown = _positives(queries, row, index, split)
            targets = [
                int(index.modalities[rows[0]]) if rows else TASKS[row.task][1] for rows in positives
            ]
            choices = [
                phrasings_of(query, Modality(target), row, phrasings, file)
                for query, target in zip(queries, targets, strict=True)
            ]
            instructions = [
                texts[seeded_hash(seed, "instruction", query.id) % len(texts)]
                for query, texts in zip(queries, choices, strict=True)
            ]
            qrels = Qrels.from_lists(positives)
            sets.append(
                QuerySet(row, queries, instructions, qrels, np.array(targets), unknown, choices)
            )
    if not sets:
        raise UserError(
            f"{collection.root} has no {split} queries; evaluate another split or add queries"
        )
    if not any(len(queries.qrels.rows) for queries in sets):
        raise UserError(
            f"no {split} query of {collection.root} has a positive in the index; name the "
            "collection that the index was built from: --collection DIR"
        )
    return sets


def select_rows(rows: Sequence[BenchmarkRow], names: Sequence[str]) -> list[BenchmarkRow]:
    """The rows with these names: TASK:DATASET, such as 0:mscoco, or DATASET for all of its tasks;
    without names, all.

    Raises UserError for a name that no row has.
    """
    names_of = {row: {row.dataset, f"{row.task}:{row.dataset}"} for row in rows}
    if unknown := set(names) - set().union(*names_of.values()):
        choices = ", ".join(sorted(f"{row.task}:{row.dataset}" for row in rows))
        raise UserError(
            f"no query is of the row {min(unknown)!r}; choose from {choices}, or name a "
            "dataset for all of its tasks"
        )
    return [row for row in rows if not names or names_of[row] & set(names)]


def with_positives(queries: Iterable[LabeledQuery], index: Index) -> Iterator[LabeledQuery]:
    """The queries that have a positive in the index."""
    for batch in batched(queries, LOOKED_UP):
        rows = iter(index.rows_of(chain.from_iterable(query.positives for query in batch)).tolist())
        for query in batch:
            if max(islice(rows, len(query.positives)), default=-1) >= 0:
                yield query


def training_targets(collection: Collection, index: Index) -> np.ndarray:
    """(n,) bool: the item is a positive of a training query. Positives outside the index are
    ignored.
    """
    targets = np.zeros(index.n, dtype=bool)
    for batch in batched(collection.queries("train"), LOOKED_UP):
        rows = index.rows_of(chain.from_iterable(query.positives for query in batch))
        targets[rows[rows >= 0]] = True
    return targets


class TargetGroups(NamedTuple):
    """Queries whose positives were all training targets, and those none of whose positives was one.

    A query with positives of both kinds, or without one in the index, is in neither.
    """

    every: np.ndarray  # (q,) bool
    none: np.ndarray  # (q,) bool

    @classmethod
    def of(cls, qrels: Qrels, targets: np.ndarray) -> Self:
        """targets: (n,) bool, the item was a training target."""
        known = qrels.count(targets)
        positives = np.diff(qrels.offsets)
        return cls((known == positives) & (positives > 0), (known == 0) & (positives > 0))


def right_first_codes(qrels: Qrels, index: Index) -> np.ndarray:
    """(q, codes) bool: the ID of a positive starts with this code."""
    right = np.zeros((len(qrels), index.code_sizes[0]), dtype=bool)
    right[qrels.owners, index.codes(qrels.rows)[:, 0]] = True
    return right


def seeded_hash(seed: int, purpose: str, name: str) -> int:
    """A 64-bit hash for reproducible random choices."""
    digest = hashlib.blake2b(f"{seed}/{purpose}/{name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def _positives(
    queries: list[LabeledQuery], row: BenchmarkRow, index: Index, split: str
) -> tuple[list[list[int]], int]:
    """Index rows of each query's positives, those of its own dataset first, and how many positives
    have no row.
    """
    for query in queries:
        if not query.positives:
            raise UserError(
                f"query {query.id} of split {split} has no positive; add one to its qrels"
            )
    ordered = [
        sorted(query.positives, key=lambda did: key_dataset(id_key(did)) != row.dataset_id)
        for query in queries
    ]
    rows = index.rows_of(chain.from_iterable(ordered))
    of_queries = np.split(rows, np.cumsum([len(ids) for ids in ordered])[:-1])
    return [some[some >= 0].tolist() for some in of_queries], int((rows < 0).sum())


def phrasings_of(
    query: LabeledQuery, target: Modality, row: BenchmarkRow, phrasings: Instructions, file: str
) -> list[str]:
    """The phrasings that fit a query of a row. Raises UserError if there is none, naming the file
    that lacks it.
    """
    if choices := phrasings.get((row.dataset_id, query.modality, target)):
        return choices
    raise UserError(
        f"{row.dataset} has no instruction from {query.modality.mbeir} to {target.mbeir} "
        f"({file}); add a line"
    )


def encode(engine: Engine, batches: Iterable[list[Query]]) -> EncodedQueries:
    """Queries of batches that are opened one at a time, timed as if no picture had been encoded
    before; without their features, which no search needs.
    """
    encoded = []
    for batch in batches:
        engine.forget_images()
        encoded.append(replace(engine.encode(batch), features=None))
    return joined(encoded)


def joined(parts: Sequence[EncodedQueries]) -> EncodedQueries:
    """All queries of the parts, without features; the milliseconds of a stage are means over
    queries.
    """
    sizes = [len(part.z) for part in parts]
    spent = {
        stage: float(np.average([part.milliseconds[stage] for part in parts], weights=sizes))
        for stage in parts[0].milliseconds
    }
    return replace(EncodedQueries.join(parts, parts[0].z.device), milliseconds=spent)


def in_batches(queries: EncodedQueries, size: int) -> Iterator[EncodedQueries]:
    """At most `size` queries at a time."""
    return map(queries.select, torch.arange(len(queries.z)).split(size))


@dataclass(frozen=True)
class EncodedSplit:
    """The queries of all rows of a split, in the order of the rows."""

    sets: list[QuerySet]
    rows: list[EncodedQueries]

    @classmethod
    def read(
        cls, engine: Engine, collection: Collection, split: str, limit: int | None, seed: int
    ) -> Self:
        """Read and encode them. limit: queries per row. Raises UserError as `read_queries` does."""
        return cls.encode(
            engine,
            collection,
            read_queries(collection, engine.index, split, limit=limit, seed=seed),
        )

    @classmethod
    def encode(cls, engine: Engine, collection: Collection, sets: list[QuerySet]) -> Self:
        engine.encode(next(sets[0].opened(collection, 1)))  # warm-up: not timed
        bar = tqdm(sets, desc="encode queries", unit="row")
        return cls(sets, [encode(engine, queries.opened(collection, BATCH)) for queries in bar])

    @cached_property
    def encoded(self) -> EncodedQueries:
        """All q queries in one batch."""
        return joined(self.rows)

    @cached_property
    def qrels(self) -> Qrels:
        """Of all q queries."""
        lengths = np.concatenate([np.diff(queries.qrels.offsets) for queries in self.sets])
        rows = np.concatenate([queries.qrels.rows for queries in self.sets])
        return Qrels(np.append(0, lengths.cumsum()), rows)

    @cached_property
    def cuts(self) -> np.ndarray:
        """(q,) the k at which each query's hit rate is taken."""
        cuts = [headline_cut(queries.row.dataset) for queries in self.sets]
        return np.repeat(cuts, [len(queries) for queries in self.sets])

"""Labeled queries of a split as arrays, ready to be sampled in batches.

Shapes: q queries, n candidates, p positives of all queries, b batch.
"""

import hashlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from genius.collections.keys import id_key
from genius.collections.layout import INSTRUCTIONS, MIN_QUERIES
from genius.collections.mbeir import BenchmarkRow, Collection
from genius.encoding.features import EncoderInput
from genius.errors import UserError
from genius.evaluation.queries import phrasings_of, select_rows
from genius.schema import Item, Modality
from genius.texts import query_text
from genius.trie.ids import expand_ranges
from training.settings import Upsampling
from training.stage import records_stamp

MAX_REPEATS = 4  # of a (task, dataset) row in an epoch


@dataclass
class CandidateTable:
    """Every candidate once, in the order of the collection; a candidate's position is its row."""

    keys: np.ndarray  # (n,) int64 keys of the ids, see id_key
    modalities: np.ndarray  # (n,) uint8
    content_digest: str = ""  # checksum of ids, modalities, texts and the images' paths

    @classmethod
    def read(cls, collection: Collection) -> "CandidateTable":
        """The stages of one training read the files once; they are read again after a change."""
        return read_candidates(collection, records_stamp(collection.root))

    def __post_init__(self) -> None:
        self._order = np.argsort(self.keys)

    def __len__(self) -> int:
        return len(self.keys)

    def rows(self, ids: list[str]) -> np.ndarray:
        """(ids,) the rows of these ids; −1 for an unknown id."""
        keys = np.array([id_key(id) for id in ids], dtype=np.int64)
        places = np.searchsorted(self.keys, keys, sorter=self._order).clip(max=len(self) - 1)
        rows = self._order[places]
        return np.where(self.keys[rows] == keys, rows, -1)


@lru_cache(maxsize=1)
def read_candidates(collection: Collection, stamp: str) -> CandidateTable:
    """The candidates of the collection; stamp: `records_stamp` of it. Raises UserError if it has
    none.
    """
    keys = array("q")
    modalities = array("B")
    contents = hashlib.sha256()
    for item in collection.all_candidates():
        keys.append(id_key(item.id))
        modalities.append(item.modality)
        contents.update(repr((item.id, int(item.modality), item.text, item.image)).encode())
    if not keys:
        raise UserError(f"{collection.root} has no candidates; add items to its cand_pool")
    return CandidateTable(
        np.frombuffer(keys, dtype=np.int64),
        np.frombuffer(modalities, dtype=np.uint8),
        contents.hexdigest(),
    )


def candidates_at(collection: Collection, rows: np.ndarray) -> list[Item]:
    """The candidates of these rows (m,), in the order of the collection."""
    chosen = set(rows.tolist())
    return [item for row, item in enumerate(collection.all_candidates()) if row in chosen]


@dataclass
class Pairs:
    """The queries of one split and the candidate rows of their positives."""

    texts: list[str]  # (q,)
    images: list[str | None]  # (q,) relative paths
    instructions: list[list[str]]  # (q,) phrasings; queries share these lists
    rows: np.ndarray  # (q,) number of the (task, dataset) row
    datasets: list[str]  # the dataset of each (task, dataset) row
    tasks: list[int]  # and its task
    offsets: np.ndarray  # (q + 1,) of each query's positives
    positives: np.ndarray  # (p,) candidate rows

    @classmethod
    def read(cls, collection: Collection, split: str, candidates: CandidateTable) -> "Pairs":
        """Read a split's queries. Raises UserError for an unknown positive, a missing instruction,
        or no queries.
        """
        phrasings = collection.instructions()
        benchmark_rows = collection.rows()
        texts, images, instructions = [], [], []
        rows, positives, lengths = array("h"), array("q"), array("q", [0])
        for number, row in enumerate(benchmark_rows):
            for query in collection.queries(split, row):
                query_positives = candidates.rows(list(query.positives))
                if not len(query_positives) or query_positives.min() < 0:
                    raise UserError(
                        f"{split} query {query.id} of {collection.root} has no positive, or one "
                        "that is not a candidate; find its line with: python -m genius.collections "
                        f"--check {collection.root}"
                    )
                target = Modality(int(candidates.modalities[query_positives[0]]))
                texts.append(query.text)
                images.append(query.image)
                instructions.append(phrasings_of(query, target, row, phrasings, INSTRUCTIONS.name))
                rows.append(number)
                positives.extend(query_positives)
                lengths.append(len(query_positives))
        if len(texts) < MIN_QUERIES:
            raise UserError(
                f"{collection.root} has {len(texts)} {split} queries, training needs at least "
                f"{MIN_QUERIES}; add them to query/{split}"
            )
        return cls(
            texts,
            images,
            instructions,
            rows=np.array(rows),
            datasets=[row.dataset for row in benchmark_rows],
            tasks=[row.task for row in benchmark_rows],
            offsets=np.cumsum(lengths),
            positives=np.array(positives),
        )

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def digest(self) -> str:
        """Checksum of what features are made from: the texts, images and instructions of the
        queries, and the positives in one row.
        """
        digest = hashlib.sha256(b"(")  # the repr of a tuple of the three lists
        for separator, values in (
            (", ", self.texts),
            (", ", self.images),
            (")", self.instructions),
        ):
            digest.update((repr(values) + separator).encode())
        digest.update(self.positives.tobytes())
        return digest.hexdigest()

    @property
    def training_digest(self) -> str:
        """Checksum of all that training depends on: also which positives are those of which query,
        and its row.
        """
        digest = hashlib.sha256(repr((self.digest, self.datasets, self.tasks)).encode())
        digest.update(self.offsets.tobytes() + self.rows.tobytes())
        return digest.hexdigest()

    def draw_positives(self, queries: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """(b,) a random positive, a candidate row, of each of the queries (b,)."""
        start, end = self.offsets[queries], self.offsets[queries + 1]
        return self.positives[start + (rng.random(len(queries)) * (end - start)).astype(np.int64)]

    def positive_mask(self, queries: np.ndarray, candidates: np.ndarray) -> np.ndarray:
        """(b, c) bool: candidate row c, of candidates (c,), is a positive of query b, of queries
        (b,).
        """
        owner, place = expand_ranges(self.offsets[queries], self.offsets[queries + 1])
        positives = self.positives[place]
        order = np.argsort(candidates, kind="stable")
        first = np.searchsorted(candidates, positives, sorter=order)
        count = np.searchsorted(candidates, positives, "right", sorter=order) - first
        mask = np.zeros((len(queries), len(candidates)), dtype=bool)
        match, place = expand_ranges(first, first + count)
        mask[owner[match], order[place]] = True
        return mask

    def row_mask(self, row_names: Sequence[str]) -> np.ndarray:
        """(q,) bool: the query is of one of these benchmark rows, see `select_rows` of the
        evaluation.

        Raises UserError for a name without queries, and if they are too few to train on.
        """
        with_queries = [
            BenchmarkRow(row, self.tasks[row], self.datasets[row]) for row in np.unique(self.rows)
        ]
        selected = [row.dataset_id for row in select_rows(with_queries, row_names)]
        mask = np.isin(self.rows, selected)
        if mask.sum() < MIN_QUERIES:
            raise UserError(
                f"the rows {', '.join(row_names)} have {mask.sum()} query in a split that training "
                f"needs; expected at least {MIN_QUERIES}: name more rows"
            )
        return mask

    def select_rows(self, row_names: Sequence[str]) -> "Pairs":
        """The queries of these benchmark rows alone, or all if none is named. Raises UserError as
        `row_mask` does.
        """
        return self.subset(np.flatnonzero(self.row_mask(row_names))) if row_names else self

    def among(self, numbers: np.ndarray) -> tuple["Pairs", np.ndarray]:
        """The queries with a positive that is kept, with those alone; and which queries (·,) these
        are.

        numbers (n,): of each candidate row, its new one; −1: it is not kept.
        """
        owner = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        positives = numbers[self.positives]
        is_kept = positives >= 0
        counts = np.bincount(owner[is_kept], minlength=len(self))
        offsets = np.append(0, counts.cumsum())
        queries = np.flatnonzero(counts)
        return replace(self, offsets=offsets, positives=positives[is_kept]).subset(queries), queries

    def subset(self, queries: np.ndarray) -> "Pairs":
        """These queries (·,) alone."""
        offsets = np.append(0, np.diff(self.offsets)[queries].cumsum())
        _, places = expand_ranges(self.offsets[queries], self.offsets[queries + 1])
        return replace(
            self,
            texts=[self.texts[query] for query in queries],
            images=[self.images[query] for query in queries],
            instructions=[self.instructions[query] for query in queries],
            rows=self.rows[queries],
            offsets=offsets,
            positives=self.positives[places],
        )

    def epoch(
        self, rng: np.random.Generator, upsample_to: Upsampling, row_names: Sequence[str] = ()
    ) -> np.ndarray:
        """Query numbers (·,): every query at least once, in random order within its row or dataset.

        upsample_to: the queries of smaller (task, dataset) rows are repeated up to this number, at
        most MAX_REPEATS times; or, as in M-BEIR's mbeir_union_up_train.jsonl, those of the named
        datasets up to the number of each. row_names: only queries of these rows, see `row_mask`.
        """
        parts = self._upsampled_parts(self.row_mask(row_names), upsample_to)
        return np.concatenate([_repeat(queries, count, rng) for queries, count in parts])

    def _upsampled_parts(
        self, mask: np.ndarray, upsample_to: Upsampling
    ) -> Iterator[tuple[np.ndarray, int]]:
        """The queries (·,) of each row, or of each dataset, where the mask (q,) is true, and how
        many are wanted.
        """
        if isinstance(upsample_to, int):
            for row in range(len(self.datasets)):
                queries = np.flatnonzero(mask & (self.rows == row))
                yield queries, min(upsample_to, MAX_REPEATS * len(queries))
        else:
            for dataset in dict.fromkeys(self.datasets):
                rows = [row for row, name in enumerate(self.datasets) if name == dataset]
                yield np.flatnonzero(mask & np.isin(self.rows, rows)), upsample_to.get(dataset, 0)

    def batches(
        self,
        rng: np.random.Generator,
        batch: int,
        group: int = 1,
        upsample_to: Upsampling = 0,
        drop_last: bool = False,
        row_names: Sequence[str] = (),
    ) -> list[np.ndarray]:
        """An epoch as arrays of query numbers (≤ batch,).

        Groups of `group` queries come from one row each, so that negatives within a group are of
        the same kind; the groups of a batch are drawn from all rows. The last batch is dropped if
        it is a single query or, with drop_last, smaller than the others. Raises UserError if none
        is left.
        """
        order = self.epoch(rng, upsample_to, row_names)
        groups = []
        for row in range(len(self.datasets)):
            groups += _split(order[self.rows[order] == row], group)
        shuffled = np.concatenate(
            [order[:0], *(groups[number] for number in rng.permutation(len(groups)))]
        )
        batches = [
            queries for queries in split_batches(shuffled, batch, drop_last) if len(queries) > 1
        ]
        if not batches:
            raise UserError(
                f"{len(order):,} training queries in batches of {batch} give no batch of "
                "two or more"
            )
        return batches


def split_batches(order: np.ndarray, batch: int, drop_last: bool) -> list[np.ndarray]:
    """Query numbers (·,) in batches (≤ batch,); drop_last: without a smaller last one, unless it is
    the only one.
    """
    whole = len(order) // batch * batch if drop_last else len(order)
    return _split(order[: whole or len(order)], batch)


def _repeat(queries: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """This number of queries, but each once at least: random permutations, one after the other."""
    if not len(queries):
        return queries
    count = max(len(queries), count)
    rounds = [rng.permutation(queries) for _ in range(0, count, len(queries))]
    return np.concatenate(rounds)[:count]


def _split(order: np.ndarray, size: int) -> list[np.ndarray]:
    return [order[start : start + size] for start in range(0, len(order), size)]


def draw_phrasings(
    pairs: Pairs, phrasings: int, rng: np.random.Generator, apart: bool
) -> Iterator[EncoderInput]:
    """Each query with this number of random phrasings, without repetition where possible.

    apart: instructions are no part of the texts.
    """
    for image, text, choices in zip(pairs.images, pairs.texts, pairs.instructions, strict=True):
        numbers = rng.permutation(len(choices))[np.arange(phrasings) % len(choices)]
        drawn = [choices[number] for number in numbers]
        if apart:
            yield EncoderInput(image, [text], drawn)
        else:
            yield EncoderInput(image, [query_text(instruction, text) for instruction in drawn])


def unseen_queries(pairs: Pairs, trained: np.ndarray, per_row: int, seed: int) -> np.ndarray:
    """(·,) numbers of queries none of whose positives was a training target, ascending; at most
    per_row of each row.

    trained (·,): candidate rows of the training targets.
    """
    # (q,) some positive was one
    seen = np.logical_or.reduceat(np.isin(pairs.positives, trained), pairs.offsets[:-1])
    rng = np.random.default_rng(seed)
    chosen = [
        rng.permutation(np.flatnonzero((pairs.rows == row) & ~seen))[:per_row]
        for row in range(len(pairs.datasets))
    ]
    return np.sort(np.concatenate(chosen))

"""Labelled queries of a split as arrays, ready to be sampled in batches.

Shapes: q queries, n candidates, p positives of all queries, b batch.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from genius.collections.keys import id_key
from genius.collections.mbeir import Collection
from genius.errors import UserError
from genius.schema import Modality

BLOCK = 4096  # queries that are hashed together


@dataclass
class Candidates:
    """Every candidate once, in the collection's order; the position is its row."""

    keys: np.ndarray  # (n,) int64 of the ids, see id_key
    modalities: np.ndarray  # (n,) uint8

    @classmethod
    def read(cls, collection: Collection) -> Candidates:
        keys, modalities = array("q"), array("B")
        for item in collection.all_candidates():
            keys.append(id_key(item.id))
            modalities.append(item.modality)
        if not keys:
            raise UserError(f"{collection.root} holds no candidates; add items to its cand_pool")
        return cls(np.frombuffer(keys, dtype=np.int64), np.frombuffer(modalities, dtype=np.uint8))

    def __post_init__(self):
        self._order = np.argsort(self.keys)

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def digest(self) -> str:
        """Checksum of the ids and their order."""
        return hashlib.sha256(self.keys.tobytes()).hexdigest()

    def rows(self, ids: list[str]) -> np.ndarray:
        """Rows of these ids; -1 for one that is no candidate."""
        keys = np.array([id_key(name) for name in ids], dtype=np.int64)
        at = np.searchsorted(self.keys, keys, sorter=self._order).clip(max=len(self) - 1)
        rows = self._order[at]
        return np.where(self.keys[rows] == keys, rows, -1)


@dataclass
class Pairs:
    """The queries of one split and the candidate rows that answer them."""

    texts: list[str]  # (q,)
    images: list[str | None]  # (q,) relative paths
    instructions: list[list[str]]  # (q,) phrasings; shared lists
    rows: np.ndarray  # (q,) number of the (task, dataset) row
    names: list[str]  # of the rows
    offsets: np.ndarray  # (q + 1,)
    positives: np.ndarray  # (p,) candidate rows

    @classmethod
    def read(cls, collection: Collection, split: str, candidates: Candidates) -> Pairs:
        """All queries of a split. Raises UserError for an unknown positive, a missing instruction, or no query."""
        phrasings = collection.instructions()
        texts, images, instructions, names = [], [], [], []
        rows, positives, counts = array("h"), array("q"), array("q", [0])
        for row in collection.rows():
            names.append(f"{row.dataset} task {row.task}")
            for query in collection.queries(split, row):
                found = candidates.rows(list(query.positives))
                if not len(found) or found.min() < 0:
                    raise UserError(
                        f"{split} query {query.id} of {collection.root} names no positive, or one that "
                        "is no candidate; find its line with: python -m genius.collections --check "
                        f"{collection.root}"
                    )
                target = Modality(int(candidates.modalities[found[0]]))
                key = (row.dataset_id, query.modality, target)
                if key not in phrasings:
                    raise UserError(
                        f"{collection.root}/instructions/query_instructions.tsv has no instruction for "
                        f"dataset {row.dataset_id}, {query.modality.mbeir} to {target.mbeir}; add a line"
                    )
                texts.append(query.text)
                images.append(query.image)
                instructions.append(phrasings[key])
                rows.append(len(names) - 1)
                positives.extend(found)
                counts.append(len(found))
        if len(texts) < 2:
            raise UserError(
                f"{collection.root} has {len(texts)} {split} queries, training needs at least 2; "
                f"add them to query/{split}"
            )
        return cls(texts, images, instructions, np.array(rows), names, np.cumsum(counts), np.array(positives))

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def digest(self) -> str:
        """Checksum of what is asked and what answers it."""
        digest = hashlib.sha256()
        for opening, things in (("([", self.texts), ("], [", self.images), ("], [", self.instructions)):
            digest.update(opening.encode())  # of the three lists' repr, which would be larger than they are
            for start in range(0, len(things), BLOCK):
                digest.update((", " * (start > 0) + ", ".join(map(repr, things[start : start + BLOCK]))).encode())
        digest.update(b"])" + self.positives.tobytes())
        return digest.hexdigest()

    def draw_positives(self, queries: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """(b,) one positive of each query, at random."""
        start, end = self.offsets[queries], self.offsets[queries + 1]
        return self.positives[start + (rng.random(len(queries)) * (end - start)).astype(np.int64)]

    def answered(self, queries: np.ndarray, candidates: np.ndarray) -> np.ndarray:
        """(b, c) bool: candidate row c is a positive of query b. Where true it is no negative."""
        lengths = self.offsets[queries + 1] - self.offsets[queries]
        known = self.positives[_spans(self.offsets[queries], lengths)]
        order = np.argsort(candidates, kind="stable")
        first = np.searchsorted(candidates, known, sorter=order)
        count = np.searchsorted(candidates, known, "right", sorter=order) - first
        mask = np.zeros((len(queries), len(candidates)), dtype=bool)
        mask[np.repeat(np.repeat(np.arange(len(queries)), lengths), count), order[_spans(first, count)]] = True
        return mask

    def epoch(self, rng: np.random.Generator, upsample_to: int) -> np.ndarray:
        """Every query at least once, small rows repeated up to `upsample_to` (at most four times), by row."""
        order = []
        for row in range(len(self.names)):
            own = np.flatnonzero(self.rows == row)
            wanted = min(max(len(own), upsample_to), 4 * len(own))
            whole = [rng.permutation(own) for _ in range(-(-wanted // len(own)))] if len(own) else [own]
            order.append(np.concatenate(whole)[:wanted])
        return np.concatenate(order)

    def batches(
        self,
        rng: np.random.Generator,
        batch: int,
        group: int = 1,
        upsample_to: int = 0,
        alike: Callable[[np.ndarray], np.ndarray] = lambda queries: queries,
    ) -> list[np.ndarray]:
        """An epoch as arrays of query numbers.

        Groups of `group` queries come from one row each, so that negatives within a group are of the same
        kind; the groups of a batch are drawn from all rows. The last, smaller batch is kept unless it is
        a single query. alike: orders the queries of a row so that neighbours share a group.
        """
        order = self.epoch(rng, upsample_to)
        groups = [
            piece for row in range(len(self.names)) for piece in _split(alike(order[self.rows[order] == row]), group)
        ]
        shuffled = np.concatenate([groups[at] for at in rng.permutation(len(groups))])
        return [piece for piece in _split(shuffled, batch) if len(piece) > 1]


def _spans(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """start, start + 1, …, start + length − 1 of each span, one after the other."""
    return np.repeat(starts - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())


def _split(order: np.ndarray, size: int) -> list[np.ndarray]:
    return [order[start : start + size] for start in range(0, len(order), size)]

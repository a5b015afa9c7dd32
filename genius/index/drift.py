"""Do added items still fit the codes that training made? When they do not, it is time to train again.

Two ranges are compared with what training indexed: how far features lie from what their IDs stand for, and how
many items share an ID.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genius.index.store import Index
from genius.schema import Modality
from genius.trie.ids import IDTable

QUANTILE = 0.95  # an error above this one of the trained items of the same modality is far
USUAL = 1 - QUANTILE
TOO_MANY = 0.15  # share of added items that are far from their IDs; of pictures of noise it was half
FEWEST = 50  # trained items of a modality that say what is usual
CROWDED = 2.0  # times as many items in a bucket as training left there
AGAIN = "Train again on a collection that holds such items: python -m training COLLECTION RUN"


@dataclass(frozen=True)
class Buckets:
    """How many items share an ID."""

    mean: float  # of an item's bucket
    largest: int

    @classmethod
    def of(cls, table: IDTable) -> Buckets:
        shared = table.sizes[:-1].astype(np.float64)
        return cls(
            float((np.square(shared).sum() + len(table) - shared.sum()) / len(table)), int(table.sizes.max(initial=1))
        )

    def __str__(self) -> str:
        return f"{self.mean:.3f} items on average, {self.largest:,} at most"


@dataclass(frozen=True)
class DriftReport:
    """What was added since training, against what training indexed."""

    trained: int
    added: int
    compared: int  # added items of which reconstruction errors are known
    error: float | None  # mean of the trained items; None: unknown
    added_error: float | None
    far: int  # added items that lie farther from their IDs than nearly all trained ones
    unseen: dict[Modality, int]  # added items of modalities that training hardly saw
    buckets: Buckets | None  # of the trained items; None: there are none left
    all_buckets: Buckets

    @classmethod
    def of(cls, index: Index) -> DriftReport:
        """Reads every ID once: seconds for millions."""
        trained, everything = index.config.trained, Buckets.of(index.pool().table)
        before = everything
        if trained < index.n:
            before = Buckets.of(IDTable.from_packed(index.packed[:trained], index.code_sizes)) if trained else None
        errors = np.full(index.n, np.nan, np.float32) if index.errors is None else index.errors
        known = ~np.isnan(errors)
        far, unseen = np.zeros(index.n, dtype=bool), {}
        for modality in Modality:
            of_it = index.modalities == modality
            usual, new = errors[:trained][(of_it & known)[:trained]], int(of_it[trained:].sum())
            if len(usual) >= FEWEST:
                far |= of_it & (errors > np.quantile(usual, QUANTILE))
            elif new and of_it[:trained].sum() < FEWEST:
                unseen[modality] = new
        return cls(
            trained,
            index.config.grown,
            int(known[trained:].sum()),
            _mean(errors[:trained][known[:trained]]),
            _mean(errors[trained:][known[trained:]]),
            int(far[trained:].sum()),
            unseen,
            before,
            everything,
        )

    def warnings(self) -> list[str]:
        """Sentences; none while everything is as training left it."""
        found = []
        if self.added and self.error is None:
            found.append(
                "Nobody knows how well the IDs fitted when the run was trained, so added items cannot be "
                "compared: build the index again, python -m training.index COLLECTION RUN"
            )
        for modality, count in self.unseen.items():
            found.append(
                f"{count:,} added items are of the modality {modality.mbeir!r}, of which training saw fewer "
                f"than {FEWEST}: their IDs say little. {AGAIN}"
            )
        if self.far > max(1, TOO_MANY * self.compared):
            found.append(
                f"{self.far / self.compared:.0%} of {self.compared:,} added items lie farther from their IDs "
                f"than {QUANTILE:.0%} of those that were trained ({USUAL:.0%} is usual). {AGAIN}"
            )
        if self.buckets and (
            self.all_buckets.mean > CROWDED * self.buckets.mean
            or self.all_buckets.largest > CROWDED * self.buckets.largest
        ):
            found.append(
                f"Items share their IDs more than when the run was trained: {self.all_buckets}; then "
                f"{self.buckets}. {AGAIN}"
            )
        return found


def _mean(values: np.ndarray) -> float | None:
    return float(values.mean()) if len(values) else None

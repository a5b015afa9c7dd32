"""Do added items still fit the codebooks? If not, it is time to train again.

Added items are compared with the trained ones in two ways: the distance of their features from the reconstruction by
their IDs, and the number of items that share an ID.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genius.index.store import Index
from genius.schema import Modality
from genius.trie.ids import IDTable

QUANTILE = 0.95  # an error above this one of the trained items of the same modality is far
EXPECTED_FAR = 1 - QUANTILE
MAX_FAR = 0.15  # share of added items that are far from their IDs; it was half for images of noise
MIN_TRAINED = 50  # trained items of a modality that are enough to compare with
MAX_BUCKET_GROWTH = 2.0  # times as many items in a bucket as after training
TRAIN_AGAIN = "Train again on a collection with items like these: python -m training COLLECTION RUN"


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
    """Items added since training, compared with the trained ones."""

    trained: int
    added: int
    compared: int  # added items with known reconstruction errors
    error: float | None  # mean of the trained items; None: unknown
    added_error: float | None
    far: int  # added items that lie farther from their IDs than nearly all trained ones
    unseen: dict[Modality, int]  # added items of modalities with too few trained items
    buckets: Buckets | None  # of the trained items; None: none is left
    all_buckets: Buckets

    @classmethod
    def of(cls, index: Index) -> DriftReport:
        """Reads every ID once: seconds for millions."""
        trained, everything = index.config.trained, Buckets.of(index.pool().table)
        before: Buckets | None = everything
        if trained < index.n:
            before = Buckets.of(IDTable.from_packed(index.packed[:trained], index.code_sizes)) if trained else None
        errors = np.full(index.n, np.nan, np.float32) if index.errors is None else index.errors
        known = ~np.isnan(errors)
        far, unseen = np.zeros(index.n, dtype=bool), {}
        for modality in Modality:
            of_it = index.modalities == modality
            trained_errors, new = errors[:trained][(of_it & known)[:trained]], int(of_it[trained:].sum())
            if len(trained_errors) >= MIN_TRAINED:
                far |= of_it & (errors > np.quantile(trained_errors, QUANTILE))
            elif new and of_it[:trained].sum() < MIN_TRAINED:
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
        """Sentences about what has changed since training; none if all is well."""
        sentences = []
        if self.added and self.error is None:
            sentences.append(
                "The reconstruction errors of the trained items are missing, so added items cannot be "
                "compared: build the index again, python -m training.index COLLECTION RUN"
            )
        for modality, count in self.unseen.items():
            sentences.append(
                f"{count:,} added items are of the modality {modality.mbeir!r}, of which the run was trained on fewer "
                f"than {MIN_TRAINED}: their IDs may be poor. {TRAIN_AGAIN}"
            )
        if self.far > max(1, MAX_FAR * self.compared):
            sentences.append(
                f"{self.far / self.compared:.0%} of {self.compared:,} added items are farther from their IDs "
                f"than {QUANTILE:.0%} of the trained ones ({EXPECTED_FAR:.0%} is expected). {TRAIN_AGAIN}"
            )
        if self.buckets and (
            self.all_buckets.mean > MAX_BUCKET_GROWTH * self.buckets.mean
            or self.all_buckets.largest > MAX_BUCKET_GROWTH * self.buckets.largest
        ):
            sentences.append(
                f"More items share an ID than after training: {self.all_buckets}; after training "
                f"{self.buckets}. {TRAIN_AGAIN}"
            )
        return sentences


def _mean(values: np.ndarray) -> float | None:
    return float(values.mean()) if len(values) else None

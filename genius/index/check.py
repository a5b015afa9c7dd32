"""Check an index: what does it hold, are its files whole, do added items still fit the codebooks,
what is to be done?

Added items are compared with the trained ones in two ways: the distance of their features from the
reconstruction by their IDs, and the number of items that share an ID.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from tqdm import tqdm

from genius.errors import UserError
from genius.files import sha256
from genius.index.segments import LOOKUP
from genius.index.store import PART, Index
from genius.run import MAX_HASHED, Run
from genius.schema import Modality
from genius.trie.ids import IDTable

QUANTILE = 0.95  # an error above this one of the trained items of the same modality is far
EXPECTED_FAR = 1 - QUANTILE
MAX_FAR = 0.15  # share of added items that are far from their IDs; it was half for images of noise
MIN_TRAINED = 50  # trained items of a modality that are enough to compare with
MAX_BUCKET_GROWTH = 2.0  # times as many items in a bucket as after training
TRAINING = "python -m training COLLECTION RUN"
TRAIN_AGAIN = f"Train again on a collection with items like these: {TRAINING}"
LENGTH_TOLERANCE = 0.01  # by which the length of a stored embedding may differ from 1


@dataclass(frozen=True)
class Buckets:
    """How many items share an ID."""

    mean: float  # of an item's bucket
    largest: int

    @classmethod
    def of(cls, table: IDTable) -> Self:
        shared = table.sizes[:-1].astype(np.float64)
        mean = (np.square(shared).sum() + len(table) - shared.sum()) / len(table)
        return cls(float(mean), int(table.sizes.max(initial=1)))

    def __str__(self) -> str:
        return f"{self.mean:.3f} items on average, {self.largest:,} at most"


@dataclass(frozen=True)
class DriftReport:
    """Items added since training, compared with the trained ones."""

    trained: int
    added: int
    error: float | None  # mean of the trained items; None: unknown
    added_error: float | None
    far: int  # added items that lie farther from their IDs than nearly all trained ones
    unseen: dict[Modality, int]  # added items of modalities with too few trained items
    buckets: Buckets | None  # of the trained items; None: none is left
    all_buckets: Buckets

    @classmethod
    def of(cls, index: Index) -> Self:
        """Reads every ID once: seconds for millions."""
        trained = index.config.trained
        everything = Buckets.of(index.pool().table)
        before: Buckets | None = everything
        if trained < index.n:
            packed = index.packed[:trained]
            before = Buckets.of(IDTable.from_packed(packed, index.code_sizes)) if trained else None
        errors = None if index.distances is None else index.distances[:, 0]
        far = np.zeros(index.n, dtype=bool)
        unseen = {}
        for modality in Modality:
            of_it = index.modalities == modality
            if of_it[:trained].sum() < MIN_TRAINED:
                if new := int(of_it[trained:].sum()):
                    unseen[modality] = new
            elif errors is not None:
                far |= of_it & (errors > np.quantile(errors[:trained][of_it[:trained]], QUANTILE))
        return cls(
            trained,
            index.config.grown,
            _mean(errors[:trained]) if errors is not None else None,
            _mean(errors[trained:]) if errors is not None else None,
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
                "The reconstruction errors of the trained items are missing, so added items cannot "
                "be compared: build the index again, python -m training.index COLLECTION RUN"
            )
        for modality, count in self.unseen.items():
            sentences.append(
                f"{count:,} added items are of the modality {modality.mbeir!r}, of which the run "
                f"was trained on fewer than {MIN_TRAINED}: their IDs may be poor. {TRAIN_AGAIN}"
            )
        if self.far > max(1, MAX_FAR * self.added):
            sentences.append(
                f"{self.far / self.added:.0%} of {self.added:,} added items are farther from their "
                f"IDs than {QUANTILE:.0%} of the trained ones ({EXPECTED_FAR:.0%} is expected). "
                f"{TRAIN_AGAIN}"
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


@dataclass(frozen=True)
class Dataset:
    """Counts of the items whose ids start with the same number."""

    number: int | None  # None: of ids that start with none
    modalities: list[int]  # items of each Modality
    added: int  # of them since training

    @property
    def items(self) -> int:
        return sum(self.modalities)


def datasets(index: Index) -> list[Dataset]:
    """The datasets of the items, by number. Reads every id once: about a second for a million."""
    numbers = index.records.datasets()
    found = []
    for number in sorted(set(numbers.tolist()), key=lambda number: (number < 0, number)):
        of_it = numbers == number
        modalities = np.bincount(index.modalities[of_it], minlength=len(Modality)).tolist()
        found.append(
            Dataset(
                number if number >= 0 else None,
                modalities,
                int(of_it[index.config.trained :].sum()),
            )
        )
    return found


def problems(run: Path, index: Index) -> Iterator[str]:
    """Yield a sentence for each file or item that is not as it was written. Reads all files once.

    Raises UserError if the run names another snapshot of the index by now.
    """
    entry = Run(run).manifest["parts"][PART]
    if entry["folder"] != index.folder.name:
        raise UserError(f"the index of {run} was changed while it was opened; check it again")
    for name, recorded in entry["files"].items():
        # loading spared it
        if recorded["bytes"] > MAX_HASHED and sha256(index.folder / name) != recorded["sha256"]:
            yield f"{name} is not the file that was written; copy the run again"
    for first in tqdm(
        range(0, index.n, LOOKUP), desc="check", unit_scale=LOOKUP, unit="item", disable=None
    ):
        rows = np.arange(first, min(first + LOOKUP, index.n))
        items = index.records.items(rows)  # which compares no modalities
        if (wrong := index.rows_of(item.id for item in items) != rows).any():
            yield (
                f"the item in row {rows[wrong][0]} is not found by its id "
                f"{items[wrong.argmax()].id!r}"
            )
        if (wrong := index.modalities[rows] != [item.modality for item in items]).any():
            yield (
                f"row {rows[wrong][0]} has another modality than its item "
                f"{items[wrong.argmax()].id!r}"
            )
        for what, vectors in (("embedding", index.embeddings), ("fused feature", index.fused)):
            if vectors is None:
                continue
            lengths = np.linalg.norm(vectors[first : first + LOOKUP].astype(np.float32), axis=1)
            if (wrong := ~(np.abs(lengths - 1) <= LENGTH_TOLERANCE)).any():
                id = items[wrong.argmax()].id
                yield f"the {what} of {id!r} has length {lengths[wrong][0]:.3f} instead of 1"


def description(index: Index, drift: DriftReport) -> str:
    """Describe the index in a few lines."""
    config = index.config
    counts = np.bincount(index.modalities, minlength=len(Modality)).tolist()
    kinds = ", ".join(
        f"{counts[modality]:,} {modality.mbeir}" for modality in Modality if counts[modality]
    )
    segments = len(config.segments)
    lines = [
        f"{index.n:,} items ({kinds}): {drift.trained:,} indexed by training, "
        f"{drift.added:,} added since",
        f"{segments} segment{'s' * (segments > 1)}",
        f"items that share an ID: {drift.all_buckets}"
        + (f"; as trained: {drift.buckets}" if drift.added and drift.buckets else ""),
    ]
    if drift.error is not None:
        lines.append(f"distance of features from their IDs, squared: {drift.error:.4f}")
        if drift.added_error is not None:
            far = f"{drift.far:,} of {drift.added:,} far from their IDs"
            lines[-1] += f"; added items {drift.added_error:.4f}, {far}"
    return "\n".join(lines)

"""Counts of an index: items by dataset and modality, items added since training, bytes on disk."""

from collections import Counter
from dataclasses import dataclass
from typing import Self

import numpy as np

from genius.index.store import Index
from genius.schema import Modality


@dataclass(frozen=True)
class Dataset:
    """Counts of the items whose ids start with the same number."""

    number: int | None  # None: of ids that start with none
    modalities: list[int]  # items of each Modality
    added: int  # of them since training

    @property
    def items(self) -> int:
        return sum(self.modalities)


@dataclass(frozen=True)
class Contents:
    """One version of an index in numbers."""

    items: int
    modalities: list[int]  # of each Modality
    added: int  # since training
    datasets: list[Dataset]  # by number
    segments: tuple[int, ...]  # items of each as it was written
    removed: int  # items that still take space in them
    bytes: int  # of all files; segments may be shared with other versions

    @classmethod
    def of(cls, index: Index) -> Self:
        """Reads every id once: about a second for a million."""
        config = index.config
        every, added = (Counter(index.records.datasets(first)) for first in (0, config.trained))
        numbers = sorted({dataset for dataset, _ in every}, key=lambda number: (number is None, number))
        datasets = [
            Dataset(number, [every[number, kind] for kind in Modality], sum(added[number, kind] for kind in Modality))
            for number in numbers
        ]
        files = (file for file in index.folder.rglob("*") if file.is_file())
        return cls(
            index.n,
            np.bincount(index.modalities, minlength=len(Modality)).tolist(),
            config.grown,
            datasets,
            config.segments,
            sum(config.segments) - index.n,
            sum(file.stat().st_size for file in files),
        )

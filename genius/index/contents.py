"""Counts of an index: items by dataset and modality, items added since training, bytes on disk."""

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
        numbers, datasets = index.records.datasets(), []
        for number in sorted(set(numbers.tolist()), key=lambda number: (number < 0, number)):
            of_it = numbers == number
            modalities = np.bincount(index.modalities[of_it], minlength=len(Modality)).tolist()
            added = int(of_it[config.trained :].sum())
            datasets.append(Dataset(number if number >= 0 else None, modalities, added))
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

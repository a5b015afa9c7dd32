"""What the points of a map are coloured by, and where a query that came later belongs on it.

Shapes: m items drawn, d embedding dim, s neighbours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from genius.explore.map_data import Maps
from genius.schema import Modality

if TYPE_CHECKING:
    from genius.index.store import Index

MOST = 20  # groups that have a colour of their own
NEIGHBOURS = 10  # that place a query
SHARPNESS = 100.0  # of their weights: a cosine lower by 0.05 counts e⁵ times less
BLOCK = 65_536  # embeddings that are read together
STEP = 0.003  # from one point to the next where several share a place; a map is 2 wide


@dataclass(frozen=True)
class Group:
    """Points of one colour."""

    label: str
    members: np.ndarray  # (c,) numbers of points, ascending
    value: int | None  # what they have in common; None: they are all that have no colour of their own


class Palette:
    """The items of a run's maps as one version of its index has them, and the groups that they fall into."""

    def __init__(self, index: Index, maps: Maps):
        self.maps, self.index = maps, index
        self.rows = index.rows_of(maps.ids())  # (m,) −1: it was removed
        self.points = np.flatnonzero(self.rows >= 0)  # those of the items that are there

    @property
    def whole(self) -> bool:
        """Whether every item of the index is drawn."""
        return len(self.points) == self.index.n

    @cached_property
    def modalities(self) -> np.ndarray:
        """(m,); of items that were removed, anything."""
        return np.asarray(self.index.modalities)[self.rows]

    @cached_property
    def codes(self) -> np.ndarray:
        """(m, M); of items that were removed, anything."""
        return self.index.codes(self.rows.clip(min=0))

    def by_modality(self) -> list[Group]:
        return self._grouped(self.modalities, lambda modality: Modality(modality).name.capitalize())

    def by_dataset(self) -> list[Group]:
        return self._grouped(self.maps.datasets, lambda dataset: self.maps.names.get(dataset, f"dataset {dataset}"))

    def by_code(self, level: int) -> list[Group]:
        return self._grouped(self.codes[:, level], lambda code: f"code {code}")

    def similarity(self, vector: np.ndarray) -> np.ndarray:
        """(m,) cosines of the items' embeddings with one (d,); of items that were removed, −1."""
        cosines = np.full(len(self.rows), -1, dtype=np.float32)
        cosines[self.points] = similarity(self.index.embeddings, self.rows[self.points], vector)
        return cosines

    def _grouped(self, values: np.ndarray, label: Callable[[int], str]) -> list[Group]:
        return [
            replace(group, members=self.points[group.members]) for group in group_by_value(values[self.points], label)
        ]


def group_by_value(values: np.ndarray, label: Callable[[int], str], most: int = MOST) -> list[Group]:
    """A group for each of the commonest values (m,), largest first, then one of all others, if there are any."""
    distinct, number, counts = np.unique(values, return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    groups = [
        Group(label(int(distinct[one])), np.flatnonzero(number == one), int(distinct[one])) for one in order[:most]
    ]
    if len(order) > most:
        groups.append(Group(f"{len(order) - most:,} others", np.flatnonzero(np.isin(number, order[most:])), None))
    return groups


def similarity(embeddings: np.ndarray, rows: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """(m,) cosines of the embeddings at these rows with a vector (d,), block by block."""
    return np.concatenate(
        [
            np.asarray(embeddings[rows[start : start + BLOCK]], dtype=np.float32) @ vector
            for start in range(0, len(rows), BLOCK)
        ]
    )


def nearest_points(cosines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(points, weights), (s,) each: the items that are most like a query; the weights sum to 1."""
    points = np.argsort(-cosines, kind="stable")[:NEIGHBOURS]
    weights = np.exp(SHARPNESS * (cosines[points] - cosines[points[0]]))
    return points, weights / weights.sum()


def spread_overlapping(places: np.ndarray) -> np.ndarray:
    """RowMap (m, 2), those that coincide laid out on small discs, so that every point can be seen and picked.

    A disc is filled from its middle outwards, evenly, as the head of a sunflower is.
    """
    _, group, counts = np.unique(places, axis=0, return_inverse=True, return_counts=True)
    group = group.reshape(-1)
    order = np.argsort(group, kind="stable")
    turn = np.empty(len(places))
    turn[order] = np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts)
    angle = turn * np.pi * (3 - np.sqrt(5))
    return (places + STEP * np.sqrt(turn)[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1)).astype(np.float32)

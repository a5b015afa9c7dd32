"""The points of a map: its items that are in the index now, those that were added since, and which
of them are chosen.

A choice is a region, a code pattern, a dataset, a date, words, items by id, or an area of a
view; several choices are what they have in common.

Shapes: p points, m of them on the map and a that were added, in this order; d embedding dim, s
neighbors, c corners.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from genius.collections.keys import ID
from genius.explore.map_data import Maps
from genius.explore.word_fits import blocks
from genius.index.store import Index
from genius.schema import source_fields
from genius.search.candidates import positions_in_lists
from genius.trie.code_table import Pattern

NEIGHBORS = 10  # items that determine the position of a query or of an item that was added
MAX_ADDED = 2_000  # items that were added since training, the newest
MAX_COMPARED = 20_000  # mapped items that these are compared with, at even steps
SHARPNESS = 100.0  # a cosine smaller by 0.05 has a weight e⁵ times smaller
BLOCK = 65_536  # embeddings read at a time
STEP = 0.003  # distance between points that share a position; a map is 2 wide
DATE = "date taken"  # of an item, in its source


@dataclass(frozen=True)
class Choice:
    """What is chosen; None or empty: everything."""

    region: int | None = None
    pattern: Pattern = ()
    dataset: int | None = None
    date: str = ""  # its beginning, such as 2024-05
    rows: np.ndarray | None = None  # (r,) of items
    area: np.ndarray | None = None  # (c, 2) corners in the view


class MapPoints:
    """The map over one index."""

    def __init__(self, index: Index, maps: Maps):
        self.maps, self.index = maps, index
        rows = index.rows_of(maps.ids())
        mapped = np.flatnonzero(rows >= 0)  # items of the map that are in the index
        added = np.setdiff1d(np.arange(index.config.trained, index.n), rows)[-MAX_ADDED:]
        if not len(mapped):  # all is removed that they could lie near
            added = added[:0]
        self._mapped = mapped
        self.added = [item.id for item in index.items(added)]
        self.rows = np.concatenate([rows[mapped], added]).astype(np.int64)  # (p,)
        self.kinds = np.asarray(index.modalities)[self.rows]  # (p,)

    @property
    def whole(self) -> bool:
        """Whether every item of the index has a point."""
        return len(self.rows) == self.index.n

    def places(self, view: int) -> np.ndarray:
        """(p, 2) in a view, those that share a place side by side."""
        places = self.maps.places[view]
        near, weights = self._near
        added = (weights[..., None] * places[near]).sum(1)
        return spread_overlapping(np.concatenate([places[self._mapped], added]))

    @cached_property
    def _near(self) -> tuple[np.ndarray, np.ndarray]:
        """(places in the map, weights), (a, s) each, of the mapped items most similar to the added
        ones.
        """
        if not self.added:
            return np.zeros((0, 1), np.int64), np.zeros((0, 1), np.float32)
        step = -(-len(self._mapped) // MAX_COMPARED)
        compared, rows = self._mapped[::step], self.rows[: len(self._mapped)][::step]
        vectors, others = (
            np.asarray(self.index.embeddings[some], dtype=np.float32)
            for some in (self.rows[-len(self.added) :], rows)
        )
        near = [nearest_points(vector @ others.T) for vector in vectors]
        return compared[[points for points, _ in near]], np.array([weights for _, weights in near])

    @cached_property
    def regions(self) -> np.ndarray:
        """(p,) the smallest region of each; of an added item that of the most similar one."""
        return np.concatenate(
            [self.maps.region_of[self._mapped], self.maps.region_of[self._near[0][:, 0]]]
        )

    @cached_property
    def datasets(self) -> np.ndarray:
        """(p,); −1 for ids without one."""
        found = map(ID.fullmatch, self.added)
        added = [int(match[1]) if match else -1 for match in found]
        return np.concatenate([self.maps.datasets[self._mapped], added]).astype(int)

    @cached_property
    def codes(self) -> np.ndarray:
        """(p, M)."""
        return self.index.codes(self.rows)

    @cached_property
    def dates(self) -> np.ndarray:
        """(p,) strings, empty where none is known."""
        return np.array(
            [str(source_fields(item.source).get(DATE, "")) for item in self.index.items(self.rows)]
        )

    @cached_property
    def years(self) -> Mapping[str, int]:
        """Year -> number of points, in order."""
        return dict(sorted(Counter(date[:4] for date in self.dates if date).items()))

    def of_rows(self, rows: Sequence[int] | np.ndarray) -> np.ndarray:
        """The points (≤ r,) of rows (r,) that have one, in the order of the rows."""
        order = np.argsort(self.rows)
        places = np.searchsorted(self.rows[order], rows).clip(max=len(order) - 1)
        found = order[places]
        return found[self.rows[found] == rows]

    def similarity(self, vector: np.ndarray) -> np.ndarray:
        """(p,) cosines of the items' embeddings with a vector (d,)."""
        parts = [self.index.embeddings[some] @ vector for some in blocks(self.rows, BLOCK)]
        return np.concatenate(parts)

    def chosen(self, choice: Choice, view: int) -> np.ndarray:
        """The points (≤ p,) of a choice, ascending."""
        kept = np.ones(len(self.rows), dtype=bool)
        if choice.region is not None:
            kept &= (self.maps.lineage[self.regions] == choice.region).any(1)
        for level, code in enumerate(choice.pattern):
            if code is not None:
                kept &= self.codes[:, level] == code
        if choice.dataset is not None:
            kept &= self.datasets == choice.dataset
        if choice.date:
            kept &= np.char.startswith(self.dates, choice.date)
        if choice.rows is not None:
            kept &= np.isin(self.rows, choice.rows)
        if choice.area is not None:
            kept &= inside(self.places(view), choice.area)
        return np.flatnonzero(kept)


def inside(places: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """(p,) whether places (p, 2) lie within a polygon (c, 2): a ray to the right crosses its edges
    an odd number of times."""
    x, y = places.T
    within = np.zeros(len(places), dtype=bool)
    for (x0, y0), (x1, y1) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        if y0 != y1:
            within ^= ((y0 > y) != (y1 > y)) & (x < (x1 - x0) * (y - y0) / (y1 - y0) + x0)
    return within


def nearest_points(cosines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(points, weights), (s,) each, of the items most similar to a query; the weights sum to 1."""
    points = np.argsort(-cosines, kind="stable")[:NEIGHBORS]
    weights = np.exp(SHARPNESS * (cosines[points] - cosines[points[0]]))
    return points, weights / weights.sum()


def spread_overlapping(places: np.ndarray) -> np.ndarray:
    """Places (p, 2) -> (p, 2) float32, coinciding points spread over small discs, so that each can
    be seen and selected.

    A disc is filled evenly from its center in a sunflower pattern.
    """
    _, group, counts = np.unique(places, axis=0, return_inverse=True, return_counts=True)
    group = group.reshape(-1)
    order = np.argsort(group, kind="stable")
    turn = np.empty(len(places))
    turn[order] = positions_in_lists(counts)
    angle = turn * np.pi * (3 - np.sqrt(5))
    return (
        places + STEP * np.sqrt(turn)[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1)
    ).astype(np.float32)

"""Colors of the points of a map, the position of a new query or item on it, and the map as a small picture.

Shapes: m items on the map, a items that were added since, d embedding dim, s neighbors.
"""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from PIL import Image

from genius.collections.keys import ID
from genius.explore.map_data import Maps
from genius.index.store import Index
from genius.schema import Modality
from genius.search.candidates import positions_in_lists

MAX_GROUPS = 20  # groups with their own color
NEIGHBORS = 10  # items that determine the position of a query or of an item that was added
MAX_ADDED = 2_000  # items that were added since training, the newest
MAX_COMPARED = 20_000  # mapped items that these are compared with, at even steps
SHARPNESS = 100.0  # a cosine smaller by 0.05 has a weight e⁵ times smaller
BLOCK_ROWS = 65_536  # embeddings read at a time
STEP = 0.003  # distance between points that share a position; a map is 2 wide
WIDTH, HEIGHT, MARGIN = 720, 600, 8  # pixels
SCALE = 2  # it is drawn larger and reduced, which smooths the points
POINT = 7  # pixels of the larger picture
OPACITY = 0.75
QUALITY = 70


@dataclass(frozen=True)
class Group:
    """Points of one color."""

    label: str
    members: np.ndarray  # (c,) numbers of points, ascending
    value: int | None  # their common value; None: all points without their own color


class Palette:
    """The map items that are in the current index, those that were added since, and their groups by modality, dataset
    or code. The points of added items come after those of the map."""

    def __init__(self, index: Index, maps: Maps):
        self.maps, self.index = maps, index
        rows = index.rows_of(maps.ids())
        self.mapped = np.flatnonzero(rows >= 0)  # points of the map whose items are in the index
        added = np.setdiff1d(np.arange(index.config.trained, index.n), rows)[-MAX_ADDED:]
        if not len(self.mapped):  # all is removed that they could lie near
            added = added[:0]
        self.rows = np.concatenate([rows, added])  # (m + a,) −1: removed
        self.points = np.flatnonzero(self.rows >= 0)
        self.added = [item.id for item in index.items(added)]

    @property
    def whole(self) -> bool:
        """Whether the map shows every item of the index."""
        return len(self.points) == self.index.n

    def places(self, view: int) -> np.ndarray:
        """(m + a, 2) on a view of the maps."""
        places = self.maps.places[view][: len(self.maps.keys)]
        points, weights = self._near
        return spread_overlapping(np.concatenate([places, (weights[..., None] * places[points]).sum(1)]))

    @cached_property
    def _near(self) -> tuple[np.ndarray, np.ndarray]:
        """(points, weights), (a, s) each, of the mapped items most similar to the added ones."""
        if not self.added:
            return np.zeros((0, 1), np.int64), np.zeros((0, 1), np.float32)
        compared = self.mapped[:: -(-len(self.mapped) // MAX_COMPARED)]
        vectors, others = (
            np.asarray(self.index.embeddings[self.rows[points]], dtype=np.float32)
            for points in (slice(-len(self.added), None), compared)
        )
        near = [nearest_points(vector @ others.T) for vector in vectors]
        return compared[[points for points, _ in near]], np.array([weights for _, weights in near])

    @cached_property
    def datasets(self) -> np.ndarray:
        """(m + a,); −1 for ids without one."""
        found = map(ID.fullmatch, self.added)
        return np.concatenate([self.maps.datasets, [int(match[1]) if match else -1 for match in found]]).astype(int)

    @cached_property
    def modalities(self) -> np.ndarray:
        """(m + a,); undefined for removed items."""
        return np.asarray(self.index.modalities)[self.rows]

    @cached_property
    def codes(self) -> np.ndarray:
        """(m + a, M); undefined for removed items."""
        return self.index.codes(self.rows.clip(min=0))

    def by_modality(self) -> list[Group]:
        return self._grouped(self.modalities, lambda modality: Modality(modality).name.capitalize())

    def by_dataset(self) -> list[Group]:
        return self._grouped(self.datasets, lambda dataset: self.maps.names.get(dataset, f"dataset {dataset}"))

    def by_code(self, level: int) -> list[Group]:
        return self._grouped(self.codes[:, level], lambda code: f"code {code}")

    def similarity(self, vector: np.ndarray) -> np.ndarray:
        """(m + a,) cosines of the items' embeddings with a vector (d,); −1 for removed items."""
        cosines = np.full(len(self.rows), -1, dtype=np.float32)
        for start in range(0, len(self.points), BLOCK_ROWS):
            points = self.points[start : start + BLOCK_ROWS]
            cosines[points] = np.asarray(self.index.embeddings[self.rows[points]], dtype=np.float32) @ vector
        return cosines

    def _grouped(self, values: np.ndarray, label: Callable[[int], str]) -> list[Group]:
        groups = group_by_value(values[self.points], label)
        return [replace(group, members=self.points[group.members]) for group in groups]


def group_by_value(values: np.ndarray, label: Callable[[int], str], most: int = MAX_GROUPS) -> list[Group]:
    """A group for each of the most frequent values (m,), largest first, then one for all others."""
    distinct, number, counts = np.unique(values, return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    groups = [
        Group(label(int(distinct[place])), np.flatnonzero(number == place), int(distinct[place]))
        for place in order[:most]
    ]
    if len(order) > most:
        groups.append(Group(f"{len(order) - most:,} others", np.flatnonzero(np.isin(number, order[most:])), None))
    return groups


def nearest_points(cosines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(points, weights), (s,) each, of the items most similar to a query; the weights sum to 1."""
    points = np.argsort(-cosines, kind="stable")[:NEIGHBORS]
    weights = np.exp(SHARPNESS * (cosines[points] - cosines[points[0]]))
    return points, weights / weights.sum()


def spread_overlapping(places: np.ndarray) -> np.ndarray:
    """Positions (m, 2) with coinciding points spread over small discs, so that each can be seen and selected.

    A disc is filled evenly from its center in a sunflower pattern.
    """
    _, group, counts = np.unique(places, axis=0, return_inverse=True, return_counts=True)
    group = group.reshape(-1)
    order = np.argsort(group, kind="stable")
    turn = np.empty(len(places))
    turn[order] = positions_in_lists(counts)
    angle = turn * np.pi * (3 - np.sqrt(5))
    return (places + STEP * np.sqrt(turn)[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1)).astype(np.float32)


def map_picture(places: np.ndarray, colors: Sequence[str]) -> bytes:
    """WebP on a transparent ground. places: (m, 2), y upwards. colors: (m,) such as #1f86cc; the last lie on top."""
    width, height, margin = SCALE * WIDTH, SCALE * HEIGHT, SCALE * MARGIN
    pixels = np.zeros((height, width, 4), dtype=np.uint8)
    if len(places):
        low, high = places.min(0), places.max(0)
        scale = float(np.min((np.array([width, height]) - 2 * margin) / np.maximum(high - low, 1e-9)))
        at = (places - (low + high) / 2) * scale * [1, -1] + [width / 2, height / 2]  # the same scale for x and y
        at = np.rint(at).astype(np.int64)
        shades = np.array([[int(color[part : part + 2], 16) for part in (1, 3, 5)] for color in colors], np.uint8)
        offsets = range(-(POINT // 2), POINT // 2 + 1)
        for x in offsets:
            for y in offsets:
                rows, columns = (at[:, 1] + y).clip(0, height - 1), (at[:, 0] + x).clip(0, width - 1)
                pixels[rows, columns, :3], pixels[rows, columns, 3] = shades, round(255 * OPACITY)
    stream = io.BytesIO()
    small = Image.fromarray(pixels, "RGBA").resize((WIDTH, HEIGHT), Image.Resampling.BOX)
    small.save(stream, "WEBP", quality=QUALITY)
    return stream.getvalue()

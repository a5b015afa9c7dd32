"""Vectors without end, in blocks, to index and to search.

`Uniform` is what speed is usually measured on: nothing has a neighbour, and IDs are unique after three codes.
`Clustered` has what makes real IDs branch deeper: topics within topics, few of them crowded and most of them rare,
three modalities apart from each other, and near-duplicates.

Both are determined by a seed, block by block, so that a small collection is the beginning of a large one.

Shapes: n items of a block, d dim, p native dim of clustered vectors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from genius.schema import Modality

BLOCK = 16_384  # items of a block
SHARES = (0.55, 0.30, 0.15)  # of the modalities


class Vectors(Protocol):
    """Where items and queries come from."""

    dim: int

    def block(self, number: int) -> np.ndarray:
        """(BLOCK, d) fp32, normalised: items number · BLOCK …"""

    def queries(self, items: int, count: int, draw: int) -> tuple[np.ndarray, np.ndarray]:
        """Queries (count, d) that search the first `items` items, other ones for each draw, and the row of the item
        that each seeks (count,), −1 where it seeks none.
        """


def blocks(items: int) -> Iterator[tuple[int, slice]]:
    """The blocks of the first `items` items, and which rows each fills; the last one partly."""
    for number, start in enumerate(range(0, items, BLOCK)):
        yield number, slice(start, min(start + BLOCK, items))


@dataclass(frozen=True)
class Uniform:
    """Directions drawn evenly; a query seeks nothing."""

    dim: int
    seed: int = 0

    def block(self, number: int) -> np.ndarray:
        return self._directions(BLOCK, 0, number)

    def queries(self, items: int, count: int, draw: int) -> tuple[np.ndarray, np.ndarray]:
        return self._directions(count, 1, draw), np.full(count, -1)

    def _directions(self, count: int, *key: int) -> np.ndarray:
        rng = np.random.default_rng((self.seed, *key))
        return normalised(rng.standard_normal((count, self.dim), dtype=np.float32))


class Clustered:
    """Items are paths down a tree of topics; each step adds a smaller offset.

    At each step the r-th most frequent branch is taken with a probability that falls as 1/r (Zipf). Which offset that
    branch has is drawn by a hash of the path, so the tree is never stored. A part of the items repeats the path of
    another one of its block: near-duplicates. What no path explains is noise. All of it lies in p dimensions, which
    an isometry lifts to d: what is near there is as near here.
    """

    def __init__(
        self,
        dim: int,
        seed: int = 0,
        native: int = 64,
        depth: int = 6,
        topics: int = 4096,
        branches: int = 256,
        decay: float = 0.8,
        gap: float = 0.6,
        noise: float = 0.1,
        duplicates: float = 0.1,
        query_noise: float = 0.1,
    ):
        """topics: of the first step, and different offsets of each; branches: of each further step.
        decay: of the offsets' length, which begins at 1. gap: of the modalities' centres from the origin.
        noise, query_noise: lengths of what is added to an item, and to an item to make it a query.
        """
        self.dim, self.seed, self.native = dim, seed, native
        self.depth, self.topics, self.branches, self.duplicates = depth, topics, branches, duplicates
        self.noise, self.query_noise = noise, query_noise
        rng = np.random.default_rng((seed, 0))
        self._centres = gap * normalised(rng.standard_normal((len(Modality), native), dtype=np.float32))
        lengths = np.float32(decay ** np.arange(depth) / native**0.5)
        self._offsets = lengths[:, None, None] * rng.standard_normal((depth, topics, native), dtype=np.float32)
        self.lift = np.linalg.qr(rng.standard_normal((dim, native)))[0].T.astype(np.float32)  # (p, d)

    def block(self, number: int) -> np.ndarray:
        return self.lifted(self.native_block(number)[0])

    def lifted(self, vectors: np.ndarray) -> np.ndarray:
        """(…, p) -> (…, d), the same lengths and angles."""
        return vectors @ self.lift

    def native_block(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Vectors (BLOCK, p) fp32, normalised, and their modalities (BLOCK,)."""
        rng = np.random.default_rng((self.seed, 1, number))
        modality = rng.choice(len(Modality), size=BLOCK, p=SHARES)
        draws = rng.random((self.depth, BLOCK))
        original = np.arange(BLOCK)
        copies = rng.random(BLOCK) < self.duplicates
        original[copies] = rng.integers(BLOCK, size=copies.sum())
        modality, draws = modality[original], draws[:, original]
        vectors, path = self._centres[modality], np.zeros(BLOCK, dtype=np.uint64)
        for step, offsets in enumerate(self._offsets):
            path = hashed(path, zipf_ranks(draws[step], self.branches if step else self.topics))
            vectors = vectors + offsets[(path % np.uint64(self.topics)).astype(np.int64)]
        return normalised(vectors + self._noise(rng, BLOCK, self.noise)), modality

    def queries(self, items: int, count: int, draw: int) -> tuple[np.ndarray, np.ndarray]:
        queries, rows, _, _ = self.native_queries(items, count, draw)
        return self.lifted(queries), rows

    def native_queries(self, items: int, count: int, draw: int) -> tuple[np.ndarray, ...]:
        """Noisy views (count, p) of items of one block, the items' rows (count,), vectors (count, p) and modalities."""
        rng = np.random.default_rng((self.seed, 2, draw))
        number = int(rng.integers(-(-items // BLOCK)))
        places = rng.integers(min(BLOCK, items - number * BLOCK), size=count)
        vectors, modalities = self.native_block(number)
        views = normalised(vectors[places] + self._noise(rng, count, self.query_noise))
        return views, number * BLOCK + places, vectors[places], modalities[places]

    def _noise(self, rng: np.random.Generator, count: int, length: float) -> np.ndarray:
        noise = rng.standard_normal((count, self.native), dtype=np.float32)
        return noise * (length / self.native**0.5)


def zipf_ranks(draws: np.ndarray, size: int) -> np.ndarray:
    """Draws from [0, 1) -> ranks 1 … size, of which r comes with a probability near 1 / (r · ln(size + 1))."""
    return np.floor((size + 1.0) ** draws).astype(np.uint64)


def hashed(path: np.ndarray, step: np.ndarray) -> np.ndarray:
    """uint64 each -> uint64 that look random (the finaliser of SplitMix64, Steele et al. 2014)."""
    value = path * np.uint64(0x9E3779B97F4A7C15) + step
    value = (value ^ value >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ value >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return value ^ value >> np.uint64(31)


def normalised(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)

"""Give queries another row's instruction, so that an encoder learns to read instructions (ours).

Where the look of a query tells what its row asks for, nothing need be read. A query under another row's instruction
has no known answer, but it is known which modality it asks for: the heads of factors.py learn from that.

Shapes: b batch, k instructions.
"""

from __future__ import annotations

import numpy as np

from genius.collections.mbeir import Collection
from genius.schema import Modality
from training.pairs import Pairs


class Swaps:
    """The instructions that can take the place of a query's own."""

    def __init__(self, collection: Collection, pairs: Pairs, share: float):
        """share: of the queries that are asked otherwise."""
        phrasings = collection.instructions()
        self.share = share
        self.keys = np.array(sorted(phrasings), dtype=np.int64)  # (k, 3) dataset, query modality, target's
        self.phrasings = [phrasings[key] for key in sorted(phrasings)]
        self.asking = np.array(
            [Modality.of(text, image) for text, image in zip(pairs.texts, pairs.images, strict=True)], dtype=np.int64
        )  # (q,)

    def draw(self, queries: np.ndarray, targets: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """(b,) the instruction that takes the place of each query's own, which asks for its targets' modality (b,).

        -1 where it stays, and where none asks such a query for another modality.
        """
        fits = (self.keys[:, 1] == self.asking[queries, None]) & (self.keys[:, 2] != targets[:, None])
        drawn = np.where(fits, rng.random(fits.shape), -1.0).argmax(1)
        stays = (rng.random(len(queries)) >= self.share) | ~fits.any(1)
        return np.where(stays, -1, drawn)

    def instructions(self, asked: np.ndarray, rng: np.random.Generator) -> list[str | None]:
        """A phrasing of each drawn instruction, None for -1."""
        return [None if key < 0 else str(rng.choice(self.phrasings[key])) for key in asked]

    def modalities(self, asked: np.ndarray) -> np.ndarray:
        """(b,) what each drawn instruction asks for, -1 for -1."""
        return np.where(asked < 0, -1, self.keys[asked, 2])

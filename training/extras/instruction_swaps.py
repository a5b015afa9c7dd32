"""Give queries the instruction of another row, so that the encoder learns to read instructions.

Where the form of a query already shows what its row retrieves, the instruction is redundant. A query with another
row's instruction has no known target, but its target modality is known: the heads of factor_heads.py learn from it.

Shapes: b queries of a batch, q queries, k instructions.
"""

from __future__ import annotations

import numpy as np

from genius.collections.mbeir import Collection
from genius.schema import Modality
from training.extras.encoder_extras import OWN_INSTRUCTION
from training.pairs import Pairs


class InstructionSwaps:
    """The instructions of a collection that can replace a query's own."""

    def __init__(self, collection: Collection, pairs: Pairs, probability: float):
        phrasings = collection.instructions()
        self.probability = probability
        self.keys = np.array(sorted(phrasings), dtype=np.int64)  # (k, 3) dataset, query modality, target modality
        self.phrasings = [phrasings[key] for key in sorted(phrasings)]
        self.query_modalities = np.array(
            [Modality.of(text, image) for text, image in zip(pairs.texts, pairs.images, strict=True)], dtype=np.int64
        )  # (q,)

    def draw(self, queries: np.ndarray, targets: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """(b,) the instruction that replaces each query's own; it asks for another modality than its target's (b,).

        OWN_INSTRUCTION where none is drawn, and where no instruction fits the query and asks for another modality.
        """
        fits = (self.keys[:, 1] == self.query_modalities[queries, None]) & (self.keys[:, 2] != targets[:, None])
        drawn = np.where(fits, rng.random(fits.shape), -1.0).argmax(1)
        stays = (rng.random(len(queries)) >= self.probability) | ~fits.any(1)
        return np.where(stays, OWN_INSTRUCTION, drawn)

    def phrasings_of(self, drawn: np.ndarray, rng: np.random.Generator) -> list[str | None]:
        """A random phrasing of each drawn instruction, None for OWN_INSTRUCTION."""
        return [None if key < 0 else str(rng.choice(self.phrasings[key])) for key in drawn]

    def modalities(self, drawn: np.ndarray) -> np.ndarray:
        """(b,) the modality that each drawn instruction asks for, −1 for OWN_INSTRUCTION."""
        return np.where(drawn < 0, -1, self.keys[drawn, 2])

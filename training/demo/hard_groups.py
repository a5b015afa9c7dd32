"""Group queries with similar targets, so that the negatives within a group of the batch are hard.

In random batches a coarse difference is enough to tell the targets apart.

Shapes: q queries, d embedding dim.
"""

from __future__ import annotations

import numpy as np
import torch

from genius.models.encoder import Encoder
from genius.models.quantizer import kmeans
from training.encoder_inputs import InputLoader
from training.pairs import Pairs

BLOCK = 256  # targets encoded together
ITERATIONS = 10  # of k-means over targets


class HardGroups:
    """Orders the queries of a row for `Pairs.batches`."""

    def __init__(self, vectors: np.ndarray, share: float, group: int, rng: np.random.Generator):
        """vectors (q, d): embedding of a target of each query. share: of the queries to order; the others stay."""
        self._vectors, self._share, self._group, self._rng = vectors, share, group, rng

    @classmethod
    @torch.inference_mode()
    def build(
        cls, encoder: Encoder, loader: InputLoader, pairs: Pairs, share: float, group: int, rng: np.random.Generator
    ) -> HardGroups:
        """Embed the targets with the encoder as it is now, so that no checkpoint needs to store groups."""
        encoder.eval()
        targets, inverse = np.unique(pairs.positives[pairs.offsets[:-1]], return_inverse=True)
        blocks = (targets[start : start + BLOCK] for start in range(0, len(targets), BLOCK))
        parts = [inputs.embedding(encoder) for inputs in loader.load_candidates(blocks)]
        return cls(torch.cat(parts).cpu().numpy()[inverse], share, group, rng)

    def __call__(self, queries: np.ndarray) -> np.ndarray:
        """The same queries, with those of one cluster of targets next to each other."""
        hard, others = np.split(queries, [round(self._share * len(queries))])
        if len(hard) <= self._group:
            return queries
        vectors = torch.from_numpy(self._vectors[hard])
        centroids = kmeans(vectors, -(-len(hard) // self._group), ITERATIONS, int(self._rng.integers(2**31)))
        cluster = torch.cdist(vectors, centroids).argmin(1).numpy()
        place = self._rng.permutation(len(centroids))
        return np.concatenate([hard[np.lexsort((self._rng.random(len(hard)), place[cluster]))], others])

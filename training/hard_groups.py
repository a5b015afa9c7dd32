"""Orders queries so that those whose targets the encoder finds alike stand together (ours).

In random batches the plainest difference tells targets apart, and nothing else need be learned.

Shapes: q queries, d embedding dim.
"""

from __future__ import annotations

import numpy as np
import torch

from genius.models.encoder import Encoder
from genius.models.quantizer import kmeans
from training.batch_content import Content
from training.pairs import Pairs
from training.settings import EncoderSettings

BLOCK = 256  # targets encoded together
ROUNDS = 10  # of k-means over targets


class HardGroups:
    """What orders the queries of a row for `Pairs.batches`."""

    def __init__(self, vectors: np.ndarray, share: float, group: int, rng: np.random.Generator):
        """vectors (q, d): of a target of each query. share: of the queries that are ordered so, the others stay."""
        self._vectors, self._share, self._group, self._rng = vectors, share, group, rng

    @classmethod
    @torch.inference_mode()
    def of(
        cls, encoder: Encoder, content: Content, pairs: Pairs, settings: EncoderSettings, rng: np.random.Generator
    ) -> HardGroups:
        """By the embeddings of the targets as they are now: a state that no checkpoint need hold."""
        encoder.eval()
        targets, of_query = np.unique(pairs.positives[pairs.offsets[:-1]], return_inverse=True)
        blocks = (targets[start : start + BLOCK] for start in range(0, len(targets), BLOCK))
        parts = [inputs.features(encoder).embedding() for inputs in content.candidates(blocks)]
        return cls(torch.cat(parts).cpu().numpy()[of_query], settings.hard_groups, settings.group, rng)

    def __call__(self, queries: np.ndarray) -> np.ndarray:
        """The same queries, those of one cluster of targets next to each other."""
        hard, others = np.split(queries, [round(self._share * len(queries))])
        if len(hard) <= self._group:
            return queries
        vectors = torch.from_numpy(self._vectors[hard])
        centres = kmeans(vectors, -(-len(hard) // self._group), ROUNDS, int(self._rng.integers(2**31)))
        cluster = torch.cdist(vectors, centres).argmin(1).numpy()
        place = self._rng.permutation(len(centres))
        return np.concatenate([hard[np.lexsort((self._rng.random(len(hard)), place[cluster]))], others])

"""What the stages of a search hand over. Shapes: b queries, d embedding dim."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from genius.models.encoder import Features
from genius.search.beam_state import Beams
from genius.search.candidates import Candidates
from genius.search.rerank import RankedCandidates

Milliseconds = dict[str, float]  # by stage, per query: the stage's time divided by the size of the batch


@dataclass(frozen=True)
class EncodedQueries:
    """b queries after encoder and fusion."""

    features: Features | None  # None if the vectors come from elsewhere, such as a blend of two queries
    embeddings: Tensor  # (b, d) for dense search and re-ranking
    z: Tensor  # (b, d) fused features, the decoder's input
    milliseconds: Milliseconds = field(default_factory=dict)

    @classmethod
    def from_vectors(cls, embeddings: np.ndarray, z: np.ndarray) -> EncodedQueries:
        """From the vectors (b, d) that results carry."""
        return cls(None, *(torch.as_tensor(vectors, dtype=torch.float32) for vectors in (embeddings, z)))

    def select(self, rows: Tensor) -> EncodedQueries:
        """The queries at these rows (c,)."""
        return EncodedQueries(
            self.features and self.features.select(rows), self.embeddings[rows], self.z[rows], self.milliseconds
        )


@dataclass(frozen=True)
class Retrieval:
    """The arrays behind the results of b queries; evaluation reads these."""

    beams: Beams
    candidates: Candidates
    ranked: RankedCandidates
    milliseconds: Milliseconds

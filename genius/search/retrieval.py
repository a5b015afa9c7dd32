"""What the stages of a search hand over. Shapes: b queries, d embedding dim."""

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from genius.models.encoder import Features
from genius.search.beam_state import Beams
from genius.search.candidates import Candidates, FirstCodes
from genius.search.rerank import RankedCandidates
from genius.search.snapshots import Version
from genius.search.stopwatch import Milliseconds
from genius.trie.pool import Pool


@dataclass(frozen=True)
class EncodedQueries:
    """b queries after encoder and fusion."""

    features: Features | None  # None if the vectors come from elsewhere, such as a blend of two queries
    embeddings: Tensor  # (b, d) for dense search and re-ranking
    z: Tensor  # (b, d) fused features, the decoder's input
    milliseconds: Milliseconds = field(default_factory=dict)

    @classmethod
    def from_vectors(
        cls, embeddings: np.ndarray, z: np.ndarray, device: torch.device | str = "cpu"
    ) -> "EncodedQueries":
        """From the vectors (b, d) that results carry."""
        tensors = [torch.as_tensor(given, dtype=torch.float32, device=device) for given in (embeddings, z)]
        return cls(None, tensors[0], tensors[1])

    def select(self, rows: Tensor) -> "EncodedQueries":
        """The queries at these rows (c,)."""
        features = self.features and self.features.select(rows)
        return EncodedQueries(features, self.embeddings[rows], self.z[rows], self.milliseconds)


@dataclass(frozen=True)
class Unranked:
    """What a search has found for b queries, before it is ranked."""

    encoded: EncodedQueries
    version: Version  # of the index
    pool: Pool  # that was searched
    beams: Beams | None  # None: it was only scanned
    candidates: Candidates
    first_codes: FirstCodes | None  # None: the beams know the first code, and no ranker needs the second

    @property
    def first_log_probs(self) -> Tensor:
        """(b, k) log-probabilities of the k first codes, normalized over them."""
        if self.first_codes is not None:
            return self.first_codes.first
        assert self.beams is not None
        return self.beams.first_log_probs


@dataclass(frozen=True)
class Retrieval(Unranked):
    """The arrays behind the results of b queries; evaluation reads these."""

    ranked: RankedCandidates
    milliseconds: Milliseconds

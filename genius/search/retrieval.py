"""What the stages of a search hand over. Shapes: b queries, d embedding dim."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from genius.models.encoder import Features
from genius.schema import Reading
from genius.search.beam import Beams
from genius.search.candidates import Candidates
from genius.search.rerank import RankedCandidates
from genius.search.snapshots import Snapshot
from genius.trie.pool import Pool


@dataclass(frozen=True)
class EncodedQueries:
    """b queries after encoder and fusion."""

    # None if the vectors come from elsewhere, such as a blend of two queries
    features: Features | None
    embeddings: Tensor  # (b, d) for dense search and re-ranking
    z: Tensor  # (b, d) fused features, the decoder's input
    milliseconds: dict[str, float] = field(default_factory=dict)  # by stage, per query
    # how their words were read; None: they were not
    readings: list[Reading | None] | None = None
    # (b, d) embeddings of what results should not show, 0 where that is nothing; None: nothing is
    left_out: Tensor | None = None

    @classmethod
    def from_vectors(
        cls,
        embeddings: np.ndarray,
        z: np.ndarray | Tensor,
        device: torch.device | str = "cpu",
        readings: list[Reading | None] | None = None,
    ) -> "EncodedQueries":
        """From embeddings (b, d) and z (b, d), as results carry them, and their readings, but for
        what these leave out.
        """
        tensors = [
            torch.as_tensor(given, dtype=torch.float32, device=device) for given in (embeddings, z)
        ]
        return cls(None, tensors[0], tensors[1], readings=readings)

    @classmethod
    def join(
        cls, parts: Sequence["EncodedQueries"], device: torch.device | str
    ) -> "EncodedQueries":
        """All queries of the parts on one device, without features and times."""
        embeddings = torch.cat([part.embeddings.to(device) for part in parts])
        z = torch.cat([part.z.to(device) for part in parts])
        readings = left_out = None
        if any(part.readings is not None for part in parts):
            readings = [one for part in parts for one in part.readings or [None] * len(part.z)]
        if any(part.left_out is not None for part in parts):
            given = (
                torch.zeros_like(part.embeddings) if part.left_out is None else part.left_out
                for part in parts
            )
            left_out = torch.cat([some.to(device) for some in given])
        return cls(None, embeddings, z, readings=readings, left_out=left_out)

    def select(self, rows: Tensor) -> "EncodedQueries":
        """The queries at these rows (c,)."""
        return EncodedQueries(
            self.features and self.features.select(rows),
            self.embeddings[rows],
            self.z[rows],
            self.milliseconds,
            self.readings and [self.readings[row] for row in rows.tolist()],
            None if self.left_out is None else self.left_out[rows],
        )


@dataclass(frozen=True)
class Retrieval:
    """The arrays behind the results of b queries; evaluation reads these."""

    encoded: EncodedQueries
    snapshot: Snapshot  # of the index
    pool: Pool  # that was searched
    beams: Beams | None  # None: it was only scanned
    candidates: Candidates
    first_log_probs: Tensor  # (b, c) log-probabilities of the c first codes, normalized over them
    ranked: RankedCandidates
    milliseconds: dict[str, float]

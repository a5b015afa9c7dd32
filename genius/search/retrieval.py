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
from genius.search.request_reader import kind_log_probs
from genius.search.rerank import RankedCandidates
from genius.search.snapshots import Snapshot
from genius.trie.pool import Pool


@dataclass(frozen=True)
class Requests:
    """How the words of b queries were read."""

    readings: list[Reading | None]  # None: words that were not read
    left_out: Tensor  # (b, d) embeddings of what results should not show; 0 where that is nothing

    @property
    def kind_log_probs(self) -> Tensor:
        """(b, 3) of the modalities of results; 0 of words that were not read."""
        return torch.from_numpy(kind_log_probs(self.readings)).to(self.left_out.device)

    def select(self, rows: Tensor) -> "Requests":
        """The requests at these rows (c,)."""
        return Requests([self.readings[row] for row in rows.tolist()], self.left_out[rows])

    @classmethod
    def join(
        cls, parts: Sequence["EncodedQueries"], device: torch.device | str
    ) -> "Requests | None":
        """The requests of all queries; those that were not read ask for any kind, and leave nothing
        out.
        """
        if not any(part.requests for part in parts):
            return None
        given = [
            part.requests or cls([None] * len(part.z), torch.zeros_like(part.embeddings))
            for part in parts
        ]
        readings = [reading for part in given for reading in part.readings]
        return cls(readings, torch.cat([part.left_out.to(device) for part in given]))


@dataclass(frozen=True)
class EncodedQueries:
    """b queries after encoder and fusion."""

    # None if the vectors come from elsewhere, such as a blend of two queries
    features: Features | None
    embeddings: Tensor  # (b, d) for dense search and re-ranking
    z: Tensor  # (b, d) fused features, the decoder's input
    milliseconds: dict[str, float] = field(default_factory=dict)  # by stage, per query
    requests: Requests | None = None  # how their words were read; None: they were not

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
        requests = Requests(readings, torch.zeros_like(tensors[0])) if readings else None
        return cls(None, tensors[0], tensors[1], requests=requests)

    @classmethod
    def join(
        cls, parts: Sequence["EncodedQueries"], device: torch.device | str
    ) -> "EncodedQueries":
        """All queries of the parts on one device, without features and times."""
        embeddings = torch.cat([part.embeddings.to(device) for part in parts])
        z = torch.cat([part.z.to(device) for part in parts])
        return cls(None, embeddings, z, requests=Requests.join(parts, device))

    def select(self, rows: Tensor) -> "EncodedQueries":
        """The queries at these rows (c,)."""
        features = self.features and self.features.select(rows)
        requests = self.requests and self.requests.select(rows)
        return EncodedQueries(
            features, self.embeddings[rows], self.z[rows], self.milliseconds, requests
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

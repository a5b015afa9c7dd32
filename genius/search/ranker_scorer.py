"""Score the candidates of a search by the run's ranker: its parts, from what the index stores and the search found.

Shapes: b queries, t candidates of all queries together, d dim, M levels, p parts.
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from genius.models.ranker import Ranker
from genius.schema import RANKER_PARTS
from genius.search.beam_state import Beams
from genius.search.candidates import BLOCK, Candidates
from genius.search.codewords import Codewords
from genius.search.rerank import RankerScores
from genius.trie.ids import IDTable


class RankerScorer:
    """A ranker with the codewords that its candidates' IDs are of."""

    def __init__(self, ranker: Ranker, codewords: Codewords):
        self.ranker, self._codewords = ranker, codewords

    @torch.inference_mode()
    def score(self, candidates: Candidates, parts: Tensor, modalities: np.ndarray) -> RankerScores:
        """Score all candidates by their parts (t, p), as `compute_parts` gives them; modalities (n,) of the index."""
        query = torch.from_numpy(candidates.query).to(parts.device)
        modality = torch.from_numpy(modalities[candidates.row].astype(np.int64)).to(parts.device)
        scores, shares = self.ranker(parts, modality)
        count = torch.from_numpy(candidates.counts).to(parts.device).clamp(min=1)[:, None]
        mean = torch.zeros(len(count), shares.shape[1], device=parts.device).index_add_(0, query, shares) / count
        return RankerScores(*(values.cpu().numpy() for values in (parts[:, 0], scores, shares - mean[query])))

    @torch.inference_mode()
    def compute_parts(
        self,
        candidates: Candidates,
        beams: Beams,
        table: IDTable,
        embeddings: np.ndarray,
        modalities: np.ndarray,
        queries: Tensor,
        z: Tensor,
        normalize: bool = False,
    ) -> Tensor:
        """The RANKER_PARTS (t, p) of all candidates.

        beams: from which `expand_beams` made the candidates, with this table. embeddings (n, d) and modalities (n,): of
        the index. queries and z (b, d): embeddings and fused features, normalized. normalize: as for `rank_candidates`.
        """
        by_embedding, by_id, added = self.ranker.residual_queries(z)  # (b, 3, d) twice, (b, 3)
        log_probs = beams.log_probs.flatten()
        parts = torch.empty(len(candidates.row), len(RANKER_PARTS), device=z.device)
        for first in range(0, len(parts), BLOCK):
            block = slice(first, first + BLOCK)
            rows, numbers = candidates.row[block], self._codewords.numbers(table, candidates.id[block])
            query, beam, modality = (
                torch.from_numpy(values.astype(np.int64)).to(z.device)
                for values in (candidates.query[block], candidates.beam[block], modalities[rows])
            )
            vectors = torch.from_numpy(embeddings[rows].astype(np.float32)).to(z.device)  # (t, d)
            if normalize:
                vectors = F.normalize(vectors, dim=-1)
            quantized = self._codewords.sums(numbers)  # (t, d)
            inner = (z[query] * quantized).sum(1)
            lost = (by_embedding[query, modality] * vectors + by_id[query, modality] * quantized).sum(1)
            columns = (
                (queries[query] * vectors).sum(1),
                inner + lost + added[query, modality],
                2 * inner - quantized.square().sum(1),
                log_probs[beam],
                beams.first_log_probs[query, numbers[:, 0]],
            )
            parts[block] = torch.stack(columns, dim=1)
        return parts

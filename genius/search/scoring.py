"""Scores of all codes of a level after each beam: the decoder, the geometry of the codes, or a
blend.

Geometry may count twice: in the logits of a decoder that was trained so, and beside the decoder, by
the weight of a search. Its scores of a level (`level_scores`) are the same in both, and computed
once.

Shapes: b queries, w beams, r = b · w beams of all queries, k codes of a level, d feature dim.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from genius.models.incremental_decoder import IncrementalDecoder


class Scores(NamedTuple):
    """The scores of all codes of a level, for each beam."""

    # (r, k) normalized over these codes; of the decoder or, without one, of the geometry
    log_probs: Tensor
    gains: Tensor  # (r, k) added to the beam's score


def sort_keys(scores: Tensor, ids: Tensor) -> Tensor:
    """Integers (…, c) in the order of scores (…, c), and of falling `ids` below 2³², (c,) or
    (…, c), where these are equal.

    So a single top-k decides, independently of the rest of a batch.
    """
    bits = (scores + 0.0).view(torch.int32)  # + 0.0 turns −0 into 0
    return ((bits ^ (bits >> 31 & 0x7FFFFFFF)).long() << 32) + (0xFFFFFFFF - ids)


def key_scores(keys: Tensor) -> tuple[Tensor, Tensor]:
    """The scores (…, c) and ids (…, c) that `sort_keys` made keys (…, c) of."""
    bits = (keys >> 32).int()
    return (bits ^ (bits >> 31 & 0x7FFFFFFF)).view(torch.float32), 0xFFFFFFFF - (keys & 0xFFFFFFFF)


class Scorer:
    """Blends the decoder's log-probabilities with the geometry of the codes."""

    def __init__(self, decoder: IncrementalDecoder, features: Tensor, beams: int, weight: float):
        """features (b, d). beams: the most at any level. weight: of the decoder."""
        self.decoder, self.weight = decoder, weight
        # geometry alone needs none
        self.cache = decoder.start(features, beams) if weight > 0 else None
        self.residual = features[:, None]  # (b, w, d)
        self.level = 0

    def next_level(self, parent: Tensor, code: Tensor) -> Scores:
        """Score the codes of the next level after the beams. parent (b, w): the beams of the level
        before that they extend; code (b, w): their last codes; neither counts at the first level.
        """
        level = self.level
        self.level += 1
        parents, codes = (parent, code) if level else (None, None)
        if self.cache is None:
            geometry = self._geometry(level, parents, codes)
            return Scores(geometry.log_softmax(-1), geometry)
        gains = self.decoder.step(self.cache, parents, codes)
        # Over the whole vocabulary, as the published search scores, codes of other levels take a
        # share, so these would not say how sure the decoder is.
        log_probs = gains.log_softmax(-1)
        if self.weight < 1:
            gains = self.weight * gains + (1 - self.weight) * self._geometry(level, parents, codes)
        return Scores(log_probs, gains)

    def _geometry(self, level: int, parents: Tensor | None, codes: Tensor | None) -> Tensor:
        """(r, k) scaled: 2⟨r, e⟩ − ‖e‖² of each code."""
        if self.cache is not None and self.cache.level_scores is not None:
            return self.decoder.blend_scale * self.cache.level_scores
        if parents is not None and codes is not None:
            query = torch.arange(len(parents), device=parents.device)[:, None]
            self.residual = self.residual[query, parents] - self.decoder.codebooks[level - 1][codes]
        return self.decoder.blend_scale * self.decoder.level_scores(
            self.residual.flatten(0, 1), level
        )

    def keep(self, queries: Tensor) -> None:
        """Continue with these queries only; queries (b,) bool."""
        self.residual = self.residual[queries]
        if self.cache is not None:
            self.cache.keep(queries.nonzero()[:, 0])

"""Scores of all codes of a level after each beam: the decoder, the geometry of the codes, or a blend.

Shapes: b queries, w beams, r open beams of all queries, k codes of a level, d feature dim.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from genius.models.incremental_decoder import IncrementalDecoder
from genius.search.beam_state import Prefixes


class Scores(NamedTuple):
    """The scores of all codes of a level, for each open beam."""

    log_probs: Tensor  # (r, k) normalized over these codes; of the decoder or, without one, of the geometry
    gains: Tensor  # (r, k) added to the beam's score
    bounds: Tensor  # (r, k) the most that this code and all codes after it can add


def sort_keys(scores: Tensor, ids: Tensor) -> Tensor:
    """Integers (…, c) in the order of scores (…, c), and of falling `ids` (c,) below 2³² where these are equal.

    So a single top-k decides, independently of the rest of a batch.
    """
    bits = (scores + 0.0).view(torch.int32)  # + 0.0 turns −0 into 0
    return ((bits ^ (bits >> 31 & 0x7FFFFFFF)).long() << 32) + (0xFFFFFFFF - ids)


def key_scores(keys: Tensor) -> tuple[Tensor, Tensor]:
    """The scores and ids that `sort_keys` made keys of."""
    bits = (keys >> 32).int()
    return (bits ^ (bits >> 31 & 0x7FFFFFFF)).view(torch.float32), 0xFFFFFFFF - (keys & 0xFFFFFFFF)


class Scorer:
    """Blends the decoder's log-probabilities with the geometry of the codes."""

    def __init__(
        self,
        decoder: IncrementalDecoder,
        features: Tensor,
        beams: int,
        weight: float,
        whole_vocabulary: bool,
        bounded: bool,
        first_codes: Tensor,
    ):
        """bounded: compute bounds; otherwise they equal the gains. first_codes (c,): the valid ones, ascending."""
        self.decoder, self.weight, self.whole_vocabulary, self.bounded = decoder, weight, whole_vocabulary, bounded
        self.cache = decoder.start(features, beams, first_codes) if weight > 0 else None  # geometry alone needs none
        self.residual = features[:, None]  # (b, w, d)
        self.level = 0

    def next_level(self, prefixes: Prefixes, decoded: Tensor) -> Scores:
        """Score the codes of the next level after the open beams; decoded (b, w) bool: which beams are open."""
        rows = None if decoded.all() else decoded.flatten().nonzero()[:, 0]
        parents, codes = (prefixes.parent, prefixes.code) if self.level else (None, None)
        if self.cache is not None:
            log_probs = self.decoder.step(self.cache, parents, codes, rows, self.whole_vocabulary)
        if self.weight < 1:
            geometry, bounds = self._geometry(parents, codes, rows)
        self.level += 1
        if self.weight == 1:
            return Scores(self._readable(log_probs), log_probs, log_probs)
        if self.weight == 0:
            log_probs = geometry.log_softmax(-1)
        gains = self.weight * log_probs + (1 - self.weight) * geometry
        if self.whole_vocabulary:
            bounds = self.weight * log_probs + (1 - self.weight) * bounds
            return Scores(self._readable(log_probs), gains, bounds)
        gains = gains.log_softmax(-1)
        return Scores(log_probs, gains, gains)

    def _readable(self, log_probs: Tensor) -> Tensor:
        """(r, k) normalized over the codes of the level. Over the whole vocabulary, as the published search scores,
        codes of other levels take a share, so these would not say how sure the decoder is."""
        return log_probs.log_softmax(-1) if self.whole_vocabulary and self.weight > 0 else log_probs

    def _geometry(self, parents: Tensor | None, codes: Tensor | None, rows: Tensor | None) -> tuple[Tensor, Tensor]:
        """(r, k) twice, scaled: 2⟨r, e⟩ − ‖e‖² of each code, and the most that it and all codes after it can sum to.

        The sum over all codes is ‖r‖² − ‖final residual‖², and codewords whose norms sum to ρ leave a residual of at
        least ‖r − e‖ − ρ.
        """
        if parents is not None and codes is not None:
            query = torch.arange(len(parents), device=parents.device)[:, None]
            self.residual = self.residual[query, parents] - self.decoder.codebooks[self.level - 1][codes]
        residual = self.residual.flatten(0, 1)
        residual = residual if rows is None else residual[rows]
        scale, geometry = self.decoder.blend_scale, self.decoder.level_scores(residual, self.level)
        if not self.bounded:
            return scale * geometry, scale * geometry
        squared = residual.square().sum(-1, keepdim=True)
        left = ((squared - geometry).clamp_(min=0).sqrt_() - sum(self.decoder.radii[self.level + 1 :])).clamp_(min=0)
        return scale * geometry, scale * (squared - left.square_())

    def keep(self, queries: Tensor) -> None:
        """Continue with these queries only; queries (b,) bool."""
        self.residual = self.residual[queries]
        if self.cache is not None:
            self.cache.keep(queries.nonzero()[:, 0])

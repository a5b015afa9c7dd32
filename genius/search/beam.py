"""Beam search over the valid IDs (paper, section 4.4).

The decoder gives the probability of every code of the next level; the trie leaves only codes that continue a
valid ID; the best prefixes of each query become its beams; after the last level a beam is an ID. All queries
and all their beams are advanced at once.

    score of an ID = w · Σ log p(code | query, codes before)  +  (1 − w) · s · Σ (2⟨r, e⟩ − ‖e‖²)

The second sum is the geometry of the codes alone: r is what the codes before leave of the query's feature,
e the codeword. w = 1 is the published score; w = 0 never runs the decoder and finds the nearest quantized
vectors. s is the decoder's geometry scale.

Shapes: b queries, w beams now, v beams next, k codes of a level, c valid continuations of all beams together,
d feature dim.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from genius.index.trie import Children, Trie
from genius.models.decoder import IDDecoder, geometry
from genius.schema import LevelTrace

TRACED = 4                                  # prefixes in a trace, times the beam size
NOTHING = torch.iinfo(torch.long).min


@dataclass(frozen=True)
class Beams:
    """The IDs that were found for b queries, best first; equal scores in the order of IDs."""

    ids: Tensor                             # (b, w) number in the ID table
    scores: Tensor                          # (b, w) float32
    log_probs: Tensor                       # (b, w) summed log-probability; NaN if no search gave one
    first: Tensor                           # (b, 3) log-probabilities of the first code
    trace: list[list[LevelTrace]] | None    # per query, per level


@torch.inference_mode()
def beam_search(decoder: IDDecoder, features: Tensor, trie: Trie, beams: int,
                decoder_weight: float = 1.0, trace: bool = False) -> Beams:
    """features (b, d), fused and normalised -> the `beams` best valid IDs of each query, or all if fewer.

    Every valid prefix goes on to an ID. So at each level either all queries hold all prefixes, or each holds
    `beams` of them: no beam ever runs dry, and all queries have equally many.
    """
    scorer = _Scorer(decoder, features, decoder_weight)
    nodes = torch.full((len(features), 1), trie.root, device=features.device)              # (b, w)
    scores = torch.zeros(nodes.shape, device=features.device)                              # (b, w)
    sums = torch.zeros_like(scores)                                                        # (b, w) of log p
    parents = codes = None
    traces: list[list[LevelTrace]] = [[] for _ in range(len(features))]
    for level in range(trie.levels):
        log_probs, gains = scorer.next_level(parents, codes)                               # (b, w, k)
        if level == 0:
            first = log_probs[:, 0]
        width = nodes.shape[1]
        found = trie.children(nodes.flatten(), level)                                      # (c,)
        steps = log_probs.flatten(0, 1)[found.owner, found.code]                           # (c,)
        totals = scores.flatten()[found.owner] + gains.flatten(0, 1)[found.owner, found.code]
        best = _best(totals, trie.lowest(found.node), found.owner // width, len(features),
                     beams * TRACED if trace else beams)                                   # (b, ≥ v) into c
        if trace:
            _record(traces, found, totals, steps, best, trie, width, beams)
        best = best[:, :beams]                                                             # (b, v)
        nodes, scores, sums = found.node[best], totals[best], (sums.flatten()[found.owner] + steps)[best]
        parents, codes = found.owner[best] % width, found.code[best]
    return Beams(~nodes, scores, sums, first, traces if trace else None)


class _Scorer:
    """What each code adds to the score of each beam, level by level."""

    def __init__(self, decoder: IDDecoder, features: Tensor, weight: float):
        self.decoder, self.weight, self.level = decoder, weight, 0
        self.cache = decoder.start(features) if weight > 0 else None
        self.residual = features[:, None]                                                  # (b, w, d)

    def next_level(self, parents: Tensor | None, codes: Tensor | None) -> tuple[Tensor, Tensor]:
        """(b, w, k) log-probabilities of the next codes, and (b, w, k) what they add to the score.

        parents, codes (b, w): beam j continues beam parents[·, j] of before with codes[·, j]; None at the
        start. Without the decoder the probabilities are the softmax of the geometry.
        """
        if codes is not None:
            self._follow(parents, codes)
        if self.weight == 1:
            log_probs = self.decoder.step(self.cache, codes).float()
            return log_probs, log_probs
        codebook = self.decoder.codebooks[self.level]
        odds = self.decoder.geometry_scale * geometry(self.residual, codebook).float()
        if self.weight == 0:
            return odds.log_softmax(-1), odds
        log_probs = self.decoder.step(self.cache, codes).float()
        return log_probs, self.weight * log_probs + (1 - self.weight) * odds

    def _follow(self, parents: Tensor, codes: Tensor) -> None:
        if self.weight > 0:
            self.cache.reorder(parents)
        if self.weight < 1:
            query = torch.arange(len(parents), device=parents.device)[:, None]
            self.residual = self.residual[query, parents] - self.decoder.codebooks[self.level][codes]
        self.level += 1


def _best(totals: Tensor, ids: Tensor, query: Tensor, queries: int, width: int) -> Tensor:
    """Positions (b, ≤ width) of the best candidates of each query, best first; −1 where one has fewer.

    totals, ids, query (c,); query ascending. Equal totals are ordered by `ids`. Score and ID become one
    integer, so that a single top-k decides, and the same way whatever else is in the batch.
    """
    sizes = torch.bincount(query, minlength=queries)
    starts = sizes.cumsum(0) - sizes
    bits = (totals + 0.0).view(torch.int32)                          # + 0.0: there is one zero
    ordered = bits ^ (bits >> 31 & 0x7FFFFFFF)                       # integers that sort as the floats do
    keys = torch.full((queries, int(sizes.max())), NOTHING, device=totals.device)
    keys[query, torch.arange(len(query), device=query.device) - starts[query]] = \
        (ordered.long() << 32) + (0xFFFFFFFF - ids)
    top, place = keys.topk(min(width, keys.shape[1]))
    return torch.where(top > NOTHING, starts[:, None] + place, -1)


def _record(traces: list[list[LevelTrace]], found: Children, totals: Tensor, steps: Tensor, best: Tensor,
            trie: Trie, width: int, beams: int) -> None:
    """Append this level to the trace of each query, from the tensors that the search itself decides by."""
    valid = torch.zeros(len(best) * width, device=best.device).index_add_(0, found.owner, steps.exp())
    masked = (1 - valid).clamp_(min=0).view(len(best), width)
    for query, trace in enumerate(traces):
        seen = best[query][best[query] >= 0]
        columns = (found.owner[seen] % width, found.code[seen], steps[seen], totals[seen],
                   torch.arange(len(seen)) < beams, trie.items(found.node[seen]), masked[query])
        trace.append(LevelTrace(*(column.cpu().numpy() for column in columns)))

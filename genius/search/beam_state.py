"""The state of a beam search, and its result.

Shapes: b queries, w beams, v beams of the next level, c valid continuations of all beams together, k codes of the
first level.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from genius.schema import LevelTrace
from genius.trie.trie import Trie

ROUNDING = 2e-4  # of scores computed in fp32, relative to those beyond ±1; a certificate needs a larger gap
TRACE_FACTOR = 4  # prefixes in a trace for each beam


@dataclass(frozen=True)
class Beams:
    """The result for b queries, best prefixes first; equal scores in the order of IDs.

    Prefixes are whole IDs or, in modes set and fast, have few items below: numbers low … high − 1 of the ID table.
    Queries with fewer prefixes than others are padded: low = high = 0 and score −inf.
    """

    low: Tensor  # (b, w) for a whole ID also its number
    high: Tensor  # (b, w)
    scores: Tensor  # (b, w) float32, of the decoded codes
    log_probs: Tensor  # (b, w) summed over the decoded codes, each normalized over its level; of the decoder or, where
    # it has no weight, of the geometry; NaN of `quantized_search`, which scores whole IDs
    depth: Tensor  # (b, w) number of decoded codes
    first_log_probs: Tensor  # (b, k) log-probabilities of the k first codes, normalized over them
    scored: Tensor  # (b,) beams scored over all levels: the cost of the search
    bound: Tensor | None = None  # (b,) no discarded valid ID scores more; None: not computed
    trace: list[list[LevelTrace]] | None = None  # by query, by level
    ends: Beams | None = None  # the whole IDs that the beams of a traced search in mode fast went on to

    def certified(self, best: int) -> Tensor | None:
        """(b,) bool: the first `best` prefixes of each query are provably the best of all valid IDs under the model."""
        if self.bound is None:
            return None
        last = (self.high > self.low).sum(1).clamp(max=best) - 1
        scores = self.scores.gather(1, last[:, None])[:, 0]
        return self.bound < scores - ROUNDING * scores.abs().clamp(min=1)


class Continuations(NamedTuple):
    """All valid extensions of the beams by one code, ordered by query, beam, code."""

    query: Tensor  # (c,) place among the queries still searched
    beam: Tensor  # (c,) that is extended
    code: Tensor  # (c,)
    node: Tensor  # (c,)
    log_prob: Tensor  # (c,) of the code, normalized over its level
    score: Tensor  # (c,) of the extended prefix
    bound: Tensor  # (c,) no ID below scores more


class Prefixes(NamedTuple):
    """The beams of the b queries that are still searched."""

    query: Tensor  # (b,) place among all queries
    node: Tensor  # (b, w)
    score: Tensor  # (b, w)
    log_prob: Tensor  # (b, w)
    depth: Tensor  # (b, w) number of decoded codes
    parent: Tensor  # (b, w) beam of the level before
    code: Tensor  # (b, w) last code

    @classmethod
    def empty(cls, root: int, queries: int, device: torch.device) -> Prefixes:
        """One prefix without codes for each query."""
        node = torch.full((queries, 1), root, device=device)
        zero = torch.zeros_like(node)
        return cls(torch.arange(queries, device=device), node, zero.float(), zero.float(), zero, zero, zero)

    def extend(self, continuations: Continuations, best: Tensor, decoded: Tensor) -> Prefixes:
        """The prefixes of the next level; best (b, v) positions in `continuations`, decoded (b, w) bool."""
        parent = continuations.beam[best]
        return Prefixes(
            self.query,
            continuations.node[best],
            continuations.score[best],
            self.log_prob.gather(1, parent) + continuations.log_prob[best],
            (self.depth + decoded).gather(1, parent),
            parent,
            continuations.code[best],
        )

    def best(self, beams: int) -> Prefixes:
        """The first `beams` prefixes of each query."""
        return Prefixes(self.query, *(values[:, :beams] for values in self[1:]))

    def select(self, queries: Tensor) -> Prefixes:
        """Those of some queries; queries (b,) bool."""
        return Prefixes(*(values[queries] for values in self))


class Recorder:
    """Collects finished queries, the bound on discarded prefixes, and the trace."""

    def __init__(
        self,
        queries: int,
        beams: int,
        widest: int,
        trie: Trie,
        device: torch.device,
        certify: bool = False,
        trace: bool = False,
    ):
        """beams: kept at each level. widest: the largest number of prefixes that a query may end with."""
        self._trie, self._beams, self._width = trie, beams, 0
        self._ranges = torch.zeros(3, queries, widest, dtype=torch.long, device=device)  # low, high, depth
        self._scores = torch.full((2, queries, widest), -torch.inf, device=device)  # scores, log_probs
        self._scored = torch.zeros(queries, dtype=torch.long, device=device)
        self._first_log_probs = torch.empty(0)
        self._bound = torch.full((queries,), -torch.inf, device=device) if certify else None
        self._traces: list[list[LevelTrace]] | None = [[] for _ in range(queries)] if trace else None

    def record_first_codes(self, log_probs: Tensor) -> None:
        """log_probs (b, k): of the k first codes."""
        self._first_log_probs = log_probs

    def record_level(self, prefixes: Prefixes, continuations: Continuations, best: Tensor, decoded: Tensor) -> None:
        """One level, from the tensors that the search itself decides by.

        continuations: all of `prefixes`. best (b, ≥ v): positions in them, of which the beam size is kept.
        decoded (b, w) bool.
        """
        self._scored[prefixes.query] += decoded.sum(1)
        if self._bound is not None:
            kept = best[:, : self._beams]
            discarded = continuations.bound.index_fill(0, kept[kept >= 0], -torch.inf)
            self._bound[prefixes.query] = self._bound[prefixes.query].scatter_reduce(
                0, continuations.query, discarded, "amax"
            )
        if self._traces is not None:
            self._trace_level(prefixes, continuations, best)

    def _trace_level(self, prefixes: Prefixes, continuations: Continuations, best: Tensor) -> None:
        assert self._traces is not None
        log_valid = self._log_valid(prefixes, continuations)
        for i, query in enumerate(prefixes.query.tolist()):
            shown = best[i, : TRACE_FACTOR * self._beams]
            shown = shown[shown >= 0]
            columns = (
                continuations.beam[shown],
                continuations.code[shown],
                continuations.log_prob[shown],
                continuations.score[shown],
                torch.arange(len(shown)) < self._beams,
                self._trie.item_counts(continuations.node[shown]),
                log_valid[i],
            )
            self._traces[query].append(LevelTrace(*(column.cpu().numpy() for column in columns)))

    @staticmethod
    def _log_valid(prefixes: Prefixes, continuations: Continuations) -> Tensor:
        """(b, w) logarithm of the summed probabilities of all continuations; −inf without one."""
        owner = continuations.query * prefixes.score.shape[1] + continuations.beam
        largest = torch.full_like(prefixes.score, -torch.inf).flatten()
        largest = largest.scatter_reduce_(0, owner, continuations.log_prob, "amax")
        relative = (continuations.log_prob - largest[owner].clamp(min=torch.finfo().min)).exp()
        return (torch.zeros_like(largest).index_add_(0, owner, relative).log() + largest).view_as(prefixes.score)

    def record_finished(self, prefixes: Prefixes, kept: Tensor | None = None) -> None:
        """Queries that are finished; kept (b, w) bool: which of their prefixes are results, by default all."""
        width = prefixes.node.shape[1]
        low, high = self._trie.ranges(prefixes.node)
        ranges, scores = torch.stack([low, high, prefixes.depth]), torch.stack([prefixes.score, prefixes.log_prob])
        if kept is not None:
            ranges, scores = ranges.masked_fill(~kept, 0), scores.masked_fill(~kept, -torch.inf)
        self._ranges[:, prefixes.query, :width], self._scores[:, prefixes.query, :width] = ranges, scores
        self._width = max(self._width, width)

    def beams(self) -> Beams:
        """The result, when all queries are finished."""
        low, high, depth = self._ranges[..., : self._width]
        scores, log_probs = self._scores[..., : self._width]
        return Beams(
            low, high, scores, log_probs, depth, self._first_log_probs, self._scored, self._bound, self._traces
        )

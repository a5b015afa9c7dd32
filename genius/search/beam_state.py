"""The state of a beam search, and its result.

Shapes: b queries, w beams, v beams of the next level, c valid continuations of all beams together,
k codes of the first level.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from genius.schema import LevelTrace
from genius.trie.trie import Trie

TRACE_FACTOR = 4  # prefixes in a trace for each beam


@dataclass(frozen=True)
class Beams:
    """The result for b queries, best prefixes first; equal scores in the order of IDs.

    Prefixes are whole IDs or, where the search stopped early, have few items below: numbers low …
    high − 1 of the ID table. Queries with fewer prefixes than others are padded: low = high = 0 and
    score −inf.
    """

    low: Tensor  # (b, w) for a whole ID also its number
    high: Tensor  # (b, w)
    scores: Tensor  # (b, w) float32, of the decoded codes
    # (b, w) summed over the decoded codes, each normalized over its level; of the decoder or, where
    # it has no weight, of the geometry
    log_probs: Tensor
    depth: Tensor  # (b, w) number of decoded codes
    first_log_probs: Tensor  # (b, k) log-probabilities of the k first codes, normalized over them
    scored: Tensor  # (b,) beams scored over all levels: the cost of the search
    trace: list[list[LevelTrace]] | None = None  # by query, by level


class Continuations(NamedTuple):
    """All valid extensions of the beams by one code, ordered by query, beam, code."""

    query: Tensor  # (c,) place among the queries still searched
    beam: Tensor  # (c,) that is extended
    code: Tensor  # (c,)
    node: Tensor  # (c,)
    log_prob: Tensor  # (c,) of the code, normalized over its level
    score: Tensor  # (c,) of the extended prefix


class Prefixes(NamedTuple):
    """The beams of the b queries that are still searched."""

    query: Tensor  # (b,) place among all queries
    node: Tensor  # (b, w)
    score: Tensor  # (b, w)
    log_prob: Tensor  # (b, w)
    parent: Tensor  # (b, w) beam of the level before
    code: Tensor  # (b, w) last code

    @classmethod
    def empty(cls, root: int, queries: int, device: torch.device) -> "Prefixes":
        """One prefix without codes for each query."""
        node = torch.full((queries, 1), root, device=device)
        zero = torch.zeros_like(node)
        return cls(
            torch.arange(queries, device=device), node, zero.float(), zero.float(), zero, zero
        )

    def extend(self, continuations: Continuations, best: Tensor) -> "Prefixes":
        """The prefixes of the next level; best (b, v) positions in `continuations`."""
        chosen = Continuations(*(values[best] for values in continuations))
        log_prob = self.log_prob.gather(1, chosen.beam) + chosen.log_prob
        return Prefixes(self.query, chosen.node, chosen.score, log_prob, chosen.beam, chosen.code)

    def select(self, queries: Tensor) -> "Prefixes":
        """Those of some queries; queries (b,) bool."""
        return Prefixes(*(values[queries] for values in self))


class Recorder:
    """Collects finished queries and the trace."""

    def __init__(
        self, queries: int, beams: int, trie: Trie, device: torch.device, trace: bool = False
    ):
        """beams: kept at each level."""
        self._trie = trie
        self._beams = beams
        self._width = 0
        self._level = 0
        # low, high, depth
        self._ranges = torch.zeros(3, queries, beams, dtype=torch.long, device=device)
        # scores, log_probs
        self._scores = torch.full((2, queries, beams), -torch.inf, device=device)
        self._scored = torch.zeros(queries, dtype=torch.long, device=device)
        self._traces: list[list[LevelTrace]] | None = (
            [[] for _ in range(queries)] if trace else None
        )

    def record_level(self, prefixes: Prefixes, continuations: Continuations, best: Tensor) -> None:
        """One level, from the tensors that the search itself decides by.

        continuations: all of `prefixes`. best (b, ≥ v): positions in them, of which the beam size
        is kept.
        """
        self._level += 1
        self._scored[prefixes.query] += prefixes.node.shape[1]
        if self._traces is None:
            return
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
        return (torch.zeros_like(largest).index_add_(0, owner, relative).log() + largest).view_as(
            prefixes.score
        )

    def record_finished(self, prefixes: Prefixes) -> None:
        """Queries that are finished."""
        width = prefixes.node.shape[1]
        low, high = self._trie.ranges(prefixes.node)
        ranges = torch.stack([low, high, torch.full_like(low, self._level)])
        self._ranges[:, prefixes.query, :width] = ranges
        self._scores[:, prefixes.query, :width] = torch.stack([prefixes.score, prefixes.log_prob])
        self._width = max(self._width, width)

    def beams(self, first_log_probs: Tensor) -> Beams:
        """The result, when all queries are finished; first_log_probs (b, k): of the k first
        codes.
        """
        low, high, depth = self._ranges[..., : self._width]
        scores, log_probs = self._scores[..., : self._width]
        return Beams(
            low, high, scores, log_probs, depth, first_log_probs, self._scored, self._traces
        )

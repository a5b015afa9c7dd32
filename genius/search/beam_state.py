"""What a beam search holds while it runs, and what it gives.

Shapes: b queries, w beams, v beams of the next level, c valid continuations of all beams together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from genius.schema import LevelTrace
from genius.trie.trie import Trie

ROUNDING = 1e-4  # of scores summed in fp32: no certificate rests on less


@dataclass(frozen=True)
class Beams:
    """The prefixes that were found for b queries, best first; equal scores in the order of IDs.

    They are whole IDs, or in mode fast prefixes with few items below. Those items are numbers low … high − 1 of
    the ID table. Where a query has fewer prefixes than another: low = high = 0 and score −inf.
    """

    low: Tensor  # (b, w) of a whole ID it is also the number
    high: Tensor  # (b, w)
    scores: Tensor  # (b, w) float32, of the codes decoded
    log_probs: Tensor  # (b, w) their summed log-probability; NaN if there is none
    depth: Tensor  # (b, w) how many codes were decoded
    first: Tensor  # (b, 3) log-probabilities of the first code
    rows: Tensor  # (b,) beams scored over all levels: what the search cost
    ceiling: Tensor | None = None  # (b,) no valid ID that was discarded scores more; if asked for
    trace: list[list[LevelTrace]] | None = None  # per query, per level

    def certified(self, best: int) -> Tensor | None:
        """(b,) bool: the first `best` of each query are provably the best of all valid IDs under the model."""
        if self.ceiling is None:
            return None
        last = (self.high > self.low).sum(1).clamp(max=best) - 1
        return self.ceiling < self.scores.gather(1, last[:, None])[:, 0] - ROUNDING

    def replace(self, queries: Tensor, better: Beams) -> None:
        """Put what a wider search found for these queries (q,) in place of what was found here."""
        for mine, theirs in (
            (self.low, better.low),
            (self.high, better.high),
            (self.scores, better.scores),
            (self.log_probs, better.log_probs),
            (self.depth, better.depth),
        ):
            mine[queries] = theirs[:, : mine.shape[1]]
        self.rows[queries] += better.rows
        self.ceiling[queries] = better.ceiling
        for query, trace in zip(queries.tolist(), better.trace or (), strict=False):
            self.trace[query] = trace


class Continuations(NamedTuple):
    """Beams of one level, each with one more code; ordered by query, beam, code."""

    query: Tensor  # (c,) among those still searched
    beam: Tensor  # (c,) that it continues
    code: Tensor  # (c,)
    node: Tensor  # (c,)
    step: Tensor  # (c,) log-probability of the code
    score: Tensor  # (c,)
    reach: Tensor  # (c,) no ID below scores more


class Prefixes(NamedTuple):
    """The beams of the b queries that are still searched."""

    query: Tensor  # (b,) which of all queries
    node: Tensor  # (b, w)
    score: Tensor  # (b, w)
    log_prob: Tensor  # (b, w)
    depth: Tensor  # (b, w) codes decoded
    parent: Tensor  # (b, w) beam of the level before
    code: Tensor  # (b, w) the last one

    @classmethod
    def empty(cls, root: int, queries: int, device: torch.device) -> Prefixes:
        """One prefix a query, without codes."""
        node = torch.full((queries, 1), root, device=device)
        none = torch.zeros_like(node)
        return cls(torch.arange(queries, device=device), node, none.float(), none.float(), none, none, none)

    def extended(self, grown: Continuations, best: Tensor, decoded: Tensor) -> Prefixes:
        """The beams of the next level; best (b, v) into grown, decoded (b, w) bool."""
        parent = grown.beam[best]
        return Prefixes(
            self.query,
            grown.node[best],
            grown.score[best],
            self.log_prob.gather(1, parent) + grown.step[best],
            (self.depth + decoded).gather(1, parent),
            parent,
            grown.code[best],
        )

    def first(self, beams: int) -> Prefixes:
        """The best of each query."""
        return Prefixes(self.query, *(values[:, :beams] for values in self[1:]))

    def of(self, chosen: Tensor) -> Prefixes:
        """chosen (b,) bool."""
        return Prefixes(*(values[chosen] for values in self))


class Found:
    """Collects the result: prefixes of queries that are done, what was discarded, the trace."""

    def __init__(
        self, queries: int, beams: int, widest: int, trie: Trie, certify: bool, trace: bool, device: torch.device
    ):
        """beams: kept at each level; widest: the most prefixes that a query may end with."""
        self._trie, self._beam_size, self._widest = trie, beams, 0
        self._whole = torch.zeros(3, queries, widest, dtype=torch.long, device=device)  # low, high, depth
        self._sums = torch.full((2, queries, widest), -torch.inf, device=device)  # scores, log_probs
        self._rows = torch.zeros(queries, dtype=torch.long, device=device)
        self._first = torch.empty(0)
        self._ceiling = torch.full((queries,), -torch.inf, device=device) if certify else None
        self._traces: list[list[LevelTrace]] | None = [[] for _ in range(queries)] if trace else None

    def first(self, log_probs: Tensor) -> None:
        """(b, 3) of the first code, as the first step scores it."""
        self._first = log_probs

    def note(self, now: Prefixes, grown: Continuations, best: Tensor, decoded: Tensor) -> None:
        """One step, from the tensors that the search itself decides by.

        grown: all continuations of `now`; best (b, ≥ v) into grown, of which the beam size is kept;
        decoded (b, w) bool.
        """
        self._rows[now.query] += decoded.sum(1)
        if self._ceiling is not None:
            kept = best[:, : self._beam_size]
            reach = grown.reach.index_fill(0, kept[kept >= 0], -torch.inf)
            self._ceiling[now.query] = self._ceiling[now.query].scatter_reduce(0, grown.query, reach, "amax")
        if self._traces is not None:
            self._record(now, grown, best)

    def _record(self, now: Prefixes, grown: Continuations, best: Tensor) -> None:
        mass = torch.zeros_like(now.score).index_put_((grown.query, grown.beam), grown.step.exp(), accumulate=True)
        masked = (1 - mass).clamp_(min=0)
        for i, query in enumerate(now.query.tolist()):
            seen = best[i][best[i] >= 0]
            columns = (
                grown.beam[seen],
                grown.code[seen],
                grown.step[seen],
                grown.score[seen],
                torch.arange(len(seen)) < self._beam_size,
                self._trie.item_counts(grown.node[seen]),
                masked[i],
            )
            self._traces[query].append(LevelTrace(*(column.cpu().numpy() for column in columns)))

    def put(self, done: Prefixes, kept: Tensor | None = None) -> None:
        """Queries that have come to their end; kept (b, w) bool: which of their prefixes count, by default all."""
        width = done.node.shape[1]
        low, high = self._trie.ranges(done.node)
        whole, sums = torch.stack([low, high, done.depth]), torch.stack([done.score, done.log_prob])
        if kept is not None:
            whole, sums = whole.masked_fill(~kept, 0), sums.masked_fill(~kept, -torch.inf)
        self._whole[:, done.query, :width], self._sums[:, done.query, :width] = whole, sums
        self._widest = max(self._widest, width)

    def beams(self) -> Beams:
        low, high, depth = self._whole[..., : self._widest]
        scores, log_probs = self._sums[..., : self._widest]
        return Beams(low, high, scores, log_probs, depth, self._first, self._rows, self._ceiling, self._traces)

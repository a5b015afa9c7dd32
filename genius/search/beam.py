"""Beam search over the valid IDs (paper, section 4.4).

The decoder gives the probability of every code of the next level; the trie leaves only codes that
continue a valid ID; the best prefixes of each query become its beams; after the last level a beam
is an ID. All queries and all their beams advance at once.

    score of an ID = w · Σ log p(code | query, codes before)  +  (1 − w) · s · Σ (2⟨r, e⟩ − ‖e‖²)

The second sum is the geometry of the codes alone: r is the residual of the query's feature after
the codes before, e the codeword. w = 1 is the published score; w = 0 never runs the decoder and
finds the nearest quantized vectors. s is the decoder's geometry scale.

Probabilities that people read (`log_probs`, the trace) are normalized over the codes of their
level, so that what the trie masks and what it leaves add up to 1; they rank nothing.

Against the published algorithm (transformers' `generate` with `prefix_allowed_tokens_fn`, the same
weights, the same number of beams): the same IDs and scores, within 2e-4 in fp32, times the score's
size beyond ±1; the order may differ only between closer scores. The softmax is over the whole
vocabulary before the trie masks it, and an ID has no end token.

Where candidates are re-ranked, their order does not matter, and the search may *stop when they are
settled*: once the beams of a query hold at most a tenth more items than there are beams, or one ID
each. All items below them are then candidates, so nothing is discarded any more: all of the IDs
above and few others, with the scores of the codes decoded until then.

Shapes: b queries, w beams now, v beams next, r = b · w beams of all queries, k codes of a level, c
valid continuations of all beams together, d feature dim.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from genius.models.incremental_decoder import IncrementalDecoder
from genius.schema import LevelTrace
from genius.search.scoring import Scorer, Scores, sort_keys
from genius.trie.trie import Trie

TRACE_FACTOR = 4  # prefixes in a trace for each beam
SURPLUS = 10  # settled candidates may be beams // SURPLUS items more than beams
PADDING = torch.iinfo(torch.long).min


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


@torch.inference_mode()
def beam_search(
    decoder: IncrementalDecoder,
    features: Tensor,
    trie: Trie,
    beams: int,
    *,
    decoder_weight: float = 1.0,
    kind_log_probs: Tensor | None = None,
    settle: bool = False,
    trace: bool = False,
) -> Beams:
    """features (b, d), fused and normalized -> the `beams` best valid IDs of each query, or all if
    fewer.

    kind_log_probs: (b, k) log-probabilities that a reader gives to the first codes, which multiply
    those of the decoder. settle: stop when the candidates are settled; the result may then be
    prefixes, see `Beams`.

    Every valid prefix continues to an ID. So at each level either all queries hold all prefixes, or
    each holds `beams` of them: no beam ever runs dry, and all queries have equally many.
    """
    scorer = Scorer(decoder, features, beams, decoder_weight)
    recorder = Recorder(len(features), beams, trie, features.device, trace)
    prefixes = Prefixes.empty(trie.root, len(features), features.device)
    for level in range(trie.levels):
        scores = scorer.next_level(prefixes.parent, prefixes.code)
        if level == 0:
            if kind_log_probs is not None:
                scores = Scores(
                    (scores.log_probs + kind_log_probs).log_softmax(-1),
                    scores.gains + kind_log_probs,
                )
            first_log_probs = scores.log_probs
        continuations = _continuations(prefixes, trie, scores, level)  # (c,)
        lowest = trie.lowest(continuations.node)
        queries = len(prefixes.query)
        width = beams * TRACE_FACTOR if trace else beams
        # (b, v or more)
        best = best_positions(continuations.score, lowest, continuations.query, queries, width)
        recorder.record_level(prefixes, continuations, best)
        prefixes = prefixes.extend(continuations, best[:, :beams])
        if level < trie.levels - 1 and not settle:
            continue
        finished = (prefixes.node < 0).all(1)
        if level + 1 >= len(trie.prefix):  # before, not all items below are valid
            finished |= trie.item_counts(prefixes.node).sum(1) <= beams + beams // SURPLUS
        if level == trie.levels - 1:
            finished[:] = True
        if not finished.any():
            continue
        recorder.record_finished(prefixes.select(finished))
        prefixes = prefixes.select(~finished)
        scorer.keep(~finished)
        if not len(prefixes.query):
            break
    return recorder.beams(first_log_probs)


def _continuations(prefixes: Prefixes, trie: Trie, scores: Scores, level: int) -> Continuations:
    """All valid continuations (c,) of all beams."""
    children = trie.children(prefixes.node.flatten(), level)
    width = prefixes.node.shape[1]
    owner, code = children.owner, children.code
    position = owner * scores.gains.shape[1] + code
    log_prob = scores.log_probs.take(position)
    score = prefixes.score.flatten()[owner] + scores.gains.take(position)
    return Continuations(owner // width, owner % width, code, children.node, log_prob, score)


def best_positions(scores: Tensor, ids: Tensor, query: Tensor, queries: int, width: int) -> Tensor:
    """Positions (b, ≤ width) of the highest scores of each query, best first, padded with −1.

    scores, ids, query (c,); query ascending, ids below 2³². Equal scores are ordered by `ids`.
    """
    sizes = torch.bincount(query, minlength=queries)
    starts = sizes.cumsum(0) - sizes
    keys = torch.full((queries, int(sizes.max())), PADDING, device=scores.device)
    keys[query, torch.arange(len(query), device=query.device) - starts[query]] = sort_keys(
        scores, ids
    )
    top, place = keys.topk(min(width, keys.shape[1]))
    return torch.where(top > PADDING, starts[:, None] + place, -1)

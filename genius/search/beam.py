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

import torch
from torch import Tensor

from genius.models.incremental_decoder import IncrementalDecoder
from genius.search.beam_state import TRACE_FACTOR, Beams, Continuations, Prefixes, Recorder
from genius.search.scoring import Scorer, Scores, sort_keys
from genius.trie.trie import Trie

SURPLUS = 10  # settled candidates may be beams // SURPLUS items more than beams
PADDING = torch.iinfo(torch.long).min


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
        scores = scorer.next_level(prefixes)
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

"""Beam search over the valid IDs (paper, section 4.4).

The decoder gives the probability of every code of the next level; the trie leaves only codes that continue a
valid ID; the best prefixes of each query become its beams; after the last level a beam is an ID. All queries
and all their beams advance at once.

    score of an ID = w · Σ log p(code | query, codes before)  +  (1 − w) · s · Σ (2⟨r, e⟩ − ‖e‖²)

The second sum is the geometry of the codes alone: r is the residual of the query's feature after the codes before, e
the codeword. w = 1 is the published score; w = 0 never runs the decoder and finds the nearest quantized vectors. s is
the decoder's geometry scale.

Probabilities that people read (`log_probs`, the trace) are normalized over the codes of their level in every mode, so
that what the trie masks and what it leaves add up to 1; they rank nothing.

Three modes, and what each guarantees against the published algorithm (transformers' `generate` with
`prefix_allowed_tokens_fn`, the same weights, the same number of beams):

    exact   the same IDs and scores, within 2e-4 in fp32, times the score's size beyond ±1; the order may differ only
            between closer scores. The softmax is over the whole vocabulary before the trie masks it, and an ID has no
            end token.
    set     all of these IDs and few others, in another order: for re-ranking. A query is finished once its beams
            hold at most a tenth more items than there are beams, or one ID each: all items below them are the result,
            and nothing is discarded any more. Scores are those of the codes decoded until then. Traced, to be shown, a
            query goes on until each beam has one ID left; then there are no others.
    fast    no guarantee, a measured hit rate. The softmax is over the level's own codes, so a beam's score is the
            share of all probability below it. A beam with one ID left keeps its score and is not decoded any
            further, and a query is finished once its beams hold no more items than the shortlist (*prefix, then
            leaf*); the next best prefixes fill it. So a quarter of the beams is enough: the prefixes that fill it
            make up for the beams that are not decoded. Traced, the beams go on to their ends, to be shown.

Certificate, of mode exact: what a prefix can still gain is bounded. Log-probabilities are at most 0, and geometry is
bounded by the norms of the codewords to come (scoring.py). If no discarded prefix can reach the score of the last ID
that was kept, rounding included, the result is provably the best of all valid IDs under the model.

Shapes: b queries, w beams now, v beams next, r open beams of all queries, k codes of a level, c valid
continuations of all beams together, d feature dim.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from genius.models.incremental_decoder import IncrementalDecoder
from genius.search.beam_state import TRACE_FACTOR, Beams, Continuations, Prefixes, Recorder
from genius.search.scoring import Scorer, Scores, sort_keys
from genius.trie.trie import Trie

MODES = ("exact", "set", "fast")
SURPLUS = 10  # mode set may return beams // SURPLUS items more than beams
FAST_BEAM_DIVISOR = 4  # mode fast decodes beams // FAST_BEAM_DIVISOR, rounded up
PADDING = torch.iinfo(torch.long).min


@torch.inference_mode()
def beam_search(
    decoder: IncrementalDecoder,
    features: Tensor,
    trie: Trie,
    beams: int,
    *,
    mode: str = "exact",
    decoder_weight: float = 1.0,
    shortlist_size: int = 0,
    shortlist_prefixes: int | None = None,
    trace: bool = False,
) -> Beams:
    """features (b, d), fused and normalized -> the `beams` best valid IDs of each query, or all if fewer.

    mode: see above; the result of set and fast may be prefixes, see `Beams`. shortlist_size: the most items below the
    prefixes that mode fast returns, which needs it. shortlist_prefixes: the most prefixes that it returns, at least its
    beams; by default as many as items. Raises ValueError for an unknown mode, and without a needed size.

    Every valid prefix continues to an ID. So at each level either all queries hold all prefixes, or each holds
    `beams` of them: no beam ever runs dry, and all queries have equally many.
    """
    if mode not in MODES:
        raise ValueError(f"mode {mode!r} is unknown; choose from {', '.join(MODES)}")
    exact, fast = mode == "exact", mode == "fast"
    beams = -(-beams // FAST_BEAM_DIVISOR) if fast else beams
    widest = beams * TRACE_FACTOR if trace else beams
    if fast:
        if not shortlist_size:
            raise ValueError("mode fast needs the size of the shortlist")
        widest = max(widest, shortlist_prefixes or shortlist_size)
    scorer = Scorer(
        decoder, features, beams, decoder_weight, whole_vocabulary=not fast, bounded=exact, first_codes=trie.first_codes
    )
    recorder = Recorder(len(features), beams, widest, trie, features.device, certify=exact, trace=trace)
    prefixes = Prefixes.empty(trie.root, len(features), features.device)
    pending = torch.ones(len(features), dtype=torch.bool, device=features.device)  # queries without a result
    ends = Recorder(len(features), beams, beams, trie, features.device) if fast and trace else None
    for level in range(trie.levels):
        decoded = prefixes.node >= 0 if fast and level else torch.ones_like(prefixes.node, dtype=torch.bool)
        scores = scorer.next_level(prefixes, decoded)
        if level == 0:
            recorder.record_first_codes(scores.log_probs)
        continuations = _continuations(prefixes, trie, scores, decoded, level)  # (c,)
        best = best_positions(  # (b, ≥ v) positions
            continuations.score, trie.lowest(continuations.node), continuations.query, len(prefixes.query), widest
        )
        recorder.record_level(prefixes, continuations, best, decoded)
        extended = prefixes.extend(continuations, best, decoded)
        prefixes, last = extended.best(beams), level == trie.levels - 1
        if fast:
            finished, kept = _fitting(extended, best >= 0, trie, beams, shortlist_size)  # (b,), (b, ≥ v)
            if level + 1 < len(trie.prefix):  # not all items below these prefixes are valid, unless it is one ID
                finished &= (prefixes.node < 0).all(1)
            finished = (finished | last) & pending[prefixes.query]
            recorder.record_finished(extended.select(finished), kept[finished])
            pending[prefixes.query[finished]] = False
            if ends is not None:
                finished = (prefixes.node < 0).all(1) | last
                ends.record_finished(prefixes.select(finished))
        elif last or not exact:
            finished = (prefixes.node < 0).all(1)
            if not exact and not trace and level + 1 >= len(trie.prefix):  # before, not all items below are valid
                finished |= trie.item_counts(prefixes.node).sum(1) <= beams + beams // SURPLUS
            recorder.record_finished(prefixes.select(finished))
        else:
            continue
        prefixes = prefixes.select(~finished)
        scorer.keep(~finished)
        if not len(prefixes.query):
            break
    return recorder.beams() if ends is None else replace(recorder.beams(), ends=ends.beams())


def _fitting(extended: Prefixes, present: Tensor, trie: Trie, beams: int, size: int) -> tuple[Tensor, Tensor]:
    """(b,) bool: the query is finished, and (b, v) bool: the prefixes that are its result then, best first.

    present (b, v) bool: not padding. A query may stop when the items of all its beams fit into a shortlist of this
    size, and must when none of its beams branches any more; the best prefixes that fit are the result, more than the
    beams if there is room.
    """
    fits = present & ((trie.item_counts(extended.node) * present).cumsum(1) <= size)
    finished = (fits | ~present)[:, :beams].all(1) | ((extended.node < 0) | ~present)[:, :beams].all(1)
    fits[:, 0] = True
    return finished, fits


def _continuations(prefixes: Prefixes, trie: Trie, scores: Scores, decoded: Tensor, level: int) -> Continuations:
    """All valid continuations (c,) of all beams; a beam that was not decoded keeps its score."""
    children = trie.children(prefixes.node.flatten(), level)
    owner, code = children.owner, children.code
    row, skipped = owner, None  # of `scores`, which has one for each decoded beam
    if len(scores.gains) < decoded.numel():
        of_beam = decoded.flatten().cumsum(0) - 1
        row, skipped = of_beam[owner].clamp_(min=0), ~decoded.flatten()[owner]
    position = row * scores.gains.shape[1] + code

    def lookup(table: Tensor) -> Tensor:
        values = table.take(position)  # (c,)
        return values if skipped is None else values.masked_fill_(skipped, 0)

    log_prob, gain = lookup(scores.log_probs), lookup(scores.gains)
    bound = gain if scores.bounds is scores.gains else lookup(scores.bounds)
    before, width = prefixes.score.flatten()[owner], prefixes.node.shape[1]
    return Continuations(owner // width, owner % width, code, children.node, log_prob, before + gain, before + bound)


def best_positions(scores: Tensor, ids: Tensor, query: Tensor, queries: int, width: int) -> Tensor:
    """Positions (b, ≤ width) of the highest scores of each query, best first, padded with −1.

    scores, ids, query (c,); query ascending, ids below 2³². Equal scores are ordered by `ids`.
    """
    sizes = torch.bincount(query, minlength=queries)
    starts = sizes.cumsum(0) - sizes
    keys = torch.full((queries, int(sizes.max())), PADDING, device=scores.device)
    keys[query, torch.arange(len(query), device=query.device) - starts[query]] = sort_keys(scores, ids)
    top, place = keys.topk(min(width, keys.shape[1]))
    return torch.where(top > PADDING, starts[:, None] + place, -1)

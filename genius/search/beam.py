"""Beam search over the valid IDs (paper, section 4.4).

The decoder gives the probability of every code of the next level; the trie leaves only codes that continue a
valid ID; the best prefixes of each query become its beams; after the last level a beam is an ID. All queries
and all their beams are advanced at once.

    score of an ID = w · Σ log p(code | query, codes before)  +  (1 − w) · s · Σ (2⟨r, e⟩ − ‖e‖²)

The second sum is the geometry of the codes alone: r is what the codes before leave of the query's feature,
e the codeword. w = 1 is the published score; w = 0 never runs the decoder and finds the nearest quantized
vectors. s is the decoder's geometry scale.

Three modes, and what each guarantees against the published algorithm (transformers' `generate` with
`prefix_allowed_tokens_fn`, the same weights, the same number of beams):

    exact   the same IDs and scores, within 1e-4 in fp32; the order may differ only between closer scores. The
            softmax is over the whole vocabulary before the trie masks it, and an ID has no end token.
    set     the same IDs, in another order: for re-ranking. A query is done once each of its beams has one ID
            left, for then nothing can be discarded any more. Scores are of the codes decoded until then.
    fast    no guarantee, a measured hit rate. The softmax is over the level's own codes, so a beam's score says
            which share of all probability lies below it. A beam with one ID left keeps its score and is decoded
            no more, and a query is done once its beams hold no more items than the re-ranker's `budget`
            (*prefix, then leaf*); the next best prefixes fill up the budget. So a quarter of the beams will do:
            what fills the budget makes up for those that are not decoded.

Certificate: what a prefix can still gain is bounded. Log-probabilities only fall, and geometry is bounded by the
norms of the codewords to come (scoring.py). If nothing that was discarded can reach the last ID that was kept,
the result is provably the best of all valid IDs under the model.

Shapes: b queries, w beams now, v beams next, r open beams of all queries, k codes of a level, c valid
continuations of all beams together, d feature dim.
"""

from __future__ import annotations

import torch
from torch import Tensor

from genius.models.incremental_decoder import IncrementalDecoder
from genius.search.beam_state import Beams, Continuations, Found, Prefixes
from genius.search.scoring import Scorer, Scores
from genius.trie.trie import Trie

MODES = ("exact", "set", "fast")
TRACED = 4  # prefixes in a trace, times the beam size
NARROWER = 4  # mode fast decodes so many times fewer beams
NOTHING = torch.iinfo(torch.long).min


@torch.inference_mode()
def beam_search(
    decoder: IncrementalDecoder,
    features: Tensor,
    trie: Trie,
    beams: int,
    *,
    mode: str = "exact",
    decoder_weight: float = 1.0,
    budget: int = 200,
    trace: bool = False,
    certify: bool = False,
) -> Beams:
    """features (b, d), fused and normalised -> the `beams` best valid IDs of each query, or all if fewer.

    mode: see above. budget: items that mode fast hands over. certify: also bound what was discarded, for which
    every mode decodes all its beams to the end. Raises ValueError for an unknown mode.

    Every valid prefix goes on to an ID. So at each level either all queries hold all prefixes, or each holds
    `beams` of them: no beam ever runs dry, and all queries have equally many.
    """
    if mode not in MODES:
        raise ValueError(f"mode {mode!r} is unknown; choose from {', '.join(MODES)}")
    stops_early, leaves = mode == "set" and not certify, mode == "fast" and not certify
    beams = -(-beams // NARROWER) if leaves else beams
    widest = max(beams * TRACED if trace else beams, budget if leaves else 0)
    scorer = Scorer(decoder, features, beams, decoder_weight, whole_vocabulary=mode != "fast", bounded=certify)
    found = Found(len(features), beams, widest, trie, certify, trace, features.device)
    now = Prefixes.empty(trie.root, len(features), features.device)
    for level in range(trie.levels):
        decoded = now.node >= 0 if leaves and level else torch.ones_like(now.node, dtype=torch.bool)
        scores = scorer.next_level(now, decoded)
        if level == 0:
            found.first(scores.log_probs)
        grown = _grown(now, trie, scores, decoded, level)  # (c,)
        best = _best(grown.score, trie.lowest(grown.node), grown.query, len(now.query), widest)  # (b, ≥ v) into c
        found.note(now, grown, best, decoded)
        every = now.extended(grown, best, decoded)
        now, last = every.first(beams), level == trie.levels - 1
        if leaves:
            done, kept = _handed_over(every, best >= 0, trie, beams, budget)  # (b,), (b, ≥ v)
            done |= last
            found.put(every.of(done), kept[done])
        elif last or stops_early:
            done = (now.node < 0).all(1)
            found.put(now.of(done))
        else:
            continue
        now = now.of(~done)
        scorer.keep(~done)
        if not len(now.query):
            break
    return found.beams()


@torch.inference_mode()
def widened_search(
    decoder: IncrementalDecoder, features: Tensor, trie: Trie, beams: int, most: int, **options: object
) -> Beams:
    """`beam_search` with a certificate, again with twice the beams for queries that got none, up to `most` beams.

    Still the `beams` best IDs of each query: those of the widest search that it needed. Memory stays that of one
    search, for fewer queries are searched together the more beams they have.
    """
    found = beam_search(decoder, features, trie, beams, certify=True, **options)
    total, width = len(features) * beams, beams
    while width < most and not found.certified(beams).all():
        width = min(2 * width, most)
        for queries in (~found.certified(beams)).nonzero()[:, 0].split(max(1, total // width)):
            found.replace(queries, beam_search(decoder, features[queries], trie, width, certify=True, **options))
    return found


def _handed_over(every: Prefixes, there: Tensor, trie: Trie, beams: int, budget: int) -> tuple[Tensor, Tensor]:
    """(b,) bool: decoding may stop, and (b, v) bool: what is then handed over of the prefixes `every`, best first.

    there (b, v) bool: not padding. It may stop where all beams fit into the budget, and must where none of them
    branches any more; then the best that fit are handed over, more than the beams if there is room.
    """
    fits = there & ((trie.item_counts(every.node) * there).cumsum(1) <= budget)
    stop = (fits | ~there)[:, :beams].all(1) | ((every.node < 0) | ~there)[:, :beams].all(1)
    fits[:, 0] = True
    return stop, fits


def _grown(now: Prefixes, trie: Trie, scores: Scores, decoded: Tensor, level: int) -> Continuations:
    """All valid continuations (c,) of all beams; a beam that was not decoded goes on as it is."""
    children = trie.children(now.node.flatten(), level)
    owner, code = children.owner, children.code
    row = decoded.flatten().cumsum(0)[owner] - 1 if len(scores.gains) < decoded.numel() else owner
    place = row.clamp_(min=0) * scores.gains.shape[1] + code
    still = ~decoded.flatten()[owner] if len(scores.gains) < decoded.numel() else None

    def taken(table: Tensor) -> Tensor:
        values = table.take(place)  # (c,)
        return values if still is None else values.masked_fill_(still, 0)

    step = taken(scores.log_probs)
    gain = step if scores.gains is scores.log_probs else taken(scores.gains)
    most = gain if scores.ceilings is scores.gains else taken(scores.ceilings)
    before, width = now.score.flatten()[owner], now.node.shape[1]
    return Continuations(owner // width, owner % width, code, children.node, step, before + gain, before + most)


def _best(scores: Tensor, ids: Tensor, query: Tensor, queries: int, width: int) -> Tensor:
    """Positions (b, ≤ width) of the best candidates of each query, best first; −1 where one has fewer.

    scores, ids, query (c,); query ascending. Equal scores are ordered by `ids`. Score and ID become one
    integer, so that a single top-k decides, and the same way whatever else is in the batch.
    """
    sizes = torch.bincount(query, minlength=queries)
    starts = sizes.cumsum(0) - sizes
    bits = (scores + 0.0).view(torch.int32)  # + 0.0: there is one zero
    ordered = bits ^ (bits >> 31 & 0x7FFFFFFF)  # integers that sort as the floats do
    keys = torch.full((queries, int(sizes.max())), NOTHING, device=scores.device)
    keys[query, torch.arange(len(query), device=query.device) - starts[query]] = (ordered.long() << 32) + (
        0xFFFFFFFF - ids
    )
    top, place = keys.topk(min(width, keys.shape[1]))
    return torch.where(top > NOTHING, starts[:, None] + place, -1)

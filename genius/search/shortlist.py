"""What mode fast re-ranks of the items below its beams: those whose quantized vectors are nearest.

A fast search stops at prefixes, and all codes below them are known. So the codes that were not decoded cost a few
additions an item instead of a step of the decoder, and none of them can be discarded too early. Figures: README.md.

Shapes: b queries, w beams, t items of the shortlists of all queries together, p of those that are left, n items of the
index, d dim.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
import torch
from torch import Tensor

from genius.search.beam import best_positions
from genius.search.beam_state import Beams
from genius.search.candidates import MAX_CANDIDATES, Candidates
from genius.search.codewords import Codewords
from genius.trie.pool import Pool
from genius.trie.trie import Trie, expand_on_device

PER_CANDIDATE = 10  # items of a shortlist for each that is re-ranked; as many are compared by distance
PER_ROOT = 10  # or so many times √n items, if that is more
BLOCK = 1 << 17  # items whose codes, and on a GPU quantized vectors, are in memory at once: 0.4 GB at d = 768
CPU_BLOCK = 16_384  # items whose quantized vectors are in memory at once on a CPU


def shortlist_size(budget: int, items: int) -> int:
    """The most items below the beams of mode fast, when `budget` of an index's `items` are re-ranked.

    It grows with √items, as what an inverted file of √items lists reads of an index.
    """
    return max(PER_CANDIDATE * budget, round(PER_ROOT * sqrt(items)))


@torch.inference_mode()
def shortlist(
    beams: Beams, pool: Pool, codewords: Codewords, norms: np.ndarray, features: Tensor, budget: int
) -> Candidates:
    """The `budget` items below the beams of each query whose quantized vectors are nearest to its features.

    They are nearest first; equal distances are in the order of beams, then of the ID table. pool: the one that was
    searched. features (b, d), fused. PER_CANDIDATE · budget items are compared by distance: of a longer shortlist those
    with the highest inner products, which need no norms.

    norms (n,): ‖ẑ‖² by row of the index, NaN where not known; those that were needed are added, since they are most of
    the work: at d = 768, 12 ms for 2,000 items. On a GPU they are computed in every search instead.
    """
    low, width, compared = beams.low, beams.low.shape[1], PER_CANDIDATE * budget  # (b, w)
    items, longest = beams.high - low, max(MAX_CANDIDATES, shortlist_size(budget, pool.trie.items))
    sizes = items.minimum((longest - (items.cumsum(1) - items)).clamp_(min=0))
    beam, position = expand_on_device(low.flatten(), sizes.flatten())  # (t,)
    query, counts = beam // width, sizes.sum(1)  # (t,), (b,)
    inner = _inner_products(position, query, pool.trie, codewords, features)  # (t,)
    left = torch.arange(len(beam), device=beam.device)  # (p,)
    if int(counts.max()) > compared:
        left = _best(inner, left, query, len(low), compared)
    nearness = inner[left] - _squared_norms(position[left], pool, codewords, norms)
    found = left[_best(nearness, left, query[left], len(low), budget)]
    counts.clamp_(max=budget)
    rank = torch.arange(len(found), device=found.device) - (counts.cumsum(0) - counts)[query[found]] + 1
    scores = beams.scores.flatten()[beam[found]]
    query, beam, position, scores, rank, counts = (
        values.cpu().numpy() for values in (query[found], beam[found], position[found], scores, rank, counts)
    )
    rows, ids = pool.table.rows[position].astype(np.int64), pool.table.ids_of(position)
    return Candidates(query, rows, ids, beam, scores, rank, counts)


def _inner_products(position: Tensor, query: Tensor, trie: Trie, codewords: Codewords, features: Tensor) -> Tensor:
    """(t,) 2⟨z, ẑ⟩ of the items at these positions of the ID table (t,) and the queries (t,)."""
    products = codewords.products(features)  # (b, codewords of all levels)
    parts = [
        products.take(codewords.numbers_at(trie, places) + (queries * products.shape[1])[:, None]).sum(1)
        for places, queries in zip(position.split(BLOCK), query.split(BLOCK), strict=True)
    ]
    return torch.cat(parts)


def _squared_norms(position: Tensor, pool: Pool, codewords: Codewords, known: np.ndarray) -> Tensor:
    """(p,) ‖ẑ‖² of the items at these positions (p,) of the ID table; known (n,): see `shortlist`."""
    if position.device.type != "cpu":
        return torch.cat([_decoded_norms(part, pool.trie, codewords) for part in position.split(BLOCK)])
    rows = pool.table.rows[position.numpy()]
    for new in torch.from_numpy(np.flatnonzero(np.isnan(known[rows]))).split(CPU_BLOCK):
        known[rows[new.numpy()]] = _decoded_norms(position[new], pool.trie, codewords).numpy()
    return torch.from_numpy(known[rows])


def _decoded_norms(position: Tensor, trie: Trie, codewords: Codewords) -> Tensor:
    return codewords.sums(codewords.numbers_at(trie, position)).square().sum(1)


def _best(scores: Tensor, order: Tensor, query: Tensor, queries: int, at_most: int) -> Tensor:
    """Places of the highest scores of each query, query by query, best first; equal ones by `order`; all (p,)."""
    best = best_positions(scores, order, query, queries, at_most)
    return best[best >= 0]

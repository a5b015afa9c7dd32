"""From fused features to the candidates that are re-ranked: a beam search, and the items below its beams.

Modes exact and set return all items below their beams. Mode fast stops at prefixes whose items make up a *shortlist*,
of which it returns those whose quantized vectors are nearest: all codes below the prefixes are known, so the codes that
were not decoded cost a few additions an item instead of a step of the decoder, and none of them can be discarded too
early. No returned prefix is a prefix of another, so candidates are unique.

Shapes: b queries, w beams, t items below the beams of all queries together, p of those that are compared by distance, n
items of the index, d dim.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
import torch
from torch import Tensor

from genius.models.incremental_decoder import IncrementalDecoder
from genius.search.beam import beam_search, best_positions
from genius.search.beam_state import Beams
from genius.search.codewords import Codewords
from genius.search.stopwatch import Stopwatch
from genius.trie.ids import IDTable, expand_ranges
from genius.trie.pool import Pool
from genius.trie.trie import Trie, expand_on_device

MAX_CANDIDATES = 10_000  # per query; bounds memory where very many items share an ID
PER_CANDIDATE = 10  # items of a shortlist for each that is re-ranked; as many are compared by distance
PER_ROOT = 10  # or so many times √n items, if that is more
BLOCK = 1 << 17  # items whose codes, and on a GPU quantized vectors, are in memory at once: 0.4 GB at d = 768
CPU_BLOCK = 16_384  # items whose quantized vectors are in memory at once on a CPU


@dataclass(frozen=True)
class Candidates:
    """The items that are re-ranked, ordered by query, then as generated: by beam, ID and row or, in mode fast, nearest
    first."""

    query: np.ndarray  # (t,)
    row: np.ndarray  # (t,) in the index
    id: np.ndarray  # (t,) number of its ID in the table
    beam: np.ndarray  # (t,) its number among the beams of all queries: query · w + beam of the query
    score: np.ndarray  # (t,) of the beam
    generated_rank: np.ndarray  # (t,) 1 is best
    counts: np.ndarray  # (b,) candidates of each query


class CandidateSearch:
    """Finds candidates with one decoder, and scores the shortlist in the arithmetic of this decoder."""

    def __init__(self, decoder: IncrementalDecoder):
        self.decoder = decoder
        self.codewords = Codewords(decoder.codebooks, decoder.dtype)

    def search(
        self,
        z: Tensor,
        pool: Pool,
        norms: np.ndarray,
        *,
        mode: str,
        beams: int,
        budget: int,
        decoder_weight: float = 1.0,
        prefix: tuple[int, ...] = (),
        trace: bool = False,
        stopwatch: Stopwatch | None = None,
    ) -> tuple[Beams, Candidates]:
        """`beam_search` of z (b, d) among the items of the pool, and the items below its beams.

        budget: of mode fast, how many items are returned. norms (n,): see `shortlist`. prefix: codes that every ID
        begins with. stopwatch: gets the stages "beam" and "expand".
        """
        watch = stopwatch or Stopwatch(z.device, len(z))
        with watch.stage("beam"):
            prefixes = beam_search(
                self.decoder,
                z,
                pool.trie.below(prefix),
                beams,
                mode=mode,
                decoder_weight=decoder_weight,
                shortlist_size=shortlist_size(budget, pool.trie.items),
                shortlist_prefixes=PER_CANDIDATE * budget,  # more take longer to choose, and find no more
                trace=trace,
            )
        with watch.stage("expand"):
            if mode == "fast":
                return prefixes, shortlist(prefixes, pool, self.codewords, norms, z, budget)
            return prefixes, expand_beams(prefixes, pool.table)


def expand_beams(beams: Beams, table: IDTable, at_most: int = MAX_CANDIDATES) -> Candidates:
    """All items below the beams, best beam first; at most `at_most` for each query."""
    low, high, scores = beams.low.cpu().numpy(), beams.high.cpu().numpy(), beams.scores.cpu().numpy()  # (b, w)
    items = high - low
    room = np.maximum(at_most - (np.cumsum(items, axis=1) - items), 0)
    beam, position = expand_ranges(low.ravel(), high.ravel(), at_most=room.ravel())
    query = beam // low.shape[1]
    counts = np.bincount(query, minlength=len(low))
    return Candidates(
        query,
        table.rows[position].astype(np.int64),
        table.ids_of(position),
        beam,
        scores.ravel()[beam],
        positions_in_lists(counts) + 1,
        counts,
    )


def positions_in_lists(counts: np.ndarray) -> np.ndarray:
    """(b,) list lengths -> (t,) position of each element in its own list, from 0."""
    return expand_ranges(np.zeros_like(counts), counts)[1]


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
    near = torch.arange(len(beam), device=beam.device)  # (p,)
    if int(counts.max()) > compared:
        near = _best(inner, near, query, len(low), compared)
    nearness = inner[near] - _squared_norms(position[near], pool, codewords, norms)
    nearest = near[_best(nearness, near, query[near], len(low), budget)]
    counts.clamp_(max=budget)
    query, beam = query[nearest], beam[nearest]
    rank = torch.arange(len(nearest), device=nearest.device) - (counts.cumsum(0) - counts)[query] + 1
    places = position[nearest].cpu().numpy()
    return Candidates(
        query.cpu().numpy(),
        pool.table.rows[places].astype(np.int64),
        pool.table.ids_of(places),
        beam.cpu().numpy(),
        beams.scores.flatten()[beam].cpu().numpy(),
        rank.cpu().numpy(),
        counts.cpu().numpy(),
    )


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

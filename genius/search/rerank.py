"""From generated IDs to a ranking of items: the items below each are collected and re-ranked by embedding.

A beam search gives whole IDs or, in mode fast, prefixes that hold few items; none of them begins another, so
no item is found twice.

Axes: b queries, w beams, t items considered for all queries together, k results, d embedding dim.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genius.search.beam_state import Beams
from genius.trie.ids import IDTable

MAX_CANDIDATES = 10_000  # items considered per query; bounds memory where very many items share an ID
BLOCK = 16_384  # embeddings in memory at once


@dataclass(frozen=True)
class Candidates:
    """The items of all beams: by query, then in generated order (beam, ID, row)."""

    query: np.ndarray  # (t,)
    row: np.ndarray  # (t,) of the index
    id: np.ndarray  # (t,) number of its ID in the table
    score: np.ndarray  # (t,) of the beam
    generated_rank: np.ndarray  # (t,) 1 is best
    counts: np.ndarray  # (b,) items considered


@dataclass(frozen=True)
class Ranked:
    """The k best items of each query. Where a query has fewer: −1, −inf, and rank 0."""

    rows: np.ndarray  # (b, k) of the index
    ids: np.ndarray  # (b, k) number in the ID table
    scores: np.ndarray  # (b, k) of the beam
    cosines: np.ndarray  # (b, k) between the embeddings of query and item
    generated_rank: np.ndarray  # (b, k) before re-ranking


def expand(beams: Beams, table: IDTable, at_most: int = MAX_CANDIDATES) -> Candidates:
    """All items below the beams, best beam first; beyond `at_most` of a query the last are left out."""
    low, high, scores = (values.cpu().numpy() for values in (beams.low, beams.high, beams.scores))  # (b, w)
    items = high - low
    room = np.maximum(at_most - (np.cumsum(items, axis=1) - items), 0)
    beam, position = table.expand(low.ravel(), high.ravel(), at_most=room.ravel())
    query = beam // low.shape[1]
    counts = np.bincount(query, minlength=len(low))
    return Candidates(
        query,
        table.rows[position].astype(np.int64),
        table.ids_of(position),
        scores.ravel()[beam],
        _place(counts) + 1,
        counts,
    )


def rank(candidates: Candidates, embeddings: np.ndarray, queries: np.ndarray, k: int, rerank: bool = True) -> Ranked:
    """The k best candidates of each query, by cosine or, without re-ranking, in generated order.

    embeddings (n, d) of the index, normalised, memory-mapped; queries (b, d) normalised.
    Equal cosines keep the generated order.
    """
    chosen = np.arange(len(candidates.row)) if rerank else np.flatnonzero(candidates.generated_rank <= k)
    query, row = candidates.query[chosen], candidates.row[chosen]
    cosine = _cosines(embeddings, row, queries, query)
    if rerank:
        order = np.lexsort((candidates.generated_rank, -cosine, query))
        chosen, query, cosine = chosen[order], query[order], cosine[order]
    place = _place(np.bincount(query, minlength=len(queries)))
    at = np.flatnonzero(place < k)
    chosen, query, place = chosen[at], query[at], place[at]

    def table(values: np.ndarray, padding: float) -> np.ndarray:
        out = np.full((len(queries), k), padding, dtype=values.dtype)
        out[query, place] = values
        return out

    return Ranked(
        table(candidates.row[chosen], -1),
        table(candidates.id[chosen], -1),
        table(candidates.score[chosen], -np.inf),
        table(cosine[at], -np.inf),
        table(candidates.generated_rank[chosen], 0),
    )


def _place(counts: np.ndarray) -> np.ndarray:
    """(b,) list lengths -> (t,) place of each element in its own list, from 0."""
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)


def _cosines(embeddings: np.ndarray, rows: np.ndarray, queries: np.ndarray, query: np.ndarray) -> np.ndarray:
    """(t,) inner products of embeddings[rows] and queries[query]; reads only these rows."""
    cosines = np.empty(len(rows), dtype=np.float32)
    for first in range(0, len(rows), BLOCK):
        part = slice(first, first + BLOCK)
        cosines[part] = np.einsum(
            "td,td->t", embeddings[rows[part]].astype(np.float32), queries[query[part]].astype(np.float32)
        )
    return cosines

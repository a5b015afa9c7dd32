"""The candidates of a search: the items below its beams.

A beam search returns whole IDs or, in modes set and fast, prefixes with few items. No returned prefix is a prefix of
another, so candidates are unique.

Shapes: b queries, w beams, t candidates of all queries together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genius.search.beam_state import Beams
from genius.trie.ids import IDTable, expand_ranges

MAX_CANDIDATES = 10_000  # per query; bounds memory where very many items share an ID
BLOCK = 16_384  # candidates whose vectors are in memory at once


@dataclass(frozen=True)
class Candidates:
    """The items below all beams, ordered by query, then as generated (beam, ID, row)."""

    query: np.ndarray  # (t,)
    row: np.ndarray  # (t,) in the index
    id: np.ndarray  # (t,) number of its ID in the table
    beam: np.ndarray  # (t,) its number among the beams of all queries: query · w + beam of the query
    score: np.ndarray  # (t,) of the beam
    generated_rank: np.ndarray  # (t,) 1 is best
    counts: np.ndarray  # (b,) candidates of each query


def expand_beams(beams: Beams, table: IDTable, at_most: int = MAX_CANDIDATES) -> Candidates:
    """All items below the beams, best beam first; at most `at_most` for each query."""
    low, high, scores = (values.cpu().numpy() for values in (beams.low, beams.high, beams.scores))  # (b, w)
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

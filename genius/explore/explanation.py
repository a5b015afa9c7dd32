"""Why an item was found: its way through the beam search, and where dense search would have put it.

Shapes: n items, m items asked for, d embedding dim.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from genius.explore.beam_tree import BeamTree, Fate
from genius.explore.items import EXACT_ITEMS
from genius.schema import Hit

BLOCK = 16_384  # embeddings in memory at once
SAMPLE, RUN = 100_000, 64  # embeddings read of an index that is too large for exact ranks; adjacent ones


@dataclass(frozen=True)
class Explanation:
    """What an exact search and a dense one say of a hit."""

    hit: Hit
    path: np.ndarray  # numbers of the prefixes of its ID in the tree, as far as the search considered them
    beam: int | None  # which of the generated IDs is its own, 1 is best; None: the search did not generate it
    bucket: int | None  # items that share its ID; None: the search did not come to it
    best: tuple[int, ...]  # the best generated ID
    shared: int  # how many codes the two have in common from the start
    items: int  # n
    dense_rank: int  # among them all; 1 is best

    @property
    def dense_rank_is_exact(self) -> bool:
        return self.items <= EXACT_ITEMS


def explain(hit: Hit, tree: BeamTree, items: int, dense_rank: int) -> Explanation:
    """tree: everything that an exact search for the hit's query considered."""
    path = tree.lineage(hit.codes)
    whole, last = len(path) == tree.levels, path[-1:]
    generated = whole and tree.fate[last[0]] == Fate.FOUND
    best = best_id(tree)
    differs = np.flatnonzero(np.array(best) != np.array(hit.codes))
    return Explanation(
        hit,
        path,
        int(tree.place[last[0]]) if generated else None,
        int(tree.items[last[0]]) if whole else None,
        best,
        int(differs[0]) if len(differs) else tree.levels,
        items,
        dense_rank,
    )


def best_id(tree: BeamTree) -> tuple[int, ...]:
    """The codes of the best generated ID."""
    number, codes = int(np.flatnonzero(tree.level == tree.levels - 1)[0]), []
    while number >= 0:
        codes.append(int(tree.code[number]))
        number = tree.parent[number]
    return tuple(codes[::-1])


def dense_ranks(embeddings: np.ndarray, query: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """(m,) ranks that dense search gives to the items at `rows` (m,): 1 + how many items have a larger cosine.

    Exact for up to EXACT_ITEMS items; above, estimated from a sample that is spread evenly over them.
    embeddings (n, d) fp16, memory-mapped; query (d,); both normalized.
    """
    query = query.astype(np.float32)
    wanted, place = np.unique(_cosines(embeddings[rows], query), return_inverse=True)  # ascending
    above = np.zeros(len(wanted) + 1, dtype=np.int64)  # items by how many of the wanted cosines they exceed
    sampled = 0
    for part in _scanned(len(embeddings)):
        exceeded = np.searchsorted(wanted, _cosines(embeddings[part], query))
        above += np.bincount(exceeded, minlength=len(above))
        sampled += len(exceeded)
    larger = above[::-1].cumsum()[::-1][1:]  # of each wanted cosine: items that exceed it
    return 1 + larger[place] * len(embeddings) // sampled


def _scanned(n: int) -> Iterator[slice | np.ndarray]:
    """Rows to read, block by block: all n of them, or a sample."""
    if n <= EXACT_ITEMS:
        yield from (slice(first, first + BLOCK) for first in range(0, n, BLOCK))
        return
    starts = np.linspace(0, n - RUN, SAMPLE // RUN).astype(np.int64)
    for part in np.array_split(starts, -(-SAMPLE // BLOCK)):
        yield (part[:, None] + np.arange(RUN)).ravel()


def _cosines(embeddings: np.ndarray, query: np.ndarray) -> np.ndarray:
    """(·, d) -> (·,); of one vector the same number, whatever others it comes with."""
    return np.einsum("nd,d->n", embeddings.astype(np.float32), query)

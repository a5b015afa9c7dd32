"""Explain a hit: its path through the beam search and its rank in dense search.

Shapes: n items of the index, m requested items, d embedding dim, M levels.
"""

from dataclasses import dataclass

import numpy as np

from genius.explore.beam_tree import BeamTree, Fate
from genius.explore.items import EXACT_ITEMS
from genius.index.segments import Vectors
from genius.schema import Hit

BLOCK_ROWS = 16_384  # embeddings in memory at once
# embeddings read from an index too large for exact ranks; adjacent rows per read
SAMPLE, RUN = 100_000, 64


@dataclass(frozen=True)
class Explanation:
    """The path of a hit in an exact beam search, and its rank in dense search."""

    hit: Hit
    path: np.ndarray  # (≤ M,) tree indices of its ID's prefixes that the search considered
    beam: int | None  # rank of its ID among the generated IDs, from 1; None: not generated
    bucket: int | None  # items with its ID; None: the search did not reach it
    best: tuple[int, ...]  # the best generated ID
    shared: int  # length of the common prefix of its ID and the best one
    items: int  # n
    dense_rank: int  # rank among all items, from 1

    @property
    def dense_rank_is_exact(self) -> bool:
        return self.items <= EXACT_ITEMS


def explain(hit: Hit, tree: BeamTree, items: int, dense_rank: int) -> Explanation:
    """Explain a hit. tree: all prefixes that an exact search for its query considered."""
    path = tree.lineage(hit.codes)
    whole = len(path) == tree.levels
    last = path[-1:]
    generated = whole and tree.fate[last[0]] == Fate.FOUND
    best = tree.prefixes()[int(np.flatnonzero(tree.level == tree.levels - 1)[0])]
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


def dense_ranks(embeddings: Vectors, query: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """(m,) ranks of the items at `rows` (m,) in dense search: 1 + the number of items with a larger
    cosine.

    Exact for up to EXACT_ITEMS items; above, estimated from an evenly spread sample.
    embeddings (n, d) fp16, memory-mapped; query (d,); both normalized.
    """
    query = query.astype(np.float32)
    asked, place = np.unique(_cosines(embeddings[rows], query), return_inverse=True)  # ascending
    # histogram of items by how many asked cosines they exceed
    above = np.zeros(len(asked) + 1, dtype=np.int64)
    compared = np.arange(len(embeddings))
    if len(embeddings) > EXACT_ITEMS:
        compared = (
            np.linspace(0, len(embeddings) - RUN, SAMPLE // RUN).astype(int)[:, None]
            + np.arange(RUN)
        ).ravel()
    for part in np.array_split(compared, -(-len(compared) // BLOCK_ROWS)):
        above += np.bincount(
            np.searchsorted(asked, _cosines(embeddings[part], query)), minlength=len(above)
        )
    larger = above[::-1].cumsum()[::-1][1:]  # for each asked cosine: number of items above it
    return 1 + larger[place] * len(embeddings) // len(compared)


def _cosines(embeddings: np.ndarray, query: np.ndarray) -> np.ndarray:
    """(n, d), (d,) -> (n,). einsum, so that the cosine of a vector does not depend on the block it
    is in.
    """
    return np.einsum("nd,d->n", embeddings.astype(np.float32), query)

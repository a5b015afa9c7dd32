"""From candidates to results: rank them, fetch their records, and name the IDs that were generated.

Candidates are ranked by their embeddings, as published, or by their fused features, where the index
keeps these (ours).

Shapes: b queries, w beams, t candidates of all queries together, k results, d embedding dim, M
levels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from genius.index.segments import Vectors
from genius.schema import GeneratedID, Hit, Item
from genius.search.beam import Beams
from genius.search.candidates import IMPOSSIBLE, Candidates, positions_in_lists
from genius.trie.ids import IDTable

VECTORS_IN_MEMORY = 16_384  # candidates whose vectors are in memory at once
# standard deviations; of 35 pairs "X without Y" 9 % of the first five results showed Y, 40 % before
MORE = 1.0

# by modality mean (d,) and covariance (d, d) of embeddings
Spreads = Mapping[int, tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Similarity:
    """Inner products of vectors that an index stores and those of queries."""

    stored: Vectors  # (n, d)
    queries: np.ndarray  # (b, d)
    # divide by the norms of what is stored, which half precision changed by up to 3e-4
    normalize: bool = False

    def of(self, rows: np.ndarray, query: np.ndarray) -> np.ndarray:
        """(t,) of the items at these rows (t,) with these queries (t,); reads only these rows."""
        products = np.empty(len(rows), dtype=np.float32)
        for first in range(0, len(rows), VECTORS_IN_MEMORY):
            part = slice(first, first + VECTORS_IN_MEMORY)
            vectors = self.stored[rows[part]].astype(np.float32)
            products[part] = np.einsum("td,td->t", vectors, self.queries[query[part]])
            if self.normalize:
                products[part] /= np.linalg.norm(vectors, axis=1)
        return products


@dataclass(frozen=True)
class RankedCandidates:
    """The k best items of each query, best first; padded with −1, −inf and rank 0."""

    rows: np.ndarray  # (b, k) in the index
    ids: np.ndarray  # (b, k) numbers in the ID table
    generated_rank: np.ndarray  # (b, k) before re-ranking

    def similarities(self, by: Similarity) -> np.ndarray:
        """(b, k) between query and item."""
        similarities = np.full(self.rows.shape, -np.inf, dtype=np.float32)
        query, place = np.nonzero(self.rows >= 0)
        similarities[query, place] = by.of(self.rows[query, place], query)
        return similarities


def rank_candidates(
    candidates: Candidates, k: int, by: Similarity | None, unwanted: np.ndarray | None = None
) -> RankedCandidates:
    """The k best candidates of each query: the most similar ones or, with by=None, in generated
    order.

    unwanted: (t,) bool, candidates that come after all others. Equally similar ones keep the
    generated order.
    """
    if by is None and unwanted is None:
        chosen = np.flatnonzero(candidates.generated_rank <= k)
    else:
        keys: list[np.ndarray] = [candidates.generated_rank]
        if by is not None:
            keys.append(-by.of(candidates.row, candidates.query))
        if unwanted is not None:
            keys.append(unwanted)
        chosen = np.lexsort((*keys, candidates.query))
    query = candidates.query[chosen]
    place = positions_in_lists(np.bincount(query, minlength=len(candidates.counts)))
    at = np.flatnonzero(place < k)
    chosen, query, place = chosen[at], query[at], place[at]

    def padded(values: np.ndarray, padding: int) -> np.ndarray:
        out = np.full((len(candidates.counts), k), padding, dtype=values.dtype)
        out[query, place] = values[chosen]
        return out

    return RankedCandidates(
        padded(candidates.row, -1), padded(candidates.id, -1), padded(candidates.generated_rank, 0)
    )


def fetch_hits(
    ranked: RankedCandidates,
    at: tuple[np.ndarray, np.ndarray],
    things: Sequence[Sequence[Item]],
    codes: np.ndarray,
    log_probs: np.ndarray,
    cosines: np.ndarray,
    fused: np.ndarray | None,
) -> list[list[Hit]]:
    """The results of each query. at, things: of `one_of_each`.

    Of all hits together: codes (t, M), the log-probability of each of them (t, M), and similarities
    (t,) of embeddings and fused features; None: the index has no such features.
    """
    products = [None] * len(codes) if fused is None else fused.tolist()
    arrays = at[0], ranked.rows[at], codes, ranked.generated_rank[at], cosines, log_probs
    columns = zip(things, products, *(array.tolist() for array in arrays), strict=True)
    hits: list[list[Hit]] = [[] for _ in ranked.rows]
    for (item, *versions), product, query, row, own, before, cosine, steps in columns:
        rank = len(hits[query]) + 1
        hits[query].append(
            Hit(row, item, tuple(own), rank, before, cosine, tuple(steps), product, tuple(versions))
        )
    return hits


def generated_ids(beams: Beams, table: IDTable) -> list[list[GeneratedID]]:
    """The IDs or prefixes that were generated for each query, best first."""
    low = beams.low.cpu().numpy()
    high = beams.high.cpu().numpy()
    scores, log_probs, depths = (
        given.cpu().numpy() for given in (beams.scores, beams.log_probs, beams.depth)
    )
    # else padding, or of a kind that was ruled out
    is_found = (high > low) & (scores > IMPOSSIBLE / 2)
    first, last = table.codes(low), table.codes(np.where(is_found, high - 1, low))  # (b, w, M)
    lengths = np.where((first == last).all(-1), first.shape[-1], depths)
    arrays = (first, lengths, scores, log_probs, depths, high - low)
    generated = []
    for query, there in enumerate(is_found):
        columns = zip(*(array[query, there].tolist() for array in arrays), strict=True)
        generated.append(
            [GeneratedID(tuple(codes[:length]), *figures) for codes, length, *figures in columns]
        )
    return generated


def shows_left_out(
    candidates: Candidates,
    embeddings: Vectors,
    modalities: np.ndarray,
    left_out: np.ndarray,
    spreads: Spreads,
) -> np.ndarray:
    """(t,) bool: candidates that probably show what their query leaves out.

    embeddings (n, d) and modalities (n,): of the index. left_out (b, d): embeddings, 0 where
    nothing is. An item shows it if it is nearer to it than MORE standard deviations above the mean
    item of its modality. spreads: of the items of each modality.
    """
    shows = np.zeros(len(candidates.row), dtype=bool)
    for query in np.flatnonzero(left_out.any(1)):
        own = np.flatnonzero(candidates.query == query)
        rows = candidates.row[own]
        cosines = embeddings[rows].astype(np.float32) @ left_out[query]
        for kind in np.unique(modalities[rows]).tolist():
            mean, covariance = spreads[kind]
            deviation = np.sqrt(left_out[query] @ covariance @ left_out[query])
            of_kind = modalities[rows] == kind
            shows[own[of_kind]] = cosines[of_kind] > mean @ left_out[query] + MORE * deviation
    return shows

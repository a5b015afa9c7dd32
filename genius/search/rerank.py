"""From candidates to results: rank them, fetch their records, and name the IDs that were generated.

Candidates are ranked by embedding, as published, or by the scores of the run's ranker (ranker_scorer.py).

Axes: b queries, w beams, t candidates of all queries together, k results, d embedding dim, M levels, p parts of
a ranker.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genius.index.store import Index
from genius.schema import GeneratedID, Hit
from genius.search.beam_state import Beams
from genius.search.candidates import BLOCK, Candidates, positions_in_lists
from genius.trie.ids import IDTable


@dataclass(frozen=True)
class RankerScores:
    """The ranker's scores of all candidates."""

    cosines: np.ndarray  # (t,) of the embeddings
    scores: np.ndarray  # (t,) higher is better
    shares: np.ndarray  # (t, p + 1) of the parts and of the modality in the score, from the query's mean candidate on


@dataclass(frozen=True)
class RankedCandidates:
    """The k best items of each query, best first; padded with −1, −inf and rank 0."""

    rows: np.ndarray  # (b, k) in the index
    ids: np.ndarray  # (b, k) numbers in the ID table
    scores: np.ndarray  # (b, k) of the beam
    cosines: np.ndarray  # (b, k) between the embeddings of query and item
    generated_rank: np.ndarray  # (b, k) before re-ranking
    shares: np.ndarray | None = None  # (b, k, p + 1) of the ranker's parts; None: it did not rank


def rank_candidates(
    candidates: Candidates,
    embeddings: np.ndarray,
    queries: np.ndarray,
    k: int,
    rerank: bool = True,
    normalize: bool = False,
    ranker_scores: RankerScores | None = None,
) -> RankedCandidates:
    """The k best candidates of each query, by cosine or, without re-ranking, in generated order.

    embeddings (n, d) of the index, memory-mapped; queries (b, d); both normalized. normalize: divide by the norms of
    the embeddings, which half precision changed by up to 3e-4. ranker_scores: of the candidates, in
    place of the cosines. Equal cosines or scores keep the generated order.
    """
    chosen = np.arange(len(candidates.row)) if rerank else np.flatnonzero(candidates.generated_rank <= k)
    query, row = candidates.query[chosen], candidates.row[chosen]
    cosine = _cosines(embeddings, row, queries, query, normalize) if ranker_scores is None else ranker_scores.cosines
    if rerank:
        scores = cosine if ranker_scores is None else ranker_scores.scores
        order = np.lexsort((candidates.generated_rank, -scores, query))
        chosen, query, cosine = chosen[order], query[order], cosine[order]
    place = positions_in_lists(np.bincount(query, minlength=len(queries)))
    at = np.flatnonzero(place < k)
    chosen, query, place = chosen[at], query[at], place[at]

    def padded(values: np.ndarray, padding: float) -> np.ndarray:
        out = np.full((len(queries), k, *values.shape[1:]), padding, dtype=values.dtype)
        out[query, place] = values
        return out

    return RankedCandidates(
        padded(candidates.row[chosen], -1),
        padded(candidates.id[chosen], -1),
        padded(candidates.score[chosen], -np.inf),
        padded(cosine[at], -np.inf),
        padded(candidates.generated_rank[chosen], 0),
        None if ranker_scores is None else padded(ranker_scores.shares[chosen], 0),
    )


def fetch_hits(index: Index, ranked: RankedCandidates, table: IDTable) -> list[list[Hit]]:
    """The results of each query, all records fetched at once; table: the one that numbers the IDs."""
    query, place = np.nonzero(ranked.rows >= 0)
    rows = ranked.rows[query, place]
    columns = (
        rows,
        table.codes(ranked.ids[query, place]),
        place + 1,
        *(values[query, place] for values in (ranked.generated_rank, ranked.scores, ranked.cosines)),
        [()] * len(rows) if ranked.shares is None else ranked.shares[query, place],
    )
    result: list[list[Hit]] = [[] for _ in ranked.rows]
    for number, item, row, codes, *values, shares in zip(
        query, index.items(rows), *(np.asarray(column).tolist() for column in columns), strict=True
    ):
        result[number].append(Hit(row, item, tuple(codes), *values, tuple(shares)))
    return result


def generated_ids(beams: Beams, table: IDTable) -> list[list[GeneratedID]]:
    """The IDs or prefixes that were generated for each query, best first."""
    low, high = beams.low.cpu().numpy(), beams.high.cpu().numpy()
    is_beam = high > low  # else padding
    first, last = table.codes(low), table.codes(np.where(is_beam, high - 1, low))  # (b, w, M)
    length = np.where((first == last).all(-1), first.shape[-1], beams.depth.cpu().numpy())
    columns = (is_beam, first, length, beams.scores, beams.log_probs, beams.depth, high - low)
    return [
        [GeneratedID(tuple(codes[:end]), *values) for kept, codes, end, *values in zip(*query, strict=True) if kept]
        for query in zip(*(column.tolist() for column in columns), strict=True)
    ]


def _cosines(
    embeddings: np.ndarray, rows: np.ndarray, queries: np.ndarray, query: np.ndarray, normalize: bool
) -> np.ndarray:
    """(t,) inner products of embeddings[rows] and queries[query]; reads only these rows."""
    cosines = np.empty(len(rows), dtype=np.float32)
    for first in range(0, len(rows), BLOCK):
        part = slice(first, first + BLOCK)
        vectors = embeddings[rows[part]].astype(np.float32)
        cosines[part] = np.einsum("td,td->t", vectors, queries[query[part]].astype(np.float32))
        if normalize:
            cosines[part] /= np.linalg.norm(vectors, axis=1)
    return cosines

"""From candidates to results: rank them, fetch their records, and name the IDs that were generated.

Candidates are ranked by embedding, as published, or by the scores of the run's ranker.

Axes: b queries, w beams, t candidates of all queries together, k results, d embedding dim, M levels, p parts of
a ranker.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from genius.index.segments import Vectors
from genius.index.store import Index
from genius.models.ranker import Ranker
from genius.schema import RANKER_PARTS, GeneratedID, Hit, Item
from genius.search.beam_state import Beams
from genius.search.candidates import Candidates, FirstCodes, positions_in_lists
from genius.search.scan import Codewords
from genius.search.versions import groups_of
from genius.trie.ids import IDTable

BLOCK = 16_384  # candidates whose vectors are in memory at once
MORE = 1.0  # standard deviations; of 35 pairs "X without Y" 9 % of the first five results showed Y, 40 % before

Spreads = Mapping[int, tuple[np.ndarray, np.ndarray]]  # by modality mean (d,) and covariance (d, d) of embeddings


@dataclass(frozen=True)
class RankerScores:
    """The ranker's scores of all candidates."""

    cosines: np.ndarray  # (t,) of the embeddings
    scores: np.ndarray  # (t,) higher is better
    shares: np.ndarray  # (t, p + 1) of the parts and of the modality in the score, from the query's mean candidate on


@torch.inference_mode()
def score_parts(ranker: Ranker, candidates: Candidates, parts: Tensor, modalities: np.ndarray) -> RankerScores:
    """Score all candidates by their parts (t, p), as `ranker_parts` gives them; modalities (n,) of the index."""
    query = torch.from_numpy(candidates.query).to(parts.device)
    modality = torch.from_numpy(modalities[candidates.row].astype(np.int64)).to(parts.device)
    scores, shares = ranker(parts, modality)
    count = torch.from_numpy(candidates.counts).to(parts.device).clamp(min=1)[:, None]
    mean = torch.zeros(len(count), shares.shape[1], device=parts.device).index_add_(0, query, shares) / count
    return RankerScores(parts[:, 0].cpu().numpy(), scores.cpu().numpy(), (shares - mean[query]).cpu().numpy())


@torch.inference_mode()
def ranker_parts(
    ranker: Ranker,
    codewords: Codewords,
    candidates: Candidates,
    first_codes: FirstCodes,
    table: IDTable,
    embeddings: Vectors,
    modalities: np.ndarray,
    queries: Tensor,
    z: Tensor,
    normalize: bool = False,
) -> Tensor:
    """The RANKER_PARTS (t, p) of all candidates.

    codewords, table: of their IDs, and that numbers these. embeddings (n, d) and modalities (n,): of the index.
    queries and z (b, d): embeddings and fused features, normalized. normalize: as for `rank_candidates`.
    """
    by_embedding, by_id, added = ranker.residual_queries(z)  # (b, 3, d) twice, (b, 3)
    parts = torch.empty(len(candidates.row), len(RANKER_PARTS), device=z.device)
    for first in range(0, len(parts), BLOCK):
        block = slice(first, first + BLOCK)
        rows, codes = candidates.row[block], table.codes(candidates.id[block])
        numbers = torch.from_numpy(codes + codewords.offsets).to(z.device)
        query = torch.from_numpy(candidates.query[block]).to(z.device)
        modality = torch.from_numpy(modalities[rows].astype(np.int64)).to(z.device)
        vectors = torch.from_numpy(embeddings[rows].astype(np.float32)).to(z.device)  # (t, d)
        if normalize:
            vectors = F.normalize(vectors, dim=-1)
        quantized = codewords.sums(numbers)  # (t, d)
        inner = (z[query] * quantized).sum(1)
        lost = (by_embedding[query, modality] * vectors + by_id[query, modality] * quantized).sum(1)
        first_code, decoder = first_codes.of(query, torch.from_numpy(codes[:, :2]).to(z.device))
        cosine, fused = (queries[query] * vectors).sum(1), inner + lost + added[query, modality]
        distance = 2 * inner - quantized.square().sum(1)
        parts[block] = torch.stack([cosine, fused, distance, decoder, first_code], dim=1)
    return parts


@dataclass(frozen=True)
class RankedCandidates:
    """The k best items of each query, best first; padded with −1, −inf and rank 0."""

    rows: np.ndarray  # (b, k) in the index
    ids: np.ndarray  # (b, k) numbers in the ID table
    cosines: np.ndarray  # (b, k) between the embeddings of query and item
    generated_rank: np.ndarray  # (b, k) before re-ranking
    shares: np.ndarray | None = None  # (b, k, p + 1) of the ranker's parts; None: it did not rank

    def select(self, places: Sequence[Sequence[int]]) -> "RankedCandidates":
        """Of each query the candidates at these places."""
        width = max(map(len, places), default=0)
        chosen = np.array([[*own, *[-1] * (width - len(own))] for own in places], dtype=np.int64).reshape(-1, width)
        padded = (("rows", -1), ("ids", -1), ("cosines", -np.inf), ("generated_rank", 0), ("shares", 0))
        values = {}
        for name, padding in padded:
            if (given := getattr(self, name)) is not None:
                values[name] = np.take_along_axis(given, chosen.reshape(*chosen.shape, *[1] * (given.ndim - 2)), axis=1)
                values[name][chosen < 0] = padding
        return RankedCandidates(**values)


def rank_candidates(
    candidates: Candidates,
    embeddings: Vectors,
    queries: np.ndarray,
    k: int,
    rerank: bool = True,
    normalize: bool = False,
    ranker_scores: RankerScores | None = None,
    unwanted: np.ndarray | None = None,
) -> RankedCandidates:
    """The k best candidates of each query, by cosine or, without re-ranking, in generated order.

    embeddings (n, d) of the index, memory-mapped; queries (b, d); both normalized. normalize: divide by the norms of
    the embeddings, which half precision changed by up to 3e-4. ranker_scores: of the candidates, in
    place of the cosines. unwanted: (t,) bool, candidates that come after all others. Equal cosines or scores keep the
    generated order.
    """
    everything = rerank or unwanted is not None
    chosen = np.arange(len(candidates.row)) if everything else np.flatnonzero(candidates.generated_rank <= k)
    query, row = candidates.query[chosen], candidates.row[chosen]
    cosine = _cosines(embeddings, row, queries, query, normalize) if ranker_scores is None else ranker_scores.cosines
    if everything:
        scores = cosine if ranker_scores is None else ranker_scores.scores
        last = np.zeros(len(query), dtype=bool) if unwanted is None else unwanted
        by = (candidates.generated_rank, -scores) if rerank else (candidates.generated_rank,)
        order = np.lexsort((*by, last, query))
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
        padded(cosine[at], -np.inf),
        padded(candidates.generated_rank[chosen], 0),
        None if ranker_scores is None else padded(ranker_scores.shares[chosen], 0),
    )


def one_of_each(index: Index, ranked: RankedCandidates, k: int) -> tuple[RankedCandidates, list[list[list[Item]]]]:
    """The k best candidates of each query that show different things; and of each the items that show the same.

    The item itself is the first of these.
    """
    query, place = np.nonzero(ranked.rows >= 0)
    rows = ranked.rows[query, place]
    items, embeddings = index.items(rows), index.embeddings[rows].astype(np.float32)
    places: list[list[int]] = []
    shown: list[list[list[Item]]] = []
    for number in range(len(ranked.rows)):
        own = np.flatnonzero(query == number)
        of_query = [items[at] for at in own]
        groups = groups_of(of_query, rows[own].tolist(), embeddings[own], index.thumbnail, k)
        places.append([group[0] for group in groups])
        shown.append([[of_query[at] for at in group] for group in groups])
    return ranked.select(places), shown


def fetch_hits(
    ranked: RankedCandidates, things: Sequence[Sequence[Sequence[Item]]], codes: np.ndarray, log_probs: np.ndarray
) -> list[list[Hit]]:
    """The results of each query. things: of each query, of each of its results, the items that show it, its own first.

    Of all hits together (t,), by query and rank: codes (t, M) and the log-probability of each of them (t, M).
    """
    query, place = np.nonzero(ranked.rows >= 0)
    rows = ranked.rows[query, place]
    shares = np.empty((len(rows), 0)) if ranked.shares is None else ranked.shares[query, place]
    generated_ranks, cosines = ranked.generated_rank[query, place], ranked.cosines[query, place]
    arrays = (query, rows, codes, place + 1, generated_ranks, cosines, log_probs, shares)
    shown = (items for of_query in things for items in of_query)
    columns = zip(shown, *(array.tolist() for array in arrays), strict=True)
    hits: list[list[Hit]] = [[] for _ in ranked.rows]
    for (item, *versions), number, row, own, rank, before, cosine, steps, parts in columns:
        found = Hit(row, item, tuple(own), rank, before, cosine, tuple(steps), tuple(parts), tuple(versions))
        hits[number].append(found)
    return hits


def generated_ids(beams: Beams, table: IDTable) -> list[list[GeneratedID]]:
    """The IDs or prefixes that were generated for each query, best first."""
    low, high = beams.low.cpu().numpy(), beams.high.cpu().numpy()
    is_beam = high > low  # else padding
    first, last = table.codes(low), table.codes(np.where(is_beam, high - 1, low))  # (b, w, M)
    scores, log_probs, depths = (given.cpu().numpy() for given in (beams.scores, beams.log_probs, beams.depth))
    lengths = np.where((first == last).all(-1), first.shape[-1], depths)
    arrays = (first, lengths, scores, log_probs, depths, high - low)
    generated = []
    for query, there in enumerate(is_beam):
        columns = zip(*(array[query, there].tolist() for array in arrays), strict=True)
        generated.append([GeneratedID(tuple(codes[:length]), *figures) for codes, length, *figures in columns])
    return generated


def shows_left_out(
    candidates: Candidates, embeddings: Vectors, modalities: np.ndarray, left_out: np.ndarray, spreads: Spreads
) -> np.ndarray:
    """(t,) bool: candidates that probably show what their query leaves out.

    left_out (b, d): embeddings, 0 where nothing is. An item shows it if it is nearer to it than MORE standard
    deviations above the mean item of its modality. spreads: of the items of each modality.
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


def _cosines(
    embeddings: Vectors, rows: np.ndarray, queries: np.ndarray, query: np.ndarray, normalize: bool
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

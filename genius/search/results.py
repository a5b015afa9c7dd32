"""From arrays to what a person is told: the items that were found, and the IDs that led to them."""

from __future__ import annotations

import numpy as np

from genius.index.store import Index
from genius.schema import GeneratedID, Hit
from genius.search.beam_state import Beams
from genius.search.rerank import Ranked
from genius.trie.ids import IDTable


def hits_of(index: Index, ranked: Ranked, table: IDTable) -> list[list[Hit]]:
    """The results of each query, all items fetched at once; table: that of the IDs' numbers."""
    query, place = np.nonzero(ranked.rows >= 0)
    rows = ranked.rows[query, place]
    codes = table.codes(ranked.ids[query, place])
    columns = (
        rows,
        codes,
        place + 1,
        *(values[query, place] for values in (ranked.generated_rank, ranked.scores, ranked.cosines)),
    )
    hits: list[list[Hit]] = [[] for _ in ranked.rows]
    for of, item, row, codes, at, generated_rank, score, cosine in zip(
        query, index.items(rows), *(column.tolist() for column in columns), strict=True
    ):
        hits[of].append(Hit(row, item, tuple(codes), at, generated_rank, score, cosine))
    return hits


def generated_of(beams: Beams, table: IDTable) -> list[list[GeneratedID]]:
    """The IDs that were generated for each query, best first."""
    low, high = beams.low.cpu().numpy(), beams.high.cpu().numpy()
    found = high > low
    first, last = table.codes(low), table.codes(np.where(found, high - 1, low))
    length = np.where((first == last).all(-1), first.shape[-1], beams.depth.cpu().numpy())
    columns = (found, first, length, beams.scores, beams.log_probs, beams.depth, high - low)
    return [
        [GeneratedID(tuple(codes[:end]), *rest) for there, codes, end, *rest in zip(*query, strict=True) if there]
        for query in zip(*(column.tolist() for column in columns), strict=True)
    ]

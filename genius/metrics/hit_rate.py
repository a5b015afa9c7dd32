"""Hit rate, candidate recall and their bootstrap intervals. Pure numpy.

Shapes: q queries, k results, p positives of all queries together.

Hit rate at k is what M-BEIR calls Recall@k: a query scores 1 if any of its positives is among its
first k results, else 0, and the queries are averaged. Results come from one pool, so a positive
outside the pool never counts; a query none of whose positives is in the pool is a miss, and is not
left out of the average. (Reports say how many such queries a pool has.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

MISS = np.iinfo(np.int64).max  # rank of the first positive of a query that found none
CUTS = (1, 5, 10, 50)  # hit rate at each of these
USUAL_CUT, FASHION_CUT = 5, 10  # the one that counts; M-BEIR's and the paper's tables have another for two datasets
FASHION = ("fashion200k", "fashioniq")


def headline_cut(dataset: str) -> int:
    """Where the hit rate of a dataset's rows is taken for tables with one figure a system, as the paper does."""
    return FASHION_CUT if dataset.endswith(FASHION) else USUAL_CUT


@dataclass(frozen=True)
class Qrels:
    """Which index rows answer which query: the positives of query i are rows[offsets[i]:offsets[i + 1]].

    A row may answer several queries, and a query may have no row.
    """

    offsets: np.ndarray  # (q + 1,) int64
    rows: np.ndarray  # (p,) int64

    @classmethod
    def of(cls, positives: list[list[int]]) -> Qrels:
        """From one list of index rows a query."""
        lengths = np.array([len(rows) for rows in positives], dtype=np.int64)
        flat = [row for rows in positives for row in rows]
        return cls(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), np.array(flat, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def owners(self) -> np.ndarray:
        """(p,) the query that each positive belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    @cached_property
    def _keys(self) -> np.ndarray:
        """(p,) sorted (query, row) pairs, each as one number."""
        return np.sort(self.owners * self._stride + self.rows)

    @cached_property
    def _stride(self) -> int:
        return int(self.rows.max(initial=0)) + 1

    def contains(self, query: np.ndarray, row: np.ndarray) -> np.ndarray:
        """Whether each row answers the query beside it. Equal shapes in, bool out; row -1 answers nothing."""
        known = (row >= 0) & (row < self._stride)
        if not len(self._keys):
            return np.zeros_like(known)
        key = np.where(known, query * self._stride + row, -1)
        place = np.minimum(np.searchsorted(self._keys, key), len(self._keys) - 1)
        return known & (self._keys[place] == key)

    def count(self, member: np.ndarray) -> np.ndarray:
        """(q,) how many positives of each query are members. member: (n,) bool over all index rows."""
        return np.bincount(self.owners[member[self.rows]], minlength=len(self))


def first_hits(ranked: np.ndarray, qrels: Qrels, start: int = 0) -> np.ndarray:
    """Rank of the first positive of each query, 1 for the best result and MISS for none.

    ranked: (b, k) index rows, best first, -1 for no result, of queries start … start + b - 1.
    """
    query = np.arange(start, start + len(ranked))[:, None]
    found = qrels.contains(query, ranked)  # (b, k)
    return np.where(found.any(axis=1), found.argmax(axis=1) + 1, MISS)


def found_queries(owner: np.ndarray, row: np.ndarray, qrels: Qrels, start: int, count: int) -> np.ndarray:
    """Which of `count` queries from `start` on have a positive in their set of candidates.

    owner: (c,) place of the query in the batch, row: (c,) one of its candidates. -> (count,) bool.
    """
    hits = owner[qrels.contains(owner + start, row)]
    return np.bincount(hits, minlength=count) > 0


def hit_rate(ranks: np.ndarray, k: int) -> float | None:
    """Share of queries whose first positive ranks among the first k; None without queries."""
    return float((ranks <= k).mean()) if len(ranks) else None


def bootstrap_hit_rates(ranks: np.ndarray, k: int, draws: int, rng: np.random.Generator) -> np.ndarray:
    """(draws,) hit rates at k of bootstrap samples of the queries.

    The sum of q outcomes drawn with replacement from q outcomes that are 0 or 1 is binomial(q, mean),
    so the draws are made directly, exactly as if the queries had been drawn one by one.
    """
    return rng.binomial(len(ranks), hit_rate(ranks, k) or 0.0, size=draws) / max(1, len(ranks))


def bootstrap_differences(ahead: np.ndarray, draws: int, rng: np.random.Generator) -> np.ndarray:
    """(draws,) means of bootstrap samples of (q,) differences that are 1, 0 or −1: multinomial, for the same reason.

    Two systems that miss the same queries differ more surely than their two intervals say.
    """
    wins, losses, _ = rng.multinomial(len(ahead), [(ahead == sign).mean() for sign in (1, -1, 0)], size=draws).T
    return (wins - losses) / len(ahead)


def interval(draws: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """The percentile interval of bootstrap draws."""
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def mean(values: list[float | None]) -> float | None:
    """Mean of the values that exist; None if none does."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None

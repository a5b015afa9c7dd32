"""Hit rate, candidate recall and their intervals.

Hit rate at k is what M-BEIR calls Recall@k: a query scores 1 if any of its positives is among its
first k results, else 0, and the queries are averaged. Results come from one pool, so a positive
outside the pool never counts; a query without positives in the pool counts as a miss. (Reports give
the number of such queries.)

Shapes: q queries, b queries of a batch, k results, p positives of all queries, n rows of the index,
c candidates.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from scipy import stats

MISS = np.iinfo(np.int64).max  # rank of the first positive if no result is one
CUTS = (1, 5, 10, 50)  # values of k that reports give
# headline k in the tables of M-BEIR and the paper; two datasets have another
USUAL_CUT, FASHION_CUT = 5, 10
FASHION = ("fashion200k", "fashioniq")


def headline_cut(dataset: str) -> int:
    """k of the hit rate that a dataset has in tables with one figure per system, as in the
    paper.
    """
    return FASHION_CUT if dataset.endswith(FASHION) else USUAL_CUT


@dataclass(frozen=True)
class Qrels:
    """Relevance judgments: the positives of query i are the index rows rows[offsets[i]:offsets[i +
    1]].

    A row may be a positive of several queries, and a query may have none.
    """

    offsets: np.ndarray  # (q + 1,) int64
    rows: np.ndarray  # (p,) int64

    @classmethod
    def from_lists(cls, positives: list[list[int]]) -> Self:
        """positives: one list of index rows per query."""
        lengths = np.array([len(rows) for rows in positives], dtype=np.int64)
        flat = [row for rows in positives for row in rows]
        return cls(
            np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            np.array(flat, dtype=np.int64),
        )

    def __len__(self) -> int:
        """q."""
        return len(self.offsets) - 1

    @cached_property
    def owners(self) -> np.ndarray:
        """(p,) the query of each positive."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    @cached_property
    def _keys(self) -> np.ndarray:
        """(p,) sorted (query, row) pairs, each as one number."""
        return np.sort(self.owners * self._stride + self.rows)

    @cached_property
    def _stride(self) -> int:
        return int(self.rows.max(initial=0)) + 1

    def contains(self, query: np.ndarray, row: np.ndarray) -> np.ndarray:
        """Whether each row (…,) is a positive of its query (…,): (…,) bool; row −1 is never one."""
        known = (row >= 0) & (row < self._stride)
        if not len(self._keys):
            return np.zeros_like(known)
        key = np.where(known, query * self._stride + row, -1)
        at = np.minimum(np.searchsorted(self._keys, key), len(self._keys) - 1)
        return known & (self._keys[at] == key)

    def count(self, member: np.ndarray) -> np.ndarray:
        """(q,) number of positives of each query that are members of a pool; member (n,) bool for
        all index rows.
        """
        return np.bincount(self.owners[member[self.rows]], minlength=len(self))


def first_hits(ranked: np.ndarray, qrels: Qrels, start: int = 0) -> np.ndarray:
    """(b,) rank of the first positive among the results of each query, from 1, or MISS.

    ranked (b, k): index rows, best first, −1 for no result, of queries start … start + b − 1.
    """
    query = np.arange(start, start + len(ranked))[:, None]
    positive = qrels.contains(query, ranked)  # (b, k)
    return np.where(positive.any(axis=1), positive.argmax(axis=1) + 1, MISS)


def found_queries(
    owner: np.ndarray, row: np.ndarray, qrels: Qrels, start: int, count: int
) -> np.ndarray:
    """(count,) bool: which of the queries from `start` on have a positive among their candidates.

    owner (c,): number of the query within the batch; row (c,): a candidate of it.
    """
    hits = owner[qrels.contains(owner + start, row)]
    return np.bincount(hits, minlength=count) > 0


def hit_rate(ranks: np.ndarray, k: int) -> float | None:
    """Share of queries whose first positive has a rank (q,) of at most k; None without queries."""
    return float((ranks <= k).mean()) if len(ranks) else None


def bootstrap_shares(hits: np.ndarray, draws: int, rng: np.random.Generator) -> np.ndarray:
    """(draws,) shares of hits among bootstrap samples of the queries; hits (q,) bool.

    The sum of q outcomes drawn with replacement from q outcomes that are 0 or 1 is binomial(q,
    mean), so it is drawn directly, which is equivalent to resampling the queries one by one.
    """
    return rng.binomial(len(hits), hits.mean() if len(hits) else 0.0, size=draws) / max(
        1, len(hits)
    )


def bootstrap_differences(ahead: np.ndarray, draws: int, rng: np.random.Generator) -> np.ndarray:
    """(draws,) means of bootstrap samples of (q,) differences of 1, 0 or −1: multinomial, for the
    same reason.

    The paired difference of two systems is more certain than their two intervals suggest if they
    miss the same queries.
    """
    wins, losses, _ = rng.multinomial(
        len(ahead), [(ahead == sign).mean() for sign in (1, -1, 0)], size=draws
    ).T
    return (wins - losses) / len(ahead)


def interval(draws: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """The central percentile interval of bootstrap draws (r,); level: its probability."""
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def wilson_interval(hits: int, queries: int, level: float = 0.95) -> tuple[float, float]:
    """Wilson's interval of a share of the queries; level: its probability."""
    low, high = stats.binomtest(hits, queries).proportion_ci(level, "wilson")
    return float(low), float(high)

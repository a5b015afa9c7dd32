"""A router: an engine that leaves the scan of all IDs to shards, and merges what they find.

It encodes, generates and shows by itself: it holds the trie, so a beam search is that of one
machine, and reads records and vectors of results from its own copy of the run. What every shard
finds is merged by the key that one scan would have ordered it by, cut to as many candidates as one
scan would have had, and ordered by the ranker's scores, which the shards have computed. So a result
is that of one machine, to the last bit. (Only of an index of more than `scan.MANY_ITEMS` items
another share is scanned.)

Shapes: n items, b queries, d embedding dim, k results.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from genius.cluster.shard import Answer, ScanQuestion
from genius.errors import UserError
from genius.index.store import Index
from genius.schema import SearchResult
from genius.search.candidates import CandidateFinder
from genius.search.checks import ResolvedOptions
from genius.search.engine import Engine
from genius.search.rerank import Similarity
from genius.search.retrieval import EncodedQueries, Retrieval
from genius.search.retriever import Retriever
from genius.search.scan import PADDING, Scan, Scanned
from genius.search.scoring import key_scores, sort_keys
from genius.search.snapshots import Snapshot
from genius.trie.pool import Pool


class Shards(Protocol):
    """All parts of a run's IDs."""

    def scan(self, question: ScanQuestion) -> Sequence[Answer | None]:
        """The answer of each part, (b, k) each; None: it gave none in time."""

    def take(self, folder: str) -> None:
        """Returns when all parts have this folder of the index. Raises UserError if one has
        not.
        """


@dataclass(frozen=True)
class KnownSimilarity(Similarity):
    """Similarities of which shards have computed some."""

    keys: np.ndarray | None = None  # (c,) query · n + row of the c that are known, ascending
    values: np.ndarray | None = None  # (c,) float32

    def of(self, rows: np.ndarray, query: np.ndarray) -> np.ndarray:
        """(t,) as `Similarity.of`, of rows (t,) and queries (t,); reads only what no shard
        computed.
        """
        assert self.keys is not None and self.values is not None
        keys = query * len(self.stored) + rows
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        known = self.keys[at] == keys if len(self.keys) else np.zeros(len(keys), dtype=bool)
        products = np.empty(len(keys), dtype=np.float32)
        products[known] = self.values[at[known]]
        products[~known] = super().of(rows[~known], query[~known])
        return products


class ShardedScan:
    """The scan of one batch of queries, by shards; used as a `Scan`."""

    def __init__(self, shards: Shards, question: ScanQuestion, pool: Pool, positions: np.ndarray):
        """question: without what a `Scan` is told. positions (n,): of the index's items in the
        pool's ID table.
        """
        self.pool = pool
        self.missing = ""
        self._shards, self._question, self._positions = shards, question, positions
        self._keys, self._values = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)

    def best_or_near(
        self, z: Tensor, k: int, prefix: tuple[int, ...], allowed: np.ndarray | None
    ) -> Scanned:
        """See `Scan`: z (b, d), allowed (b, first codes) bool. Raises UserError if no part
        answers.
        """
        answers = self._shards.scan(replace(self._question, k=k, prefix=prefix, allowed=allowed))
        given = [answer for answer in answers if answer is not None]
        if not given:
            raise UserError(
                "no part of the index answers; start it again, or wait until it has started"
            )
        if len(given) < len(answers):
            self.missing = f"{len(given)} of {len(answers)} parts answered"
        rows = np.concatenate([answer.rows for answer in given], axis=1)
        self._remember(rows, np.concatenate([answer.similarities for answer in given], axis=1))
        positions = torch.from_numpy(self._positions[rows].astype(np.int64))
        keys = sort_keys(
            torch.from_numpy(np.concatenate([answer.scores for answer in given], axis=1)), positions
        )
        keys = keys.masked_fill_(torch.from_numpy(rows) < 0, PADDING).topk(k).values
        scores, positions = key_scores(keys)
        return Scanned(positions.masked_fill_(keys == PADDING, -1), scores)

    def _remember(self, rows: np.ndarray, similarities: np.ndarray) -> None:
        query, place = np.nonzero(rows >= 0)
        keys = query * len(self._positions) + rows[query, place]
        order = np.argsort(keys)
        self._keys, self._values = keys[order], similarities[query, place][order]

    def known(self, by: Similarity) -> Similarity:
        """by: as the shards compared, so that what they found need not be read."""
        return KnownSimilarity(by.stored, by.queries, by.normalize, self._keys, self._values)


class ShardedFinder(CandidateFinder):
    """Finds candidates with one decoder, and with shards where these know the pool."""

    scan: ShardedScan | None = None  # of the batch that is being searched

    # what it returns is used as a Scan
    def scan_of(self, pool: Pool) -> Scan | ShardedScan:  # type: ignore[override]
        if self.scan is not None and self.scan.pool is pool:
            return self.scan
        return super().scan_of(pool)


class ShardedRetriever(Retriever):
    """The models of a run, and shards as soon as it has them."""

    finder: ShardedFinder

    def __init__(self, *parts: Any, **options: Any) -> None:
        super().__init__(*parts, **options)
        self.finder = ShardedFinder(self.finder.decoder)
        self.shards: Shards | None = None
        # of what the shards of the last batch compared
        self._compared: tuple[EncodedQueries, Index, str] | None = None
        self._positions: WeakKeyDictionary[Pool, np.ndarray] = WeakKeyDictionary()

    def retrieve(
        self, encoded: EncodedQueries, options: ResolvedOptions, snapshot: Snapshot, pool: Pool
    ) -> Retrieval:
        self.finder.scan = self._compared = None
        # else one that only the caller knows
        if self.shards is not None and pool is snapshot.pool_of(options):
            self._compared = encoded, snapshot.index, options.order
            self.finder.scan = self._scan(encoded, options, snapshot, pool)
        return super().retrieve(encoded, options, snapshot, pool)

    def _scan(
        self, encoded: EncodedQueries, options: ResolvedOptions, snapshot: Snapshot, pool: Pool
    ) -> ShardedScan:
        assert self.shards is not None
        vectors = {"cosine": encoded.embeddings, "fused": encoded.z}.get(options.order)
        by = None if vectors is None else vectors.cpu().numpy()
        fused = options.order == "fused"
        which = snapshot.index.folder.name, options.modality, options.added
        question = ScanQuestion(
            *which, encoded.z.cpu().numpy(), 0, (), None, by, fused, self._normalize and not fused
        )
        if pool not in self._positions:
            positions = np.full(snapshot.index.n, -1, dtype=np.int32)
            positions[pool.table.rows] = np.arange(len(pool.table), dtype=np.int32)
            self._positions[pool] = positions
        return ShardedScan(self.shards, question, pool, self._positions[pool])

    def results(
        self, encoded: EncodedQueries, options: ResolvedOptions, snapshot: Snapshot
    ) -> list[SearchResult]:
        found = super().results(encoded, options, snapshot)
        missing = self.finder.scan.missing if self.finder.scan else ""
        return [replace(result, missing=missing) for result in found] if missing else found

    def _by_embedding(self, encoded: EncodedQueries, index: Index) -> Similarity:
        return self._with_known(encoded, index, "cosine", super()._by_embedding(encoded, index))

    def _by_fused(self, encoded: EncodedQueries, index: Index) -> Similarity | None:
        by = super()._by_fused(encoded, index)
        return by and self._with_known(encoded, index, "fused", by)

    def _with_known(
        self, encoded: EncodedQueries, index: Index, order: str, by: Similarity
    ) -> Similarity:
        scan = self.finder.scan
        if scan is None or self._compared is None or self._compared[0] is not encoded:
            return by
        return scan.known(by) if self._compared[1] is index and self._compared[2] == order else by


class RouterEngine(Engine):
    """An engine whose scans shards do."""

    retriever_type = ShardedRetriever
    retriever: ShardedRetriever

    def connect(self, shards: Shards) -> Self:
        """Search with these shards from now on, and change to a newer index only when all of them
        have it.
        """
        self.snapshots.before_newer = lambda index: shards.take(index.folder.name)
        if not self.snapshots.reload():
            shards.take(self.index.folder.name)
        self.retriever.shards = shards
        return self

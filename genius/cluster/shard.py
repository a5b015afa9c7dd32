"""A shard: one process that scans a contiguous part of an index, and compares what it finds with
the queries.

It holds the newest snapshot of the index and, for a minute, the one before, so that routers change
over one by one: each question names its snapshot. Only IDs are in memory; vectors are read from the
run, which lies on every host.

Shapes: b queries, d embedding dim, c first codes, k results.
"""

import threading
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from genius.errors import UserError
from genius.index.partitions import Share
from genius.index.store import PART, Index, load_index, load_newer_index
from genius.models.decoder import IDDecoder
from genius.run import Run, expect_run
from genius.schema import Modality, SearchOptions
from genius.search.rerank import Similarity
from genius.search.scan import Codewords, Scan
from genius.search.snapshots import Snapshot
from genius.trie.pool import Pool

LINGER = 60.0  # seconds that a snapshot is kept after a newer one was taken in


class OtherSnapshotError(UserError):
    """The snapshot of the index that a question is about is not the newest, or is not there yet."""


@dataclass(frozen=True)
class ScanQuestion:
    """What to scan for, b queries together; see `Scan.best`."""

    folder: str  # of the index
    modality: Modality | None
    added: bool
    z: np.ndarray  # (b, d)
    k: int
    prefix: tuple[int, ...]
    allowed: np.ndarray | None  # (b, c)
    # (b, d) to compare with what is found; None: nothing is compared
    vectors: np.ndarray | None = None
    by_fused: bool = False  # compare fused features, not embeddings
    normalize: bool = False  # see `Similarity`


@dataclass(frozen=True)
class Answer:
    """The nearest items of a part, nearest first; padded with −1."""

    rows: np.ndarray  # (b, k) in the whole index
    scores: np.ndarray  # (b, k) of the scan
    similarities: np.ndarray  # (b, k); zero if nothing is compared


class Shard:
    """A part of a run's IDs. Safe to share between threads."""

    def __init__(self, run: Path, share: Share):
        """Raises UserError if the run cannot be read, or has fewer items than there are parts."""
        expect_run(run)
        self.run = Run(run)
        self.share = share
        codebooks = IDDecoder.load(self.run.folder("decoder")).codebooks
        self._codewords = Codewords([codebook.detach() for codebook in codebooks])
        self._loading = threading.Lock()
        self._snapshots: dict[str, Snapshot] = {}  # the newest last
        self._scans: dict[Pool, Scan] = {}
        self._add(load_index(self.run))

    def _add(self, index: Index) -> None:
        """Take in a newer index; those before are let go in a while."""
        rows = range(*self.share.bounds(index.n))
        if not rows:
            raise UserError(
                f"{self.run.path} has {index.n:,} items; serve it in fewer parts than "
                f"{self.share.of}"
            )
        before = list(self._snapshots)
        self._snapshots[index.folder.name] = Snapshot(index, torch.device("cpu"), rows)
        if before:
            timer = threading.Timer(LINGER, self._let_go, (before,))
            timer.daemon = True
            timer.start()

    def _let_go(self, names: list[str]) -> None:
        for name in names:
            self._snapshots.pop(name, None)
        self._scans = {}
        self.run.sweep(PART)

    def reload(self) -> None:
        """Take in the newest index, if it is newer. Raises UserError for one that cannot be
        read.
        """
        with self._loading:
            newer = load_newer_index(self.run, list(self._snapshots.values())[-1].index)
            if newer is not None:
                self._add(newer)

    def take(self, folder: str) -> Snapshot:
        """The snapshot of this folder, loaded if need be. Raises OtherSnapshotError without it."""
        if folder not in self._snapshots:
            self.reload()
        try:
            return self._snapshots[folder]
        except KeyError:
            newest = list(self._snapshots)[-1]
            raise OtherSnapshotError(
                f"part {self.share} of {self.run.path} has {newest}, not {folder}"
            ) from None

    @torch.inference_mode()
    def scan(self, question: ScanQuestion) -> Answer:
        """The nearest items, (b, k). Raises OtherSnapshotError for a snapshot that is not there."""
        snapshot = self.take(question.folder)
        shape = len(question.z), question.k
        rows = np.full(shape, -1, dtype=np.int64)
        scores = np.full(shape, -np.inf, dtype=np.float32)
        similarities = np.zeros(shape, dtype=np.float32)
        try:
            pool = snapshot.pool_of(SearchOptions(modality=question.modality, added=question.added))
        except UserError:  # no such item in this part
            return Answer(rows, scores, similarities)
        found = self._scan(pool).best_or_near(
            torch.from_numpy(question.z), question.k, question.prefix, question.allowed
        )
        positions = found.positions.numpy()
        there = positions >= 0
        rows[there], scores[there] = pool.table.rows[positions[there]], found.scores.numpy()[there]
        if question.vectors is not None:
            stored = snapshot.index.fused if question.by_fused else snapshot.index.embeddings
            assert stored is not None  # the router has checked the options
            by = Similarity(stored, question.vectors, question.normalize)
            similarities[there] = by.of(rows[there], np.nonzero(there)[0])
        return Answer(rows, scores, similarities)

    def _scan(self, pool: Pool) -> Scan:
        if pool not in self._scans:
            self._scans[pool] = Scan(pool, self._codewords)
        return self._scans[pool]

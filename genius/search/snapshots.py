"""Which snapshot of a run's index is searched: the newest, or the one that is held.

So a search, and everything that one callback of the page does, sees one snapshot from trie to item
records, whatever is added or removed meanwhile.
"""

import gc
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import _lru_cache_wrapper, cached_property, lru_cache
from itertools import product
from types import MappingProxyType
from typing import TypeVar

import numpy as np
import torch

from genius.errors import UserError
from genius.index.store import PART, Index, load_newer_index
from genius.run import Run
from genius.schema import Modality, SearchOptions
from genius.search.rerank import Spreads
from genius.trie.pool import Pool

SAMPLE = 2_000  # embeddings of a modality
T = TypeVar("T")


class Snapshot:
    """One state of an index, with its pools. Safe to share between threads."""

    def __init__(self, index: Index, device: torch.device, rows: range | None = None):
        """rows: of the items that its pools hold; None: all."""
        self.index, self.device = index, device
        self.rows = range(index.n) if rows is None else rows
        self.pool = index.pool(None if rows is None else np.array(rows), device)
        self._pools: dict[tuple[Modality | None, bool], Pool] = {}
        self._pooling = {key: threading.Lock() for key in product((None, *Modality), (False, True))}

    @cached_property
    def kinds(self) -> frozenset[Modality]:
        """The modalities that items have."""
        return frozenset(map(Modality, np.unique(self.index.modalities).tolist()))

    @cached_property
    def spreads(self) -> Spreads:
        """Mean (d,) and covariance (d, d) of the embeddings of each modality, of a sample."""
        spreads = {}
        for kind in self.kinds:
            rows = np.flatnonzero(self.index.modalities == kind)
            sample = self.index.embeddings[rows[:: max(1, len(rows) // SAMPLE)]].astype(np.float32)
            spreads[int(kind)] = sample.mean(0), np.cov(sample.T, bias=True)
        return spreads

    def pool_of(self, options: SearchOptions) -> Pool:
        """The items that the options allow, collected on first use. Raises UserError if there are
        none.

        Only callers that need the same pool wait while it is collected, which takes seconds for
        millions of items.
        """
        modality, added = key = options.modality, options.added
        if key == (None, False):
            return self.pool
        if key in self._pools:
            return self._pools[key]
        with self._pooling[key]:
            if key not in self._pools:
                first = max(self.index.config.trained if added else 0, self.rows.start)
                kinds = self.index.modalities[first : self.rows.stop]
                chosen = np.full(len(kinds), True) if modality is None else kinds == modality
                if not chosen.any():
                    kind = "" if modality is None else f" of the modality {modality.name.lower()}"
                    raise UserError(
                        f"No items{kind} were added since training; search in everything."
                        if added
                        else f"This collection holds no items{kind}; search for another."
                    )
                self._pools[key] = self.index.pool(first + np.flatnonzero(chosen), self.device)
            return self._pools[key]


class Snapshots:
    """The snapshots of one run's index. Safe to share between threads."""

    def __init__(self, index: Index, device: torch.device, run: Run | None = None):
        """run: as it was read when the index was loaded; without it `reload` finds no newer one."""
        self._newest = Snapshot(index, device)
        self._device = device
        self._run = run
        # raises UserError: it does not become current
        self.before_newer: Callable[[Index], None] = lambda index: None
        self._reloading = threading.Lock()
        self._kept: list[_lru_cache_wrapper] = []

    @property
    def current(self) -> Snapshot:
        return _HELD.get().get(self, self._newest)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Inside the block the current one stays so for the caller's thread or task."""
        before = _HELD.set({**_HELD.get(), self: self.current})
        try:
            yield
        finally:
            _HELD.reset(before)

    def follow(self, run: Run | None) -> None:
        """Take the index from another copy of the run from now on."""
        with self._reloading:
            self._run = run
        self.reload()

    def reload(self) -> bool:
        """Load the run's index again, if there is a newer one, and return whether there was.

        It becomes current at once, also where the caller holds another. Raises UserError for an
        index that cannot be read.
        """
        with self._reloading:
            index = None if self._run is None else load_newer_index(self._run, self._newest.index)
            if index is not None:
                self.before_newer(index)
                self._newest = Snapshot(index, self._device)
                for kept in self._kept:
                    kept.cache_clear()
                gc.collect()  # what they kept may refer to itself
        if self in _HELD.get():
            _HELD.set({**_HELD.get(), self: self._newest})
        if self._run is not None:
            # index folders that nobody reads any more: they may hold what was removed
            self._run.sweep(PART)
        return index is not None

    def cached(self, compute: Callable[[Index], T]) -> Callable[[Index], T]:
        """`compute`, whose last result is kept until there is a newer index: the old one is let go
        then.
        """
        kept = lru_cache(1)(compute)
        self._kept.append(kept)
        return kept


_HELD: ContextVar[Mapping[Snapshots, Snapshot]] = ContextVar("held", default=MappingProxyType({}))

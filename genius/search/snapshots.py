"""Which version of a run's index is searched: the newest that was taken up, or inside a block the one it began with.

So a search, and all that one callback of the page does, sees one version from trie to records, whatever is added or
removed meanwhile.
"""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

import numpy as np
import torch

from genius.errors import UserError
from genius.index.store import Index
from genius.index.versions import newer
from genius.run import Run
from genius.schema import Modality
from genius.trie.pool import Pool

if TYPE_CHECKING:
    from genius.search.engine import Engine

EVERY = 2.0  # seconds between two looks at the run's manifest


class Version:
    """An index and what a search may find in it. Safe to share between threads."""

    def __init__(self, index: Index, device: torch.device):
        self.index, self.device = index, device
        self.pool = index.pool(device=device)  # all items
        self._pools: dict[Modality, Pool] = {}
        self._pooling = threading.Lock()

    def pool_of(self, modality: Modality | None) -> Pool:
        """All items, or those of one modality, collected when first asked for. Raises UserError if there are none."""
        if modality is None:
            return self.pool
        with self._pooling:
            if modality not in self._pools:
                rows = np.flatnonzero(self.index.modalities == modality)
                if not len(rows):
                    raise UserError(
                        f"This collection holds no items of the modality {modality.name.lower()}; search for another."
                    )
                self._pools[modality] = self.index.pool(rows, self.device)
            return self._pools[modality]


class Versions:
    """The versions of one run. Safe to share between threads."""

    def __init__(self, index: Index, device: torch.device, run: Run | None = None):
        """run: as it was read when the index was loaded; without it nothing newer is taken up."""
        self._newest, self._device, self._run = Version(index, device), device, run
        self._taking_up = threading.Lock()
        self._held: ContextVar[Version | None] = ContextVar("held", default=None)

    @property
    def current(self) -> Version:
        return self._held.get() or self._newest

    @contextmanager
    def held(self, version: Version | None = None) -> Iterator[None]:
        """Inside the block this version stays current, or by default that which is."""
        before = self._held.set(version or self.current)
        try:
            yield
        finally:
            self._held.reset(before)

    def reload(self) -> bool:
        """Make the newest index of the run current, for a caller inside a block, too; whether there is a newer one.

        Raises UserError for an index that cannot be read.
        """
        with self._taking_up:
            index = None if self._run is None else newer(self._run, self._newest.index)
            if index is not None:
                self._newest = Version(index, self._device)
        if self._held.get() is not None:
            self._held.set(self._newest)
        return index is not None


def follow(engine: Engine, every: float = EVERY) -> None:
    """In the background take up what other processes add and remove, while the engine lives.

    What goes wrong is logged, once, and tried again.
    """
    known = weakref.ref(engine)

    def look() -> None:
        said = ""
        while (living := known()) is not None:
            try:
                living.reload()
            except Exception as error:
                if said != str(error):
                    logging.getLogger(__name__).warning("the newest index was not taken up: %s", error)
                said = str(error)
            del living
            time.sleep(every)

    threading.Thread(target=look, name="newer index", daemon=True).start()

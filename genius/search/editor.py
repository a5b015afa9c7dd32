"""The collection of a run that is being served changes; the very next search sees it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from genius.index import update as growing
from genius.index.incoming import dropped
from genius.index.update import Added, Models, Removed
from genius.search.engine import Engine


class Editor:
    """Any number of threads may share it: one change at a time, any other is refused with a UserError."""

    def __init__(self, run: Path, engine: Engine):
        """engine: of this run; its models encode what is added."""
        self.run, self.engine = run, engine
        self._models = Models(engine.encoder, engine.fusion, engine.quantizer)

    def add(self, things: Sequence[tuple[str, Path | None]]) -> Added:
        """Add texts, pictures or both, as a visitor hands them over, under ids of a dataset of their own.

        Raises UserError if the run cannot be changed.
        """
        added = growing.add(self.run, partial(dropped, things), self._models)
        self.engine.reload()
        return added

    def remove(self, ids: Iterable[str]) -> Removed:
        """Remove items. Raises UserError if none would be left, or the run cannot be changed."""
        removed = growing.remove(self.run, ids)
        self.engine.reload()
        return removed

    def compact(self) -> bool:
        """Write one segment of many; False if there is nothing to do. Raises UserError if the run cannot be changed."""
        done = growing.compact(self.run)
        self.engine.reload()
        return done

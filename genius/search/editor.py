"""Change the collection of a run that is being served; the very next search sees it."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn

from genius.index import update
from genius.index.item_source import uploaded_items
from genius.index.update import Added, Models, Removed
from genius.models.encoder import Encoder
from genius.models.fusion import Fusion
from genius.models.quantizer import ResidualQuantizer
from genius.search.engine import Engine

BATCH = 8  # items encoded together, between two batches of searches


class Editor:
    """Adds and removes items; threads may share it: one change at a time, any other is refused with a UserError."""

    def __init__(self, run: Path, engine: Engine):
        """engine: of this run; its models encode new items."""
        self.run, self.engine = run, engine
        self._models = Models(
            cast(Encoder, _OnEngineThread(engine.encoder, engine)),
            cast(Fusion, _OnEngineThread(engine.fusion, engine)),
            cast(ResidualQuantizer, _OnEngineThread(engine.quantizer, engine)),
            BATCH,
            engine.run,
        )

    def add(self, uploads: Sequence[tuple[str, Path | None]]) -> Added:
        """Add (text, image file) pairs, either of which may be missing, as items of a new dataset.

        Searches go on: items are encoded a few at a time, in turn with them. Raises UserError if the run cannot be
        changed.
        """
        added = update.add(self.run, partial(uploaded_items, uploads), self._models)
        self.engine.versions.reload()
        return added

    def remove(self, ids: Iterable[str]) -> Removed:
        """Remove items. Raises UserError if none would be left, or the run cannot be changed."""
        removed = update.remove(self.run, ids)
        self.engine.versions.reload()
        return removed

    def compact(self) -> bool:
        """Merge all segments; False if there is nothing to do. Raises UserError if the run cannot be changed."""
        done = update.compact(self.run)
        self.engine.versions.reload()
        return done


class _OnEngineThread:
    """A model whose every call, and every call of its methods, runs on the engine's thread."""

    def __init__(self, model: nn.Module, engine: Engine):
        self._model, self._engine = model, engine

    def __call__(self, *inputs: Any) -> Any:
        return self._run(self._model, *inputs)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._model, name)
        return partial(self._run, value) if callable(value) else value

    def _run(self, function: Callable, *inputs: Any) -> Any:
        @torch.inference_mode()
        def run() -> Any:
            return function(*inputs)

        return self._engine.batcher.call(run)

"""Change the collection of a run that is being served; the very next search sees it."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import torch
from torch import nn

from genius.errors import UserError
from genius.files import remove_folder, written_aside
from genius.index import update
from genius.index.item_source import ItemSource, uploaded_items
from genius.index.update import Added, Models, Removed
from genius.locks import write_lock
from genius.run import Run
from genius.search.engine import Engine

BATCH = 8  # items encoded together, between two batches of searches
AT_ONCE = 50  # items that are added before searches find them, at least
ITEMS_PER_ADDED = 10_000  # of the index, where they are more: each time takes what grows with it
KEPT = Path("runs")  # where kept working copies go
NAME = re.compile(r"\w[\w-]{0,63}")


@contextmanager
def folder_for_copy(run: Path) -> Iterator[Path]:
    """A folder for a working copy of this run, which is deleted at the end: beside the run, so that
    the copy takes no space where the disk has hard links; if nothing can be written there, among
    temporary files. What killed programs have left beside the run is deleted first."""
    run = run.resolve()
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(
                written_aside(run.with_name(f"{run.name}.working"), folder=True)
            )
        except OSError:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="genius-")))
        yield folder


class Editor:
    """Adds and removes items; threads may share it: one change at a time, any other is refused with
    a UserError.
    """

    def __init__(self, run: Path, engine: Engine, copy: Path | None = None):
        """engine: of this run; its models encode new items. copy: where a working copy is made at
        the first change, to which all changes go; None: they go to the run itself.
        """
        self.run, self.engine, self.copy = run, engine, copy
        models = engine.encoder, engine.fusion, engine.quantizer
        encoder, fusion, quantizer = (cast(Any, _OnEngineThread(model, engine)) for model in models)
        self._models = Models(encoder, fusion, quantizer, BATCH, engine.run)

    @property
    def has_copy(self) -> bool:
        """Whether there is a working copy, which `keep` keeps and `forget` ends."""
        return self.copy is not None and self.copy.exists()

    def add(self, uploads: Sequence[tuple[str, Path | None]]) -> Iterator[Added]:
        """Add (text, image file) pairs, either of which may be missing, as items of a new dataset,
        some at a time; a search finds those of which it was yielded what happened to them.

        Searches go on: items are encoded a few at a time, in turn with them. Raises UserError if
        the run cannot be changed.
        """
        datasets: list[int] = []  # unused numbers, of which the first is that of all these items
        first = 1  # number of the next item

        def read(some: Sequence[tuple[str, Path | None]], unused: int) -> ItemSource:
            datasets.append(unused)
            return uploaded_items(some, datasets[0], first)

        at_once = max(AT_ONCE, self.engine.index.n // ITEMS_PER_ADDED)
        for start in range(0, len(uploads), at_once):
            some = uploads[start : start + at_once]
            added = update.add(self._changed_run(), partial(read, some), self._models)
            first += added.items
            self.engine.snapshots.reload()
            yield added

    def remove(self, ids: Iterable[str]) -> Removed:
        """Remove items. Raises UserError if none would be left, or the run cannot be changed."""
        removed = update.remove(self._changed_run(), ids)
        self.engine.snapshots.reload()
        return removed

    def compact(self) -> bool:
        """Merge all segments; False if there is nothing to do. Raises UserError if the run cannot
        be changed.
        """
        done = update.compact(self._changed_run())
        self.engine.snapshots.reload()
        return done

    def keep(self, name: str) -> Path:
        """Make a run of the working copy, below the current directory. Raises UserError for a name
        that cannot be.
        """
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise UserError(
                "A run's name has letters, digits, - and _, such as my-pictures, and at "
                "most 64 of them."
            )
        folder = KEPT / name
        if folder.exists():
            raise UserError(f"There is {folder} already; choose another name.")
        if self.copy is None or not self.has_copy:
            raise UserError("Nothing was changed, so there is nothing to keep.")
        Run(self.copy).copy(folder)
        return folder

    def forget(self) -> None:
        """Go back to the run as it is. Raises UserError if the working copy is being changed."""
        if self.copy is not None and self.has_copy:
            with write_lock(self.copy):
                self.engine.snapshots.follow(self.engine.run)
                remove_folder(self.copy)

    def _changed_run(self) -> Path:
        """The run that changes go to."""
        if self.copy is None:
            return self.run
        if not self.has_copy:
            Run(self.run).copy(self.copy)
            self.engine.snapshots.follow(Run(self.copy))
        return self.copy


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

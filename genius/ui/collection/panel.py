"""The Collection tab: what is indexed, whether it still fits the training, and how to edit it."""

from typing import Any

import numpy as np

from genius.errors import UserError
from genius.index.check import DriftReport, datasets
from genius.index.store import Index
from genius.search.editor import KEPT
from genius.ui.collection import view
from genius.ui.collection.editing import Editing
from genius.ui.common.context import Context, Looks, Panel
from genius.ui.common.formatting import count, tiles

PAGE_SIZE = 24  # items of a page


def panel(context: Context) -> Panel:
    collection = CollectionLooks(context)
    looks: Looks = {
        "collection": collection.on_collection,
        "collection/fit": collection.on_fit,
        "collection/added": collection.on_added,
    }
    calls: list[Any] = []
    if collection.editing:
        edits = collection.editing
        calls = [
            edits.add_items,
            edits.remove_items,
            edits.merge_segments,
            edits.keep_changes,
            edits.forget_changes,
        ]
    return Panel(looks, prepare=[collection.prepare], calls=calls)


class CollectionLooks:
    """Keeps only what follows from the current index."""

    def __init__(self, context: Context):
        self.engine, self.served = context.engine, context.served
        self.names = {} if isinstance(context.maps, str) else context.maps.names  # of datasets
        self.contents_of = self.engine.snapshots.cached(self.count_contents)
        self.fit_of = self.engine.snapshots.cached(self.measure_fit)
        self.editing = Editing(context) if context.served.editable else None

    def prepare(self) -> None:
        self.contents_of(self.engine.index)
        self.fit_of(self.engine.index)

    def on_collection(self) -> dict[str, Any]:
        """What is indexed, and whether a working copy was changed."""
        changed = bool(self.editing and self.editing.editor.has_copy)
        return {
            **self.contents_of(self.engine.index),
            "editable": self.served.editable,
            "copies": self.served.copies is not None,
            "kept": str(KEPT) if changed else None,
            **({} if self.served.editable else view.read_only(self.served.path)),
        }

    def on_fit(self) -> dict[str, Any]:
        """Whether the items still fit the learned codes."""
        return self.fit_of(self.engine.index)

    def on_added(self, page: int = 0) -> dict[str, Any] | None:
        """A page of the items that were added since training, newest first; the last one where
        there are fewer, None if there are none.
        """
        index = self.engine.index
        if page < 0:
            raise UserError("There is no such page; reload the page.")
        if not index.config.grown:
            return None
        pages = -(-index.config.grown // PAGE_SIZE)
        page = min(page, pages - 1)
        newest_first = np.arange(index.config.trained, index.n)[::-1]
        rows = newest_first[page * PAGE_SIZE : (page + 1) * PAGE_SIZE].tolist()
        return {
            "total": count(index.config.grown, "item"),
            "page": page,
            "pages": pages,
            "tiles": tiles(index, rows),
        }

    def count_contents(self, index: Index) -> dict[str, Any]:
        size = sum(file.stat().st_size for file in index.folder.rglob("*") if file.is_file())
        return view.contents_view(index.config, datasets(index), size, self.names)

    def measure_fit(self, index: Index) -> dict[str, Any]:
        drift = DriftReport.of(index)
        return view.verdict(drift, drift.warnings()) | view.drift_view(drift)

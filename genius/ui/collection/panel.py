"""The Collection tab: what is indexed, whether it still fits the training, and how to edit it."""

import numpy as np

from genius.index.check import DriftReport, datasets
from genius.index.store import Index
from genius.search.editor import KEPT
from genius.ui.collection import view
from genius.ui.collection.editing import Editing
from genius.ui.common.context import Context, Panel
from genius.ui.common.formatting import Json, count, page_of, tiles


def panel(context: Context) -> Panel:
    collection = CollectionLooks(context)
    edits = collection.editing
    return Panel(
        {
            "collection": collection.on_collection,
            "collection/fit": collection.on_fit,
            "collection/added": collection.on_added,
        },
        prepare=[collection.prepare],
        calls=edits.calls if edits else (),
    )


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

    def on_collection(self) -> Json:
        """What is indexed, and whether a working copy was changed."""
        changed = bool(self.editing and self.editing.editor.has_copy)
        return {
            **self.contents_of(self.engine.index),
            "editable": self.served.editable,
            "copies": self.served.copies is not None,
            "kept": str(KEPT) if changed else None,
            **({} if self.served.editable else view.read_only(self.served.path)),
        }

    def on_fit(self) -> Json:
        """Whether the items still fit the learned codes."""
        return self.fit_of(self.engine.index)

    def on_added(self, page: int = 0) -> Json | None:
        """A page of the items that were added since training, newest first; the last one where
        there are fewer, None if there are none.
        """
        index = self.engine.index
        newest_first = np.arange(index.config.trained, index.n)[::-1]
        rows, page, pages = page_of(newest_first, page)
        if not rows:
            return None
        return {
            "total": count(index.config.grown, "item"),
            "page": page,
            "pages": pages,
            "tiles": tiles(index, rows),
        }

    def count_contents(self, index: Index) -> Json:
        size = sum(file.stat().st_size for file in index.folder.rglob("*") if file.is_file())
        return view.contents_view(index.config, datasets(index), size, self.names)

    def measure_fit(self, index: Index) -> Json:
        drift = DriftReport.of(index)
        return view.verdict(drift, drift.warnings()) | view.drift_view(drift)

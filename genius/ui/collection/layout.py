"""The Collection tab: what is indexed, whether it still fits the training, and a form to edit it."""

from typing import Any

import gradio as gr
import numpy as np

from genius.errors import UserError
from genius.index.check import DriftReport, advice, datasets
from genius.index.store import Index
from genius.ui.collection import view
from genius.ui.collection.editing import CONFIRM, EditingForm
from genius.ui.common.components import LATEST_WITH_PROGRESS, UNLIMITED, Panel, introduction
from genius.ui.common.context import Context
from genius.ui.common.formatting import count, tiles

PAGE_SIZE = 24  # items of a page


class CollectionCallbacks:
    """The callbacks of one page. They keep nothing of a visitor, only what follows from the current index."""

    def __init__(self, context: Context):
        self.engine, self.served = context.engine, context.served
        self.names = {} if isinstance(context.maps, str) else context.maps.names  # of datasets
        self.contents_of = self.engine.versions.cached(self.count_contents)
        self.fit_of = self.engine.versions.cached(self.measure_fit)

    def prepare(self) -> None:
        self.contents_of(self.engine.index)
        self.fit_of(self.engine.index)

    def on_contents(self):
        return self.contents_of(self.engine.index), self.added_page(0)

    def on_fit(self):
        return self.fit_of(self.engine.index)

    def on_turn(self, event: gr.EventData):
        page = getattr(event, "page", None)
        if type(page) is not int or page < 0:
            raise UserError("There is no such page; reload the page.")
        return self.added_page(page)

    def count_contents(self, index: Index) -> dict[str, Any]:
        size = sum(file.stat().st_size for file in index.folder.rglob("*") if file.is_file())
        return view.contents_view(index.config, datasets(index), size, self.names)

    def measure_fit(self, index: Index) -> tuple[dict[str, Any], dict[str, Any]]:
        drift = DriftReport.of(index)
        return view.verdict(drift, advice(index, drift)), view.drift_view(drift)

    def added_page(self, page: int) -> dict[str, Any] | None:
        """A page of the items that were added since training, newest first; the last one where there are fewer, None if
        there are none."""
        index = self.engine.index
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
            "editable": self.served.editable,
            "tiles": tiles(index, rows),
        }


def collection_tab(context: Context, tab: gr.Tab) -> None:
    """Lay the tab out inside the current gr.Tab and wire it."""
    served, shared, callbacks = context.served, context.shared, CollectionCallbacks(context)
    introduction(
        "collection",
        "What can be found here, and whether items that were added later fit the codes that were learned before. "
        "New items need no training.",
    )
    scripts = ("common/prefixes.js", CONFIRM)
    added = Panel("collection-added", "collection/added_items.js", scripts=scripts, render=False)
    with gr.Row(elem_id="collection"):
        with gr.Column(scale=3, min_width=320):
            contents = Panel("collection-contents", "common/table.js")
            drift = Panel("collection-drift", "common/table.js")
            verdict = Panel("collection-verdict", "collection/verdict.js")
        with gr.Column(scale=2, min_width=320, elem_id="collection-edit"):
            if served.editable:
                EditingForm(context, tab, added, lambda: callbacks.added_page(0))
            else:
                Panel("collection-read-only", "collection/read_only.js", view.read_only(served.path))
    added.render()

    for trigger in (tab.select, shared.changed.sent):
        trigger(
            callbacks.on_contents, None, [contents, added], show_progress_on=contents, **LATEST_WITH_PROGRESS
        ).success(callbacks.on_fit, None, [verdict, drift], show_progress_on=verdict, **LATEST_WITH_PROGRESS)
    context.precompute.append(callbacks.prepare)
    added.turn(callbacks.on_turn, None, added, **UNLIMITED)

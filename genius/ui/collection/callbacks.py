"""What the Collection tab does: counts what is indexed, checks that it fits the training, lists the added items."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import gradio as gr
import numpy as np

from genius.errors import UserError
from genius.explore.map_data import read_maps
from genius.index.contents import Contents
from genius.index.drift import DriftReport
from genius.index.integrity import advice
from genius.ui.collection import view
from genius.ui.common.context import Context

if TYPE_CHECKING:
    from genius.index.store import Index

PAGE_SIZE = 24  # items of a page


class CollectionCallbacks:
    """The callbacks of one page. They keep nothing of a visitor, only what follows from the current index."""

    def __init__(self, context: Context):
        self.engine, self.served = context.engine, context.served
        self.dataset_names = lru_cache(1)(self.read_dataset_names)
        self.contents_of = lru_cache(1)(lambda index: view.contents_view(Contents.of(index), self.dataset_names()))
        self.fit_of = lru_cache(1)(self.measure_fit)

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

    def read_dataset_names(self) -> dict[int, str]:
        """Names of datasets by number, which the maps of a run contain."""
        try:
            maps = read_maps(self.served.path)
        except UserError:
            maps = None
        return dict(maps.names) if maps else {}

    def measure_fit(self, index: Index) -> tuple[dict[str, Any], dict[str, Any]]:
        drift = DriftReport.of(index)
        return view.verdict(drift, advice(index, drift)), view.drift_view(drift)

    def added_page(self, page: int) -> dict[str, Any] | None:
        """A page of the added items, newest first; the last one where there are fewer."""
        index = self.engine.index
        total = index.config.grown
        pages = -(-total // PAGE_SIZE)
        page = max(0, min(page, pages - 1))
        newest_first = np.arange(index.config.trained, index.n)[::-1]
        rows = newest_first[page * PAGE_SIZE : (page + 1) * PAGE_SIZE].tolist()
        pictures = [index.thumbnail(row) for row in rows]
        return view.added_items(rows, index.items(rows), pictures, total, page, pages, self.served.editable)

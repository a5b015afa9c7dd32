"""The Collection tab: what is indexed, whether it still fits the training, and a form to edit it."""

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
from genius.ui.collection.editing import EditingForm
from genius.ui.common.components import UNLIMITED, UNQUEUED, Panel, introduction
from genius.ui.common.context import Context
from genius.ui.common.item_card import on_query

if TYPE_CHECKING:
    from genius.index.store import Index

PAGE = 24  # items


def collection_tab(context: Context, tab: gr.Tab) -> None:
    """Lay the tab out inside the current gr.Tab and wire it."""
    engine, served, shared = context.engine, context.served, context.shared

    @lru_cache(1)
    def names() -> dict[int, str]:
        """Names of datasets by number, which the maps of a run contain."""
        try:
            maps = read_maps(served.path)
        except UserError:
            maps = None
        return dict(maps.names) if maps else {}

    @lru_cache(1)
    def held_of(index: Index) -> dict[str, Any]:
        return view.held(Contents.of(index), names())

    @lru_cache(1)
    def health_of(index: Index) -> tuple[dict[str, Any], dict[str, Any]]:
        drift = DriftReport.of(index)
        return view.verdict(drift, advice(index, drift)), view.health(drift)

    def page_of(index: Index, page: int) -> dict[str, Any] | None:
        """A page of the added items, newest first."""
        pages = -(-index.config.grown // PAGE)
        page = max(0, min(page, pages - 1))
        rows = np.arange(index.config.trained, index.n)[::-1][page * PAGE : (page + 1) * PAGE].tolist()
        return view.listed(
            rows,
            index.items(rows),
            [index.thumbnail(row) for row in rows],
            index.config.grown,
            page,
            pages,
            served.editable,
        )

    def on_held():
        return held_of(engine.index), page_of(engine.index, 0)

    def on_health():
        return health_of(engine.index)

    def on_turn(event: gr.EventData):
        page = getattr(event, "page", None)
        if type(page) is not int or page < 0:
            raise UserError("There is no such page; reload the page.")
        return page_of(engine.index, page)

    introduction(
        "collection",
        "What can be found here, and whether items that were added later fit the codes that were learned before. "
        "New items need no training.",
    )
    with gr.Row(elem_id="collection"):
        with gr.Column(scale=3, min_width=320):
            held = Panel("collection-held", "common/table.js")
            health = Panel("collection-health", "common/table.js")
            verdict = Panel("collection-verdict", "collection/verdict.js")
        with gr.Column(scale=2, min_width=320, elem_id="collection-edit"):
            if served.editable:
                edit = EditingForm(context)
            else:
                Panel("collection-closed", "collection/closed.js", view.closed(served.path))
    added = Panel("collection-added", "collection/added.js")

    waiting = {
        "api_visibility": "private",
        "show_progress": "minimal",
        "concurrency_limit": None,
        "trigger_mode": "always_last",
    }
    for trigger in (tab.select, shared.changed.sent):
        trigger(on_held, None, [held, added], show_progress_on=held, **waiting).success(
            on_health, None, [verdict, health], show_progress_on=verdict, **waiting
        )
    context.precompute.extend([lambda: held_of(engine.index), lambda: health_of(engine.index)])
    added.turn(on_turn, None, added, **UNLIMITED)
    added.use_as_query(on_query, None, shared.use_as_query, **UNQUEUED)
    if served.editable:
        edit.remove_from(added)

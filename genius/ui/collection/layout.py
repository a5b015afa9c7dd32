"""The Collection tab: what is indexed, whether it still fits the training, and a form to edit it."""

from __future__ import annotations

import gradio as gr

from genius.ui.collection import view
from genius.ui.collection.callbacks import CollectionCallbacks
from genius.ui.collection.editing import EditingForm
from genius.ui.common.components import LATEST_WITH_PROGRESS, UNLIMITED, Panel, introduction
from genius.ui.common.context import Context
from genius.ui.common.item_card import search_with_chosen


def collection_tab(context: Context, tab: gr.Tab) -> None:
    """Lay the tab out inside the current gr.Tab and wire it."""
    served, shared, callbacks = context.served, context.shared, CollectionCallbacks(context)
    introduction(
        "collection",
        "What can be found here, and whether items that were added later fit the codes that were learned before. "
        "New items need no training.",
    )
    with gr.Row(elem_id="collection"):
        with gr.Column(scale=3, min_width=320):
            contents = Panel("collection-contents", "common/table.js")
            drift = Panel("collection-drift", "common/table.js")
            verdict = Panel("collection-verdict", "collection/verdict.js")
        with gr.Column(scale=2, min_width=320, elem_id="collection-edit"):
            if served.editable:
                form = EditingForm(context)
            else:
                Panel("collection-read-only", "collection/read_only.js", view.read_only(served.path))
    added = Panel("collection-added", "collection/added_items.js")

    for trigger in (tab.select, shared.changed.sent):
        trigger(
            callbacks.on_contents, None, [contents, added], show_progress_on=contents, **LATEST_WITH_PROGRESS
        ).success(callbacks.on_fit, None, [verdict, drift], show_progress_on=verdict, **LATEST_WITH_PROGRESS)
    context.precompute.append(callbacks.prepare)
    added.turn(callbacks.on_turn, None, added, **UNLIMITED)
    search_with_chosen(added.use_as_query, shared)
    if served.editable:
        form.remove_from(added)

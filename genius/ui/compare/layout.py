"""The Compare tab: one query, answered by generation, geometry, the decoder alone and dense search."""

from functools import partial

import gradio as gr

from genius.explore.comparison import Comparison
from genius.search.checks import MAX_BEAMS
from genius.ui.common.components import (
    BEAMS_NOTE,
    UNQUEUED,
    Panel,
    introduction,
    part_of_picture,
    query_instruction,
    query_picture,
    query_text,
    target_choice,
    weight_slider,
)
from genius.ui.common.context import Context
from genius.ui.common.item_card import ItemCard
from genius.ui.compare.callbacks import CompareCallbacks

# The tab opens on the last search. The tour compares an example of its own.
COMPARE_AT_ONCE = """() => setTimeout(() => {
  if (document.querySelector('#compare .empty') && !document.body.classList.contains('touring'))
    document.querySelector('#compare-last:enabled')?.click();
}, 50)"""
LARGE = 1_000_000  # items; above it the graph of HNSW is built only if a visitor asks for it


def compare_tab(context: Context, tab: gr.Tab) -> None:
    """Lay the tab out inside the current gr.Tab and wire it to the engine."""
    engine, callbacks = context.engine, CompareCallbacks(context)
    introduction("compare", "The same question, answered by writing IDs and by comparing with every item.")
    with gr.Row(elem_id="compare-ask"):
        picture = query_picture("compare-picture")
        text = query_text("compare-text", scale=3, min_width=220)
        instruction = query_instruction(engine.index, "compare-instruction", scale=3, min_width=220)
        compare = gr.Button("Compare", variant="primary", scale=0, min_width=110, elem_id="compare-go")
        compare_last = gr.Button("Compare my last search", interactive=False, scale=3, elem_id="compare-last")
    part = part_of_picture("compare-part", "compare-picture")
    with gr.Accordion("Settings", open=False, elem_id="compare-settings"):
        target = target_choice(engine.index, "compare-target")
        context.targets.append(target)
        k = gr.Slider(1, 50, value=10, step=1, label="Results per method")
        beams = gr.Slider(1, MAX_BEAMS, value=50, step=1, label="Beam size", info=BEAMS_NOTE)
        weight = weight_slider(engine, "compare-weight")
        hnsw = hnsw_choice(callbacks.comparison)
    with gr.Column(elem_id="compare-results"):
        panel = Panel("compare", "compare/compare.js")
        item_card = ItemCard("compare-card", context)

    waiting = {"api_visibility": "private", "show_progress_on": panel, "trigger_mode": "always_last"}
    one_at_a_time = {**waiting, "concurrency_id": "compare", "concurrency_limit": 1}  # because they are timed
    example, last_query = context.shared.compare_example, context.shared.last_query
    settings, outputs = [k, beams, hnsw, weight], [panel, item_card]
    form, filled = [text, picture, part, instruction, target], [text, picture, instruction, part]
    for trigger, callback, inputs, more in (
        (partial(gr.on, [compare.click, text.submit, part.select]), callbacks.on_asked, form, []),
        (compare_last.click, callbacks.on_last, [last_query], []),
        (example.sent, callbacks.on_example, [example], filled),
    ):
        built = trigger(callbacks.on_build, hnsw, None, **waiting)
        built.success(callback, [*inputs, *settings], [*more, *outputs], **one_at_a_time)
    for opened in (tab.select, context.shared.searched.while_open("tab-compare")):
        named = opened(callbacks.on_open, last_query, compare_last, **UNQUEUED)
        named.then(None, None, None, js=COMPARE_AT_ONCE, **UNQUEUED)
    item_card.show(panel.select)


def hnsw_choice(comparison: Comparison) -> gr.Checkbox:
    """Whether HNSW is compared, too; it cannot be chosen where its graph would be too large."""
    items = comparison.engine.index.n
    return gr.Checkbox(
        items <= LARGE and not comparison.hnsw_problem,
        label="Dense search along a graph (faiss HNSW)",
        elem_id="compare-hnsw",
        interactive=not comparison.hnsw_problem,
        info=comparison.hnsw_problem
        or (
            f"Its graph of {items:,} items is built once, when it is first needed."
            + " That takes a while for a collection of this size." * (items > LARGE)
        ),
    )

"""The Codes tab: the items of a code or pattern, its place in the hierarchy and its meaning."""

import gradio as gr

from genius.explore.code_patterns import MAX_PATTERN_LENGTH
from genius.ui.codes.callbacks import CodesCallbacks, LastOpened
from genius.ui.codes.find import find_form
from genius.ui.common.components import LATEST, LATEST_WITH_PROGRESS, Panel, introduction
from genius.ui.common.context import Context, Signal
from genius.ui.common.item_card import ItemCard


def codes_tab(context: Context, tab: gr.Tab) -> None:
    """Lay the tab out inside the current gr.Tab and wire it to the engine."""
    callbacks, shared = CodesCallbacks(context), context.shared
    open_code, address = shared.open_code, shared.address
    open_pattern, last = gr.State(None), gr.State(LastOpened())  # what is shown, and what may still be computed
    open_everything, opened = Signal("codes_everything"), Signal("codes_opened")
    introduction(
        "codes",
        "A code is one number of an ID, and items whose IDs begin alike are alike. Choose a code to see what its items "
        "have in common.",
    )
    with gr.Row(elem_id="codes-ask"):
        words, picture, go = find_form(context.engine.has_encoder)
        pattern = gr.Textbox(
            label="Or by number; * stands for any",
            placeholder="0 · 17 · * · 5",
            max_length=MAX_PATTERN_LENGTH,
            scale=2,
            min_width=230,
            elem_id="codes-pattern",
        )
    found = Panel("codes-found", "codes/found.js")
    summary = Panel("codes-summary", "codes/pattern_summary.js")
    with gr.Row(elem_id="codes-items-row"):
        with gr.Column(scale=2, min_width=320):
            icicle = Panel("codes-icicle", "codes/icicle.js")
            meaning = Panel("codes-meaning", "codes/meaning.js")
            near = Panel("codes-near", "codes/found.js")
        with gr.Column(scale=3, min_width=320):
            nearness = Panel("codes-nearness", "common/tiles.js")
            items = Panel("codes-items", "common/tiles.js")
        with gr.Column(scale=2, min_width=300, elem_id="codes-picked"):
            item_card = ItemCard("codes-card", context)
    with gr.Accordion("The next codes as a table", open=False):
        table = Panel("codes-next", "common/table.js")
    with gr.Accordion("How well each level is used", open=False) as health_section:
        health = Panel("codes-health", "common/table.js")

    context.precompute.append(callbacks.prepare)
    shown = [summary, icicle, nearness, items, item_card, meaning, near, table]
    outputs = [open_pattern, pattern, address, *shown, opened]
    event_options = {**LATEST_WITH_PROGRESS, "show_progress_on": summary}
    pattern.submit(callbacks.on_pattern, [pattern, last], outputs, **event_options)
    for signal in (open_code, open_everything):
        signal.sent(callbacks.on_pattern, [signal, last], outputs, **event_options)
    # one event for all ways to open a pattern, so that its last answer is that of the pattern opened last
    described = [meaning, icicle, table]
    opened.sent(callbacks.on_meaning, open_pattern, described, **event_options | {"show_progress_on": meaning})
    opened.sent(callbacks.finder.on_near, open_pattern, near, **LATEST)
    shared.changed.sent(callbacks.on_changed, last, outputs, **event_options)
    tab.select(callbacks.on_first_visit, [open_pattern, open_code], open_everything, **LATEST)
    summary.random(callbacks.finder.on_random, None, open_code, **LATEST)
    for trigger in (words.submit, go.click, picture.change):
        trigger(callbacks.finder.on_find, [words, picture], found, **LATEST_WITH_PROGRESS, show_progress_on=words)
    items.turn(callbacks.on_page, open_pattern, items, **LATEST)
    for panel in (nearness, items):
        item_card.show(panel.select)
    health_section.expand(callbacks.on_level_health, None, health, **LATEST_WITH_PROGRESS, show_progress_on=health)

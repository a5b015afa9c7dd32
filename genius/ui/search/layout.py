"""The Search tab: a picture, a text and an instruction in; cards, generated IDs and timings out."""

from __future__ import annotations

from typing import NamedTuple

import gradio as gr

from genius.index.store import Index
from genius.search.checks import MAX_BEAMS, MAX_TEXT
from genius.ui.common import formatting, links
from genius.ui.common.components import QUICK, SURE, Panel, UploadedImage, target_choice
from genius.ui.common.context import Context
from genius.ui.common.item_card import on_query
from genius.ui.search import history, view
from genius.ui.search.blend import blend_panel
from genius.ui.search.callbacks import Asking, on_why
from genius.ui.search.why import why_panel

SECRET = "searches"  # of what lies in the browser: scrambled, not hidden; another one would lose it


class Form(NamedTuple):
    """What a visitor fills in."""

    text: gr.Textbox
    picture: UploadedImage
    instruction: gr.Dropdown
    go: gr.Button
    settings: list[gr.components.Component]  # in the order of asking.options_of


def search_tab(context: Context, tab: gr.Tab) -> None:
    """Lay the tab out inside the current Blocks and wire it to the engine."""
    shared, asking = context.shared, Asking(context)
    stored = gr.BrowserState([], storage_key=f"genius-history-{context.served.name}", secret=SECRET)
    answers = gr.State(())
    q, instruction, item = address = [
        gr.Textbox(visible="hidden", elem_id=f"address-{name}") for name in ("q", "instruction", "item")
    ]
    with gr.Row(elem_id="search"):
        with gr.Column(scale=1, min_width=300, elem_id="ask"):
            form = form_for(context.engine.index)
            with gr.Accordion("History", open=False, elem_id="past"):
                past = Panel("history", "search/history.js")
        with gr.Column(scale=3, min_width=320, elem_id="found"):
            strip = Panel("examples", "search/examples.js", view.examples(context.served.examples))
            summary, cards = Panel("summary", "search/summary.js"), Panel("cards", "search/cards.js")
            why_panel(context)
            blend = blend_panel(context, cards, answers)
            generated = Panel("generated", "search/generated.js")

    filled = [form.text, form.picture, form.instruction]
    found = [summary, cards, generated, blend, answers, shared.last_query, shared.chosen, stored, *address]
    waiting = {
        "show_progress": "minimal",
        "show_progress_on": cards,
        "api_visibility": "private",
        "concurrency_id": "search",
        "concurrency_limit": 32,
    }
    events = [
        gr.on([form.go.click, form.text.submit], asking.on_search, [*filled, stored, *form.settings], found, **waiting)
    ]
    events += [
        trigger(callback, [*said, stored, *form.settings], [*filled, *found], trigger_mode="always_last", **waiting)
        for trigger, callback, said in (
            (strip.select, asking.on_example, []),
            (past.select, asking.on_again, []),
            (shared.ask.sent, asking.on_asked, [shared.ask]),
            (shared.use_as_query.sent, asking.on_item, [shared.use_as_query]),
        )
    ]
    for event in events:
        links.follow(event, "search", q=q, instruction=instruction, item=item)
    cards.use_as_query(on_query, None, shared.use_as_query, trigger_mode="always_last", **SURE)
    cards.why(on_why, answers, [shared.last_query, shared.chosen], trigger_mode="always_last", **QUICK)
    gr.on(
        [form.text.change, form.picture.change],
        asking.on_given,
        filled[:2],
        form.instruction,
        trigger_mode="always_last",
        **SURE,
    )
    gr.on(None, on_stored, stored, past, trigger_mode="always_last", **SURE)


def form_for(index: Index) -> Form:
    """The left side: what is asked, and how."""
    text = gr.Textbox(
        label="Description",
        placeholder="What are you looking for?",
        max_length=MAX_TEXT,
        lines=1,
        max_lines=4,
        autofocus=True,
        elem_id="text",
    )
    picture = UploadedImage(
        label="Picture",
        sources=["upload", "clipboard"],
        height=220,
        buttons=[],
        placeholder="Drop a picture here\nor click to choose one",
        alt_text="Your picture",
        elem_id="picture",
    )
    instruction = gr.Dropdown(
        formatting.suggestions(index.instructions, None),
        value=None,
        label="Instruction",
        allow_custom_value=True,
        elem_id="instruction",
        info="Says what kind of thing you want. Pick one or write your own.",
    )
    go = gr.Button("Search", variant="primary", elem_id="go")
    with gr.Accordion("Settings", open=False, elem_id="settings"):
        target = target_choice(index, "target")
        beams = gr.Slider(1, MAX_BEAMS, value=50, step=1, label="Beam size", info="IDs that are generated")
        k = gr.Slider(1, 100, value=10, step=1, label="Results")
        rerank = gr.Checkbox(True, label="Re-rank by embedding", info="Off: the order in which the IDs were generated")
        mode = gr.Radio(
            [("Exact", "exact"), ("Set", "set"), ("Fast", "fast")],
            value="set",
            label="Search",
            info="Set: the IDs that exact search finds, sooner. Fast: sooner still, but it may miss some.",
            elem_id="mode",
        )
    return Form(text, picture, instruction, go, [beams, k, rerank, mode, target])


def on_stored(stored: object) -> dict | None:
    """What the history shows, when the page is loaded and after each search."""
    return history.shown(history.entries(stored))

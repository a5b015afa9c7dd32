"""The Search tab: from a picture, a text and an instruction to cards, generated IDs and timings."""

from typing import NamedTuple

import gradio as gr

from genius.search.checks import MAX_BEAMS
from genius.ui.common.components import (
    BEAMS_NOTE,
    EXPERT,
    LATEST,
    SEARCHES,
    UNLIMITED,
    UNQUEUED,
    Download,
    Panel,
    UploadedImage,
    part_of_picture,
    query_instruction,
    query_picture,
    query_text,
    target_choice,
    weight_slider,
)
from genius.ui.common.context import HISTORY, Context
from genius.ui.search import view
from genius.ui.search.blend import blend_panel
from genius.ui.search.callbacks import SearchCallbacks, SearchOutputs
from genius.ui.search.newest import Newest, newest_only
from genius.ui.search.strip import strip_panel
from genius.ui.search.why import why_panel

NO_SCAN = "These IDs were made elsewhere and have no codewords, so they cannot be scanned."
FUSED_NOTE = "Before coding compares the features that IDs are made from. "

# What a query is made of. Computed in the browser, so that a keystroke that changes nothing of it asks for nothing.
ASKED_KIND = "(text, picture) => text && picture ? 'pair' : text ? 'text' : picture ? 'image' : 'any'"

# Words can be typed at once where there is a keyboard. Gradio's autofocus would scroll to the field, on a phone past
# the heading, the tabs and the field for a picture.
TYPE_AT_ONCE = """() => {
  const idle = document.activeElement === document.body && matchMedia('(hover: hover)').matches;
  if (idle) document.querySelector('#text textarea')?.focus({preventScroll: true});
}"""


class Form(NamedTuple):
    """The inputs of a search."""

    picture: UploadedImage
    part: Panel
    pictured: gr.Textbox  # hidden: id of the item whose picture it is; empty for the visitor's own
    suggestions: Panel  # instructions to pick for the picture
    text: gr.Textbox
    instruction: gr.Dropdown
    go: gr.Button
    history: gr.Accordion
    past: Panel  # in the history
    target: gr.Radio
    settings: list[gr.components.Component]  # with the target, in the order of SETTINGS


def search_tab(context: Context, tab: gr.Tab) -> None:
    """Lay the tab out inside the current Blocks and wire it to the engine."""
    shared = context.shared
    answers, newest = gr.State(()), gr.State(Newest())
    if not context.engine.has_encoder:
        gr.Markdown(context.engine.encoder.sentence)
    with gr.Column(elem_id="search"):
        with gr.Column(elem_id="ask"):
            form = form_for(context)
        with gr.Column(elem_id="results"):
            summary = Panel("summary", "search/summary.js")
            strip = strip_panel(context, answers, newest)
            cards = Panel("cards", "search/cards.js")
            why_panel(context, cards, answers, newest)
            blend = blend_panel(context, cards, answers, newest)
            generated = Panel("generated", "search/generated.js", elem_classes=EXPERT)

    settings = form.settings
    callbacks = SearchCallbacks(context, [setting.value for setting in settings])
    query_fields = [form.text, form.picture, form.instruction]
    form_fields = [*query_fields, form.part, form.pictured]  # in the order of callbacks.EMPTY_FORM
    panels = [summary, cards, generated, blend, *strip, answers]
    outputs = SearchOutputs(*panels, shared.last_query, shared.explained_id, shared.searched, shared.address)
    event_options = {"show_progress": "minimal", "show_progress_on": cards, "trigger_mode": "always_last"}
    event_options |= {"api_visibility": "private", **SEARCHES}
    form_triggers = [form.go.click, form.text.submit, form.part.select]
    for trigger in (*form_triggers, form.suggestions.select, shared.ask.sent):
        trigger(None, None, None, js="() => { genius.say('Searching…'); }", **UNQUEUED)
    gr.on(form_triggers, newest_only(callbacks.on_search), [*form_fields, *settings, newest], outputs, **event_options)
    form.suggestions.select(
        newest_only(callbacks.on_quick),
        [form.text, form.picture, form.part, form.pictured, *settings, newest],
        [form.text, form.instruction, form.target, *outputs],
        **event_options,
    )
    summary.reading(newest_only(callbacks.on_reading), [*form_fields, *settings, newest], outputs, **event_options)
    shared.ask.sent(
        newest_only(callbacks.on_ask),
        [shared.ask, form.text, form.instruction, shared.last_query, *settings, newest],
        [*form_fields, *settings, *outputs],
        **event_options,
    )
    gr.on(None, None, None, None, js=TYPE_AT_ONCE, **UNQUEUED)  # when the page is loaded
    page = Download("saved-page")
    summary.save_page(callbacks.on_save_page, answers, page, **UNLIMITED)
    asked_kind = gr.Textbox("any", visible="hidden", elem_id="asked-kind")  # one of TARGETS
    gr.on([form.text.change, form.picture.change], None, query_fields[:2], asked_kind, js=ASKED_KIND, **UNQUEUED)
    asked_kind.change(
        callbacks.on_kind, asked_kind, [form.instruction, form.suggestions], trigger_mode="always_last", **UNQUEUED
    )
    form.picture.upload(callbacks.on_upload, form.picture, **LATEST)
    form.picture.input(None, None, form.pictured, js="() => ''", **UNQUEUED)  # by the visitor, not by a callback
    form.picture.input(
        newest_only(callbacks.on_other_picture), [answers, newest], [form.instruction, *outputs], **LATEST
    )
    for trigger in (form.history.expand, form.past.longer, shared.searched.while_open(HISTORY)):
        trigger(callbacks.on_history, form.past, form.past, js="() => [genius.searches()]", **UNQUEUED)


def form_for(context: Context) -> Form:
    """Lay out the line that asks, and below it what helps to ask: questions about the picture, or examples;
    options, which start at the run's own; and the history."""
    engine = context.engine
    index, has_fused = engine.index, engine.index.fused is not None
    picture = query_picture("picture")
    pictured = gr.Textbox(visible="hidden", elem_id="pictured")
    text = query_text("text")
    target = target_choice(index, "target")
    context.targets.append(target)
    go = gr.Button("Search", variant="primary", elem_id="go")
    with gr.Row(elem_id="chips"):
        suggestions = Panel("quick", "search/quick.js")
        part = part_of_picture("part", "picture")
        Panel("examples", "search/examples.js", view.examples_view(context.served.examples))
        with gr.Accordion("Options", open=False, elem_id="settings", elem_classes="popover"):
            kind_of_result = "What kind of result you want. Choose one or write your own."
            instruction = query_instruction(index, "instruction", info=kind_of_result, visible=not engine.has_reader)
            beams = gr.Slider(1, MAX_BEAMS, value=50, step=1, label="Beam size", info=BEAMS_NOTE)
            k = gr.Slider(1, 100, value=10, step=1, label="Results", info="How many to show at most.")
            orders = [("Similarity before coding", "fused"), ("Similarity", "cosine"), ("ID score", "score")]
            order = gr.Radio(
                orders if has_fused else orders[1:],
                value="fused" if has_fused else "cosine",
                label="Order by",
                info=FUSED_NOTE
                * has_fused
                + "Similarity compares question and item directly, as in the paper. ID score: "
                "as the IDs were found, without a look at the items.",
                elem_id="order",
            )
            ways = [("Both", "both"), ("Generate", "generate"), ("Scan", "scan")]
            mode = gr.Radio(
                ways if engine.has_codewords else ways[1:2],
                value="both" if engine.has_codewords else "generate",
                label="Find by",
                info="Generate writes IDs code by code, as in the paper. "
                + ("Scan compares the question with every ID." if engine.has_codewords else NO_SCAN),
                elem_id="mode",
            )
            weight = weight_slider(engine, "weight")
            scopes = [("Everything", "everything"), ("What was added", "added")]
            scope = gr.Radio(
                scopes, value="everything", label="Search in", visible=index.config.grown > 0, elem_id="scope"
            )
            context.scopes.append(scope)
        with gr.Accordion("History", open=False, elem_id=HISTORY, elem_classes="popover") as history:
            past = Panel("history", "search/history.js", {"entries": []})
    settings = [beams, k, order, mode, target, weight, scope]
    return Form(picture, part, pictured, suggestions, text, instruction, go, history, past, target, settings)

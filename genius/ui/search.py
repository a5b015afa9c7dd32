"""The Search tab: a picture, a text and an instruction in; cards, generated IDs and timings out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gradio as gr

from genius.collections.images import open_image
from genius.errors import UserError
from genius.examples import Example
from genius.schema import Modality, Query, SearchOptions, SearchResult
from genius.search.checks import MAX_TEXT
from genius.ui import present
from genius.ui.components import Panel, UploadedImage, told
from genius.ui.context import Context

LARGEST_SIDE = 1_024   # pixels; far more than an encoder sees, and it bounds memory under load
SIDE_BY_SIDE = 4       # results of an instruction where several stand beside each other


def search_tab(context: Context, tab: gr.Tab) -> None:
    """Lay the tab out inside the current Blocks and wire it to the engine."""
    engine, examples = context.engine, context.served.examples
    weight = engine.decoder.config.decoder_weight
    forced = engine.quantizer.config.modality_code == "forced"

    def search(queries: Sequence[Query], beams: Any, k: Any, rerank: bool, mode: Any) -> list[SearchResult]:
        if mode == "set" and not rerank:    # then the order of the IDs counts, which only exact search gives
            mode = "exact"
        return engine.search(queries, SearchOptions(beams=beams, k=k, rerank=rerank, mode=mode))

    def pictures(result: SearchResult) -> list[bytes | None]:
        return [engine.index.thumbnail(hit.row) for hit in result.hits]

    def panels(query: Query, result: SearchResult, rerank: bool, title: str = "") -> tuple[Any, ...]:
        return (present.summary(result, query, forced, title),
                present.cards(result, pictures(result), rerank, weight), present.generated(result, weight))

    def side_by_side(example: Example, results: Sequence[SearchResult], rerank: bool) -> tuple[Any, ...]:
        columns = [present.column(result, asked.instruction, pictures(result), rerank, weight, forced)
                   for asked, result in zip(example.asked, results, strict=True)]
        return present.summaries(results, example), {"columns": columns}, None

    def on_search(text: Any, picture: str | None, instruction: Any, beams: Any, k: Any, rerank: bool,
                  mode: Any):
        with told():
            image = open_image(picture, max_side=LARGEST_SIDE) if picture else None
            query = Query(text=text or "", image=image, instruction=instruction or "")
            result, = search([query], beams, k, rerank, mode)
            return panels(query, result, rerank)

    def on_example(picked: gr.EventData, beams: Any, k: Any, rerank: bool, mode: Any):
        """Fills the form with what the example asks, and asks it."""
        with told():
            example = _picked(picked, examples)
            several = len(example.queries) > 1
            results = search(example.queries, beams, min(k, SIDE_BY_SIDE) if several else k, rerank, mode)
            query = example.queries[0]
            shown = side_by_side(example, results, rerank) if several else (
                panels(query, results[0], rerank, example.title))
            return query.text, query.image, query.instruction, *shown

    def on_given(text: Any, picture: str | None):
        """Reorders the suggestions. It keeps their number: Gradio's list fails if it shrinks while open."""
        modality = Modality.of(text, picture) if text or picture else None
        return gr.Dropdown(choices=present.suggestions(engine.index.instructions, modality))

    with gr.Row(elem_id="search"):
        with gr.Column(scale=1, min_width=300, elem_id="ask"):
            text = gr.Textbox(label="Description", placeholder="What are you looking for?",
                              max_length=MAX_TEXT, lines=1, max_lines=4, autofocus=True, elem_id="text")
            picture = UploadedImage(label="Picture", sources=["upload", "clipboard"], height=220, buttons=[],
                                    placeholder="Drop a picture here\nor click to choose one",
                                    alt_text="Your picture", elem_id="picture")
            instruction = gr.Dropdown(present.suggestions(engine.index.instructions, None), value=None,
                                      label="Instruction", allow_custom_value=True, elem_id="instruction",
                                      info="Says what kind of thing you want. Pick one or write your own.")
            go = gr.Button("Search", variant="primary", elem_id="go")
            with gr.Accordion("Settings", open=False, elem_id="settings"):
                beams = gr.Slider(1, 200, value=50, step=1, label="Beam size", info="IDs that are generated")
                k = gr.Slider(1, 100, value=10, step=1, label="Results")
                rerank = gr.Checkbox(True, label="Re-rank by embedding",
                                     info="Off: the order in which the IDs were generated")
                mode = gr.Radio([("Exact", "exact"), ("Set", "set"), ("Fast", "fast")], value="set", label="Search",
                                info="Set: the IDs that exact search finds, sooner. Fast: sooner still, but it may "
                                     "miss some.", elem_id="mode")
        with gr.Column(scale=3, min_width=320, elem_id="found"):
            strip = Panel("examples", present.examples(examples))
            summary = Panel("summary")
            cards = Panel("cards")
            generated = Panel("generated")

    found, options = [summary, cards, generated], [beams, k, rerank, mode]
    waiting = {"show_progress": "minimal", "show_progress_on": cards, "api_visibility": "private",
               "concurrency_id": "search", "concurrency_limit": 32}
    gr.on([go.click, text.submit], on_search, [text, picture, instruction, *options], found, **waiting)
    strip.select(on_example, options, [text, picture, instruction, *found], trigger_mode="always_last", **waiting)
    gr.on([text.change, picture.change], on_given, [text, picture], instruction,
          queue=False, show_progress="hidden", trigger_mode="always_last", api_visibility="private")


def _picked(event: gr.EventData, examples: Sequence[Example]) -> Example:
    """The example that an event names. Raises UserError if there is none."""
    place = getattr(event, "index", None)
    if type(place) is not int or not 0 <= place < len(examples):
        raise UserError("There is no such example; reload the page.")
    return examples[place]

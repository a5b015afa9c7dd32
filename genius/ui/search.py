"""The Search tab: a picture, a text and an instruction in; cards, generated IDs and timings out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradio as gr

from genius.collections.images import open_image
from genius.schema import Modality, Query, SearchOptions
from genius.search.checks import MAX_TEXT
from genius.ui import present
from genius.ui.components import Panel, UploadedImage, told

if TYPE_CHECKING:
    from genius.search.engine import Engine

LARGEST_SIDE = 1_024   # pixels; far more than an encoder sees, and it bounds memory under load


def search_tab(engine: Engine) -> None:
    """Lay the tab out inside the current Blocks and wire it to the engine."""

    def on_search(text: Any, picture: str | None, instruction: Any, beams: Any, k: Any, rerank: bool,
                  mode: Any):
        with told():
            image = open_image(picture, max_side=LARGEST_SIDE) if picture else None
            query = Query(text=text or "", image=image, instruction=instruction or "")
            if mode == "set" and not rerank:    # then the order of the IDs counts, which only exact search gives
                mode = "exact"
            result, = engine.search([query], SearchOptions(beams=beams, k=k, rerank=rerank, mode=mode))
            pictures = [engine.index.thumbnail(hit.row) for hit in result.hits]
            weight = engine.decoder.config.decoder_weight
            forced = engine.quantizer.config.modality_code == "forced"
            return (present.summary(result, query, forced), present.cards(result, pictures, rerank, weight),
                    present.generated(result, weight))

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
            summary = Panel("summary")
            cards = Panel("cards")
            generated = Panel("generated")

    gr.on([go.click, text.submit], on_search, [text, picture, instruction, beams, k, rerank, mode],
          [summary, cards, generated], concurrency_id="search", concurrency_limit=32,
          show_progress="minimal", show_progress_on=cards, api_visibility="private")
    gr.on([text.change, picture.change], on_given, [text, picture], instruction,
          queue=False, show_progress="hidden", trigger_mode="always_last", api_visibility="private")

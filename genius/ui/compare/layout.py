"""The Compare tab: one query, answered by generation, geometry, the decoder alone and dense search."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gradio as gr
import numpy as np

from genius.collections.images import open_image
from genius.errors import UserError
from genius.examples import find_example
from genius.explore.comparison import Comparison, rank_agreement
from genius.schema import Modality, Query
from genius.search.checks import MAX_BEAMS, MAX_TEXT, check_query
from genius.ui.common import formatting
from genius.ui.common.about import default_instruction
from genius.ui.common.components import (
    BEAMS_NOTE,
    LARGEST_SIDE,
    UNLIMITED,
    UNQUEUED,
    Panel,
    introduction,
    query_picture,
    target_choice,
    target_of,
    weight_slider,
)
from genius.ui.common.context import Context, LastQuery
from genius.ui.common.item_card import ItemCard, card
from genius.ui.common.part import PartOfPicture, part_of
from genius.ui.compare.view import comparison_view

APART = ("encode", "fuse")  # stages that come before a search
LARGE = 1_000_000  # items; above it the graph of HNSW is built only if a visitor asks for it
PROGRESS = gr.Progress()  # a callback gets one if it is a default argument


def compare_tab(context: Context, tab: gr.Tab) -> None:
    """Lay the tab out inside the current gr.Tab and wire it to the engine."""
    engine = context.engine
    comparison = Comparison(engine)

    def on_build(hnsw: bool, progress: gr.Progress = PROGRESS) -> None:
        """Build the HNSW graph if it is selected and not built yet."""
        if hnsw and not comparison.built:
            total = engine.index.n
            progress((0, total), desc="Building HNSW, once", unit="items")
            comparison.build(lambda read: progress((read, total), desc="Building HNSW, once", unit="items"))

    def found(
        title: str,
        embedding: np.ndarray,
        z: np.ndarray,
        spent: Mapping[str, float],
        only: Modality | None,
        k: Any,
        beams: Any,
        hnsw: bool,
        weight: Any,
    ) -> dict[str, Any]:
        by_system = list(comparison.search(embedding, z, k, beams, only, hnsw, weight))
        title += "" if only is None else f", {formatting.MODALITY_PLURALS[only]} only"
        agreed = rank_agreement(by_system)
        return comparison_view(
            title,
            {stage: spent[stage] for stage in APART if stage in spent},
            by_system,
            agreed,
            engine.index.items(agreed.rows),
            [engine.index.thumbnail(row) for row in agreed.rows.tolist()],
        )

    def on_asked(
        text: Any,
        picture: str | None,
        box: Any,
        instruction: Any,
        target: Any,
        k: Any,
        beams: Any,
        hnsw: bool,
        weight: Any,
    ):
        marked = part_of(box)
        image = open_image(picture, max_side=LARGEST_SIDE, part=marked) if picture else None
        query = Query(text or "", image, instruction or default_instruction(context.served.about, text, image))
        check_query(query)
        encoded = engine.encode([query])
        embedding, z = (vectors[0].cpu().numpy() for vectors in (encoded.embeddings, encoded.z))
        return found(
            formatting.describe_query(query, part=marked is not None),
            embedding,
            z,
            encoded.milliseconds,
            target_of(target),
            k,
            beams,
            hnsw,
            weight,
        ), None

    def on_example(place: Any, k: Any, beams: Any, hnsw: bool, weight: Any):
        """Compare an example of the run under its first instruction, which also fills the form, without a box."""
        query = find_example(place, context.served.examples).queries[0]
        encoded = engine.encode([query])
        embedding, z = (vectors[0].cpu().numpy() for vectors in (encoded.embeddings, encoded.z))
        title = formatting.describe_query(query)
        answers = found(title, embedding, z, encoded.milliseconds, None, k, beams, hnsw, weight)
        return query.text, query.image, query.instruction, None, answers, None

    def on_last(last: LastQuery | None, k: Any, beams: Any, hnsw: bool, weight: Any):
        if last is None:
            raise UserError("There is no search to compare yet: search first, or ask something here.")
        result = last.result
        return found(
            last.title, result.embedding, result.z, result.milliseconds, last.options.modality, k, beams, hnsw, weight
        ), None

    def on_open(last: LastQuery | None):
        """Name the last search on its button."""
        return gr.Button("Compare the last search" + (f": {last.title}" if last else ""), interactive=last is not None)

    def on_item(event: gr.EventData):
        return card(engine, getattr(event, "id", None))

    introduction(
        "compare",
        "One question, several ways to search. Generation writes the IDs of what it expects; dense search, the "
        "usual way, compares the question with every item.",
    )
    with gr.Row(elem_id="compare-ask"):
        with gr.Column(scale=2, min_width=240):
            picture = query_picture("compare-picture", height=160)
            part = PartOfPicture("compare-part", "compare-picture")
        text = gr.Textbox(
            label="Description",
            placeholder="What are you looking for?",
            max_length=MAX_TEXT,
            lines=1,
            max_lines=4,
            scale=3,
            min_width=260,
            elem_id="compare-text",
        )
        instruction = gr.Dropdown(
            formatting.suggest_instructions(engine.index.instructions, None),
            value=None,
            scale=3,
            min_width=260,
            label="Instruction",
            allow_custom_value=True,
            elem_id="compare-instruction",
        )
        with gr.Column(scale=2, min_width=220):
            go = gr.Button("Compare", variant="primary", elem_id="compare-go")
            again = gr.Button("Compare the last search", interactive=False, elem_id="compare-last")
    with gr.Accordion("Settings", open=False, elem_id="compare-settings"):
        target = target_choice(engine.index, "compare-target")
        k = gr.Slider(1, 50, value=10, step=1, label="Results of each")
        beams = gr.Slider(1, MAX_BEAMS, value=50, step=1, label="Beam size", info=BEAMS_NOTE)
        weight = weight_slider(engine.decoder.config.decoder_weight, "compare-weight")
        hnsw = gr.Checkbox(
            engine.index.n <= LARGE,
            label="Dense search along a graph (faiss HNSW)",
            elem_id="compare-hnsw",
            info=(
                f"Its graph of {engine.index.n:,} items is built once, when it is first needed."
                + " That takes a while for a collection of this size." * (engine.index.n > LARGE)
            ),
        )
    with gr.Column(elem_id="compare-found"):
        panel = Panel("compare", "compare/compare.js")
        shown = ItemCard("compare-card", context)

    waiting = {"api_visibility": "private", "show_progress_on": panel, "trigger_mode": "always_last"}
    options, outputs = [k, beams, hnsw, weight], [panel, shown]
    asked = gr.on([go.click, text.submit, part.select], on_build, hnsw, None, **waiting)
    repeated = again.click(on_build, hnsw, None, **waiting)
    sent = context.shared.compare_example.sent(on_build, hnsw, None, **waiting)
    for built, ask, inputs, filled in (
        (asked, on_asked, [text, picture, part, instruction, target], []),
        (repeated, on_last, [context.shared.last_query], []),
        (sent, on_example, [context.shared.compare_example], [text, picture, instruction, part]),
    ):
        built.success(  # one at a time: they are timed
            ask, [*inputs, *options], [*filled, *outputs], concurrency_id="compare", concurrency_limit=1, **waiting
        )
    tab.select(on_open, context.shared.last_query, again, **UNQUEUED)
    panel.select(on_item, None, shown, trigger_mode="always_last", **UNLIMITED)

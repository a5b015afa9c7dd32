"""The Map tab: items and queries laid out by features or codes; click a point or select many."""

from functools import partial

import gradio as gr

from genius.explore.map_data import COMMAND
from genius.ui.common.components import LATEST, LATEST_WITH_PROGRESS, UNQUEUED, Panel
from genius.ui.common.context import Context
from genius.ui.common.figures import PlotlyFigure
from genius.ui.common.item_card import ItemCard
from genius.ui.map.callbacks import BEFORE_AND_AFTER, MapCallbacks
from genius.ui.map.view import view_label

COLOR_CHOICES = [("Kind of item", "modality"), ("Dataset", "dataset"), ("Code", "code")]
QUERY_CHOICES = [("Hidden", "hidden"), ("Shown", "drawn"), ("With a line to their answer", "answers")]
DRAG_CHOICES = [("Move", "pan"), ("Select", "lasso"), ("Scroll the page", "off")]
# Until the map is drawn: a finger scrolls the page, as figure.js has it, or it could not leave the map.
FIRST_DRAG_MODE = """mode => document.querySelector('#map-figure .js-plotly-plot') ? mode
    : matchMedia('(pointer: coarse)').matches ? 'off' : mode"""
SET_DRAG_MODE = """mode => document.querySelector('#map-figure .figure-host')
    .dispatchEvent(new CustomEvent('dragmode', {detail: mode}))"""


def map_tab(context: Context, tab: gr.Tab) -> None:
    """Lay the tab out inside the current Tab and wire it."""
    if isinstance(context.maps, str):
        command = COMMAND.replace("RUN", context.served.name)
        Panel("map-missing", "map/no_maps.js", {"reason": context.maps, "command": command})
        return
    shared, callbacks = context.shared, MapCallbacks(context, context.maps)
    levels = callbacks.levels

    with gr.Row(elem_id="map-bar"):
        view = gr.Radio(
            [(view_label(map_view, levels), map_view.name) for map_view in context.maps.views]
            + [("Before and after codes", BEFORE_AND_AFTER)] * callbacks.has_both,
            value=callbacks.view_names[0],
            label="How much of each item is kept",
            elem_id="map-view",
        )
        settings = gr.Accordion("Settings", open=False, elem_id="map-settings")
    with settings, gr.Row():
        color = gr.Dropdown(COLOR_CHOICES, value="modality", label="Color", elem_id="map-color", scale=2, min_width=150)
        level = gr.Slider(
            1,
            max(levels - 1, 2),  # it cannot hold a single value
            value=1,
            step=1,
            label="Level of the code",
            interactive=levels > 2,
            visible=False,  # until items are colored by a code
            elem_id="map-level",
            scale=2,
            min_width=150,
        )
        queries = gr.Dropdown(
            QUERY_CHOICES, value="drawn", label="Questions", elem_id="map-queries", scale=2, min_width=150
        )
        drag = gr.Radio(DRAG_CHOICES, value="pan", label="Drag to", elem_id="map-drag", scale=1, min_width=150)
    with gr.Row(elem_id="map"):
        with gr.Column(scale=3, min_width=320):
            Panel("map-picture", "map/map_picture.js", {"picture": callbacks.picture()})
            figure = PlotlyFigure(
                "map-figure", "Map of the items and questions; the table below says how many items have each color"
            )
            note = Panel("map-note", "map/map_note.js")
            health = Panel("map-health", "common/table.js")
            with gr.Accordion("The map as a table", open=False, elem_id="map-table-fold"):
                table = Panel("map-table", "map/group_table.js")
        with gr.Column(scale=2, min_width=320, elem_id="map-picked"):
            query = Panel("map-query", "map/query.js")
            item = ItemCard("map-item", context)
    selection = Panel("map-selection", "map/selection.js")
    gallery = Panel("map-tiles", "common/tiles.js")

    context.precompute.append(callbacks.prepare)
    drawn = [view, color, level, queries, shared.last_query]
    by_choice = partial(gr.on, [tab.select, view.change, color.change, level.release, queries.change])
    for trigger in (by_choice, shared.searched.while_open("tab-map")):
        options = {**LATEST_WITH_PROGRESS, "show_progress_on": figure}
        trigger(callbacks.on_map, drawn, [figure, note, health, table], **options)
    shared.map_view.sent(None, shared.map_view, view, js="({message}) => [message]", **UNQUEUED)
    tab.select(None, drag, drag, js=FIRST_DRAG_MODE, **UNQUEUED)
    drag.input(None, drag, None, js=SET_DRAG_MODE, **UNQUEUED)
    color.change(lambda color: gr.Slider(visible=color == "code"), color, level, **UNQUEUED)
    figure.select(callbacks.on_point, None, [query, item], **LATEST)
    figure.lasso(callbacks.on_lasso, None, [selection, gallery], **LATEST_WITH_PROGRESS)
    table.select(callbacks.on_group, [color, level], [selection, gallery], **LATEST_WITH_PROGRESS)
    for panel in (query, gallery):
        item.show(panel.select)

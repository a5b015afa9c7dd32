"""The Map tab: where items and queries lie, by features and by codes; pick a point, or lasso many."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import gradio as gr
import numpy as np

from genius.collections.keys import key_id
from genius.errors import UserError
from genius.explore.code_profile import Profiles
from genius.explore.distinctive_words import Word, distinctive_words
from genius.explore.map_data import COMMAND, read_maps
from genius.explore.mapcolours import Group, Palette, nearest
from genius.schema import Item
from genius.ui import mappanels
from genius.ui.codepanels import tile
from genius.ui.components import QUICK, SURE, Panel, told
from genius.ui.context import Context, LastQuery
from genius.ui.figures import MOST_LASSOED, PlotlyFigure
from genius.ui.itemcard import ItemCard, card
from genius.ui.mapfigure import HEIGHT, Drawing, Own, colours, map_figure

if TYPE_CHECKING:
    from genius.index.store import Index

COLOURINGS = [
    ("Modality", "modality"),
    ("Dataset", "dataset"),
    ("Code", "code"),
    ("Likeness to the last query", "query"),
]
QUERIES = [("Hidden", "hidden"), ("Drawn", "drawn"), ("With a line to their answer", "answers")]
DRAGS = [("Move", "pan"), ("Select", "lasso")]
DRAG = """mode => document.querySelector('#map-figure .figure-host')
    .dispatchEvent(new CustomEvent('dragmode', {detail: mode}))"""
SHOWN = 48  # cards of a selection
COMPARED = 3_000  # items that a selection's words are set against
WORDS = 12


def map_tab(context: Context, tab: gr.Tab) -> None:
    """Lay the tab out inside the current Tab and wire it."""
    try:
        maps = read_maps(context.served.path)
    except UserError as error:
        maps, reason = None, str(error)
    else:
        reason = "This run has no maps yet."
    if maps is None:
        Panel("map-missing", {"reason": reason, "command": COMMAND.replace("RUN", context.served.name)})
        return
    engine, shared, levels = context.engine, context.shared, len(context.engine.index.code_sizes)
    names = [view.name for view in maps.views]

    @lru_cache(1)
    def palette_of(index: Index) -> Palette:
        return Palette(index, maps)

    @lru_cache(1)
    def profiles_of(index: Index) -> Profiles:
        return Profiles(engine, index)

    def groups(palette: Palette, colour: str, level: float) -> list[Group]:
        if colour == "code":
            return palette.by_code(int(level))
        return palette.by_dataset() if colour == "dataset" else palette.by_modality()

    def on_map(name: str, colour: str, level: float, queries: str, last: LastQuery | None):
        with told():
            view, palette = names.index(name), palette_of(engine.index)
            cosines = palette.similarity(last.result.embedding) if last else None
            found, by_modality = groups(palette, colour, level), colour not in ("code", "dataset")
            drawing = Drawing(
                maps,
                view,
                palette.modalities,
                found,
                by_modality,
                cosines if colour == "query" else None,
                queries != "hidden",
                queries == "answers",
                Own(last.title, *nearest(cosines)) if last else None,
            )
            return (
                map_figure(drawing),
                mappanels.note(palette, view, levels, colour == "query" and last is None),
                mappanels.group_table(found, palette.modalities, colours(found, by_modality)),
            )

    def on_colour(colour: str):
        return gr.Slider(visible=colour == "code")

    def on_point(picked: gr.EventData):
        """An item is told in full; a query with its answers, of which the first is told."""
        with told():
            point, index = getattr(picked, "value", None), engine.index
            if type(point) is not int or not -len(maps.queries) <= point < len(maps.keys):
                raise UserError("There is no such point; reload the page.")
            if point >= 0:
                return None, card(engine, key_id(int(maps.keys[point])))
            query = maps.queries[-1 - point]
            rows = index.rows_of(query.answers)
            answers = index.items(rows[rows >= 0])
            return mappanels.asked(query, answers), card(engine, answers[0].id) if answers else None

    def on_answer(picked: gr.EventData):
        with told():
            return card(engine, getattr(picked, "id", None))

    def on_lasso(drawn: gr.EventData):
        """The items among the points inside; an empty lasso empties the selection."""
        with told():
            inside = [point.get("value") for point in getattr(drawn, "points", None) or []][:MOST_LASSOED]
            points = [point for point in inside if type(point) is int and 0 <= point < len(maps.keys)]
            total = getattr(drawn, "total", 0)
            cut = f" (the first of {total:,} points)" if type(total) is int and total > len(inside) else ""
            return select(points, f"inside the lasso{cut}")

    def on_group(picked: gr.EventData, colour: str, level: float):
        """All items of one colour: what a lasso does, without one."""
        with told():
            found, at = groups(palette_of(engine.index), colour, level), getattr(picked, "group", None)
            if type(at) is not int or not 0 <= at < len(found):
                raise UserError("There is no such colour; reload the page.")
            return select(found[at].members, f"of {found[at].label}")

    def select(points: Sequence[int] | np.ndarray, label: str) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
        """What the panels of the selection show of some points."""
        index = engine.index
        rows = palette_of(index).rows[np.unique(points).astype(np.int64)]
        rows = rows[rows >= 0]
        if not len(rows):
            return None, None
        kept = rows[:MOST_LASSOED]
        items = index.items(kept)
        drawn = [tile(row, item, index.thumbnail(row)) for row, item in zip(kept[:SHOWN].tolist(), items, strict=False)]
        return (
            mappanels.selection(label, len(rows), words(index, kept, items), items, index.codes(kept)),
            mappanels.tiles(drawn, len(rows)),
        )

    def words(index: Index, rows: np.ndarray, items: Sequence[Item]) -> list[Word]:
        """What sets the items apart from the others: their own words, or of pictures the encoder's."""
        if texts := [item.text for item in items if item.text]:
            rest = np.setdiff1d(palette_of(index).rows, [-1, *rows])
            others = [item.text for item in index.items(rest[:: max(len(rest) // COMPARED, 1)]) if item.text]
            return distinctive_words([texts, others], top=WORDS)[0]
        mean = np.asarray(index.embeddings[rows], dtype=np.float32).mean(0)
        return profiles_of(index).vocabulary().nearest(mean[None], top=WORDS)[0]

    with gr.Row(elem_id="map-controls"):
        view = gr.Radio(
            [(mappanels.title(one, levels), one.name) for one in maps.views],
            value=names[0],
            label="Vectors",
            elem_id="map-view",
            scale=5,
            min_width=320,
        )
        colour = gr.Dropdown(COLOURINGS, value="modality", label="Colour", elem_id="map-colour", scale=2, min_width=150)
        level = gr.Slider(
            1,
            levels - 1,
            value=1,
            step=1,
            label="Level of the code",
            visible=False,
            elem_id="map-level",
            scale=2,
            min_width=150,
        )
        queries = gr.Dropdown(QUERIES, value="drawn", label="Queries", elem_id="map-queries", scale=2, min_width=150)
        drag = gr.Radio(DRAGS, value="pan", label="Drag to", elem_id="map-drag", scale=1, min_width=150)
    with gr.Row(elem_id="map"):
        with gr.Column(scale=3, min_width=320):
            figure = PlotlyFigure(
                "map-figure",
                "Map of the items and queries; the table below says how many items have each colour",
                height=HEIGHT,
            )
            note = Panel("map-note")
            with gr.Accordion("The map as a table", open=False, elem_id="map-table-fold"):
                table = Panel("map-table")
        with gr.Column(scale=2, min_width=320, elem_id="map-picked"):
            query = Panel("map-query")
            item = ItemCard("map-item", context)
    selection = Panel("map-selection")
    gallery = Panel("map-tiles", script="codes-tiles")

    quick = {**QUICK, "trigger_mode": "always_last"}
    waiting = {**quick, "show_progress": "minimal"}
    gr.on(
        [tab.select, view.change, colour.change, level.release, queries.change],
        on_map,
        [view, colour, level, queries, shared.last_query],
        [figure, note, table],
        show_progress_on=figure,
        **waiting,
    )
    drag.input(None, drag, None, js=DRAG, **SURE)
    colour.change(on_colour, colour, level, **SURE)
    figure.select(on_point, None, [query, item], **quick)
    figure.lasso(on_lasso, None, [selection, gallery], **waiting)
    table.select(on_group, [colour, level], [selection, gallery], **waiting)
    gr.on([query.select, gallery.select], on_answer, None, item, **quick)

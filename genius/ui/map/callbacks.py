"""What the Map tab does: draws a map, describes the point that was clicked, lists the points that were selected."""

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
from genius.explore.map_colors import Group, Palette, nearest_points
from genius.explore.map_data import Maps
from genius.explore.map_picture import map_picture
from genius.schema import Item
from genius.ui.common.context import Context, LastQuery
from genius.ui.common.figures import MODALITY_COLORS, MOST_LASSOED
from genius.ui.common.formatting import data_uri, tile
from genius.ui.common.item_card import card
from genius.ui.map import view
from genius.ui.map.figure import Drawing, Own, colors, map_figure

if TYPE_CHECKING:
    from genius.index.store import Index

SHOWN = 48  # tiles of a selection
COMPARED = 3_000  # items that a selection's words are compared with
WORDS = 12

Selection = tuple[dict[str, Any] | None, dict[str, Any] | None]  # data of the selection panel and of the tiles


class MapCallbacks:
    """The callbacks of one page. They keep nothing of a visitor, only what follows from the current index."""

    def __init__(self, context: Context, maps: Maps):
        self.engine, self.maps = context.engine, maps
        self.levels = len(context.engine.index.code_sizes)
        self.view_names = [one.name for one in maps.views]
        self.palette_of = lru_cache(1)(lambda index: Palette(index, maps))
        self.profiles_of = lru_cache(1)(lambda index: Profiles(self.engine, index))

    def on_map(self, name: str, color: str, level: float, queries: str, last: LastQuery | None):
        """The figure, the note below it and the table of its groups."""
        chosen, palette = self.view_names.index(name), self.palette_of(self.engine.index)
        cosines = palette.similarity(last.result.embedding) if last else None
        groups, by_modality = self.groups(palette, color, level), color not in ("code", "dataset")
        drawing = Drawing(
            self.maps,
            chosen,
            palette.modalities,
            groups,
            by_modality,
            cosines if color == "query" else None,
            queries != "hidden",
            queries == "answers",
            Own(last.title, *nearest_points(cosines)) if last else None,
        )
        return (
            map_figure(drawing),
            view.note(palette, chosen, self.levels, color == "query" and last is None),
            view.group_table(groups, palette.modalities, colors(groups, by_modality)),
        )

    def picture(self) -> str:
        """The first map as a picture, colored as at first, for the time until its figure is drawn."""
        palette = self.palette_of(self.engine.index)
        places, points = self.maps.places[0][: len(self.maps.keys)], palette.points
        colors = [MODALITY_COLORS[modality] for modality in palette.modalities[points].tolist()]
        return data_uri(map_picture(places[points], colors))

    def on_view(self, name: Any) -> str:
        """The map that another part of the page asks for. Raises UserError for an unknown one."""
        if name not in self.view_names:
            raise UserError("That map does not exist; reload the page.")
        return name

    def on_point(self, picked: gr.EventData):
        """Show the card of an item; or a query with its answers and the card of the first."""
        point, index = getattr(picked, "value", None), self.engine.index
        if type(point) is not int or not -len(self.maps.queries) <= point < len(self.maps.keys):
            raise UserError("That point does not exist; reload the page.")
        if point >= 0:
            return None, card(self.engine, key_id(int(self.maps.keys[point])))
        query = self.maps.queries[-1 - point]
        rows = index.rows_of(query.answers)
        answers = index.items(rows[rows >= 0])
        return view.query_view(query, answers), card(self.engine, answers[0].id) if answers else None

    def on_answer(self, picked: gr.EventData):
        return card(self.engine, getattr(picked, "id", None))

    def on_lasso(self, drawn: gr.EventData) -> Selection:
        """Select the items among the points inside; an empty lasso clears the selection."""
        inside = getattr(drawn, "points", None) or []
        if not isinstance(inside, list) or not all(isinstance(point, dict) for point in inside):
            raise UserError("Those points do not exist; reload the page.")
        inside = [point.get("value") for point in inside[:MOST_LASSOED]]
        points = [point for point in inside if type(point) is int and 0 <= point < len(self.maps.keys)]
        total = getattr(drawn, "total", 0)
        cut = f" (the first of {total:,} points)" if type(total) is int and total > len(inside) else ""
        return self.select(points, f"inside the lasso{cut}")

    def on_group(self, picked: gr.EventData, color: str, level: float) -> Selection:
        """Select all items of one color."""
        groups, at = self.groups(self.palette_of(self.engine.index), color, level), getattr(picked, "group", None)
        if type(at) is not int or not 0 <= at < len(groups):
            raise UserError("That color does not exist; reload the page.")
        return self.select(groups[at].members, f"of {groups[at].label}")

    def groups(self, palette: Palette, color: str, level: float) -> list[Group]:
        """The items by color. Raises UserError for a level without codes."""
        if color == "code":
            if level not in range(1, self.levels):  # the slider lets NaN and fractions pass
                raise UserError(f"The level must be a whole number from 1 to {self.levels - 1}.")
            return palette.by_code(int(level))
        return palette.by_dataset() if color == "dataset" else palette.by_modality()

    def select(self, points: Sequence[int] | np.ndarray, label: str) -> Selection:
        """What the two panels of the selection show."""
        index = self.engine.index
        rows = self.palette_of(index).rows[np.unique(points).astype(np.int64)]
        rows = rows[rows >= 0]
        if not len(rows):
            return None, None
        kept = rows[:MOST_LASSOED]
        items = index.items(kept)
        tiles = [tile(row, item, index.thumbnail(row)) for row, item in zip(kept[:SHOWN].tolist(), items, strict=False)]
        return (
            view.selection(label, len(rows), self.words(index, kept, items), items, index.codes(kept)),
            view.tiles(tiles, len(rows)),
        )

    def words(self, index: Index, rows: np.ndarray, items: Sequence[Item]) -> list[Word]:
        """Words that set the items apart from the others; of images without texts, words that the encoder finds."""
        if texts := [item.text for item in items if item.text]:
            others = np.setdiff1d(self.palette_of(index).rows, [-1, *rows])
            other_texts = [item.text for item in index.items(others[:: max(len(others) // COMPARED, 1)]) if item.text]
            return distinctive_words([texts, other_texts], top=WORDS)[0]
        mean = np.asarray(index.embeddings[rows], dtype=np.float32).mean(0)
        return self.profiles_of(index).vocabulary().nearest(mean[None], top=WORDS)[0]


def on_color(color: str):
    return gr.Slider(visible=color == "code")

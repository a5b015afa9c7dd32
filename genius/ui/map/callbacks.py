"""What the Map tab does: draws a map, describes the point that was clicked, lists the points that were selected."""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import gradio as gr
import numpy as np

from genius.collections.keys import key_id
from genius.errors import UserError
from genius.explore.code_names import NO_COMMON_MEANING
from genius.explore.distinctive_words import Word, distinctive_words
from genius.explore.map_colors import Group, Palette, map_picture, nearest_points
from genius.explore.map_data import Maps
from genius.index.store import Index
from genius.schema import Item
from genius.search.engine import Engine
from genius.ui.common.context import Context, LastQuery
from genius.ui.common.figures import MODALITY_COLORS, MOST_LASSOED
from genius.ui.common.formatting import data_uri, tile
from genius.ui.common.item_card import item_card_view
from genius.ui.map import view
from genius.ui.map.figure import (
    Drawing,
    PlacedQuery,
    group_colors,
    group_names,
    last_query_traces,
    map_figure,
    side_by_side,
)

MAX_TILES = 48  # of a selection
MAX_OTHER_ITEMS = 3_000  # with whose texts those of a selection are compared
MAX_WORDS = 12  # of a selection
CACHE_SIZE = 24  # figures and selections of one index, of about 0.3 MB for 10,000 items
NAMED = 12  # groups whose names stand on the map
BEFORE_AND_AFTER = "both"  # the choice that shows the features beside all codes
NO_COLOR = "That color does not exist; reload the page."

Selection = tuple[dict[str, Any] | None, dict[str, Any] | None]  # data of the selection panel and of the tiles


class MapCallbacks:
    """The callbacks of one page. They keep nothing of a visitor, only what follows from the current index."""

    def __init__(self, context: Context, maps: Maps):
        self.engine, self.maps = context.engine, maps
        self.levels = len(context.engine.index.code_sizes)
        self.namer, self.view_names = context.namer, [map_view.name for map_view in maps.views]
        learned = [map_view for map_view in maps.views if map_view.contrastive] or maps.views
        first, last = (choose(learned, key=lambda map_view: map_view.depth) for choose in (min, max))
        self.both, self.has_both = (first.name, last.name), first.depth == 0 < last.depth
        self.palette_of = self.engine.versions.cached(lambda index: Palette(index, maps))
        self.profiles_of = context.namer.profiles_of
        self.cached_selection = cached_for_index(self.engine, self.select_group)
        self.cached_map = cached_for_index(self.engine, self.draw)

    def on_map(self, name: str, color: str, level: float, queries: str, last: LastQuery | None):
        """The figure; below it a note, a comparison of both trainings for the views by all codes, a table of groups."""
        if name == BEFORE_AND_AFTER:
            (before, *_), (after, *described) = (self.on_map(each, color, level, queries, last) for each in self.both)
            titles = ("Before: everything", f"After: all {self.levels} codes")
            return side_by_side(before, after, titles), *described
        index, level = self.engine.index, level if color == "code" else 1
        if last is None:
            return self.cached_map(index, name, color, level, queries)
        palette = self.palette_of(index)
        figure, *described = self.cached_map(index, name, color, level, queries)
        point_of = {int(row): point for point, row in enumerate(palette.rows) if row >= 0}
        results = [point_of.get(hit.row, -1) for hit in last.result.hits]
        query = PlacedQuery(last.description, *nearest_points(palette.similarity(last.result.embedding)), results)
        traces = last_query_traces(query, palette.places(self.view_names.index(name)), palette.added)
        return figure | {"data": [*figure["data"], *traces]}, *described

    def draw(self, index: Index, name: str, color: str, level: float, queries: str) -> tuple[Any, ...]:
        """What `on_map` returns, without the visitor's query."""
        number, palette = self.view_names.index(name), self.palette_of(index)
        groups, by_modality = self.groups(palette, color, level), color not in ("code", "dataset")
        places = palette.places(number)
        drawing = Drawing(self.maps, number, places, palette.modalities, groups, by_modality, queries, palette.added)
        figure = map_figure(drawing).to_dict()
        if names := self.named_groups(palette):
            figure["data"].append(group_names(names, places))
        compared = self.maps.health and self.maps.views[number].depth == self.levels
        return (
            figure,
            view.map_note(palette, number, self.levels),
            view.health_table(self.maps, index.n) if compared else None,
            view.group_table(groups, palette.modalities, group_colors(groups, by_modality)),
        )

    def named_groups(self, palette: Palette) -> list[tuple[str, np.ndarray]]:
        """The largest groups of items with the same first two codes that have a name, with their points."""
        codes = palette.codes[palette.points, :2]
        prefixes, number, counts = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
        names: dict[str, np.ndarray] = {}
        for place in np.argsort(-counts, kind="stable").tolist():
            label = self.namer.label(tuple(prefixes[place].tolist()))
            if label not in ("", NO_COMMON_MEANING):
                names.setdefault(label.split(", ")[0], palette.points[number.reshape(-1) == place])
            if len(names) == NAMED:
                break
        return list(names.items())

    def prepare(self) -> None:
        """Draw what a visitor may ask for first: every map, and every color of the first one."""
        index, (first, *others) = self.engine.index, self.view_names
        for color in ("modality", "dataset", "code"):
            self.cached_map(index, first, color, 1, "drawn")
        for name in others:
            self.cached_map(index, name, "modality", 1, "drawn")
        for number in range(len(self.groups(self.palette_of(index), "modality", 1))):
            self.cached_selection(index, "modality", 1, number)

    def picture(self) -> str:
        """The first map as a picture, colored as at first, for the time until its figure is drawn."""
        palette = self.palette_of(self.engine.index)
        places, points = self.maps.places[0], palette.mapped
        colors = [MODALITY_COLORS[modality] for modality in palette.modalities[points].tolist()]
        return data_uri(map_picture(places[points], colors))

    def on_point(self, event: gr.EventData):
        """Show the card of an item; or a query with its answers and the card of the first."""
        point, index = getattr(event, "value", None), self.engine.index
        if isinstance(point, str):
            return None, item_card_view(self.engine, point)
        if type(point) is not int or not -len(self.maps.queries) <= point < len(self.maps.keys):
            raise UserError("That point does not exist; reload the page.")
        if point >= 0:
            return None, item_card_view(self.engine, key_id(int(self.maps.keys[point])))
        query = self.maps.queries[-1 - point]
        rows = index.rows_of(query.answers)
        answers = index.items(rows[rows >= 0])
        return view.query_view(query, answers), item_card_view(self.engine, answers[0].id) if answers else None

    def on_lasso(self, event: gr.EventData) -> Selection:
        """Select the items among the points inside; an empty lasso clears the selection."""
        sent, total = getattr(event, "points", None) or [], getattr(event, "total", 0)
        if not isinstance(sent, list) or not all(isinstance(point, dict) for point in sent):
            raise UserError("Those points do not exist; reload the page.")
        values = [point.get("value") for point in sent[:MOST_LASSOED]]
        added = self.palette_of(self.engine.index).added
        number_of = {id: number for number, id in enumerate(added, start=len(self.maps.keys))}
        values = [number_of.get(value, -1) if isinstance(value, str) else value for value in values]
        points = [value for value in values if type(value) is int and 0 <= value < len(self.maps.keys) + len(added)]
        cut = f" (the first of {total:,} points)" if type(total) is int and total > len(values) else ""
        return self.select(points, f"inside the lasso{cut}")

    def on_group(self, event: gr.EventData, color: str, level: float) -> Selection:
        """Select all items of one color."""
        number = getattr(event, "group", None)
        if type(number) is not int:
            raise UserError(NO_COLOR)
        return self.cached_selection(self.engine.index, color, level if color == "code" else 1, number)

    def select_group(self, index: Index, color: str, level: float, number: int) -> Selection:
        groups = self.groups(self.palette_of(index), color, level)
        if not 0 <= number < len(groups):
            raise UserError(NO_COLOR)
        return self.select(groups[number].members, f"colored as “{groups[number].label}”")

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
        saved = rows[:MOST_LASSOED]
        items = index.items(saved)
        shown = zip(saved[:MAX_TILES].tolist(), items, strict=False)
        tiles = [tile(row, item, index.thumbnail(row)) for row, item in shown]
        whole = len(tiles) == len(rows)
        return (
            view.selection_view(label, len(rows), self.words(index, saved, items), items, index.codes(saved)),
            {"groups": [{"title": "All of them" if whole else f"The first {len(tiles)}", "note": "", "tiles": tiles}]},
        )

    def words(self, index: Index, rows: np.ndarray, items: Sequence[Item]) -> list[Word]:
        """Words that set the items apart from the others; of images without texts, words that the encoder finds."""
        if texts := [item.text for item in items if item.text]:
            others = np.setdiff1d(self.palette_of(index).rows, [-1, *rows])
            sample = others[:: max(len(others) // MAX_OTHER_ITEMS, 1)]
            other_texts = [item.text for item in index.items(sample) if item.text]
            return distinctive_words([texts, other_texts], top=MAX_WORDS)[0]
        mean = np.asarray(index.embeddings[rows], dtype=np.float32).mean(0)
        return self.profiles_of(index).vocabulary().nearest(mean[None], top=MAX_WORDS)[0]


def cached_for_index(engine: Engine, compute: Callable[..., Any]) -> Callable[..., Any]:
    """`compute(index, …)`, whose last results are cached for as long as the index is the current one."""
    cache_of = engine.versions.cached(lambda index: lru_cache(CACHE_SIZE)(partial(compute, index)))
    return lambda index, *arguments: cache_of(index)(*arguments)

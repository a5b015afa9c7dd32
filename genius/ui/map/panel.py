"""The Map tab: where items lie by meaning, and what is chosen of them.

Numbers of all points come as one string each, base64 of little-endian integers, in the order of the
points.
"""

import json
import re
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from genius.errors import UserError, quoted
from genius.explore.code_patterns import parse_pattern
from genius.explore.map_data import COMMAND, Maps
from genius.explore.map_points import Choice, MapPoints, nearest_points
from genius.schema import UNREAD, Query
from genius.search.checks import check_query
from genius.ui.common.context import Context, Panel
from genius.ui.common.export import OF_ITEM, coded_items, csv_text, saved_file
from genius.ui.common.formatting import Json, item_card
from genius.ui.map import view

MAX_CORNERS = 200  # of an area
MAX_ITEMS = 500  # that are chosen by their ids
MAX_SAVED = 1_000  # items of a file
CACHED = 64  # choices of one index
AREA = re.compile(r"-?\d(\.\d{1,4})?(,-?\d(\.\d{1,4})?)*")


def panel(context: Context) -> Panel:
    """What the tab looks at; of a run without a map, what makes one."""
    if isinstance(context.maps, str):
        missing = {"missing": context.maps, "command": COMMAND}
        return Panel({"map": lambda: missing}, [], [])
    on_map = Map(context, context.maps)
    return Panel(
        {
            "map": on_map.on_map,
            "map/places": on_map.on_places,
            "map/colors": on_map.on_colors,
            "map/chosen": on_map.on_chosen,
            "map/point": on_map.on_point,
        },
        [on_map.map_results],
        [on_map.prepare],
    )


class Map:
    """Keeps only what follows from the current index."""

    def __init__(self, context: Context, maps: Maps):
        self.engine = context.engine
        self.namer = context.namer
        self.maps = maps
        self.answers = context.searches.answers
        self.depths = [one.depth for one in maps.views]
        self.points_of = self.engine.snapshots.cached(lambda index: MapPoints(index, maps))
        self.places = self._cached(lambda index, at: self.points_of(index).places(at))

    def _cached(self, compute: Callable[..., Any]) -> Callable[..., Any]:
        """`compute(index, …)`, whose last results are cached for as long as the index is the
        current one.
        """
        kept = self.engine.snapshots.cached(
            lambda index: lru_cache(CACHED)(partial(compute, index))
        )
        return lambda *arguments: kept(self.engine.index)(*arguments)

    @property
    def points(self) -> MapPoints:
        return self.points_of(self.engine.index)

    def prepare(self) -> None:
        """Compute what a visitor sees first."""
        self.on_map()
        for at in range(len(self.depths)):
            self.places(at)

    def on_map(self) -> Json:
        """All that the map needs but the places: views, regions, and what each point is."""
        return view.map_view(self.maps, self.points, self.engine.index)

    def on_places(self, keep: int = 0) -> dict[str, str]:
        """Where each point lies with so many codes kept; 0: everything."""
        return {"places": view.packed(self.places(self._view(keep)) * view.SCALE, "<i2")}

    def _view(self, keep: int) -> int:
        if keep not in self.depths:
            raise UserError(
                f"The map keeps {', '.join(map(str, self.depths))} codes (0: everything), "
                f"not {keep}."
            )
        return self.depths.index(keep)

    def on_colors(self, by: str, level: int = 1) -> Json:
        """The group of each point: by dataset, or by the code of a level."""
        points = self.points
        levels = len(self.engine.index.code_sizes)
        if by == "dataset":
            return view.colors_view(
                points.datasets, lambda one: self.maps.names.get(one, f"dataset {one}")
            )
        if by != "code" or not 0 <= level < levels:
            raise UserError(f"Color by dataset, or by the code of a level from 0 to {levels - 1}.")
        open_levels = (None,) * level
        return view.colors_view(
            points.codes[:, level], lambda code: self._code_label((*open_levels, code))
        )

    def _code_label(self, pattern: tuple[int | None, ...]) -> str:
        label = self.namer.label(pattern) if len(pattern) == 2 else ""
        return " ".join(filter(None, (str(pattern[-1]), label)))

    def on_point(self, number: int) -> Json:
        """The item of a point."""
        points = self.points
        if not 0 <= number < len(points.rows):
            raise UserError("That point does not exist; reload the page.")
        return item_card(self.engine, int(points.rows[number]))

    def on_chosen(
        self,
        region: int = -1,
        code: str = "",
        dataset: int = -1,
        date: str = "",
        words: str = "",
        items: str = "",
        area: str = "",
        keep: int = 0,
        form: str = "",
    ) -> Json:
        """The points that all choices have in common, and what their items are; with form csv or
        json the first MAX_SAVED items as a file.
        """
        index, points = self.engine.index, self.points
        if not -1 <= region < len(self.maps.regions):
            raise UserError("That region does not exist; reload the page.")
        rows = self._rows_of(items) if items else None
        if words:
            fitting = self._rows_for(words)
            rows = fitting if rows is None else np.intersect1d(rows, fitting)
        choice = Choice(
            None if region < 0 else region,
            parse_pattern(code, index.code_sizes),
            None if dataset < 0 else dataset,
            date,
            rows,
            self._area(area) if area else None,
        )
        chosen = points.chosen(choice, self._view(keep))
        if form:
            return self._saved(points.rows[chosen][:MAX_SAVED], form)
        return view.chosen_view(self.namer, points, chosen)

    def _saved(self, rows: np.ndarray, form: str) -> dict[str, str]:
        records = coded_items(self.engine.index, rows)
        if form not in ("csv", "json"):
            raise UserError(f"Items are saved as csv or json, not as {quoted(form)}.")
        table = csv_text((*OF_ITEM, "codes"), records)
        text = table if form == "csv" else json.dumps(records, ensure_ascii=False)
        return saved_file("genius-map", form, text)

    def _rows_of(self, items: str) -> np.ndarray:
        rows = self.engine.index.rows_of(items.split(",")[:MAX_ITEMS])
        return rows[rows >= 0]

    def _rows_for(self, words: str) -> np.ndarray:
        query = Query(text=words, reading=UNREAD)
        check_query(query)
        if not self.engine.has_encoder:
            fits = self.namer.profiles.words.fitting(words, self.points.rows)
            return self.points.rows[fits]
        embedding = self.engine.encode([query]).embeddings[0].cpu().numpy()
        return self.namer.search_of(self.engine.index).rows_for(embedding, words)

    def _area(self, text: str) -> np.ndarray:
        if (
            not AREA.fullmatch(text)
            or not 6 <= text.count(",") + 1 <= 2 * MAX_CORNERS
            or not text.count(",") % 2
        ):
            raise UserError("An area has three corners or more, as x,y,x,y,…; draw it again.")
        return np.array(text.split(","), dtype=float).reshape(-1, 2)

    def map_results(self, search: dict) -> dict:
        """Where the results of a search lie on the map.

        Points are numbered as in the map; the query lies at the weighted mean of those most similar
        to it.

        search: the arguments of /search.
        """
        index, points = self.engine.index, self.points
        first, *_ = self.answers(search)
        first.check_version(index)
        hits = first.result.hits
        similar = points.similarity(first.result.embedding)
        near, weights = nearest_points(similar)
        return {
            "title": first.description,
            "items": [hit.item.id for hit in hits],
            "points": [int(at[0]) if len(at := points.of_rows([hit.row])) else -1 for hit in hits],
            "near": near.tolist(),
            "weights": [round(float(weight), 4) for weight in weights],
        }

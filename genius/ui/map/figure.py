"""The map as a plotly figure.

A point's customdata is the number of its item, or −1 − the number of a query; of an item that was added since the maps
were made it is the id, since its number changes with the index.

Shapes: m items drawn, a of them that were added, the last ones; q queries drawn.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from plotly.graph_objects import Figure, Scatter

from genius.explore.map_colors import Group
from genius.explore.map_data import Maps
from genius.schema import Modality
from genius.ui.common.figures import MODALITY_COLORS, MODALITY_SYMBOLS, base_layout, escaped
from genius.ui.common.formatting import MODALITY_NAMES

OKABE_ITO = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#8f7f00")
UNGROUPED_COLOR, QUERY_COLOR, LAST_QUERY_COLOR = "#94a3b8", "#808794", "#e11d48"
MAX_LARGE_POINTS, SMALL_POINT, LARGE_POINT = 20_000, 3, 4.5  # a number of points; sizes in pixels
ADDED = "added since training"
RING = 15  # pixels, round a result of the last query


@dataclass(frozen=True)
class PlacedQuery:
    """The visitor's last query, which lies at the weighted mean of s points."""

    title: str
    points: np.ndarray  # (s,) numbers of items
    weights: np.ndarray  # (s,)
    results: Sequence[int]  # numbers of the items that it found, best first, −1 for those that are not on the map


@dataclass(frozen=True)
class Drawing:
    """The content of a map: one view, its items colored by group."""

    maps: Maps
    view: int
    places: np.ndarray  # (m, 2)
    modalities: np.ndarray  # (m,)
    groups: Sequence[Group]  # of the items that are drawn
    by_modality: bool = False  # the groups are the modalities
    queries: str = "drawn"  # or "hidden", or "answers": with a line to the first answer that is drawn
    added: Sequence[str] = ()  # ids (a,)


def map_figure(drawing: Drawing) -> Figure:
    """Items below, queries over them; the visitor's last query, of `last_query_traces`, belongs on top."""
    places, query_places = drawing.places, drawing.maps.places[drawing.view][len(drawing.maps.keys) :]
    traces = _item_traces(drawing)
    if drawing.queries != "hidden" and len(query_places):
        traces += _query_traces(drawing, places, query_places)
    traces += [_added_trace(drawing)] * bool(drawing.added)
    return base_layout(Figure(traces)).update_layout(
        uirevision="map",
        dragmode="pan",
        margin={"l": 4, "r": 4, "t": 4, "b": 4},
        xaxis={"visible": False},
        yaxis={"visible": False, "scaleanchor": "x"},
        legend={"orientation": "h", "y": 0, "yanchor": "top", "itemsizing": "constant"},
    )


def group_colors(groups: Sequence[Group], by_modality: bool) -> list[str]:
    """A color per group; beyond seven groups they repeat, lighter and darker."""
    if by_modality:
        return [MODALITY_COLORS[group.value] for group in groups]
    return [
        UNGROUPED_COLOR if group.value is None else _shade(OKABE_ITO[number % len(OKABE_ITO)], number // len(OKABE_ITO))
        for number, group in enumerate(groups)
    ]


def _markers(places: np.ndarray, customdata: Any, marker: dict[str, Any], name: str, hover: str, **more: Any) -> dict:
    """A trace of points (p, 2). A dict, because Figure copies and checks a Scattergl a second time."""
    return more | {
        "type": "scattergl",
        "x": places[:, 0],
        "y": places[:, 1],
        "customdata": customdata,
        "mode": "markers",
        "marker": marker,
        "name": name,
        "hovertemplate": f"{hover}<extra></extra>",
    }


def _added_trace(drawing: Drawing) -> dict[str, Any]:
    """The items that were added, one by one in the colors of their groups."""
    first = len(drawing.places) - len(drawing.added)
    colors = np.full(len(drawing.added), UNGROUPED_COLOR)
    for color, _, points in _colored_points(drawing):
        colors[points[points >= first] - first] = color
    line = {"color": "#fff", "width": 1}
    marker = {"symbol": "triangle-up", "size": 11, "color": colors.tolist(), "line": line}
    return _markers(drawing.places[first:], list(drawing.added), marker, ADDED, ADDED)


def _item_traces(drawing: Drawing) -> list[dict[str, Any]]:
    """A trace per color and modality, which the shape shows: plotly takes much longer to color points one by one.

    Each name is once in the legend.
    """
    places, first_added = drawing.places, len(drawing.places) - len(drawing.added)
    size = LARGE_POINT if len(places) <= MAX_LARGE_POINTS else SMALL_POINT
    traces, named = [], set()
    for color, label, points in _colored_points(drawing):
        points = points[points < first_added]
        for modality in Modality:
            these, kind = points[drawing.modalities[points] == modality], MODALITY_NAMES[modality]
            if not len(these):
                continue
            name = escaped(label)
            hover = " · ".join(dict.fromkeys([name, kind]))
            traces.append(
                _markers(
                    places[these],
                    these.astype(np.int32),
                    {"symbol": MODALITY_SYMBOLS[modality], "size": size, "color": color},
                    name,
                    hover,
                    opacity=0.3 if color == UNGROUPED_COLOR else 0.75,
                    legendgroup=name,
                    showlegend=name not in named,
                )
            )
            named.add(name)
    return traces


def _colored_points(drawing: Drawing) -> list[tuple[str, str, np.ndarray]]:
    """(color, label, points) of each group."""
    colors = group_colors(drawing.groups, drawing.by_modality)
    return [(color, group.label, group.members) for color, group in zip(colors, drawing.groups, strict=True)]


def _query_traces(drawing: Drawing, places: np.ndarray, query_places: np.ndarray) -> list[Any]:
    numbers = -1 - np.arange(len(query_places), dtype=np.int32)
    marker = {"symbol": "x", "size": 4, "color": QUERY_COLOR}
    name = f"{drawing.maps.split} questions"
    crosses = _markers(query_places, numbers, marker, name, "a question", opacity=0.6)
    return [_answer_lines(drawing.maps, places, query_places)] * (drawing.queries == "answers") + [crosses]


def _answer_lines(maps: Maps, places: np.ndarray, query_places: np.ndarray) -> Scatter:
    """A line from each query to its first answer that is drawn, with a gap after each."""
    ends = []
    for query, place in zip(maps.queries, query_places, strict=True):
        if len(points := maps.points(query.answers)):
            ends += [place, places[points[0]], np.full(2, np.nan)]
    lines = np.reshape(ends, (-1, 2)).astype(np.float32)
    return Scatter(
        x=lines[:, 0],
        y=lines[:, 1],
        mode="lines",
        hoverinfo="skip",
        line={"color": QUERY_COLOR, "width": 0.6},
        opacity=0.35,
        name="query to answer",
    )


def last_query_traces(query: PlacedQuery, places: np.ndarray, added: Sequence[str] = ()) -> list[dict[str, Any]]:
    """The visitor's last query on one view of the maps: a star at the mean of its nearest items, and a numbered ring
    round each of its results. places (m, 2), added: as in Drawing."""
    first_added = len(places) - len(added)
    place = query.weights @ places[query.points]
    ranks = [rank for rank, point in enumerate(query.results) if point >= 0]
    points = np.array([query.results[rank] for rank in ranks], dtype=np.int64)
    star = {"symbol": "star", "size": 24, "color": LAST_QUERY_COLOR, "line": {"color": "#fff", "width": 2}}
    rings = {"symbol": "circle-open", "size": RING, "color": LAST_QUERY_COLOR, "line": {"width": 2}}
    customdata = [point if point < first_added else added[point - first_added] for point in points.tolist()]

    def trace(at: np.ndarray, marker: dict[str, Any], hover: str, texts: list[str], position: str, size: int) -> dict:
        """Points (p, 2) with a text at each, in the color of the last query."""
        return {
            "type": "scatter",
            "showlegend": False,
            "x": at[:, 0],
            "y": at[:, 1],
            "mode": "markers+text",
            "text": texts,
            "textposition": position,
            "textfont": {"color": LAST_QUERY_COLOR, "size": size, "shadow": "auto"},
            "marker": marker,
            "hovertemplate": f"{hover}<extra></extra>",
        }

    ranked = trace(places[points], rings, "result %{text}", [str(rank + 1) for rank in ranks], "top right", 12)
    asked = trace(place[None], star, escaped(query.title), ["your search"], "bottom center", 13)
    return Figure([ranked | {"customdata": customdata}, asked]).to_dict()["data"]


def group_names(names: Sequence[tuple[str, np.ndarray]], places: np.ndarray) -> dict[str, Any]:
    """Names of groups of items, in the middle of each. names: with the numbers of the items."""
    middles = [np.median(places[points], axis=0) for _, points in names]
    return {
        "type": "scatter",
        "showlegend": False,
        "x": [float(middle[0]) for middle in middles],
        "y": [float(middle[1]) for middle in middles],
        "mode": "text",
        "text": [f"<b>{escaped(name)}</b>" for name, _ in names],
        "textfont": {"size": 12, "shadow": "auto"},
        "textposition": "top center",
        "hoverinfo": "skip",
    }


def side_by_side(left: dict[str, Any], right: dict[str, Any], titles: Sequence[str]) -> dict[str, Any]:
    """Two maps next to each other, which move and zoom together. titles: of both."""
    moved = [trace | {"xaxis": "x2", "yaxis": "y2", "showlegend": False} for trace in right["data"]]
    layout = dict(left["layout"])
    layout["xaxis"] = layout["xaxis"] | {"domain": [0, 0.49]}
    layout["xaxis2"] = {"visible": False, "domain": [0.51, 1], "matches": "x"}
    layout["yaxis2"] = {"visible": False, "matches": "y"}
    layout["annotations"] = [
        {"text": f"<b>{title}</b>", "x": place, "y": 1, "xref": "paper", "yref": "paper", "showarrow": False}
        for title, place in zip(titles, (0.0, 0.51), strict=True)
    ]
    return {"data": [*left["data"], *moved], "layout": layout}


def _shade(color: str, round_number: int) -> str:
    """A color as it is in the first round of colors, lighter in the second, darker in the third."""
    target, share = ((0, 0.0), (255, 0.45), (0, 0.4))[round_number % 3]
    channels = (int(color[start : start + 2], 16) for start in (1, 3, 5))
    return "#" + "".join(f"{round(channel + (target - channel) * share):02x}" for channel in channels)

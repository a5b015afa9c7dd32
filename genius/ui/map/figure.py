"""The map as a plotly figure.

A point's customdata is the number of its item, or −1 − the number of a query.

Shapes: m items drawn, q queries drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from plotly.colors import sample_colorscale
from plotly.graph_objects import Figure, Scatter, Scattergl

from genius.explore.map_colors import Group, spread_overlapping
from genius.explore.map_data import Maps
from genius.schema import Modality
from genius.ui.common.figures import MODALITY_COLORS, MODALITY_SYMBOLS, base_layout, escaped
from genius.ui.common.formatting import MODALITY_NAMES

OKABE_ITO = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#8f7f00")
UNGROUPED_COLOR, QUERY_COLOR, LAST_QUERY_COLOR = "#94a3b8", "#808794", "#e11d48"
MAX_LARGE_POINTS, SMALL_POINT, LARGE_POINT = 20_000, 3, 4.5  # a number of points; sizes in pixels
MAP_HEIGHT = 640
SHADES = sample_colorscale("Viridis", 8)  # of values, from the lowest to the highest


@dataclass(frozen=True)
class PlacedQuery:
    """The visitor's last query, which lies at the weighted mean of s points."""

    title: str
    points: np.ndarray  # (s,) numbers of items
    weights: np.ndarray  # (s,)


@dataclass(frozen=True)
class Drawing:
    """The content of a map: one view, its items colored by group or by a value."""

    maps: Maps
    view: int
    modalities: np.ndarray  # (m,)
    groups: Sequence[Group]  # of the items that are drawn
    by_modality: bool = False  # the groups are the modalities
    values: np.ndarray | None = None  # (m,) instead of the colors of groups
    show_queries: bool = True
    show_answers: bool = False  # by a line from each query to its first answer that is drawn


def map_figure(drawing: Drawing) -> Figure:
    """Items below, queries over them; the visitor's last query, of `last_query_figure`, belongs on top."""
    all_places, items = drawing.maps.places[drawing.view], len(drawing.maps.keys)
    places, query_places = spread_overlapping(all_places[:items]), all_places[items:]
    traces = _value_traces(drawing, places) if drawing.values is not None else _group_traces(drawing, places)
    if drawing.show_queries and len(query_places):
        traces += _query_traces(drawing, places, query_places)
    return base_layout(Figure(traces)).update_layout(
        uirevision="map",
        dragmode="pan",
        height=MAP_HEIGHT,
        margin={"l": 4, "r": 4, "t": 4, "b": 4},
        xaxis={"visible": False},
        yaxis={"visible": False, "scaleanchor": "x"},
        legend={"orientation": "h", "y": 0, "yanchor": "top", "itemsizing": "constant"},
    )


def last_query_figure(query: PlacedQuery, maps: Maps, view: int) -> Figure:
    """The visitor's last query alone, on one view of the maps."""
    return Figure(_last_query_traces(query, spread_overlapping(maps.places[view][: len(maps.keys)])))


def group_colors(groups: Sequence[Group], by_modality: bool) -> list[str]:
    """A color per group; beyond seven groups they repeat, lighter and darker."""
    if by_modality:
        return [MODALITY_COLORS[group.value] for group in groups]
    return [
        UNGROUPED_COLOR if group.value is None else _shade(OKABE_ITO[number % len(OKABE_ITO)], number // len(OKABE_ITO))
        for number, group in enumerate(groups)
    ]


def _group_traces(drawing: Drawing, places: np.ndarray) -> list[dict[str, Any]]:
    """A trace per group and modality: the color shows the group, the shape the modality."""
    traces = []
    for group, color in zip(drawing.groups, group_colors(drawing.groups, drawing.by_modality), strict=True):
        in_legend = False
        for modality in Modality:
            points = group.members[drawing.modalities[group.members] == modality]
            if len(points):
                traces.append(
                    _item_trace(
                        drawing,
                        places,
                        points,
                        modality,
                        color,
                        name=escaped(group.label),
                        legendgroup=group.label,
                        showlegend=not in_legend,
                        opacity=0.3 if group.value is None else 0.75,
                        hovertemplate=" · ".join(dict.fromkeys([escaped(group.label), MODALITY_NAMES[modality]]))
                        + "<extra></extra>",
                    )
                )
                in_legend = True
    return traces


def _value_traces(drawing: Drawing, places: np.ndarray) -> list[Scatter | dict[str, Any]]:
    """The highest values on top of the others, on one scale for all modalities.

    A trace per shade and modality, because plotly takes much longer to color points one by one.
    """
    points = np.concatenate([group.members for group in drawing.groups])
    values = drawing.values[points]
    low, high = float(values.min()), float(values.max())
    shades = np.searchsorted(np.linspace(low, high, len(SHADES) + 1)[1:-1], values, side="right")
    traces, named = [_color_bar(low, high)], set()
    for shade, color in enumerate(SHADES):
        for modality in Modality:
            these = points[(shades == shade) & (drawing.modalities[points] == modality)]
            if len(these):
                name = MODALITY_NAMES[modality]
                traces.append(
                    _item_trace(
                        drawing,
                        places,
                        these,
                        modality,
                        color,
                        name=name,
                        legendgroup=name,
                        showlegend=name not in named,
                        text=drawing.values[these],
                        hovertemplate=f"similarity %{{text:.3f}} · {name}<extra></extra>",
                    )
                )
                named.add(name)
    return traces


def _color_bar(low: float, high: float) -> Scatter:
    """The scale of the shades, which belongs to a trace without points."""
    edges = np.linspace(0, 1, len(SHADES) + 1).tolist()
    return Scatter(
        x=[None],
        y=[None],
        mode="markers",
        showlegend=False,
        marker={
            "color": [low],
            "cmin": low,
            "cmax": high,
            "colorscale": [[edge, color] for ends, color in zip(pairwise(edges), SHADES, strict=True) for edge in ends],
            "showscale": True,
            "colorbar": {"title": {"text": "similarity"}, "thickness": 12},
        },
    )


def _item_trace(
    drawing: Drawing, places: np.ndarray, points: np.ndarray, modality: Modality, color: str, **rest: Any
) -> dict[str, Any]:
    """rest: the other attributes. A dict, because Figure copies and checks a Scattergl a second time."""
    size = LARGE_POINT if len(places) <= MAX_LARGE_POINTS else SMALL_POINT
    return dict(
        type="scattergl",
        x=places[points, 0],
        y=places[points, 1],
        customdata=points.astype(np.int32),
        mode="markers",
        marker={"symbol": MODALITY_SYMBOLS[modality], "size": size, "color": color},
        **rest,
    )


def _query_traces(drawing: Drawing, places: np.ndarray, query_places: np.ndarray) -> list[Scattergl]:
    crosses = Scattergl(
        x=query_places[:, 0],
        y=query_places[:, 1],
        customdata=-1 - np.arange(len(query_places), dtype=np.int32),
        mode="markers",
        name=f"{drawing.maps.split} questions",
        marker={"symbol": "x", "size": 4, "color": QUERY_COLOR},
        opacity=0.6,
        hovertemplate="a question<extra></extra>",
    )
    return [_answer_lines(drawing.maps, places, query_places), crosses] if drawing.show_answers else [crosses]


def _answer_lines(maps: Maps, places: np.ndarray, query_places: np.ndarray) -> Scatter:
    """A line from each query to its first answer that is drawn."""
    starts, ends = [], []
    for query, place in zip(maps.queries, query_places, strict=True):
        points = maps.points(query.answers)
        if len(points):
            starts.append(place)
            ends.append(places[points[0]])
    x, y = _lines(np.reshape(starts, (-1, 2)), np.reshape(ends, (-1, 2)))
    return Scatter(
        x=x,
        y=y,
        mode="lines",
        hoverinfo="skip",
        line={"color": QUERY_COLOR, "width": 0.6},
        opacity=0.35,
        name="query to answer",
    )


def _lines(starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """x and y of one trace that draws a line for each pair of points (n, 2), with a gap (NaN) after each."""
    lines = np.full((len(ends), 3, 2), np.nan, dtype=np.float32)
    lines[:, 0], lines[:, 1] = starts, ends
    return lines[..., 0].ravel(), lines[..., 1].ravel()


def _last_query_traces(query: PlacedQuery, places: np.ndarray) -> list[Scatter]:
    """A star at the weighted mean of its nearest items, with a line to each."""
    nearest = places[query.points]
    place = query.weights @ nearest
    x, y = _lines(place, nearest)
    title = escaped(query.title)
    return [
        Scatter(
            x=x,
            y=y,
            mode="lines",
            hoverinfo="skip",
            showlegend=False,
            line={"color": LAST_QUERY_COLOR, "width": 1},
            opacity=0.6,
        ),
        Scatter(
            x=place[:1],
            y=place[1:],
            mode="markers",
            name="your last query",
            marker={"symbol": "star", "size": 18, "color": LAST_QUERY_COLOR, "line": {"color": "#fff", "width": 1.5}},
            hovertemplate=f"your last query: {title}<extra></extra>",
        ),
    ]


def _shade(color: str, round_number: int) -> str:
    """A color as it is in the first round of colors, lighter in the second, darker in the third."""
    target, share = ((0, 0.0), (255, 0.45), (0, 0.4))[round_number % 3]
    channels = (int(color[start : start + 2], 16) for start in (1, 3, 5))
    return "#" + "".join(f"{round(channel + (target - channel) * share):02x}" for channel in channels)

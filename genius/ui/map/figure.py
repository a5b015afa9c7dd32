"""The map as a plotly figure.

A point's customdata is the number of its item, or −1 − the number of a query.

Shapes: m items drawn, q queries drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from plotly.graph_objects import Figure, Scatter, Scattergl

from genius.explore.map_colors import Group, spread_overlapping
from genius.explore.map_data import Maps
from genius.schema import Modality
from genius.ui.common.figures import MODALITY_COLORS, MODALITY_SYMBOLS, base_layout, escaped
from genius.ui.common.formatting import MODALITY_NAMES

OKABE_ITO = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#8f7f00")
REST, QUERY, OWN = "#94a3b8", "#808794", "#e11d48"  # items without a group color, queries, the visitor's query
FEW, SMALL, LARGE = 20_000, 3, 4.5  # points that may be large; pixels
HEIGHT = 640


@dataclass(frozen=True)
class Own:
    """The visitor's last query: its title and the s points, with weights, whose mean is its position."""

    title: str
    points: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True)
class Drawing:
    """The content of a map: one view, its items colored by group or by a value."""

    maps: Maps
    view: int
    modalities: np.ndarray  # (m,)
    groups: Sequence[Group]  # of the items that are drawn
    by_modality: bool = False  # the groups are the modalities
    values: np.ndarray | None = None  # (m,) instead of the colors of groups
    queries: bool = True
    answers: bool = False  # with a line from each query to its first answer that is drawn


def map_figure(drawing: Drawing) -> Figure:
    """Items below, queries over them; the visitor's own query, of `own_figure`, belongs on top."""
    count = len(drawing.maps.keys)
    places = spread_overlapping(drawing.maps.places[drawing.view][:count])
    queries = drawing.maps.places[drawing.view][count:]
    figure = base_layout(Figure())
    traces = _by_value(drawing, places) if drawing.values is not None else _by_group(drawing, places)
    if drawing.queries and len(queries):
        traces += _queries(drawing, places, queries)
    figure.add_traces(traces)
    return figure.update_layout(
        uirevision="map",
        dragmode="pan",
        height=HEIGHT,
        margin={"l": 4, "r": 4, "t": 4, "b": 4},
        xaxis={"visible": False},
        yaxis={"visible": False, "scaleanchor": "x"},
        legend={"orientation": "h", "y": 0, "yanchor": "top", "itemsizing": "constant"},
    )


def own_figure(own: Own, maps: Maps, view: int) -> Figure:
    """The visitor's own query alone, on one view of the maps."""
    return Figure(_own(own, spread_overlapping(maps.places[view][: len(maps.keys)])))


def colors(groups: Sequence[Group], by_modality: bool) -> list[str]:
    """A color per group; beyond seven groups they repeat, lighter and darker."""
    if by_modality:
        return [MODALITY_COLORS[group.value] for group in groups]
    return [
        REST if group.value is None else _shaded(OKABE_ITO[at % len(OKABE_ITO)], at // len(OKABE_ITO))
        for at, group in enumerate(groups)
    ]


def _by_group(drawing: Drawing, places: np.ndarray) -> list[Scattergl]:
    """A trace per group and modality: the color shows the group, the shape the modality."""
    traces = []
    for group, color in zip(drawing.groups, colors(drawing.groups, drawing.by_modality), strict=True):
        shown = False
        for modality in Modality:
            points = group.members[drawing.modalities[group.members] == modality]
            if len(points):
                traces.append(
                    _items(drawing, places, points, modality, {"color": color}).update(
                        name=escaped(group.label),
                        legendgroup=group.label,
                        showlegend=not shown,
                        opacity=0.3 if group.value is None else 0.75,
                        hovertemplate=" · ".join(dict.fromkeys([escaped(group.label), MODALITY_NAMES[modality]]))
                        + "<extra></extra>",
                    )
                )
                shown = True
    return traces


def _by_value(drawing: Drawing, places: np.ndarray) -> list[Scattergl]:
    """The highest values on top of the others, on one scale for all modalities."""
    points = np.concatenate([group.members for group in drawing.groups])
    order, traces = points[np.argsort(drawing.values[points], kind="stable")], []
    low, high = drawing.values[order[[0, -1]]].tolist()
    scale = {"cmin": low, "cmax": high, "colorscale": "Viridis"}
    for modality in Modality:
        points = order[drawing.modalities[order] == modality]
        if len(points):
            marker = scale | {
                "color": drawing.values[points],
                "showscale": not traces,
                "colorbar": {"title": {"text": "similarity"}, "thickness": 12},
            }
            traces.append(
                _items(drawing, places, points, modality, marker).update(
                    name=MODALITY_NAMES[modality],
                    hovertemplate=f"similarity %{{marker.color:.3f}} · {MODALITY_NAMES[modality]}<extra></extra>",
                )
            )
    return traces


def _items(drawing: Drawing, places: np.ndarray, points: np.ndarray, modality: Modality, marker: dict) -> Scattergl:
    size = LARGE if len(places) <= FEW else SMALL
    return Scattergl(
        x=places[points, 0],
        y=places[points, 1],
        customdata=points.astype(np.int32),
        mode="markers",
        marker=marker | {"symbol": MODALITY_SYMBOLS[modality], "size": size},
    )


def _queries(drawing: Drawing, places: np.ndarray, queries: np.ndarray) -> list[Scattergl]:
    traces = []
    if drawing.answers:
        pairs = [
            (number, points[0])
            for number, query in enumerate(drawing.maps.queries)
            if len(points := drawing.maps.points(query.answers))
        ]
        lines = np.full((len(pairs), 3, 2), np.nan, dtype=np.float32)  # a gap after each
        if pairs:
            numbers, points = np.array(pairs).T
            lines[:, 0], lines[:, 1] = queries[numbers], places[points]
        traces.append(
            Scattergl(
                x=lines[..., 0].ravel(),
                y=lines[..., 1].ravel(),
                mode="lines",
                hoverinfo="skip",
                line={"color": QUERY, "width": 0.6},
                opacity=0.35,
                name="query to answer",
            )
        )
    traces.append(
        Scattergl(
            x=queries[:, 0],
            y=queries[:, 1],
            customdata=-1 - np.arange(len(queries), dtype=np.int32),
            mode="markers",
            name=f"{drawing.maps.split} queries",
            marker={"symbol": "x", "size": 4, "color": QUERY},
            opacity=0.6,
            hovertemplate="a query<extra></extra>",
        )
    )
    return traces


def _own(own: Own, places: np.ndarray) -> list[Scatter]:
    """A star at the weighted mean of its nearest items, with a line to each."""
    near = places[own.points]
    at = own.weights @ near
    lines = np.full((len(near), 3, 2), np.nan, dtype=np.float32)
    lines[:, 0], lines[:, 1] = at, near
    title = escaped(own.title)
    return [
        Scatter(
            x=lines[..., 0].ravel(),
            y=lines[..., 1].ravel(),
            mode="lines",
            hoverinfo="skip",
            showlegend=False,
            line={"color": OWN, "width": 1},
            opacity=0.6,
        ),
        Scatter(
            x=at[:1],
            y=at[1:],
            mode="markers",
            name="your last query",
            marker={"symbol": "star", "size": 18, "color": OWN, "line": {"color": "#fff", "width": 1.5}},
            hovertemplate=f"your last query: {title}<extra></extra>",
        ),
    ]


def _shaded(color: str, turn: int) -> str:
    """The color itself, then lighter, then darker."""
    towards, share = ((0, 0.0), (255, 0.45), (0, 0.4))[turn % 3]
    parts = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round(part + (towards - part) * share):02x}" for part in parts)

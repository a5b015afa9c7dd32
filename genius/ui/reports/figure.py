"""The reports of a run as plots; each also has a table with the same data."""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from plotly.graph_objects import Bar, Figure, Scatter
from plotly.subplots import make_subplots

from genius.evaluation.tables import modalities_of
from genius.explore.report_tables.ablation_tables import chosen_table
from genius.explore.report_tables.paper_tables import throughput_points
from genius.explore.report_tables.report_data import Report
from genius.explore.report_tables.retrieval_tables import TIMED, pool_named
from genius.explore.report_tables.speed_tables import speed_cells
from genius.explore.report_tables.training_tables import is_validation, metric_name, metrics
from genius.ui.common.figures import base_layout, escaped

COLORS = ("#8a8f98", "#cc79a7", "#e69f00", "#009e73", "#8c6d31", "#d55e00", "#2b7bba", "#56b4e9")  # Okabe and Ito's
SYMBOLS = ("circle", "x", "square", "diamond", "cross", "triangle-up", "star", "triangle-down")
DASHES = ("solid", "dash", "dot", "dashdot")
STAGE_COLORS = dict(zip(TIMED, ("#6366f1", "#0ea5e9", "#94a3b8", "#14b8a6", "#84cc16", "#f59e0b"), strict=True))
DEFAULT_SYSTEMS = ("dense", "beam", "beam + re-rank")  # others: by a click on the legend
SERVED_SYSTEMS = ("fast + ranker", "geometry + re-rank")  # and the first of these that was measured
LEGEND_ABOVE = {"orientation": "h", "y": 1, "yref": "container", "yanchor": "top", "x": 0, "traceorder": "normal"}
LOG_RATIO = 100  # losses that differ by more are drawn on a logarithmic axis
LABEL_CHARACTERS = 24  # of a line of a label, so that a phone has room for the plot
LABEL_LINE, MARK_SPACE, PLOT_MARGINS = 18, 12, 120  # pixels: a label's line; between marks; above and below the lines
AXIS_SPACE, CHARACTER_WIDTH = 14, 0.6  # pixels beside the labels of an axis; of the font's size, on average
SYSTEM_OFFSET = 0.19  # between the marks of the systems on one line


def hit_rates(report: Report, pool: str) -> Figure:
    """A line per benchmark row, a mark with its interval per system; the average on top."""
    results = pool_named(report, pool)
    systems = results["average"]["systems"]
    drawn = [*DEFAULT_SYSTEMS, *[system for system in SERVED_SYSTEMS if system in systems][:1]]
    rows = [results["average"], *results["rows"]]
    lines = ["<b>Average</b>", *(_row_name(row) for row in results["rows"])]
    figure = base_layout(Figure())
    for number, system in enumerate(systems):
        cells = [row["systems"][system] for row in rows]
        shown, middle = system in drawn, len(drawn) / 2
        offset = SYSTEM_OFFSET * (drawn.index(system) - middle + 0.5 if shown else middle)
        figure.add_trace(
            _rate_marks(
                escaped(system),
                [cell["headline"] for cell in cells],
                [line + offset for line in range(len(lines))],
                lines,
                _mark(number),
                [cell["interval"] for cell in cells],
            ).update(visible=True if shown else "legendonly")
        )
    figure.update_layout(uirevision=pool, legend=LEGEND_ABOVE, **_rate_axes(lines))
    return figure.update_layout(margin={"l": _label_width(lines, 11)}, yaxis={"tickfont": {"size": 11}})


def ablations(report: Report, choice: str | None) -> Figure | None:
    """A line per variant of the first block, a mark per column; hollow ones are published. None for the claims."""
    table = chosen_table(report, choice)
    if table is None:
        return None
    rows = table["blocks"][0]["rows"]
    variants = ["<br>".join(map(escaped, wrap(row["name"], LABEL_CHARACTERS))) for row in rows]
    figure = base_layout(Figure())
    for number, column in enumerate(table["columns"]):
        offset = 0.7 * ((number + 0.5) / len(table["columns"]) - 0.5)
        measured = [(line, row["cells"][number]) for line, row in enumerate(rows) if row["cells"][number]]
        published = [(line, cell) for line, cell in measured if cell["published"] is not None]
        name, mark = escaped(column), _mark(number)
        figure.add_trace(
            _rate_marks(
                name,
                [cell["mean"] for _, cell in measured],
                [line + offset for line, _ in measured],
                [variants[line] for line, _ in measured],
                mark,
                [cell["interval"] for _, cell in measured],
            ).update(legendgroup=name)
        )
        if published:
            figure.add_trace(
                _rate_marks(
                    f"paper, {name}",
                    [cell["published"] for _, cell in published],
                    [line + offset for line, _ in published],
                    [variants[line] for line, _ in published],
                    mark | {"symbol": f"{mark['symbol'].removesuffix('-open')}-open"},
                ).update(legendgroup=name, showlegend=False)
            )
    margin = {"t": 56, "l": _label_width(variants)}
    line = max(MARK_SPACE * len(table["columns"]), LABEL_LINE * max(variant.count("<br>") + 1 for variant in variants))
    return figure.update_layout(
        height=PLOT_MARGINS + line * len(variants),
        uirevision=choice,
        legend=LEGEND_ABOVE,
        margin=margin,
        **_rate_axes(variants),
    )


def _rate_marks(
    name: str,
    rates: Sequence[float],
    heights: Sequence[float],
    lines: Sequence[str],
    mark: dict[str, Any],
    intervals: Sequence[Sequence[float]] | None = None,
) -> Scatter:
    """A mark for each hit rate, with its interval. heights: on the y-axis. lines: their names."""
    error = intervals and {
        "array": [100 * (high - rate) for rate, (_, high) in zip(rates, intervals, strict=True)],
        "arrayminus": [100 * (rate - low) for rate, (low, _) in zip(rates, intervals, strict=True)],
        "thickness": 1,
        "width": 0,
    }
    return Scatter(
        x=[100 * rate for rate in rates],
        y=heights,
        name=name,
        mode="markers",
        marker=mark,
        text=lines,
        error_x=error,
        hovertemplate=f"%{{text}}<br>{name}: %{{x:.1f}} %<extra></extra>",
    )


def _mark(number: int) -> dict[str, Any]:
    """Of a system or column; after eight of them colors and symbols come again, hollow."""
    hollow = "-open" if number >= len(SYMBOLS) else ""
    return {"color": COLORS[number % len(COLORS)], "symbol": SYMBOLS[number % len(SYMBOLS)] + hollow, "size": 8}


def _rate_axes(lines: Sequence[str]) -> dict[str, Any]:
    """Hit rates from left to right, a line for each name from top to bottom."""
    return {
        "xaxis": {"title": _axis_title("hit rate, %"), "range": [0, 101]},
        "yaxis": {
            "tickvals": list(range(len(lines))),
            "ticktext": list(lines),
            "range": [len(lines) - 0.4, -0.6],
            "zeroline": False,
        },
    }


def times(report: Report, pool: str) -> Figure:
    """A bar for each system, of its stages."""
    milliseconds = pool_named(report, pool)["average"]["milliseconds"]
    figure = base_layout(Figure())
    for stage, name in TIMED.items():
        figure.add_trace(
            Bar(
                y=[escaped(system) for system in milliseconds],
                x=[stages.get(stage, 0) for stages in milliseconds.values()],
                name=name,
                orientation="h",
                marker={"color": STAGE_COLORS[stage]},
                hovertemplate=f"%{{y}}<br>{name}: %{{x:.2f}} ms<extra></extra>",
            )
        )
    return figure.update_layout(
        barmode="stack",
        uirevision=pool,
        xaxis={"title": _axis_title("milliseconds per query")},
        yaxis={"autorange": "reversed"},
        legend=LEGEND_ABOVE,
        margin={"t": 56, "l": _label_width([*milliseconds])},
    )


def speed(report: Report, choice: str | None) -> Figure | None:
    """Milliseconds by the size of the collection, a line for each system; None if that was not measured."""
    cells = speed_cells(report, choice)
    if not cells:
        return None
    return _lines_by_size(cells, "milliseconds per query", "ms", choice)


def throughput(report: Report, choice: str | None) -> Figure:
    """Queries per second by the number of candidates, a line for each system."""
    return _lines_by_size(throughput_points(report), "queries per second", "a second", choice)


def _lines_by_size(lines: dict[str, dict[int, float]], title: str, unit: str, choice: str | None) -> Figure:
    """A line for each system, on logarithmic axes. lines: system -> number of items -> value."""
    figure = base_layout(Figure())
    for number, (system, by_size) in enumerate(lines.items()):
        rounds, color = divmod(number, len(COLORS))  # colors and symbols come again with another dash
        figure.add_trace(
            Scatter(
                x=list(by_size),
                y=list(by_size.values()),
                name=escaped(system),
                mode="lines+markers",
                line={"color": COLORS[color], "dash": DASHES[rounds % len(DASHES)]},
                marker={"symbol": SYMBOLS[color], "size": 8},
                hovertemplate=f"{escaped(system)}<br>%{{x:,}} items: %{{y:.2f}} {unit}<extra></extra>",
            )
        )
    return figure.update_layout(
        uirevision=choice,
        legend=LEGEND_ABOVE,
        margin={"t": 56},
        xaxis={"type": "log", "dtick": 1, "title": _axis_title("items")},
        yaxis={"type": "log", "dtick": 1, "title": _axis_title(title)},
    )


def measured_curves(report: Report, choice: str | None) -> Figure | None:
    """A line for each list of numbers that hostile testing measured, such as the server's memory; None without one."""
    curves = {
        measure: values
        for part in report["parts"].values()
        for measure, values in part["measured"].items()
        if isinstance(values, list)
    }
    if not curves:
        return None
    figure = base_layout(Figure())
    for number, (measure, values) in enumerate(curves.items()):
        figure.add_trace(
            Scatter(
                x=list(range(len(values))),
                y=values,
                name=escaped(measure),
                mode="lines",
                line={"color": COLORS[number % len(COLORS)]},
                hovertemplate=f"sample %{{x}}: %{{y:.1f}}<extra>{escaped(measure)}</extra>",
            )
        )
    return figure.update_layout(
        legend=LEGEND_ABOVE,
        margin={"t": 56},
        showlegend=True,
        xaxis={"title": _axis_title("sample")},
        yaxis={"rangemode": "tozero"},
    )


def training(report: Report, stage: str) -> Figure | None:
    """Losses above, rates of validation queries below, by epoch; None if the stage was not recorded."""
    epochs = report.get(stage)
    if not epochs:
        return None
    figure = base_layout(make_subplots(rows=2, shared_xaxes=True, vertical_spacing=0.1))
    for number, metric in enumerate(metrics(epochs)):
        recorded = [epoch for epoch in epochs if epoch.get(metric) is not None]
        name = escaped(metric_name(metric))
        figure.add_trace(
            Scatter(
                x=[epoch["epoch"] for epoch in recorded],
                y=[epoch[metric] for epoch in recorded],
                name=name,
                mode="lines+markers",
                marker={"size": 5},
                line={"color": COLORS[-1 - number % len(COLORS)], "dash": DASHES[number % len(DASHES)]},
                hovertemplate=f"epoch %{{x}}<br>{name}: %{{y:.4f}}<extra></extra>",
            ),
            row=1 + is_validation(metric),
            col=1,
        )
    losses = [value for trace in figure.data if trace.yaxis == "y" for value in trace.y if value > 0]
    logarithmic = bool(losses) and max(losses) > LOG_RATIO * min(losses)
    return figure.update_layout(
        title={"text": stage.capitalize(), "x": 0.02, "font": {"size": 15}},
        uirevision=stage,
        yaxis={
            "title": _axis_title("loss"),
            **({"type": "log", "dtick": 1} if logarithmic else {"rangemode": "tozero"}),
        },
        yaxis2={"title": _axis_title("validation"), "rangemode": "tozero"},
        xaxis2={"title": _axis_title("epoch")},
        margin={"l": 52, "r": 12, "t": 40, "b": 44},
        legend={"orientation": "h", "y": -0.2},
    )


def _label_width(labels: Sequence[str], size: int = 13) -> int:
    """Pixels for the longest line of the labels of an axis; plotly can measure them, but then draws twice.

    size: of the font, in pixels.
    """
    lines = [re.sub("<.*?>", "", line) for label in labels for line in label.split("<br>")]
    return AXIS_SPACE + round(CHARACTER_WIDTH * size * max(map(len, lines), default=0))


def _axis_title(text: str) -> dict[str, Any]:
    return {"text": text, "font": {"size": 13}}


def _row_name(row: Report) -> str:
    return f"{escaped(row['dataset'])}<br>{modalities_of(row['task'])}"

"""The reports of a run as plots; each also has a table with the same data."""

from __future__ import annotations

from typing import Any

from plotly.graph_objects import Bar, Figure, Scatter
from plotly.subplots import make_subplots

from genius.collections.layout import TASKS
from genius.evaluation.tables import MODALITY_NAMES
from genius.explore.ablation_tables import chosen_table
from genius.explore.paper_tables import throughput_points
from genius.explore.report_data import TIMED, Report, is_validation, metric_name, metrics, pool_named, speed_cells
from genius.ui.common.figures import base_layout, escaped

COLORS = ("#8a8f98", "#cc79a7", "#e69f00", "#009e73", "#8c6d31", "#d55e00", "#2b7bba", "#56b4e9")  # Okabe and Ito's
SYMBOLS = ("circle", "x", "square", "diamond", "cross", "triangle-up", "star", "triangle-down")
DASHES = ("solid", "dash", "dot", "dashdot")
STAGE_COLORS = dict(zip(TIMED, ("#6366f1", "#0ea5e9", "#94a3b8", "#14b8a6", "#84cc16", "#f59e0b"), strict=True))
SHOWN = ("dense", "geometry + re-rank", "beam", "beam + re-rank")  # the others are a click on the legend away
ABOVE = {"orientation": "h", "y": 1, "yref": "container", "yanchor": "top", "x": 0, "traceorder": "normal"}
APART = 100  # losses that differ by more are drawn on a logarithmic axis
SPREAD = 0.19  # between the systems of one row


def hit_rates(report: Report, pool: str) -> Figure:
    """A line per benchmark row, a mark with its interval per system; the average on top."""
    chosen = pool_named(report, pool)
    lines = [("<b>Average</b>", chosen["average"]), *((_row_name(row), row) for row in chosen["rows"])]
    figure = base_layout(Figure())
    for number, system in enumerate(chosen["average"]["systems"]):
        found = [line["systems"][system] for _, line in lines]
        rates = [100 * one["headline"] for one in found]
        offset = SPREAD * (SHOWN.index(system) - len(SHOWN) / 2 + 0.5) if system in SHOWN else SPREAD * len(SHOWN) / 2
        figure.add_trace(
            Scatter(
                x=rates,
                y=[place + offset for place in range(len(lines))],
                name=escaped(system),
                mode="markers",
                visible=True if system in SHOWN else "legendonly",
                text=[name for name, _ in lines],
                marker={"color": COLORS[number % len(COLORS)], "symbol": SYMBOLS[number % len(SYMBOLS)], "size": 8},
                error_x={
                    "array": [100 * one["interval"][1] - rate for one, rate in zip(found, rates, strict=True)],
                    "arrayminus": [rate - 100 * one["interval"][0] for one, rate in zip(found, rates, strict=True)],
                    "thickness": 1,
                    "width": 0,
                },
                hovertemplate=f"%{{text}}<br>{escaped(system)}: %{{x:.1f}} %<extra></extra>",
            )
        )
    return figure.update_layout(
        xaxis={"title": _title("hit rate, %"), "range": [0, 101]},
        uirevision=pool,
        legend=ABOVE,
        yaxis={
            "tickvals": list(range(len(lines))),
            "ticktext": [name for name, _ in lines],
            "range": [len(lines) - 0.4, -0.6],
            "zeroline": False,
            "tickfont": {"size": 11},
        },
    )


def ablations(report: Report, choice: str | None) -> Figure | None:
    """A line per variant of the first block, a mark per column; hollow ones are published. None for the claims."""
    table = chosen_table(report, choice)
    if table is None:
        return None
    rows = table["blocks"][0]["rows"]
    figure = base_layout(Figure())
    for number, column in enumerate(table["columns"]):
        name, color = escaped(column), COLORS[number % len(COLORS)]
        offset = 0.7 * ((number + 0.5) / len(table["columns"]) - 0.5)
        known = [(place, row["cells"][number]) for place, row in enumerate(rows) if row["cells"][number]]
        look = {"color": color, "symbol": SYMBOLS[number % len(SYMBOLS)], "size": 8}
        figure.add_trace(
            Scatter(
                x=[100 * cell["mean"] for _, cell in known],
                y=[place + offset for place, _ in known],
                name=name,
                legendgroup=name,
                mode="markers",
                marker=look,
                text=[escaped(rows[place]["name"]) for place, _ in known],
                error_x={
                    "array": [100 * (cell["interval"][1] - cell["mean"]) for _, cell in known],
                    "arrayminus": [100 * (cell["mean"] - cell["interval"][0]) for _, cell in known],
                    "thickness": 1,
                    "width": 0,
                },
                hovertemplate=f"%{{text}}<br>{name}: %{{x:.1f}} %<extra></extra>",
            )
        )
        printed = [(place, cell) for place, cell in known if cell["published"] is not None]
        if printed:
            figure.add_trace(
                Scatter(
                    x=[100 * cell["published"] for _, cell in printed],
                    y=[place + offset for place, _ in printed],
                    name=name,
                    legendgroup=name,
                    showlegend=False,
                    mode="markers",
                    marker=look | {"symbol": f"{look['symbol']}-open"},
                    text=[escaped(rows[place]["name"]) for place, _ in printed],
                    hovertemplate=f"%{{text}}<br>paper, {name}: %{{x:.1f}} %<extra></extra>",
                )
            )
    return figure.update_layout(
        xaxis={"title": _title("hit rate, %"), "range": [0, 101]},
        uirevision=choice,
        legend=ABOVE,
        margin={"t": 56},
        yaxis={
            "tickvals": list(range(len(rows))),
            "ticktext": [escaped(row["name"]) for row in rows],
            "range": [len(rows) - 0.4, -0.6],
            "zeroline": False,
        },
    )


def times(report: Report, pool: str) -> Figure:
    """A bar for each system, of its stages."""
    spent = pool_named(report, pool)["average"]["milliseconds"]
    figure = base_layout(Figure())
    for stage, name in TIMED.items():
        figure.add_trace(
            Bar(
                y=[escaped(system) for system in spent],
                x=[stages.get(stage, 0) for stages in spent.values()],
                name=name,
                orientation="h",
                marker={"color": STAGE_COLORS[stage]},
                hovertemplate=f"%{{y}}<br>{name}: %{{x:.2f}} ms<extra></extra>",
            )
        )
    return figure.update_layout(
        barmode="stack",
        uirevision=pool,
        xaxis={"title": _title("milliseconds per query")},
        yaxis={"autorange": "reversed"},
        legend=ABOVE,
        margin={"t": 56},
    )


def speed(report: Report, choice: str | None) -> Figure | None:
    """Milliseconds by the size of the collection, a line for each system; None if that was not measured."""
    cells = speed_cells(report, choice)
    if not cells:
        return None
    return _by_items(cells, "milliseconds per query", "ms", choice)


def throughput(report: Report, choice: str | None) -> Figure:
    """Queries per second by the number of candidates, a line for each system."""
    return _by_items(throughput_points(report), "queries per second", "a second", choice)


def _by_items(lines: dict[str, dict[int, float]], title: str, unit: str, choice: str | None) -> Figure:
    """System -> number of items -> value, on logarithmic axes."""
    figure = base_layout(Figure())
    for number, (system, by_items) in enumerate(lines.items()):
        turn, at = divmod(number, len(COLORS))  # colors and symbols come again with another dash
        figure.add_trace(
            Scatter(
                x=list(by_items),
                y=list(by_items.values()),
                name=escaped(system),
                mode="lines+markers",
                line={"color": COLORS[at], "dash": DASHES[turn % len(DASHES)]},
                marker={"symbol": SYMBOLS[at], "size": 8},
                hovertemplate=f"{escaped(system)}<br>%{{x:,}} items: %{{y:.2f}} {unit}<extra></extra>",
            )
        )
    return figure.update_layout(
        uirevision=choice,
        legend=ABOVE,
        margin={"t": 56},
        xaxis={"type": "log", "dtick": 1, "title": _title("items")},
        yaxis={"type": "log", "dtick": 1, "title": _title(title)},
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
        legend=ABOVE,
        margin={"t": 56},
        showlegend=True,
        xaxis={"title": _title("sample")},
        yaxis={"rangemode": "tozero"},
    )


def training(report: Report, stage: str) -> Figure | None:
    """Losses above, rates of validation queries below, by epoch; None if the stage was not recorded."""
    epochs = report.get(stage)
    if not epochs:
        return None
    figure = base_layout(make_subplots(rows=2, shared_xaxes=True, vertical_spacing=0.1))
    for number, metric in enumerate(metrics(epochs)):
        known = [epoch for epoch in epochs if epoch.get(metric) is not None]
        name = escaped(metric_name(metric))
        figure.add_trace(
            Scatter(
                x=[epoch["epoch"] for epoch in known],
                y=[epoch[metric] for epoch in known],
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
    apart = bool(losses) and max(losses) > APART * min(losses)
    return figure.update_layout(
        title={"text": stage.capitalize(), "x": 0.02, "font": {"size": 15}},
        uirevision=stage,
        yaxis={"title": _title("loss"), **({"type": "log", "dtick": 1} if apart else {"rangemode": "tozero"})},
        yaxis2={"title": _title("validation"), "rangemode": "tozero"},
        xaxis2={"title": _title("epoch")},
        margin={"l": 52, "r": 12, "t": 40, "b": 44},
        legend={"orientation": "h", "y": -0.2},
    )


def _title(text: str) -> dict[str, Any]:
    return {"text": text, "font": {"size": 13}}


def _row_name(row: Report) -> str:
    query, candidate = TASKS[row["task"]]
    return f"{escaped(row['dataset'])}<br>{MODALITY_NAMES[query]} → {MODALITY_NAMES[candidate]}"

"""Figures of plotly: a plot of a report, and what all figures of the page have in common."""

import re
from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from plotly.graph_objects import Bar, Figure, Scatter

from genius.reports import Axis, Plot, Series

# Okabe and Ito's
COLORS = ("#8a8f98", "#cc79a7", "#e69f00", "#009e73", "#8c6d31", "#d55e00", "#2b7bba", "#56b4e9")
BAR_COLORS = (
    "#6366f1",
    "#0ea5e9",
    "#94a3b8",
    "#14b8a6",
    "#84cc16",
    "#f59e0b",
    "#ec4899",
    "#78716c",
)
SYMBOLS = ("circle", "x", "square", "diamond", "cross", "triangle-up", "star", "triangle-down")
DASHES = ("solid", "dash", "dot", "dashdot")
LEGEND_ABOVE = {
    "orientation": "h",
    "y": 1,
    "yref": "container",
    "yanchor": "top",
    "x": 0,
    "traceorder": "normal",
}
PUBLISHED = "paper: "  # a series of this name and another's is drawn as that one, hollow
MARK_OFFSET, MARK_ROOM = 0.19, 0.7  # between the marks on one line; what they fill of it at most
LABEL_CHARACTERS = 24  # of a line of a label, so that a phone has room for the plot
LABEL_SIZE, LABEL_LINE, MARK_SPACE, BAR_SPACE = 11, 17, 10, 26  # pixels
PLOT_MARGINS, LINES_HEIGHT = 120, 420  # pixels: above and below the lines; of a plot of lines
# pixels beside the labels of an axis; of the font's size, on average
AXIS_SPACE, CHARACTER_WIDTH = 14, 0.6


def base_layout(figure: Figure) -> Figure:
    """Make a figure transparent, without plotly's template and margins; all figures here start from
    this.
    """
    return figure.update_layout(
        template="none",
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        hovermode="closest",
        dragmode=False,
        margin={"l": 48, "r": 16, "t": 24, "b": 44},
        legend={"orientation": "h", "y": -0.15},
    )


def escaped(text: str) -> str:
    """Escape text that plotly would read as markup, or as the name of a value (%{x}) in a hover."""
    return (
        text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("%{", "%&#123;")
    )


def draw(plot: Plot) -> Figure:
    """The figure, with its height in its layout."""
    figure = {"lines": _lines, "marks": _marks, "bars": _bars}[plot.kind](plot)
    legend = sum(trace.showlegend is not False for trace in figure.data) > 1
    figure.update_layout(uirevision=plot.title, legend=LEGEND_ABOVE, showlegend=legend)
    return figure if legend else figure.update_layout(margin={"t": 24})


def _marks(plot: Plot) -> Figure:
    """A line for each name from top to bottom, and on it a mark with its interval for each
    series.
    """
    names = _names(plot)
    labels = ["<br>".join(map(escaped, wrap(name, LABEL_CHARACTERS))) for name in names]
    figure = base_layout(Figure())
    known = {series.name for series in plot.series}
    drawn_as = {
        name: short if (short := name.removeprefix(PUBLISHED)) in known else name for name in known
    }
    measured = [series for series in plot.series if drawn_as[series.name] == series.name]
    shown = [series.name for series in measured if series.shown]
    # what is seen at first differs
    numbered = shown + [series.name for series in measured if not series.shown]
    step = min(MARK_OFFSET, MARK_ROOM / max(1, len(shown)))
    for series in plot.series:
        name = drawn_as[series.name]
        number = numbered.index(name)
        place = shown.index(name) if name in shown else len(shown)
        offset = step * (place - (len(shown) - 1) / 2)
        # after eight, colors and symbols come again
        hollow = series.name != name or number >= len(SYMBOLS)
        symbol = SYMBOLS[number % len(SYMBOLS)] + "-open" * hollow
        figure.add_trace(
            Scatter(
                x=_shown_values(series.x, plot.x),
                y=[names.index(str(line)) + offset for line in series.y],
                name=escaped(series.name),
                mode="markers",
                marker={"color": COLORS[number % len(COLORS)], "symbol": symbol, "size": 8},
                text=[escaped(str(line)) for line in series.y],
                error_x=_error(series, series.x, plot.x),
                legendgroup=escaped(name),
                showlegend=series.name == name,
                visible=True if series.shown else "legendonly",
                hovertemplate=f"%{{text}}<br>{escaped(series.name)}: "
                f"%{{x{_format(plot.x)}<extra></extra>",
            )
        )
    label_lines = max((label.count("<br>") + 1 for label in labels), default=1)
    bold = [f"<b>{label}</b>" if label == "Average" else label for label in labels]
    return figure.update_layout(
        height=PLOT_MARGINS + max(MARK_SPACE * len(shown), LABEL_LINE * label_lines) * len(names),
        margin={"t": 56, "l": _label_width(labels)},
        xaxis=_axis(plot.x) | ({"range": [0, 101]} if plot.x.unit == "%" else {}),
        yaxis={
            "tickvals": list(range(len(names))),
            "ticktext": bold,
            "range": [len(names) - 0.4, -0.6],
            "zeroline": False,
            "tickfont": {"size": LABEL_SIZE},
        },
    )


def _bars(plot: Plot) -> Figure:
    """A bar for each name from top to bottom, of a part for each series."""
    names = _names(plot)
    figure = base_layout(Figure())
    labels = [*map(escaped, names)]
    for number, series in enumerate(plot.series):
        figure.add_trace(
            Bar(
                y=[escaped(str(name)) for name in series.y],
                x=_shown_values(series.x, plot.x),
                name=escaped(series.name),
                orientation="h",
                marker={"color": BAR_COLORS[number % len(BAR_COLORS)]},
                visible=True if series.shown else "legendonly",
                hovertemplate=f"%{{y}}<br>{escaped(series.name)}: "
                f"%{{x{_format(plot.x)}<extra></extra>",
            )
        )
    return figure.update_layout(
        barmode="stack",
        height=PLOT_MARGINS + BAR_SPACE * len(names),
        margin={"t": 56, "l": _label_width(labels)},
        xaxis=_axis(plot.x),
        yaxis={"autorange": "reversed", "tickfont": {"size": LABEL_SIZE}},
    )


def _lines(plot: Plot) -> Figure:
    """A line with marks for each series."""
    figure = base_layout(Figure())
    for number, series in enumerate(plot.series):
        # colors and symbols come again with another dash
        rounds, color = divmod(number, len(COLORS))
        figure.add_trace(
            Scatter(
                x=_shown_values(series.x, plot.x),
                y=_shown_values(series.y, plot.y),
                name=escaped(series.name),
                mode="lines+markers",
                line={"color": COLORS[-1 - color], "dash": DASHES[rounds % len(DASHES)]},
                marker={"symbol": SYMBOLS[color], "size": 6},
                error_y=_error(series, series.y, plot.y),
                visible=True if series.shown else "legendonly",
                hovertemplate=f"{escaped(series.name)}<br>%{{x}}: "
                f"%{{y{_format(plot.y)}<extra></extra>",
            )
        )
    yaxis = _axis(plot.y) | ({} if plot.y.log else {"rangemode": "tozero"})
    return figure.update_layout(
        height=LINES_HEIGHT, margin={"t": 72}, xaxis=_axis(plot.x), yaxis=yaxis
    )


def _names(plot: Plot) -> list[str]:
    """What the lines of a plot are of, from top to bottom."""
    return list(dict.fromkeys(str(name) for series in plot.series for name in series.y))


def _shown_values(values: Sequence[float | str | None], axis: Axis) -> list[float | str | None]:
    """Shares as percentages, texts escaped."""
    factor = 100 if axis.unit == "%" else 1
    return [
        escaped(value) if isinstance(value, str) else None if value is None else factor * value
        for value in values
    ]


def _error(
    series: Series, values: Sequence[float | str | None], axis: Axis
) -> dict[str, Any] | None:
    """The intervals, as plotly has them: from the value."""
    if not series.interval:
        return None
    factor = 100 if axis.unit == "%" else 1
    above, below = [], []
    for value, limits in zip(values, series.interval, strict=True):
        if limits is None or not isinstance(value, float | int):
            value = 0.0
            limits = (0.0, 0.0)
        above.append(factor * (limits[1] - value))
        below.append(factor * (value - limits[0]))
    return {"array": above, "arrayminus": below, "thickness": 1, "width": 0}


def _format(axis: Axis) -> str:
    """The end of a hover's value: how it is written, and its unit."""
    if axis.unit == "%":
        return ":.1f} %"
    return f":,.4~g}} {escaped(axis.unit)}" if axis.unit else ":,.4~g}"


def _axis(axis: Axis) -> dict[str, Any]:
    title = f"{axis.title}, {axis.unit}" if axis.unit else axis.title
    titled = {"title": {"text": escaped(title), "font": {"size": 13}}}
    return titled | ({"type": "log", "dtick": 1} if axis.log else {})


def _label_width(labels: Sequence[str]) -> int:
    """Pixels for the longest line of the labels of an axis; plotly can measure them, but then draws
    twice.
    """
    lines = [re.sub("<.*?>", "", line) for label in labels for line in label.split("<br>")]
    return AXIS_SPACE + round(CHARACTER_WIDTH * LABEL_SIZE * max(map(len, lines), default=0))

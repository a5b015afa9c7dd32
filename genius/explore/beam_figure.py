"""Draw the beam tree as a plotly figure: levels from left to right, the best prefix of each level
on top.

Bars above the tree show how much probability the trie masked at each level. The colors are visible
on light and dark; the caller provides the background.

Shapes: t prefixes of the tree, M levels.
"""

from collections.abc import Sequence
from itertools import product

import numpy as np
from plotly.graph_objects import Bar, Figure, Scatter

from genius.explore.beam_tree import BeamTree, Fate

CHOSEN, OTHER, FAINT, MASKED = "#6366f1", "#64748b", "rgba(100, 116, 139, .5)", "#b45309"
MARKERS = {Fate.FOUND: ("circle", 11), Fate.ENDED: ("circle", 7), Fate.DROPPED: ("circle-open", 9)}
FATES = {
    Fate.FOUND: "leads to a generated ID",
    Fate.ENDED: "followed, but leads to none",
    Fate.DROPPED: "considered and dropped",
}
STEPS = np.array([1e-6, 1e-4, 0.01, 0.1, 0.5])  # probabilities at which edges become thicker
WIDTHS = np.array([0.5, 1, 1.8, 3, 4.5, 6.5])  # pixels
FEWEST = 8  # prefixes of a level that space is reserved for
ROW = 28  # pixels per prefix
# pixels; pixels; pixels; position on the axis of levels
BARS = 90
AROUND = 70
LABEL = 11
ROOT = -0.75
ROOTED = Scatter(
    x=[ROOT],
    y=[0],
    mode="markers+text",
    text=["query"],
    textposition="bottom center",
    hoverinfo="skip",
    textfont={"size": LABEL},
    marker={"symbol": "diamond", "size": 11, "color": CHOSEN},
)


def beam_figure(tree: BeamTree, codes: Sequence[int], first_codes: Sequence[str]) -> Figure:
    """Draw the tree with the lineage of `codes` highlighted; customdata of a point is its prefix,
    such as 0.17.5.

    first_codes: labels of the codes of level 0.
    """
    rows = _rows(tree)
    marked = np.zeros(len(tree), dtype=bool)
    marked[tree.lineage(codes)] = True
    return Figure(
        [
            *_edges(tree, rows, marked),
            ROOTED,
            *_points(tree, rows, marked, first_codes),
            _bars(tree),
        ],
        _layout(tree.levels, int(rows.max()) + 1),
    )


def format_probability(share: float) -> str:
    """A share of probability in percent; only exactly 0 and 1 are shown as 0 % and 100 %."""
    if share < 0.1:
        digits = 1 if share >= 0.01 else 2
        return "0 %" if share == 0 else "<0.01 %" if share < 1e-4 else f"{100 * share:.{digits}f} %"
    return ">99 %" if 0.995 <= share < 1 else f"{100 * share:.0f} %"


def format_softmax(share: float) -> str:
    """A probability among all codes of a level, which is never certain, although rounding may make
    it 1.
    """
    return format_probability(min(share, 1 - 1e-9))


def _layout(levels: int, tallest: int) -> dict[str, object]:
    rows = max(tallest, FEWEST) + 0.5
    height = BARS + rows * ROW
    bars = 1 - BARS / height  # where the bars begin
    return {
        "height": height + AROUND,
        "showlegend": False,
        "dragmode": False,  # so that touching it scrolls the page
        "modebar": {
            "remove": [
                "zoom",
                "pan",
                "lasso",
                "zoomIn",
                "zoomOut",
                "resetScale",
                "sendChartToCloud",
            ]
        },
        "xaxis": {
            "range": [ROOT - 0.3, levels - 0.6],
            "tickvals": list(range(levels)),
            "title": {"text": "level", "font": {"size": 13}},
            "showgrid": False,
            "zeroline": False,
            "fixedrange": True,
        },
        "yaxis": {
            "range": [rows - 1, -1],
            "domain": [0, bars],
            "visible": False,
            "fixedrange": True,
        },
        "yaxis2": {"range": [0, 1.45], "domain": [bars, 1], "visible": False, "fixedrange": True},
        "annotations": [
            {
                "text": "ruled out<br>(masked)",
                "xref": "paper",
                "yref": "y2 domain",
                "x": 0,
                "y": 1,
                "xanchor": "left",
                "yanchor": "top",
                "align": "left",
                "showarrow": False,
                "font": {"size": LABEL},
            }
        ],
    }


def _rows(tree: BeamTree) -> np.ndarray:
    """(t,) row of each prefix within its level, from 0."""
    return np.arange(len(tree)) - np.searchsorted(tree.level, tree.level)


def _edges(tree: BeamTree, rows: np.ndarray, marked: np.ndarray) -> list[Scatter]:
    """One trace with gaps per color and width; the highlighted lineage is on top."""
    begun = tree.parent >= 0
    x = np.stack(
        [np.where(begun, tree.level - 1.0, ROOT), tree.level, np.full(len(tree), np.nan)], axis=1
    )
    y = np.stack(
        [np.where(begun, rows[tree.parent], 0.0), rows, np.full(len(tree), np.nan)], axis=1
    )
    thickness = np.searchsorted(STEPS, np.exp(tree.step))
    lines = []
    for ours, color in ((False, FAINT), (True, CHOSEN)):
        for number, width in enumerate(WIDTHS.tolist()):
            these = (marked == ours) & (thickness == number)
            if these.any():
                at = {"x": x[these].ravel(), "y": y[these].ravel()}
                stroke = {"color": color, "width": width}
                lines.append(Scatter(at, mode="lines", hoverinfo="skip", line=stroke))
    return lines


def _points(
    tree: BeamTree, rows: np.ndarray, marked: np.ndarray, first_codes: Sequence[str]
) -> list[Scatter]:
    """One trace per fate, and one for the highlighted lineage of each fate."""
    prefixes = tree.prefixes()
    points = []
    for (fate, (symbol, size)), (ours, color) in product(
        MARKERS.items(), ((False, OTHER), (True, CHOSEN))
    ):
        these = np.flatnonzero((tree.fate == fate) & (marked == ours)).tolist()
        if these:
            codes = [prefixes[number] for number in these]
            points.append(
                Scatter(
                    x=tree.level[these],
                    y=rows[these],
                    name=FATES[fate],
                    mode="markers+text",
                    text=[
                        first_codes[prefix[0]] if len(prefix) == 1 else str(prefix[-1])
                        for prefix in codes
                    ],
                    textposition="top center",
                    textfont={"size": LABEL},
                    hoverinfo="text",
                    hovertext=[
                        _hover(tree, number, prefix)
                        for number, prefix in zip(these, codes, strict=True)
                    ],
                    customdata=[".".join(map(str, prefix)) for prefix in codes],
                    marker={
                        "symbol": symbol,
                        "size": size,
                        "color": color,
                        "line": {"width": 1.5, "color": color},
                    },
                )
            )
    return points


def _bars(tree: BeamTree) -> Bar:
    masses = tree.mass.tolist()
    return Bar(
        x=np.arange(tree.levels),
        y=tree.mass,
        yaxis="y2",
        width=0.5,
        marker={"color": MASKED},
        text=[format_probability(mass) for mass in masses],
        textposition="outside",
        cliponaxis=False,
        hoverinfo="text",
        hovertext=[
            f"level {level}: {format_probability(mass)} of the probability was ruled out (masked)"
            for level, mass in enumerate(masses)
        ],
    )


def _hover(tree: BeamTree, number: int, prefix: Sequence[int]) -> str:
    return (
        f"<b>{' · '.join(map(str, prefix))}</b><br>rank {tree.place[number]} at level "
        f"{tree.level[number]}: "
        f"{FATES[Fate(tree.fate[number])]}<br>"
        f"probability of its code {format_softmax(np.exp(tree.step[number]))} (log p "
        f"{tree.step[number]:.2f})<br>"
        f"so far log p {tree.log_prob[number]:.2f}, score {tree.score[number]:.2f}<br>"
        f"items with this beginning: {tree.items[number]:,}<br>"
        f"ruled out (masked) at this step: {format_probability(tree.masked[number])}"
    ).replace("-", "\N{MINUS SIGN}")

import re
from dataclasses import replace

import numpy as np
import pytest

from genius.explore.beam_figure import (
    AROUND,
    BARS,
    CHOSEN,
    FATES,
    ROW,
    THIN,
    beam_figure,
    format_probability,
    format_softmax,
)
from genius.explore.beam_tree import Fate, beam_tree
from genius.schema import LevelTrace, SearchTrace

NAMES = ("Image", "Text", "Pair")


def level(parent, code, step, kept, masked) -> LevelTrace:
    step = np.log(step)
    return LevelTrace(
        np.array(parent),
        np.array(code),
        step,
        step,
        np.array(kept, dtype=bool),
        np.arange(len(code)) + 1,
        np.log(1 - np.array(masked)),
    )


@pytest.fixture
def tree():
    """Two levels: 2.7 and 0.4 are found, 1 ends, 2.9 is dropped."""
    return beam_tree(
        SearchTrace(
            [
                level([0, 0, 0], [2, 0, 1], [0.7, 0.2, 0.05], [True] * 3, [0.05]),
                level([0, 1, 0], [7, 4, 9], [0.9, 0.3, 0.01], [True, True, False], [0.09, 0.4, 0.5]),
            ]
        )
    )


def points(figure) -> dict[str, tuple]:
    """Prefix -> (level, row, label, symbol, colour)."""
    return {
        prefix: (x, y, text, trace.marker.symbol, trace.marker.color)
        for trace in figure.data
        if trace.customdata is not None
        for prefix, x, y, text in zip(trace.customdata, trace.x, trace.y, trace.text, strict=True)
    }


def test_a_point_stands_at_its_level_and_row_and_carries_its_prefix(tree):
    shown = points(beam_figure(tree, (0, 4), NAMES))
    assert {prefix: where[:3] for prefix, where in shown.items()} == {
        "2": (0, 0, "Pair"),
        "0": (0, 1, "Image"),
        "1": (0, 2, "Text"),
        "2.7": (1, 0, "7"),
        "0.4": (1, 1, "4"),
        "2.9": (1, 2, "9"),
    }


def test_the_chosen_lineage_is_marked_and_dropped_prefixes_are_hollow(tree):
    shown = points(beam_figure(tree, (0, 4), NAMES))
    assert {prefix for prefix, (*_, colour) in shown.items() if colour == CHOSEN} == {"0", "0.4"}
    assert {prefix for prefix, (*_, symbol, _) in shown.items() if symbol == "circle-open"} == {"2.9"}


def test_edges_join_parents_and_children_and_are_thicker_the_likelier_the_step(tree):
    widths = {}
    for trace in beam_figure(tree, (0, 4), NAMES).data:
        if trace.type == "scatter" and trace.mode == "lines":
            ends = np.stack([trace.x, trace.y], axis=1).reshape(-1, 3, 2)
            assert np.isnan(ends[:, 2].astype(float)).all()
            widths |= {tuple(map(tuple, edge[:2])): trace.line.width for edge in ends}
    assert {(begin[0] < 0, begin[1], end[1]) for begin, end in widths} == {
        (True, 0, 0),
        (True, 0, 1),
        (True, 0, 2),
        (False, 0, 0),
        (False, 1, 1),
        (False, 0, 2),
    }
    assert widths[(0, 0), (1, 0)] > widths[(0, 1), (1, 1)] > widths[(0, 0), (1, 2)]


def test_bars_show_the_masked_mass_of_each_level(tree):
    bars = beam_figure(tree, (0, 4), NAMES).data[-1]
    assert bars.type == "bar" and bars.y.tolist() == tree.mass.tolist()
    assert bars.text == ("5.0 %", "18 %")


@pytest.mark.parametrize(
    "share, words",
    [
        (0, "0 %"),
        (1e-7, "<0.01 %"),
        (0.0004, "0.04 %"),
        (0.012, "1.2 %"),
        (0.62, "62 %"),
        (0.9999, ">99 %"),
        (1, "100 %"),
    ],
)
def test_shares_are_not_rounded_to_zero_or_one(share, words):
    assert format_probability(share) == words


def test_one_code_of_a_level_is_never_certain():
    assert format_softmax(float(np.exp(np.float32(-1e-9)))) == ">99 %" and format_softmax(0.5) == "50 %"


def test_the_hover_shows_steps_sums_and_items(tree):
    hovers = {
        trace.customdata[i]: text
        for trace in beam_figure(tree, (), NAMES).data
        if trace.customdata is not None
        for i, text in enumerate(trace.hovertext)
    }
    assert re.findall(r"[\d.−]+(?: %)?", hovers["2.9"].replace("level 1", "")) == [
        "2",
        "9",
        "3",
        "1.0 %",
        "−4.61",
        "−4.96",
        "−4.61",
        "3",
        "9.0 %",
    ]
    assert FATES[Fate.DROPPED] in hovers["2.9"] and FATES[Fate.ENDED] in hovers["1"]


def test_a_large_tree_has_no_labels(tree):
    many = 60
    crowded = replace(
        tree,
        **{
            name: np.concatenate([getattr(tree, name), np.repeat(getattr(tree, name)[-1:], many)])
            for name in vars(tree)
            if name != "mass"
        },
    )
    few, large = (beam_figure(each, (), NAMES) for each in (tree, crowded))
    assert {trace.mode for trace in few.data if trace.customdata is not None} == {"markers+text"}
    assert {trace.mode for trace in large.data if trace.customdata is not None} == {"markers"}


def test_a_figure_is_as_high_as_its_prefixes_need_and_the_bars_keep_their_height(tree):
    def sizes(prefixes: int) -> tuple[float, float]:
        """Pixels for a prefix and for the bars."""
        more = replace(
            tree,
            **{
                name: np.concatenate([getattr(tree, name), np.repeat(getattr(tree, name)[-1:], prefixes)])
                for name in vars(tree)
                if name != "mass"
            },
        )
        layout = beam_figure(more, (), NAMES).layout
        drawn, rows = layout.height - AROUND, layout.yaxis.range[0] - layout.yaxis.range[1]
        return drawn * layout.yaxis.domain[1] / rows, drawn * (1 - layout.yaxis.domain[1])

    assert sizes(9) == pytest.approx((ROW, BARS)) and sizes(60) == pytest.approx((THIN, BARS))

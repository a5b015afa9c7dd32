import numpy as np
import pytest

from genius.explore.beam_figure import CHOSEN, beam_figure, format_probability
from genius.explore.beam_tree import beam_tree
from genius.schema import LevelTrace

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
        [
            level([0, 0, 0], [2, 0, 1], [0.7, 0.2, 0.05], [True] * 3, [0.05]),
            level([0, 1, 0], [7, 4, 9], [0.9, 0.3, 0.01], [True, True, False], [0.09, 0.4, 0.5]),
        ]
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
    assert {prefix for prefix, (*_, symbol, _) in shown.items() if symbol == "circle-open"} == {
        "2.9"
    }


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

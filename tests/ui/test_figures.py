"""The figures hold the numbers of the plots."""

import pytest

from genius.reports import Axis, Plot, Series
from genius.ui.figures import draw, escaped
from tests.ui.sample_reports import HOSTILE, samples

MARKS, _, BARS = samples()["retrieval"].plots


def test_marks_stand_on_the_lines_of_their_names_with_their_intervals():
    dense, paper, hidden = draw(MARKS).data
    assert dense.x == (50, 30) and dense.error_x.array == pytest.approx((5, 0))
    assert dense.error_x.arrayminus == pytest.approx((5, 0))
    assert [round(y) for y in dense.y] == [0, 1] and hidden.visible == "legendonly"
    assert draw(MARKS).layout.yaxis.ticktext[0] == "<b>Average</b>"
    assert (
        paper.marker.symbol == dense.marker.symbol + "-open"
        and paper.marker.color == dense.marker.color
    )
    assert (paper.y[0], paper.legendgroup, paper.showlegend) == (dense.y[0], "dense", False)


def test_series_that_are_seen_at_first_differ_in_color_and_symbol():
    series = [Series(f"s{at}", [0.5], ["a"], shown=at % 3 == 0) for at in range(24)]
    looks = [
        (t.marker.color, t.marker.symbol)
        for t in draw(Plot("", "marks", Axis(""), Axis(""), series)).data
    ]
    assert len(set(looks[::3])) == 8 and len(set(looks)) == 16


def test_bars_are_stacked_and_lines_have_the_axes_of_the_plot():
    encode, scan = draw(BARS).data
    assert (encode.x, scan.x, encode.y) == ((20,), (25.6,), ("dense",)) and draw(
        BARS
    ).layout.barmode == "stack"
    axes = Axis("items", log=True), Axis("share", "%")
    figure = draw(
        Plot("", "lines", *axes, [Series("a", [1.0, 10.0], [0.5, None], [(0.25, 0.75), None])])
    )
    assert figure.data[0].y == (50, None) and figure.data[0].error_y.array == (25, 0)
    assert figure.layout.xaxis.type == "log" and figure.layout.yaxis.title.text == "share, %"


@pytest.mark.parametrize("kind", ["marks", "bars", "lines"])
def test_texts_are_never_markup_and_nothing_to_draw_is_an_empty_figure(kind):
    x, y = ([HOSTILE], [0.5]) if kind == "lines" else ([0.5], [HOSTILE])
    axis = Axis(HOSTILE, HOSTILE)
    figure = draw(Plot(HOSTILE, kind, axis, axis, [Series(HOSTILE, x, y), Series("", [], [])]))
    shown = [*figure.data[0].name, figure.data[0].hovertemplate, figure.layout.xaxis.title.text]
    labels = [
        *(figure.layout.yaxis.ticktext or ()),
        *(figure.data[0].text or ()),
        *map(str, figure.data[0].x),
    ]
    for text in shown + labels:
        assert "<img" not in text and "</script" not in text
    assert "%{x}" not in escaped(HOSTILE) and escaped(HOSTILE) in figure.data[0].hovertemplate
    assert not draw(Plot("", kind, Axis(""), Axis(""), [])).data


def test_every_figure_has_a_height_that_grows_with_its_names():
    def height(count):
        names = [f"name {at}" for at in range(count)]
        return draw(
            Plot("", "marks", Axis(""), Axis(""), [Series("a", [0.5] * count, names)])
        ).layout.height

    assert 0 < height(0) < height(3) < height(30)

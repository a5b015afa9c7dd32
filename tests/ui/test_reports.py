"""The Reports tab shows whatever reports a run has."""

import os
from types import SimpleNamespace

import pytest

from genius.reports import Axis, Plot, Series
from genius.ui.common.context import ServedRun
from genius.ui.figures import draw, escaped
from genius.ui.look import NotFound
from genius.ui.reports import panel, section, sections
from tests.ui.sample_reports import HOSTILE, samples, write_reports


def shown(run):
    return {part["name"]: part for part in sections(run)}


def test_a_new_report_appears_without_a_change_of_the_page(tmp_path):
    """Known reports come first, in a fixed order; zebras are not known to any module of the
    page.
    """
    run = write_reports(tmp_path)
    samples()["health"].write(run / "reports" / "aardvarks.json")
    assert list(shown(run)) == ["retrieval", "speed", "training", "health", "aardvarks", "zebras"]
    zebras = shown(run)["zebras"]
    assert (
        zebras["title"] == HOSTILE
        and zebras["lead"] == "How often."
        and zebras["note"] == [HOSTILE]
    )
    (table,) = zebras["tables"]
    assert table["columns"] == ["dataset", "dense, %", "beam, %"] and table["words"] == [
        True,
        False,
        False,
    ]
    assert table["rows"] == [
        [HOSTILE, "50.0 [45.0, 55.0]", "–"],
        ["photos", "30.0 [20.0, 40.0]", "25.0"],
    ]
    assert table["bold"] == [[False, True, False], [False, False, False]]


def test_a_missing_main_report_names_its_command_and_other_missing_ones_are_left_out(tmp_path):
    found = shown(tmp_path)
    assert list(found) == ["retrieval", "speed"]
    assert found["retrieval"]["command"].startswith("python -m genius.evaluation ")
    assert (
        found["retrieval"]["reason"]
        == "This has not been measured for this run yet. The command is:"
    )


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"title": 7}', '{"parts": {}}', "NaN", '{"title": "\\ud800"}']
)
def test_what_is_no_report_is_a_sentence_without_the_path_of_the_server(
    tmp_path, monkeypatch, text
):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "run" / "reports"
    folder.mkdir(parents=True)
    (folder / "health.json").write_text(text)
    part = shown(tmp_path / "run")["health"]
    assert part["title"] == "Health" and "run/reports/health.json is not a report" in part["reason"]
    assert str(tmp_path) not in part["reason"] and "plots" not in part


def test_files_whose_names_are_no_names_of_reports_are_left_alone(tmp_path):
    (write_reports(tmp_path, "health") / "reports" / "<b>.json").write_text("{")
    assert list(shown(tmp_path)) == ["retrieval", "speed", "health"]


def test_only_what_changed_is_read_again(tmp_path):
    run = write_reports(tmp_path)
    on_reports = panel(SimpleNamespace(served=ServedRun(run))).looks["reports"]
    found = on_reports()
    read = section.cache_info().misses
    assert len(found) == 5 and on_reports() == found and section.cache_info().misses == read
    os.utime(run / "reports" / "training.json", (0, 0))
    on_reports()
    assert section.cache_info().misses == read + 1


def test_a_report_is_saved_as_markdown_and_nothing_else_of_the_run_is(tmp_path):
    run = write_reports(tmp_path)
    on_report = panel(SimpleNamespace(served=ServedRun(run))).looks["reports/{name}"]
    saved = on_report("zebras")
    assert saved.name == "zebras.md" and "50.0 [45.0, 55.0]" in saved.content.decode()
    (run / "manifest.json").write_text("{}")
    (run / "reports" / "broken.json").write_text("{")
    for name in ("../manifest", "nothing", "broken", ""):
        with pytest.raises(NotFound):
            on_report(name)


# Figures: they hold the numbers of the plots

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

"""The plots say what the tables say, and data is no markup in them."""

import json
from pathlib import Path

import pytest

from genius.explore.report_tables.retrieval_tables import pool_names
from genius.ui.reports.figure import ablations, hit_rates, measured_curves, speed, throughput, times, training
from tests.explore.report_tables.sample_reports import (
    ABLATIONS,
    HOSTILE,
    HOSTILE_SUITE,
    RETRIEVAL,
    SPEED,
    SYSTEMS,
    THROUGHPUT,
    TRAINING,
)

GLOBAL = pool_names(RETRIEVAL)[0]


def test_every_system_has_a_mark_with_its_interval_on_the_line_of_each_row():
    figure = hit_rates(RETRIEVAL, GLOBAL)
    assert [trace.name for trace in figure.data] == list(SYSTEMS)
    for trace, rate in zip(figure.data, SYSTEMS.values(), strict=True):
        assert list(trace.x) == pytest.approx([100 * rate] * 3)
        assert list(trace.error_x.array) == pytest.approx([5] * 3)
        assert [round(place) for place in trace.y] == [0, 1, 2]
    assert figure.layout.yaxis.ticktext[0] == "<b>Average</b>"
    assert figure.layout.yaxis.ticktext[1] == "drawn<br>text → image"


def test_the_usual_systems_are_shown_and_the_others_wait_in_the_legend():
    visible = {trace.name: trace.visible for trace in hit_rates(RETRIEVAL, GLOBAL).data}
    assert visible == {"dense": True, "beam": True, "beam + re-rank": True, "fast + re-rank": "legendonly"}


def test_what_the_page_does_with_a_ranker_is_shown_and_no_two_systems_look_alike():
    report = json.loads(Path("assets/demo/reports/retrieval.json").read_text())
    traces = hit_rates(report, pool_names(report)[0]).data
    assert [trace.name for trace in traces if trace.visible is True] == [
        "dense", "beam", "beam + re-rank", "fast + ranker",
    ]  # fmt: skip
    assert len({(trace.marker.color, trace.marker.symbol) for trace in traces}) == len(traces) == 13


def test_a_datasets_name_is_no_markup():
    assert HOSTILE not in hit_rates(RETRIEVAL, GLOBAL).to_json().replace("\\u003c", "<")


def test_bars_of_stages_add_up_to_the_time_of_a_search():
    figure = times(RETRIEVAL, GLOBAL)
    assert list(figure.data[0].y) == ["dense", "beam"]
    assert sum(trace.x[1] for trace in figure.data) == pytest.approx(45.6)


def test_measured_lists_are_curves_and_nothing_where_there_is_none():
    (curve,) = measured_curves(HOSTILE_SUITE, None).data
    assert (curve.name, list(curve.y)) == ("memory, MB, after each 500", [300, 310])
    assert measured_curves({"parts": {"inputs": HOSTILE_SUITE["parts"]["inputs"]}}, None) is None


def test_speed_has_a_line_for_each_system_and_nothing_where_nothing_was_measured():
    figure = speed(SPEED, "uniform IDs, batch 1")
    assert {trace.name: list(trace.x) for trace in figure.data} == {"generate": [10_000], "set": [10_000, 100_000]}
    assert speed(SPEED, None) is None


def test_throughput_has_a_line_for_each_system_and_names_are_no_markup():
    figure = throughput(THROUGHPUT, None)
    assert {trace.name: list(trace.y) for trace in figure.data[:2]} == {"CLIP + flat": [1000, 100], "GENIUS": [100, 10]}
    assert HOSTILE not in figure.to_json().replace("\\u003c", "<")


def test_losses_are_drawn_above_validation_rates_and_epochs_without_one_are_left_out():
    figure = training(TRAINING, "decoder")
    axes = {trace.name: (trace.yaxis, list(trace.x)) for trace in figure.data}
    assert axes == {"loss": ("y", [0, 1]), "recall": ("y2", [1]), "recall by geometry": ("y2", [1])}
    assert training({}, "encoder") is None


def test_losses_of_very_different_size_are_drawn_on_a_logarithmic_axis():
    assert training(TRAINING, "quantizer").layout.yaxis.type == "log"
    assert training(TRAINING, "encoder").layout.yaxis.type is None


def test_ours_and_the_published_figure_of_a_column_have_one_color_and_lie_on_the_variants_line():
    figure = ablations(ABLATIONS, "Table 4: Key components")
    ours, published = figure.data[:2]
    assert list(ours.x) == pytest.approx([50, 10]) and list(published.x) == pytest.approx([55.4, 0])
    assert list(ours.y) == list(published.y) and [round(place) for place in ours.y] == [0, 1]
    assert ours.marker.color == published.marker.color and published.marker.symbol == "circle-open"
    assert list(ours.error_x.array) == pytest.approx([5, 5])
    assert HOSTILE not in figure.to_json().replace("\\u003c", "<")
    assert ablations(ABLATIONS, "What the paper says") is None


def test_the_plot_of_a_table_is_as_high_as_its_labels_and_marks_need():
    table = ABLATIONS["tables"][0]
    assert table["title"] == "Key components"
    block = table["blocks"][0]

    def height(rows, columns):
        cells = [block["rows"][0]["cells"][0]] * columns
        drawn = {
            **table,
            "columns": ["a row"] * columns,
            "blocks": [{**block, "rows": [{**row, "cells": cells} for row in rows]}],
        }
        return ablations({**ABLATIONS, "tables": [drawn]}, "Table 4: Key components").layout.height

    short = [{"name": "CLIP-SF"}] * 5
    assert height(short * 2, 2) - height(short, 2) == 5 * 24
    assert height(short, 8) - height(short, 2) == 5 * 6 * 12
    long = [{"name": "a name of a variant that takes three lines of its label"}] * 5
    assert height(long, 2) - height(short, 2) == 5 * (3 * 18 - 24)

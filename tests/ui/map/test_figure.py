import json
from dataclasses import replace

import numpy as np
import pytest
from plotly.graph_objects import Figure

from genius.explore.map_colors import Palette, group_by_value, nearest_points
from genius.ui.common.figures import MODALITY_SYMBOLS
from genius.ui.map.figure import (
    OKABE_ITO,
    SHADES,
    UNGROUPED_COLOR,
    Drawing,
    PlacedQuery,
    group_colors,
    last_query_figure,
    map_figure,
)
from tests.ui.fake_engine import FakeIndex
from tests.ui.fake_maps import QUERIES, many_maps


@pytest.fixture(scope="module")
def palette():
    return Palette(FakeIndex(), many_maps())


@pytest.fixture
def drawing(palette):
    return Drawing(palette.maps, 0, palette.modalities, palette.by_modality(), by_modality=True)


def items(figure):
    return [trace for trace in figure.data if trace.customdata is not None and (trace.customdata >= 0).all()]


def test_every_item_is_drawn_once_with_its_number_and_the_shape_of_its_modality(drawing, palette):
    for groups in (palette.by_modality(), palette.by_dataset(), palette.by_code(3)):
        traces = items(map_figure(replace(drawing, groups=groups, by_modality=groups[0].label == "Image")))
        assert sorted(np.concatenate([trace.customdata for trace in traces])) == palette.points.tolist()
        for trace in traces:
            modalities = set((palette.rows[trace.customdata] % 3).tolist())
            assert [MODALITY_SYMBOLS[modality] for modality in modalities] == [trace.marker.symbol]


def test_a_point_lies_where_its_item_does(drawing, palette):
    for view in (0, 1):
        for trace in items(map_figure(replace(drawing, view=view))):
            assert np.allclose(np.stack([trace.x, trace.y], 1), palette.maps.places[view, trace.customdata])


def test_items_that_were_removed_are_not_drawn(drawing, palette):
    groups = [replace(group, members=group.members[group.members > 9]) for group in palette.by_modality()]
    for values in (None, np.linspace(0, 1, len(palette.rows))):
        traces = items(map_figure(replace(drawing, groups=groups, values=values)))
        assert min(trace.customdata.min() for trace in traces) == 10


def test_queries_are_drawn_as_numbers_below_zero_and_may_be_hidden(drawing):
    def queries(figure):
        return [trace for trace in figure.data if trace.customdata is not None and (trace.customdata < 0).all()]

    (trace,) = queries(map_figure(drawing))
    assert (-1 - trace.customdata).tolist() == list(range(QUERIES)) and trace.name == "test questions"
    assert not queries(map_figure(replace(drawing, show_queries=False)))


def test_a_line_leads_from_each_query_to_its_first_answer_that_is_drawn(drawing, palette):
    lines = next(
        trace for trace in map_figure(replace(drawing, show_answers=True)).data if trace.name == "query to answer"
    )
    ends = np.stack([lines.x, lines.y], 1).reshape(-1, 3, 2)
    maps = palette.maps
    assert np.allclose(ends[:, 0], maps.places[0, len(maps.keys) :])
    assert np.allclose(ends[:, 1], maps.places[0, maps.points([query.answers[0] for query in maps.queries])])
    assert np.isnan(ends[:, 2]).all()


def test_by_value_every_item_has_the_shade_of_its_value_and_the_highest_lie_on_top(drawing, palette):
    values = palette.similarity(np.ones(16, dtype=np.float32) / 4)
    bar, *others = map_figure(replace(drawing, values=values)).data
    traces, low, high = items(Figure(others)), values.min(), values.max()
    assert sorted(np.concatenate([trace.customdata for trace in traces])) == list(range(len(values)))
    shades = [SHADES.index(trace.marker.color) for trace in traces]
    assert shades == sorted(shades) and len({*shades}) > 2
    for trace, shade in zip(traces, shades, strict=True):
        assert np.array_equal(trace.text, values[trace.customdata])
        places = (np.asarray(trace.text) - low) / (high - low) * len(SHADES)
        assert (places >= shade - 1e-3).all() and (places <= shade + 1 + 1e-3).all()
    assert bar.marker.showscale and (bar.marker.cmin, bar.marker.cmax) == (low, high) and bar.x == (None,)
    assert [color for _, color in bar.marker.colorscale[::2]] == SHADES
    legend = [trace.name for trace in traces if trace.showlegend]
    assert len(legend) == len({*legend}) == len({trace.name for trace in traces})


def test_items_of_one_value_are_drawn(drawing):
    values = np.full(len(drawing.maps.keys), 0.5, dtype=np.float32)
    _, *traces = map_figure(replace(drawing, values=values)).data
    assert sum(len(trace.x) for trace in items(Figure(traces))) == len(values)


def test_the_visitors_query_lies_among_its_nearest_items(drawing, palette):
    points, weights = nearest_points(palette.similarity(np.ones(16, dtype=np.float32) / 4))
    star = last_query_figure(PlacedQuery("<i>mug</i>", points, weights), drawing.maps, 0).data[-1]
    assert np.allclose([star.x[0], star.y[0]], weights @ palette.maps.places[0, points], atol=1e-6)
    assert "&lt;i&gt;mug&lt;/i&gt;" in star.hovertemplate


def test_names_of_the_data_are_no_markup(drawing, palette):
    text = map_figure(replace(drawing, groups=palette.by_dataset(), by_modality=False)).to_json()
    names = {trace.get("name") for trace in json.loads(text)["data"]}
    assert "&lt;b&gt;boats&lt;/b&gt;" in names and "dataset 5" in names and "birds" in names


def test_groups_have_different_colors_and_the_rest_is_grey(palette):
    groups = palette.by_code(3)
    shades = group_colors(groups, by_modality=False)
    assert len(set(shades)) == len(groups) == 21 and shades[-1] == UNGROUPED_COLOR
    assert shades[: len(OKABE_ITO)] == list(OKABE_ITO)


def test_fifty_thousand_points_are_less_than_two_megabytes(palette):
    repeated = np.arange(50_000) % len(palette.rows)
    many = replace(palette.maps, keys=np.arange(50_000), queries=(), places=palette.maps.places[:, repeated])
    text = map_figure(Drawing(many, 0, repeated % 3, group_by_value(repeated % 3, str), by_modality=True)).to_json()
    assert len(text) < 2_000_000

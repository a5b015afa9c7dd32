"""The Map tab's callbacks over HTTP, on a tiny run with made-up maps, and its figure."""

import base64
import json
from dataclasses import replace

import numpy as np
import pytest
from plotly.graph_objects import Figure

from genius.explore.map_colors import Palette, group_by_value
from genius.ui.common.figures import MODALITY_COLORS, MODALITY_SYMBOLS
from genius.ui.map import callbacks
from genius.ui.map.figure import Drawing, PlacedQuery, group_names, last_query_traces, map_figure
from tests.ui.fake_engine import FakeIndex
from tests.ui.fake_maps import QUERIES, many_maps, serving_maps

DRAWN = ("features", "modality", 1, "drawn", "pan", None)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with serving_maps(tmp_path_factory.mktemp("map") / "run") as page:
        yield page


def data(answer):
    assert answer["success"], answer
    return answer["output"]["data"]


def test_a_map_its_sentences_and_its_table(ask):
    figure, note, health, table = data(ask("on_map", *DRAWN))
    assert {trace["name"] for trace in json.loads(figure)["data"]} == {"Image", "Text", "Pair", "test questions"}
    assert "39 of 40 items" in " ".join(note) and health is None
    assert [(row["label"], row["counts"]) for row in table["rows"]] == [
        ("Image", [13, 13, 0, 0]),
        ("Text", [13, 0, 13, 0]),
        ("Pair", [13, 0, 0, 13]),
    ]


def test_before_and_after_codes_stand_side_by_side(ask):
    single = json.loads(data(ask("on_map", *DRAWN))[0])["data"]
    both = json.loads(data(ask("on_map", callbacks.BEFORE_AND_AFTER, *DRAWN[1:]))[0])
    assert [trace.get("xaxis", "x") for trace in both["data"]] == ["x"] * len(single) + ["x2"] * len(single)
    assert both["layout"]["yaxis2"]["matches"] == "y"


def test_a_lasso_brings_tiles_words_and_files(ask, monkeypatch):
    monkeypatch.setattr(callbacks, "MAX_TILES", 4)
    inside = [4, 1, 7, 10, 13]
    points = [{"value": row} for row in [-3, 39, "2", None, *inside]]  # a query, what is not drawn, what is none
    found, gallery = data(ask("on_lasso", event={"points": points, "total": len(points)}))
    assert (found["total"], found["saved"], found["label"]) == (5, 5, "inside the lasso")
    assert [tile["row"] for tile in gallery["groups"][0]["tiles"]] == sorted(inside)[:4]
    csv, saved = found["files"]
    assert [record["id"] for record in json.loads(saved["text"])] == [f"0:{row}" for row in sorted(inside)]
    assert csv["text"].startswith("\ufeffid,") and csv["text"].count("\r\n") == 6
    assert data(ask("on_lasso", event={"points": [], "total": 0})) == [None, None]


@pytest.mark.parametrize(
    "function, inputs, event, said",
    [
        *(("on_point", (), {"value": value}, "That point does not exist") for value in (None, 39, -1 - QUERIES, True)),
        *(
            ("on_lasso", (), {"points": points}, "points do not exist")
            for points in (5, "x", [None], [{"value": 1}, 7], {"value": 1})
        ),
        ("on_point", (), {"value": "1"}, "There is no item '1'"),
        ("on_map", ("features", "code", 2.5, *DRAWN[3:]), None, "whole number from 1 to 3"),
    ],
)
def test_what_is_not_there_is_told(ask, function, inputs, event, said):
    answer = ask(function, *inputs, event=event)
    assert not answer["success"] and said in answer["output"]["error"]


@pytest.fixture(scope="module")
def palette():
    return Palette(FakeIndex(), many_maps())


@pytest.fixture
def drawing(palette):
    return Drawing(palette.maps, 0, palette.places(0), palette.modalities, palette.by_modality(), by_modality=True)


def items(figure):
    return [trace for trace in figure.data if trace.customdata is not None and (trace.customdata >= 0).all()]


def test_every_item_is_drawn_once_with_its_number_and_the_shape_of_its_modality(drawing, palette):
    for groups in (palette.by_modality(), palette.by_dataset(), palette.by_code(3)):
        traces = items(map_figure(replace(drawing, groups=groups, by_modality=groups[0].label == "Image")))
        assert sorted(np.concatenate([trace.customdata for trace in traces])) == palette.points.tolist()
        for trace in traces:
            modalities = set((palette.rows[trace.customdata] % 3).tolist())
            assert [MODALITY_SYMBOLS[modality] for modality in modalities] == [trace.marker.symbol]


def test_added_items_are_drawn_one_by_one_in_the_colors_of_their_groups_and_say_their_ids(drawing, palette):
    groups = [replace(group, members=group.members[:-1]) for group in palette.by_modality()]
    groups[0] = replace(groups[0], members=np.append(groups[0].members, len(palette.rows) - 1))
    figure = map_figure(replace(drawing, groups=groups, added=["9:1"]))
    assert "9:1" in json.dumps(figure.to_dict())  # as it is sent
    traces = figure.data
    (added,) = (trace for trace in traces if trace.name == "added since training")
    assert [*added.customdata] == ["9:1"] and [*added.marker.color] == [MODALITY_COLORS[0]]
    assert np.allclose([added.x[0], added.y[0]], drawing.places[-1])
    assert len(palette.rows) - 1 not in np.concatenate([trace.customdata for trace in items(Figure(traces[:-1]))])


def test_the_last_query_has_a_star_and_numbered_rings_round_what_it_found(palette):
    points = np.arange(3)
    query = PlacedQuery("<b>", points, np.full(3, 1 / 3), [7, -1, 2])
    rings, star = last_query_traces(query, palette.places(0))

    def values(trace, name):
        return np.frombuffer(base64.b64decode(trace[name]["bdata"]), trace[name]["dtype"])

    places = palette.maps.places[0]
    assert rings["text"] == ["1", "3"] and rings["customdata"] == [7, 2]
    assert np.allclose([values(rings, "x"), values(rings, "y")], places[[7, 2]].T, atol=0.02)
    assert np.allclose([values(star, "x")[0], values(star, "y")[0]], places[:3].mean(0), atol=0.02)
    assert star["hovertemplate"].startswith("&lt;b&gt;")


def test_names_of_groups_are_no_markup_and_stand_in_their_middle(palette):
    named = group_names([("<b>", np.arange(5))], palette.maps.places[0])
    assert named["text"] == ["<b>&lt;b&gt;</b>"]
    assert named["x"] == [float(np.median(palette.maps.places[0][:5, 0]))]


def test_names_of_the_data_are_no_markup(drawing, palette):
    text = map_figure(replace(drawing, groups=palette.by_dataset(), by_modality=False)).to_json()
    names = {trace.get("name") for trace in json.loads(text)["data"]}
    assert "&lt;b&gt;boats&lt;/b&gt;" in names and "dataset 5" in names and "birds" in names


def test_fifty_thousand_points_are_less_than_two_megabytes(palette):
    repeated = np.arange(50_000) % len(palette.rows)
    many = replace(palette.maps, keys=np.arange(50_000), queries=(), places=palette.maps.places[:, repeated])
    text = map_figure(
        Drawing(
            many, 0, many.places[0][: len(repeated)], repeated % 3, group_by_value(repeated % 3, str), by_modality=True
        )
    ).to_json()
    assert len(text) < 2_000_000

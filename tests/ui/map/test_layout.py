"""The Map tab's callbacks over HTTP, on a tiny run with made-up maps."""

import json

import pytest

from genius.ui.common.figures import MOST_LASSOED
from genius.ui.map import callbacks
from genius.ui.map.layout import level_slider
from genius.ui.map.view import health_table
from tests.ui.fake_engine import HOSTILE
from tests.ui.fake_maps import FEW, QUERIES, many_maps, serving_maps

DRAWN = ("features", "modality", 1, "drawn", "pan", None)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with serving_maps(tmp_path_factory.mktemp("map") / "run") as page:
        yield page


def data(answer):
    assert answer["success"], answer
    return answer["output"]["data"]


def error(answer):
    assert not answer["success"]
    return answer["output"]["error"]


def test_a_map_its_sentences_and_its_table(ask):
    figure, note, table = data(ask("on_map", *DRAWN))
    assert {trace["name"] for trace in json.loads(figure)["data"]} == {"Image", "Text", "Pair", "test questions"}
    said = " ".join(note["sentences"])
    assert "39 of 40 items" in said and note["table"] is None
    assert [(row["label"], row["counts"]) for row in table["rows"]] == [
        ("Image", [13, 13, 0, 0]),
        ("Text", [13, 0, 13, 0]),
        ("Pair", [13, 0, 0, 13]),
    ]


def test_before_and_after_are_compared_where_all_codes_are_shown(ask):
    for view in ("codes-4", "codes-4-plain"):
        _, note, _ = data(ask("on_map", view, *DRAWN[1:]))
        assert ["items in the largest bucket", "3", "4,321"] in note["table"]["rows"]
    said = " ".join(note["sentences"])
    assert f"{FEW} different points" in said and "no contrastive loss" in said


@pytest.mark.parametrize("shown, larger", [(76_000, ""), (9_561, ", which is larger than what is shown here")])
def test_the_table_says_of_which_collection_its_ids_are(shown, larger):
    table = health_table(many_maps(), shown)
    assert table["caption"] == "IDs of the collection that was trained on" + larger
    assert table["rows"][2][:2] == ["items alone in their bucket", "99.0 %"]


def test_without_a_search_likeness_says_so_and_shows_modalities(ask):
    figure, note, _ = data(ask("on_map", "features", "query", *DRAWN[2:]))
    assert note["sentences"][0].startswith("There is no search yet")
    assert "Image" in {trace["name"] for trace in json.loads(figure)["data"]}


def test_a_point_brings_its_card(ask):
    query, card = data(ask("on_point", event={"value": 5}))
    assert query is None and card["id"] == "0:5"
    assert len(card["codes"]) == 4 and len(card["neighbours"]) == 8


def test_a_query_brings_its_words_its_answers_and_the_card_of_the_first(ask):
    query, card = data(ask("on_point", event={"value": -2}))
    assert query["text"] == HOSTILE and query["instruction"] == "Find it."
    assert [answer["id"] for answer in query["answers"]] == ["0:1", "0:2"] and card["id"] == "0:1"
    assert data(ask("on_answer", event={"id": "0:2"}))[0]["id"] == "0:2"


@pytest.mark.parametrize("value", [None, "1", 39, -1 - QUERIES, True])
def test_a_point_that_is_none_is_told(ask, value):
    assert "That point does not exist" in error(ask("on_point", event={"value": value}))


def test_a_lasso_brings_tiles_words_and_files(ask, monkeypatch):
    monkeypatch.setattr(callbacks, "MAX_TILES", 4)
    inside = [4, 1, 7, 10, 13]
    points = [{"value": row} for row in [-3, 39, "2", None, *inside]]  # a query, what is not drawn, what is none
    found, gallery = data(ask("on_lasso", event={"points": points, "total": len(points)}))
    assert (found["total"], found["saved"], found["label"]) == (5, 5, "inside the lasso")
    assert [tile["row"] for tile in gallery["groups"][0]["tiles"]] == sorted(inside)[:4]
    csv, saved = found["files"]
    assert [record["item"] for record in json.loads(saved["text"])] == [f"0:{row}" for row in sorted(inside)]
    assert csv["text"].startswith("\ufeffitem,") and csv["text"].count("\r\n") == 6
    assert data(ask("on_lasso", event={"points": [], "total": 0})) == [None, None]


def test_words_of_a_selection_are_its_texts_or_the_encoders(ask):
    texts, _ = data(ask("on_lasso", event={"points": [{"value": row} for row in (1, 4, 7)], "total": 3}))
    assert texts["words"] and not texts["guess"] and all(word["share"].endswith(" %") for word in texts["words"])
    pictures, _ = data(ask("on_lasso", event={"points": [{"value": row} for row in (0, 3, 6)], "total": 3}))
    assert all(word["share"] is None for word in pictures["words"])


def test_a_lasso_that_was_cut_says_so(ask):
    found, _ = data(ask("on_lasso", event={"points": [{"value": 0}] * MOST_LASSOED, "total": 2_500}))
    assert found["label"] == "inside the lasso (the first of 2,500 points)" and found["total"] == 1


@pytest.mark.parametrize("points", [5, "x", [None], [{"value": 1}, 7], {"value": 1}])
def test_a_lasso_without_points_is_refused(ask, points):
    assert "points do not exist" in error(ask("on_lasso", event={"points": points}))


def test_a_level_is_a_whole_number(ask):
    assert "whole number from 1 to 3" in error(ask("on_map", "features", "code", 2.5, *DRAWN[3:]))


def test_a_color_of_the_table_selects_all_its_items(ask):
    found, gallery = data(ask("on_group", "dataset", 1, event={"group": 0}))
    assert (found["label"], found["total"]) == ("colored as “birds”", 39) and len(gallery["groups"][0]["tiles"]) == 39
    assert "color does not exist" in error(ask("on_group", "dataset", 1, event={"group": 7}))


def test_ids_of_two_levels_have_a_map_without_a_choice_of_level():
    two, three = level_slider(2), level_slider(3)
    assert two.value == three.value == 1 and not two.interactive
    assert three.maximum == 2 and three.interactive

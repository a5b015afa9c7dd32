"""What the Map tab answers, over a made-up engine and map."""

import base64
import json
from types import SimpleNamespace

import numpy as np
import pytest

from genius.errors import UserError
from genius.explore.code_names import CodeNamer
from genius.explore.map_data import COMMAND
from genius.schema import Query, SearchOptions
from genius.ui.map.panel import panel
from genius.ui.map.view import SCALE
from tests.ui.fake_engine import FEW, REGIONS, FakeEngine, many_maps


@pytest.fixture(scope="module")
def maps():
    return many_maps()


@pytest.fixture(scope="module")
def engine():
    return FakeEngine()


@pytest.fixture(scope="module")
def looks(engine, maps, tmp_path_factory):
    def answers(search):
        (result,) = engine.search([Query(search["text"])], SearchOptions(k=10))
        return (
            SimpleNamespace(description="“it”", result=result, check_version=lambda index: None),
        )

    namer = CodeNamer(engine, tmp_path_factory.mktemp("run"))
    context = SimpleNamespace(
        engine=engine, namer=namer, maps=maps, searches=SimpleNamespace(answers=answers)
    )
    made = panel(context)
    return made.looks | {endpoint.__name__: endpoint for endpoint in made.endpoints}


def numbers(text, kind):
    return np.frombuffer(base64.b64decode(text), kind)


def chosen(looks, **choice):
    return numbers(looks["map/chosen"](**choice)["points"], "<u4")


def test_a_run_without_a_map_says_why_and_how_it_is_made(engine):
    context = SimpleNamespace(engine=engine, maps="This run has no map yet.")
    assert panel(context).looks["map"]() == {
        "missing": "This run has no map yet.",
        "command": COMMAND,
    }


def test_the_map_tells_what_each_point_is_and_where_it_lies(looks, engine, maps):
    told = looks["map"]()
    m = len(maps.keys)
    rows = engine.index.rows_of(maps.ids())
    assert (told["drawn"], told["added"]) == (m, 0)
    assert told["sentence"] == f"{m:,} items of {engine.index.n:,}, an even sample over all codes"
    assert (numbers(told["kinds"], "u1") == engine.index.modalities[rows]).all()
    assert (numbers(told["of"], "<u2") == maps.region_of).all()
    assert [view["keep"] for view in told["views"]] == [0, 9] and told["views"][1]["places"] == FEW
    (moved,) = told["views"][1]["moved"]
    assert (moved["name"], moved["joined"], moved["left"]) == ("red mug", "boat", "")
    assert [region["name"] for region in told["regions"]] == [
        ", ".join(region.words) for region in REGIONS
    ]
    assert told["regions"][0]["checked"] == "fits 15 of 20" and told["regions"][3]["name"] == ""
    places = numbers(looks["map/places"](0)["places"], "<i2").reshape(-1, 2) / SCALE
    assert np.abs(places - maps.places[0]).max() < 0.01
    with pytest.raises(UserError, match="keeps 0, 9 codes"):
        looks["map/places"](3)


def test_choices_combine(looks, engine, maps):
    index = engine.index
    rows = index.rows_of(maps.ids())
    code = int(index.codes(rows[:1])[0, 1])
    expected = {
        "region": (0, np.isin(maps.region_of, [4])),
        "code": (f"*.{code}", index.codes(rows)[:, 1] == code),
        "dataset": (2, maps.datasets == 2),
        "words": ("dog", np.isin(rows % 4, [0]) & (rows % 3 > 0)),
    }
    for name, (value, kept) in expected.items():
        if name != "words":
            assert chosen(looks, **{name: value}).tolist() == np.flatnonzero(kept).tolist()
    found = chosen(looks, words="dog")
    assert set(np.flatnonzero(expected["words"][1])) <= set(found.tolist())
    both = chosen(looks, region=0, dataset=2)
    all_of = np.all([expected[name][1] for name in ("region", "dataset")], axis=0)
    assert both.tolist() == np.flatnonzero(all_of).tolist()
    ids = maps.ids()[3:6]
    assert chosen(looks, items=",".join(ids)).tolist() == [3, 4, 5]
    named = [at for at in found.tolist() if at < 30]
    thirty = ",".join(maps.ids()[:30])
    assert chosen(looks, items=thirty, words="dog").tolist() == named and 0 < len(named) < 30
    places = maps.places[0]
    inside = chosen(looks, area="-0.5,-0.5,0.5,-0.5,0.5,0.5,-0.5,0.5")
    assert inside.tolist() == np.flatnonzero((np.abs(places) < 0.5).all(1)).tolist()


def test_what_is_chosen_is_saved_as_a_file(looks):
    rows, choose = chosen(looks, words="dog")[:1_000], looks["map/chosen"]
    saved = json.loads(choose(words="dog", form="json")["text"])
    assert len(saved) == len(rows) and saved[0].keys() == {"id", "modality", "text", "codes"}
    assert choose(words="dog", form="csv")["text"].count("\n") == len(rows) + 1
    with pytest.raises(UserError, match="csv or json"):
        choose(words="dog", form="exe")


def test_what_is_chosen_is_told_with_words_kinds_codes_pictures_and_texts(looks, engine, maps):
    found = looks["map/chosen"](region=0)
    rows = engine.index.rows_of(maps.ids())[maps.region_of == 4]
    assert found["items"] == len(rows) == sum(kind["items"] for kind in found["kinds"])
    for word in found["words"]:
        assert 0 < word["items"] <= word["of"] == len(rows)
    level = engine.index.codes(rows)[:, 1]
    assert [code["items"] for code in found["codes"]] == sorted(np.bincount(level))[::-1][
        : len(found["codes"])
    ]
    assert len(found["tiles"]) == 9 and {tile["modality"] for tile in found["texts"]} == {"text"}
    ids = {item.id for item in engine.index.items(rows)}
    assert {tile["id"] for tile in found["tiles"] + found["texts"]} <= ids
    assert looks["map/chosen"](region=0, items="1:0", dataset=3)["items"] == 0


@pytest.mark.parametrize(
    "choice, message",
    [
        ({"region": 6}, "That region does not exist"),
        ({"code": "hello"}, "is not a code"),
        ({"area": "0,0,1,1"}, "three corners or more"),
        ({"area": "0,0,1,1,0"}, "three corners or more"),
        ({"area": "<b>"}, "three corners or more"),
        ({"keep": 4}, "keeps 0, 9 codes"),
    ],
)
def test_a_choice_that_cannot_be_is_one_sentence(looks, choice, message):
    with pytest.raises(UserError, match=message):
        looks["map/chosen"](**choice)


def test_colors_are_of_the_commonest_data_sets_or_codes(looks, maps):
    by_dataset = looks["map/colors"]("dataset")
    of = numbers(by_dataset["of"], "u1")
    for place, group in enumerate(by_dataset["groups"]):
        assert (maps.datasets[of == place] == group["value"]).all() and (
            of == place
        ).sum() == group["items"]
    assert "<b>boats</b>" in {group["label"] for group in by_dataset["groups"]}
    by_code = looks["map/colors"]("code", 2)
    assert (
        len(by_code["groups"]) == 12
        and by_code["others"] == (numbers(by_code["of"], "u1") == 12).sum() > 0
    )
    for wrong in (("code", 9), ("size", 1)):
        with pytest.raises(UserError, match="from 0 to 8"):
            looks["map/colors"](*wrong)


def test_a_point_is_its_item(looks, maps):
    assert looks["map/point"](7)["id"] == maps.ids()[7]
    for wrong in (-1, len(maps.keys)):
        with pytest.raises(UserError, match="That point does not exist"):
            looks["map/point"](wrong)


def test_results_of_a_search_are_points_and_the_query_lies_among_those_like_it(looks, maps):
    told = looks["map_results"]({"text": "a dog"})
    assert len(told["items"]) == len(told["points"]) == 10 and told["title"] == "“it”"
    ids = maps.ids()
    for id, point in zip(told["items"], told["points"], strict=True):
        assert point == (ids.index(id) if id in ids else -1)
    assert sum(told["weights"]) == pytest.approx(1, abs=0.01) and len(told["near"]) == len(
        told["weights"]
    )

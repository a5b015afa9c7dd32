"""The photo collection, built from tiny sets: its rows, its splits, and what may ship."""

import json
import shutil
from collections import defaultdict
from itertools import chain
from pathlib import Path

import pytest

from genius.collections.building import build
from genius.collections.checker import Checker
from genius.collections.layout import SPLITS, TASKS
from genius.collections.mbeir import Collection
from genius.errors import UserError
from genius.schema import LabeledQuery, Modality
from tests.training.demo.photos.sets import HIDDEN, write_sets
from training.demo.photos import collection as photo_collection
from training.demo.photos.collection import DATASETS, FIVE_SETS, SHIPPED, build_photo_collection

SEEN = {207: 0.9}  # a golden retriever


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    return write_sets(tmp_path_factory.mktemp("sets"))


@pytest.fixture(scope="module")
def photos(sets, tmp_path_factory):
    root = tmp_path_factory.mktemp("photos") / "collection"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(photo_collection, "predict", lambda pictures: dict.fromkeys(pictures, SEEN))
        build_photo_collection(sets, root)
    return Collection(root)


def dataset(name: str) -> str:
    return DATASETS[int(name.split(":")[0])]


def queries(photos, name: str, *splits: str) -> list[LabeledQuery]:
    """Those of a dataset, of all splits unless told."""
    return [
        query
        for split in splits or SPLITS
        for query in photos.queries(split)
        if dataset(query.id) == name
    ]


@pytest.fixture(scope="module")
def shipped(photos):
    """The pool of what may ship, by dataset."""
    items = defaultdict(list)
    for item in photos.candidates(SHIPPED):
        items[dataset(item.id)].append(item)
    return items


def test_the_checker_finds_no_problem(photos):
    assert list(Checker(photos.root).problems()) == []


def test_the_five_sets_are_those_of_the_general_builder(photos, sets, tmp_path):
    build([str(sets / name) for name in FIVE_SETS], tmp_path / "real", benchmark=True)
    for file in sorted((tmp_path / "real").rglob("*.jsonl")) + sorted(
        (tmp_path / "real").rglob("*.txt")
    ):
        own = photos.root / file.relative_to(tmp_path / "real")
        if file.parent.name != "global":
            assert own.read_bytes() == file.read_bytes()
        else:
            assert own.read_bytes().startswith(file.read_bytes())
    own = photos.instructions()
    expected = Collection(tmp_path / "real").instructions()
    # more do not name the set
    assert all(set(texts) < set(own[key]) for key, texts in expected.items())


def test_only_what_may_ship_is_in_the_shipped_pool(shipped):
    assert shipped.keys() == {"grocery", "emoji", "photos", "scenes", "encyclopedia"}
    assert {item.text for item in shipped["emoji"]} == {"", "dog"}
    for item in chain(*shipped.values()):
        fields = json.loads(item.source)
        assert fields["kind"] and fields["category"] and fields["set"] and fields["origin"]
        assert fields["set"] != "emoji" or fields["category"] == "dog"  # by which the page calls it
        if item.image:
            assert fields["credit"] and fields["licence"]


@pytest.mark.parametrize("name", ["photos", "scenes"])
def test_no_picture_that_asks_for_pictures_in_a_test_is_a_candidate_anywhere(photos, name):
    """Neither in a pool that the test searches, nor in one that a training learns from, nor in the
    one that ships.
    """
    pools = [photos.all_candidates(), photos.candidates(SHIPPED)]
    pools += [photos.local_pool(row) for row in photos.rows() if row.dataset == name]
    candidates = {item.image for item in chain(*pools)}
    asked = [query for query in queries(photos, name, "test") if query.task in (4, 7, 8)]
    assert asked and not candidates & {query.image for query in asked}


def test_every_test_query_of_the_photographs_has_a_right_answer_in_the_test_pool(photos):
    pooled = {item.id for item in photos.candidates("union_test")}
    for name in ("photos", "scenes", "encyclopedia"):
        assert all(pooled & set(query.positives) for query in queries(photos, name, "test"))


def test_scenes_that_may_not_be_shown_only_train(photos, shipped):
    unshown = {HIDDEN, "anim_crow"}
    stems = {
        split: {Path(query.image or "").stem for query in photos.queries(split)} for split in SPLITS
    }
    assert unshown <= stems["train"] and not unshown & (stems["val"] | stems["test"])
    assert not unshown & {Path(item.image or "").stem for item in shipped["scenes"]}
    assert not {"crow", "A street 0"} & {item.text for item in shipped["scenes"]}


def test_scenes_are_asked_by_every_sentence_and_by_the_name_of_what_they_show(photos):
    rows = {row.task: row for row in photos.rows() if row.dataset == "scenes"}
    assert sorted(rows) == [0, 2, 3, 4]
    asked = {query.text: query for query in queries(photos, "scenes", "train") if query.task == 0}
    assert {"a photo of bus", "pyramid", "The horse waits 1."} <= asked.keys()
    assert "A legend." not in asked
    assert any(text.startswith("A photo shows a pyramid") for text in asked)
    named = {item.id: item.image for item in photos.all_candidates()}
    found = {Path(named[did]).stem for did in asked["bus"].positives}
    assert HIDDEN in found and "coco_001" not in found


def test_texts_of_scenes_have_the_terms_of_their_authors(shipped):
    facts = [json.loads(item.source) for item in shipped["scenes"] if not item.image]
    assert {one["credit"] for one in facts} == {
        "COCO Consortium",
        "OpenStax, Rice University; access for free at openstax.org",
    }
    pair = next(item for item in shipped["scenes"] if item.image and "pyramid" in item.text)
    assert json.loads(pair.source)["credit"].startswith("picture: Ann; text: OpenStax")


def test_test_pictures_of_other_sets_do_not_ask_the_encyclopedia(photos, sets):
    dev = {
        line["id"]
        for name in FIVE_SETS
        for line in map(json.loads, (sets / name / "manifest.jsonl").open())
        if line["split"] == "dev"
    }
    asked = {Path(query.image or "").stem for query in queries(photos, "encyclopedia")}
    assert {"f0", "s0", "natural_0", "v0", "e0"} & asked and not dev & asked


def test_a_photograph_finds_the_entries_of_its_captions_and_of_its_predicted_classes(photos):
    texts = {item.id: item.text.split(":")[0].split(" (")[0] for item in photos.all_candidates()}
    found = {
        Path(query.image).stem: {texts[did] for did in query.positives}
        for query in queries(photos, "encyclopedia")
        if query.task == 3
    }
    assert found["f1"] == {"Dog", "Snow", "Golden retriever", "Retriever"}
    assert "Shirt" in found["s0"] and "Apple" in found["natural_0"] and found["e0"] == {"Dog"}
    assert found["npc_zebra"] == {"Zebra"}


def test_every_row_has_ten_phrasings_and_two_that_are_held_out(photos):
    trained = photos.instructions()
    held_out = photos.held_out_instructions()
    for row in photos.rows():
        key = (row.dataset_id, *TASKS[row.task])
        assert len(trained[key]) >= 10 and len(held_out[key]) == 2
        assert not set(trained[key]) & set(held_out[key])
    assert {query for _, query, _ in trained} == set(Modality)


def test_a_missing_set_is_named(sets, tmp_path):
    data = shutil.copytree(sets, tmp_path / "data")
    shutil.rmtree(data / "visual7w")
    with pytest.raises(
        UserError, match="has no folder visual7w; the photo collection needs flickr8k, fashion"
    ):
        build_photo_collection(data, tmp_path / "c")
    (data / "visual7w").mkdir()
    with pytest.raises(UserError, match="visual7w contains no images"):
        build_photo_collection(data, tmp_path / "c")
    assert not (tmp_path / "c").exists()

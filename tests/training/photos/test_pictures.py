"""Names, families, near copies and splits of photographs."""

import numpy as np
import pytest

from genius.collections.sources import Record, read_source
from tests.training.photos.sets import write_picture, write_sets
from training.photos.pictures import arrange, dish_head, family, join, kind_and_category, near_copies, photo_name


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    return arrange(read_source(write_sets(tmp_path_factory.mktemp("sets")) / "photos"), {})


def test_brighter_and_darker_pictures_are_near_copies_and_mirrored_ones_are_not(tmp_path):
    rng = np.random.default_rng(0)
    one, two = rng.integers(0, 200, (2, 40, 40, 3), dtype=np.uint8)
    files = [
        write_picture(tmp_path / f"{n}.png", pixels)
        for n, pixels in enumerate((one, two, one + 30, one, two[::2, ::2]))
    ]
    assert near_copies(files)[:4] == [0, 1, 0, 0]


def test_groups_that_share_a_name_are_joined():
    assert join([0, 1, 0, 3, 4, 5], ["", "soup", "soup", "", "", ""]) == [0, 0, 0, 3, 4, 5]


def test_all_views_of_a_dish_are_in_one_split_and_one_of_them_is_only_a_query(photos):
    dishes = {}
    for photo in photos:
        if photo.set == "ffml_food":
            dishes.setdefault(photo.name, []).append(photo)
    assert any(own[0].split == "test" for own in dishes.values())
    for own in dishes.values():
        assert len({photo.split for photo in own}) == 1
        assert sum(photo.query_only for photo in own) == (own[0].split == "test")


def test_only_test_pictures_are_held_out_as_queries(photos):
    assert {photo.split for photo in photos if photo.query_only} == {"test"}
    assert {photo.split for photo in photos} == {"train", "val", "test"}


@pytest.mark.parametrize(
    ("name", "head", "kin"),
    [
        ("chocolate cake with walnuts", "chocolate cake", "cake"),
        ("pork sausages", "pork sausages", "meat"),
        ("beetroot and apple salad", "beetroot and apple salad", "salad"),
        ("samosa", "samosa", "burger"),
        ("brigadeiro", "brigadeiro", "other dish"),
    ],
)
def test_the_family_of_a_dish_follows_from_the_last_word_of_its_head(name, head, kin):
    assert dish_head(name) == head and family(name) == kin


@pytest.mark.parametrize(
    ("set_", "text", "name"),
    [
        ("clothing", "longsleeve for children", "long-sleeved shirt for children"),
        ("npc_animals", "Gila Monster", "gila monster"),
        ("pd_recipes", "dou_sha_bao", "dou sha bao"),
        ("gcompris", "le musee", "Louvre museum"),
    ],
)
def test_names_are_readable(set_, text, name):
    record = Record("1", "1.png", 1, captions=[text], attributes={"set": set_})
    assert photo_name(record) == name


def test_a_picture_with_captions_has_no_name():
    record = Record("1", "1.png", 1, captions=["a cat", "one cat"], attributes={"set": "coco_mini_ccby"})
    assert photo_name(record) == "" and kind_and_category(record) == ("scene", "scene")

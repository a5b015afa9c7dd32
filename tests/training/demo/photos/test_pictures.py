"""Names, families, near copies and splits of photographs, and the classes that a tower predicts."""

import numpy as np
import pytest
import torch

from genius.collections.sources import read_source
from tests.training.demo.photos.sets import write_picture, write_sets
from training.demo.photos import pictures
from training.demo.photos.pictures import (
    KEPT,
    arrange,
    dish_head,
    family,
    join,
    near_copies,
    predict,
)


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    return arrange([read_source(write_sets(tmp_path_factory.mktemp("sets")) / "photos")], {})


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


@pytest.mark.parametrize(
    ("name", "head", "kin"),
    [
        ("chocolate cake with walnuts", "chocolate cake", "cake"),
        ("pork sausages", "pork sausages", "meat"),
        ("brigadeiro", "brigadeiro", "other dish"),
    ],
)
def test_the_family_of_a_dish_follows_from_the_last_word_of_its_head(name, head, kin):
    assert dish_head(name) == head and family(name) == kin


class FakeTower(torch.nn.Module):
    """Class 1 of 12 for bright pictures, class 0 for dark ones."""

    def forward(self, pixels):
        bright = pixels.mean(dim=(1, 2, 3), keepdim=False)
        return torch.stack([-9 * bright, 9 * bright, *[bright * 0 - 20] * 10], dim=1)


def test_predictions_are_probabilities_by_class(tmp_path, monkeypatch):
    monkeypatch.setattr(pictures, "image_tower", lambda name: FakeTower())
    files = [
        write_picture(tmp_path / f"{shade}.png", np.full((4, 5, 3), shade, dtype=np.uint8))
        for shade in (0, 250, 9)
    ]
    found = predict({file.name.encode(): file for file in files})
    assert [
        max(found[file.name.encode()].items(), key=lambda each: each[1])[0] for file in files
    ] == [0, 1, 0]
    assert all(
        len(classes) == KEPT and sum(classes.values()) <= 1.0001 for classes in found.values()
    )

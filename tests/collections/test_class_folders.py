"""Folders that name what is in their pictures."""

import pytest

from genius.collections.building import build
from genius.collections.mbeir import Collection
from genius.collections.sources import read_source
from tests.collections.samples import photos


def said_of(root):
    return {record.image: record.attributes.get("category") for record in read_source(root).records}


def test_folders_are_categories_and_the_page_calls_pictures_by_them(tmp_path):
    root = photos(
        tmp_path / "pets", "dogs/rex.png", "dogs/lassie.png", "tabby_cat/1.png", "tabby_cat/2.png"
    )
    source = read_source(root)
    assert (
        said_of(root)["dogs/rex.png"] == "dogs" and said_of(root)["tabby_cat/1.png"] == "tabby cat"
    )
    assert any(
        "2 folders name what is in their pictures, as in dogs" in note for note in source.notes
    )
    list(build([str(root)], tmp_path / "collection"))
    sources = [item.source for item in Collection(tmp_path / "collection").all_candidates()]
    assert sum('"category": "dogs"' in source for source in sources) == 2


def test_the_folder_of_a_split_is_none(tmp_path):
    root = photos(
        tmp_path,
        *(
            f"{split}/{kind}/{n}.png"
            for split in ("train", "val")
            for kind in ("cat", "dog")
            for n in "12"
        ),
    )
    assert said_of(root)["val/dog/1.png"] == "dog"
    assert {record.image[:3]: record.split for record in read_source(root).records} == {
        "tra": "train",
        "val": "val",
    }


@pytest.mark.parametrize(
    "paths",
    [
        ("a.png", "dogs/1.png", "dogs/2.png", "cats/1.png", "cats/2.png"),  # one lies in no folder
        ("dogs/1.png", "dogs/2.png"),  # there is but one
        ("dogs/1.png", "dogs/2.png", "cats/1.png"),  # of which one holds a single picture
        (
            "DCIM/100CANON/1.png",
            "DCIM/100CANON/2.png",
            "DCIM/101CANON/1.png",
            "DCIM/101CANON/2.png",
        ),
        ("2019-05-03/1.png", "2019-05-03/2.png", "2019-05-04/1.png", "2019-05-04/2.png"),
        ("n01440764/1.png", "n01440764/2.png", "n01443537/1.png", "n01443537/2.png"),
    ],
)
def test_other_folders_say_nothing(tmp_path, paths):
    assert set(said_of(photos(tmp_path, *paths)).values()) == {None}


def test_texts_of_ones_own_say_more(tmp_path):
    root = photos(tmp_path, "dogs/1.png", "dogs/2.png", "cats/1.png", "cats/2.png")
    (root / "dogs/1.txt").write_text("My dog Rex.", encoding="utf-8")
    assert set(said_of(root).values()) == {None}

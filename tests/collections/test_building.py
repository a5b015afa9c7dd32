"""Folders become a collection: splits, names, and what is refused."""

import os
from collections import defaultdict
from pathlib import Path

import pytest

from genius.collections.building import build, named
from genius.collections.checker import Checker
from genius.collections.layout import SPLITS
from genius.collections.mbeir import Collection
from genius.errors import UserError
from genius.files import describe
from genius.schema import Modality
from tests.collections.built import built
from tests.collections.samples import photos, write_source, written


def many(count: int = 300, **fields) -> list[dict]:
    return [
        {"img_path": f"{number}.png", "captions": [f"c{number}", f"c{number % 50} too"], **fields}
        for number in range(count)
    ]


@pytest.fixture(scope="module")
def undivided(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undivided")
    shades = {f"{number}.png": number % 256 for number in range(300)}  # the last 44 repeat others
    return built(folder, many(), shades=shades)


def test_without_a_split_a_tenth_each_becomes_validation_and_test(undivided):
    images = {
        split: sum(undivided.items[did].modality is Modality.IMAGE for did in pool)
        for split, pool in undivided.pools.items()
    }
    assert sum(images.values()) == 300
    assert 15 <= images["val"] <= 45 and 15 <= images["test"] <= 45


def test_no_training_or_validation_query_has_a_test_item_as_positive(undivided):
    for split, known in (
        ("train", undivided.pools["train"]),
        ("val", undivided.pools["train"] | undivided.pools["val"]),
    ):
        for query in undivided.collection.queries(split):
            assert query.positives and set(query.positives) <= known
    for split in SPLITS:
        for query in undivided.collection.queries(split):
            assert set(query.positives) & undivided.pools[split]


def test_identical_images_are_in_the_same_split(undivided):
    splits = defaultdict(set)
    for split, pool in undivided.pools.items():
        for did in pool:
            if (image := undivided.items[did].image) is not None:
                splits[undivided.collection.image_path(image).read_bytes()].add(split)
    assert all(len(of_image) == 1 for of_image in splits.values())


def test_a_tenth_of_training_is_validation_unless_the_source_has_validation(tmp_path):
    result = built(tmp_path, many(split="train"))
    assert 15 <= len([did for did in result.pools["val"] if result.items[did].image]) <= 45
    own = {"img_path": "v.png", "captions": ["v1", "v2"], "split": "val"}
    result = built(tmp_path / "own", [*many(split="train"), own])
    assert len([did for did in result.pools["val"] if result.items[did].image]) == 1


def test_the_same_sources_give_the_same_bytes(tmp_path):
    source = write_source(tmp_path / "zoo", many(40))
    for name in ("one", "two"):
        build([str(source)], tmp_path / name)
    assert describe(tmp_path / "one") == describe(tmp_path / "two")


def test_images_alone_are_a_pool_in_every_split_without_queries(tmp_path):
    folder = photos(tmp_path / "photos", *(f"{number}.png" for number in range(30)))
    (row,) = build([f"my photos={folder}"], tmp_path / "built")
    collection = Collection(tmp_path / "built")
    assert row.task is None and row.queries.total() == 0
    assert row.dataset == "my_photos" and row.candidates == 30
    assert len(list(collection.all_candidates())) == 30 and collection.rows() == []
    assert [len(list(collection.candidates(f"union_{split}"))) for split in SPLITS] == [30, 30, 30]
    assert collection.dataset_name(0) == "my_photos"
    assert all(len(texts) >= 4 for texts in collection.instructions().values())


def test_images_that_cannot_be_read_are_left_out_of_a_folder_without_a_table(tmp_path):
    folder = photos(tmp_path / "photos", "0.png", "2.png")
    written(folder, {"1.png": b"text", "3.png": b""})
    (row,) = build([str(tmp_path / "photos")], tmp_path / "built")
    items = Collection(tmp_path / "built").all_candidates()
    assert {item.image for item in items} == {"images/photos/0.png", "images/photos/2.png"}
    assert "2 files: unreadable; the first: " in str(row)
    assert "1.png is not a readable PNG" in str(row)
    assert (tmp_path / "built" / "files.tsv").read_text(encoding="utf-8").count("unreadable") == 2
    for name in ("0.png", "2.png"):
        (folder / name).unlink()
    with pytest.raises(UserError, match="1.png is not a readable PNG"):
        build([str(tmp_path / "photos")], tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_each_image_is_read_once_and_what_was_checked_is_copied(tmp_path, monkeypatch):
    folder = photos(tmp_path / "photos", "0.png", "1.png", "2.png")
    read = []
    read_bytes = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda file: read.append(file.name) or read_bytes(file))
    build([str(folder)], tmp_path / "collection")
    assert sorted(name for name in read if name.endswith(".png")) == ["0.png", "1.png", "2.png"]


def test_datasets_are_numbered_in_the_order_given(tmp_path):
    sources = [
        write_source(tmp_path / name, [{"img_path": "images/x.png", "txt": name, "split": "test"}])
        for name in ("birds", "Old Cars!")
    ]
    rows = build([str(source) for source in sources], tmp_path / "built")
    collection = Collection(tmp_path / "built")
    assert [collection.dataset_name(number) for number in (0, 1)] == ["birds", "old_cars"]
    images = {item.image for item in collection.all_candidates() if item.image}
    assert images == {"images/birds/x.png", "images/old_cars/x.png"}
    expected = [(name, task, 1) for name in ("birds", "old_cars") for task in (0, 3)]
    assert [(row.dataset, row.task, row.queries["test"]) for row in rows] == expected


@pytest.mark.parametrize(
    "spoil, says",
    [
        (lambda folder: (folder / "b.png").unlink(), "manifest.jsonl:2: 'b.png' is missing"),
        (
            lambda folder: (folder / "b.png").write_bytes(b"text"),
            "manifest.jsonl:2: b.png is not a readable PNG",
        ),
        (lambda folder: (folder / "b.png").write_bytes(b""), "manifest.jsonl:2: b.png is empty"),
    ],
)
def test_a_picture_of_a_table_that_is_missing_or_broken_is_said_and_its_text_is_kept(
    tmp_path, spoil, says
):
    source = write_source(
        tmp_path / "zoo", [{"img_path": f"{name}.png", "txt": name} for name in "ab"]
    )
    spoil(source)
    with pytest.raises(UserError) as caught:
        build([str(source)], tmp_path / "built", benchmark=True)
    assert says in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["zoo"]
    *_, row = build([str(source)], tmp_path / "built")
    assert says.split(": ")[1].partition(" ")[0] in str(row)
    assert not list(Checker(tmp_path / "built").problems())
    items = {(item.text, item.image) for item in Collection(tmp_path / "built").all_candidates()}
    assert items == {("", "images/zoo/a.png"), ("a", None), ("b", None)}


def test_a_link_to_itself_is_refused(tmp_path):
    source = write_source(tmp_path / "zoo", [{"img_path": "a.png", "txt": "a"}])
    (source / "a.png").unlink()
    for link in (source / "a.png", tmp_path / "loop"):
        link.symlink_to(link)
    with pytest.raises(UserError, match=r"manifest\.jsonl:1: a\.png cannot be read"):
        build([str(source)], tmp_path / "built")
    with pytest.raises(UserError, match="loop cannot be read"):
        build([str(tmp_path / "loop")], tmp_path / "built")


def test_conflicting_sources_and_destinations_are_refused(tmp_path):
    source = str(write_source(tmp_path / "zoo", [{"img_path": "a.png", "txt": "a"}]))
    assert named(str(tmp_path / "Фото")) == ("photos", tmp_path / "Фото")
    unnamed = "gives no dataset name of letters a to z, digits and _; write NAME=FOLDER"
    for sources, destination, says in (
        ([source, source], "built", "two sources have the name 'zoo'; rename one"),
        ([source], "zoo/built", "lies inside the source"),
        ([f"!!!={source}"], "built", unnamed),
        (["zoo="], "built", "'zoo=' names no folder; write FOLDER or NAME=FOLDER"),
    ):
        with pytest.raises(UserError, match=says):
            build(sources, tmp_path / destination)


def test_a_class_id_that_is_a_list_is_an_ordinary_attribute(tmp_path):
    made = built(
        tmp_path, [{"img_path": "a.png", "kind": "iconic", "class_id": ["x"], "split": "train"}]
    )
    assert made.tasks == [0]


def test_natural_images_without_iconic_ones_are_refused(tmp_path):
    record = {"img_path": "a.png", "kind": "natural", "class_id": 1}
    source = write_source(tmp_path / "zoo", [record])
    says = "zoo gives no candidates; natural images need iconic images"
    with pytest.raises(UserError, match=says):
        build([str(source)], tmp_path / "built", benchmark=True)
    assert not (tmp_path / "built").exists()


def test_a_file_name_that_is_not_utf8_is_left_out(tmp_path):
    folder = photos(tmp_path / "photos", "good.png", os.fsdecode(b"bad\xff.png"))
    (row,) = build([str(folder)], tmp_path / "built")
    assert row.candidates == 1 and "the file name is not UTF-8" in str(row)

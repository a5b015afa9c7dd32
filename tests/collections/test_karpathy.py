"""Karpathy's splits become records, and a collection with the queries of their test part."""

import json

import pytest
from PIL import Image

from genius.collections.building import build
from genius.collections.mbeir import Collection
from genius.collections.sources import read_source
from genius.errors import UserError

SPLITS = ("train", "restval", "val", "test")


def written(folder, change=lambda content: content):
    (folder / "val2014").mkdir(parents=True)
    images = []
    for number in range(12):
        name = f"COCO_{number:03}.jpg"
        Image.new("RGB", (8, 8), (20 * number, 0, 0)).save(folder / "val2014" / name)
        images.append(
            {
                "filepath": "val2014",
                "filename": name,
                "imgid": number,
                "cocoid": 100 + number,
                "split": SPLITS[number % 4],
                "sentences": [
                    {"raw": f"Thing {number}, said {way}.", "tokens": ["thing"]} for way in range(5)
                ],
            }
        )
    (folder / "dataset_coco.json").write_text(
        json.dumps(change({"images": images, "dataset": "coco"}))
    )
    return folder


def test_every_image_has_its_captions_and_its_split(tmp_path):
    source = read_source(written(tmp_path / "coco"))
    assert [record.split for record in source.records] == ["train", "train", "val", "test"] * 3
    assert source.records[5].image == "val2014/COCO_005.jpg"
    assert source.records[5].captions == [f"Thing 5, said {way}." for way in range(5)]


def test_names_without_a_folder_are_found_where_the_images_are(tmp_path):
    def flat(content):
        for image in content["images"]:
            del image["filepath"]
        return content

    assert (
        read_source(written(tmp_path / "flickr", flat)).records[0].image == "val2014/COCO_000.jpg"
    )


def test_a_file_of_another_name_is_known_by_its_form(tmp_path):
    known = read_source(written(tmp_path / "known")).records
    folder = written(tmp_path / "photos")
    (folder / "dataset_coco.json").rename(folder / "dataset_mine.json")
    found = read_source(folder).records
    assert [(record.image, record.captions, record.split) for record in found] == [
        (record.image, record.captions, record.split) for record in known
    ]


def test_the_test_part_becomes_test_queries_of_captions_and_images(tmp_path):
    build([str(written(tmp_path / "coco"))], tmp_path / "made", benchmark=True)
    collection = Collection(tmp_path / "made")
    by_task = {}
    for query in collection.queries("test"):
        by_task.setdefault(query.task, []).append(query)
    # five captions of three images, and the images
    assert len(by_task[0]) == 15 and len(by_task[3]) == 3
    assert {len(query.positives) for query in by_task[3]} == {4}  # one caption asks for the others


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: [], "layout of Karpathy"),
        (lambda content: {"images": 3}, "layout of Karpathy"),
        (lambda content: {"images": [{"filename": "a.jpg", "split": "train"}]}, "sentences"),
        (
            lambda _: {"images": [{"filename": "../a.jpg", "split": "train", "sentences": []}]},
            "leaves the folder",
        ),
        (
            lambda content: {"images": [{"filename": "a.jpg", "split": "dev2", "sentences": []}]},
            "dev2",
        ),
    ],
)
def test_another_layout_is_refused_with_the_file(tmp_path, change, message):
    with pytest.raises(UserError, match=message) as refused:
        read_source(written(tmp_path / "coco", change))
    assert "dataset_coco.json" in str(refused.value)


def test_a_table_of_the_folder_is_preferred(tmp_path):
    folder = written(tmp_path / "coco")
    (folder / "manifest.jsonl").write_text('{"image": "val2014/COCO_001.jpg", "txt": "mine"}\n')
    assert [record.captions for record in read_source(folder).records] == [["mine"]]

"""Annotations of pictures: captions are texts, names of what is marked an attribute, and numbers
are neither.
"""

import json
from itertools import pairwise

import pytest

from tests.collections.built import captions_of, read

YOLO = "1 0.485 0.334 0.253 0.059\n0 0.5 0.5 0.1 0.1\n1 0.1 0.1 0.1 0.1\n"
SEGMENTS = "1 0.1 0.1 0.2 0.1 0.2 0.2\n0 0.1 0.1 0.2 0.1 0.2 0.2 0.1 0.2\n"
KITTI = "cat 0.00 0 -1.57 599.41 156.40 629.75 189.25 2.85 2.63 12.34 0.47 1.49 69.44 -1.56\n"
KITTI += KITTI.replace("cat", "dog") + KITTI.replace("cat", "DontCare")
DOTA = (
    "imagesource:GoogleEarth\ngsd:0.146\n2753 2408 2861 2385 2888 2468 2805 2502 cat 0\n1 2 3 "
    "4 5 6 7 8 dog 1\n"
)
VOC = "<annotation><object><name>cat</name></object><object><name>dog</name></object></annotation>"
LABELME = json.dumps(
    {"imagePath": "a.jpg", "shapes": [{"label": "cat", "points": [[1, 2]]}, {"label": "dog"}]}
)
NAMES = ["dog", "cat"]
SAID = "are annotations of boxes or shapes in pictures, no captions"


def objects_of(source):
    return {record.image: record.attributes.get("objects", []) for record in source.records}


@pytest.mark.parametrize(
    "picture, files",
    [
        ("a.jpg", {"a.txt": YOLO, "classes.txt": "dog\ncat\n"}),
        ("a.jpg", {"a.jpg.txt": YOLO, "obj.names": "dog\r\ncat\r\n"}),
        ("a.jpg", {"a.txt": YOLO, "classes.txt": "d\nc\n", "data.yaml": "names: [dog, cat]\n"}),
        ("a.jpg", {"a.txt": SEGMENTS, "classes.txt": "\ufeffdog\ncat\n"}),
        ("a.jpg", {"a.txt": KITTI}),
        ("a.jpg", {"a.txt": DOTA}),
        ("a.jpg", {"a.xml": VOC}),
        ("a.jpg", {"a.json": LABELME}),
        (
            "images/train/a.jpg",
            {"labels/train/a.txt": YOLO, "data.yaml": "path: .\nnames:\n  0: dog\n  1: cat\n"},
        ),
        (
            "train/images/a.jpg",
            {"train/labels/a.txt": YOLO, "data.yaml": "nc: 2\nnames: ['dog', 'cat']\n"},
        ),
        ("images/images/a.jpg", {"images/labels/a.txt": YOLO, "data.yml": "names: [dog, cat]\n"}),
        ("x/JPEGImages/a.jpg", {"x/Annotations/a.xml": VOC}),
        ("training/image_2/a.png", {"training/label_2/a.txt": KITTI}),
    ],
)
def test_what_boxes_mark_becomes_an_attribute_and_their_numbers_no_caption(
    tmp_path, picture, files
):
    source = read(tmp_path, [picture, "b.jpg"], files)
    found = {image: sorted(names) for image, names in objects_of(source).items()}
    assert found == {picture: ["cat", "dog"], "b.jpg": []}
    assert not any(record.captions for record in source.records)
    assert any(SAID in note for note in source.notes)
    assert {report.file for report in source.others if report.outcome == "used"} == set(files)


def test_boxes_without_names_are_said_to_need_them_and_empty_files_are_no_captions(tmp_path):
    files = {"a.txt": YOLO, "b.txt": "", "c.txt": "\ufeffa cat\n", "d.caption": "a dog\n"}
    source = read(tmp_path, ["a.jpg", "b.jpg", "c.jpg", "d.jpg"], files)
    assert list(captions_of(source).values()) == [[], [], ["a cat"], ["a dog"]]
    assert not any(objects_of(source).values())
    said = "1 give no names: write those of the classes into classes.txt"
    assert f"1 files (.txt 1) {SAID}; {said}" in source.notes[0]
    assert source.notes[1] == "2 text files beside images are their captions"


@pytest.mark.parametrize(
    "text",
    [
        "1 2 3\n",
        "Route 66 in 1999",
        "0 0.1 0.1 0.1 0.1\na cat\n",
        "Ann 1 2 3 4 5 6 7",
        "684,8,27,11\n",
    ],
)
def test_captions_with_numbers_stay_captions(tmp_path, text):
    source = read(tmp_path, ["a.jpg"], {"a.txt": text})
    assert captions_of(source) == {"a.jpg": [" ".join(text.split())]}


def test_boxes_whose_first_number_is_no_class_name_nothing(tmp_path):
    files = {"a.txt": "1,8,273,116,0,0,0,0\n", "b.txt": "1 8 273 116 20\n"}
    source = read(tmp_path, ["a.jpg", "b.jpg"], files | {"classes.txt": "dog\ncat\n"})
    assert not any(record.attributes or record.captions for record in source.records)


# ten times the line before, twelve times over
ALIASES = "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
for _old, _new in pairwise("abcdefghijklm"):
    ALIASES += f"{_new}: &{_new} [{','.join([f'*{_old}'] * 10)}]\n"
ALIASES += "names: *m\n"


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "name, content",
    [
        ("data.yaml", ALIASES),
        ("data.yaml", "[" * 9_000),
        ("data.yaml", "- a\n- b\n"),
        ("a.json", "[" * 100_000),
        ("a.json", '{"shapes": 3}'),
        ("a.xml", "<annotation><object>"),
        (
            "a.xml",
            f'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>{VOC.replace("cat", "&x;")}',
        ),
        ("c.json", '{"images": 3, "annotations": []}'),
        (
            "c.json",
            '{"images": [{"id": 1, "file_name": "/etc/passwd"}],'
            '"annotations":[{"image_id":1,"caption":"x"}]}',
        ),
    ],
)
def test_annotations_of_a_stranger_do_no_harm(tmp_path, name, content):
    first, second = read(tmp_path, ["a.jpg", "b.jpg"], {name: content, "b.txt": YOLO}).records
    assert not (first.captions or first.attributes or second.captions or second.attributes)


def coco(first=100, **annotation):
    """Two pictures with two annotations each."""
    images = [
        {"id": number, "file_name": f"{number:012}.jpg", "width": 8}
        for number in (first, first + 1)
    ]
    marks = [{"id": n, "image_id": i["id"], **annotation} for i in images for n in range(2)]
    return {
        "info": {},
        "images": images,
        "annotations": marks,
        "categories": [{"id": 7, "name": "boat"}],
    }


def test_captions_of_coco_are_texts_and_categories_an_attribute(tmp_path):
    names = [f"images/val2017/{number:012}.jpg" for number in (100, 101)]
    captions = coco(caption=" a drawn\nshape")
    captions["annotations"][1]["caption"] = "another"
    captions["images"].append({"id": 5, "file_name": "gone.jpg"})
    files = {
        "annotations/captions_val2017.json": json.dumps(captions),
        "annotations/instances_val2017.json": json.dumps(coco(category_id=7, bbox=[1, 2, 3, 4])),
    }
    source = read(tmp_path, [*names, "other.jpg"], files)
    assert list(captions_of(source).values()) == [
        ["a drawn shape", "another"],
        ["a drawn shape"],
        [],
    ]
    assert objects_of(source) == {names[0]: ["boat"], names[1]: ["boat"], "other.jpg": []}
    said = "COCO's annotations: captions of 2 pictures; 1 pictures are not here"
    assert f"annotations/captions_val2017.json: {said}" in source.notes
    assert all(record.split is None for record in source.records)


@pytest.mark.parametrize(
    "name", ["{}/_annotations.coco.json", "annotations/instances_{}2017.json", "{}.json"]
)
def test_files_of_coco_for_parts_give_the_splits_of_their_pictures(tmp_path, name):
    parts = {"train": 100, "val": 200}
    pictures = [f"{part}/{number:012}.jpg" for part, number in parts.items()]
    files = {name.format(part): json.dumps(coco(at, category_id=7)) for part, at in parts.items()}
    records = read(tmp_path, pictures, files).records
    assert [record.split for record in records] == ["train", "val"]
    assert all(record.attributes == {"objects": ["boat"]} for record in records)


@pytest.mark.parametrize(
    "form", ["../images/{}", "{}", "images/{}", "..\\images\\{}", "/data/images/{}"]
)
def test_names_in_files_of_coco_are_found_from_their_folder_and_from_the_source(tmp_path, form):
    content = coco(category_id=7)
    pictures = [f"images/{image['file_name']}" for image in content["images"]]
    for image in content["images"]:
        image["file_name"] = form.format(image["file_name"])
    source = read(tmp_path, pictures, {"annotations/a.json": json.dumps(content)})
    assert objects_of(source) == {picture: ["boat"] for picture in pictures}


PETS = ["dogs/rex.png", "dogs/lassie.png", "tabby_cat/1.png", "tabby_cat/2.png"]


def categories_of(source):
    return [record.attributes.get("category") for record in source.records]


def test_folders_are_categories_and_those_of_splits_are_none(tmp_path):
    source = read(tmp_path / "pets", PETS)
    assert categories_of(source) == ["dogs"] * 2 + ["tabby cat"] * 2
    said = "2 folders name what is in their pictures, as in dogs"
    assert any(said in note for note in source.notes)
    parts = read(
        tmp_path / "parts", [f"{part}/{name}" for part in ("train", "val") for name in PETS]
    )
    assert categories_of(parts) == categories_of(source) * 2
    assert [record.split for record in parts.records] == ["train"] * 4 + ["val"] * 4


@pytest.mark.parametrize(
    "paths",
    [
        ["a.png", *PETS],  # one lies in no folder
        PETS[:2],  # there is but one
        PETS[:3],  # of which one holds a single picture
        [f"DCIM/10{n}CANON/{name}.png" for n in "01" for name in "12"],
        [f"2019-05-0{n}/{name}.png" for n in "34" for name in "12"],
        [f"n0144{n}/{name}.png" for n in "34" for name in "12"],
    ],
)
def test_other_folders_say_nothing(tmp_path, paths):
    assert set(categories_of(read(tmp_path, paths))) == {None}


def test_texts_of_ones_own_say_more_than_folders(tmp_path):
    assert set(categories_of(read(tmp_path, PETS, {"dogs/rex.txt": "My dog Rex."}))) == {None}

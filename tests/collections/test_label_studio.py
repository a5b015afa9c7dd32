"""Exports of Label Studio are tables: what was chosen and written is kept, boxes and notes on the
work are not.
"""

import csv
import json

import pytest

from genius.collections.building import build
from genius.collections.sources import read_source
from tests.collections.samples import photos

BOXES = [
    {"x": 1.5, "y": 2, "width": 3, "height": 4, "rotation": 0, "rectanglelabels": [name]}
    for name in ("Dog", "Car")
]
WORK = {
    "annotation_id": 1,
    "annotator": 1,
    "created_at": "2026",
    "updated_at": "2026",
    "lead_time": 2.5,
}


def result(kind, name, value):
    return {"id": "x", "type": kind, "from_name": name, "to_name": "image", "value": value}


RESULTS = [
    result("choices", "choice", {"choices": ["cat"]}),
    *(result("rectanglelabels", "label", box) for box in BOXES),
    result("textarea", "words", {"text": ["a cat on a mat"]}),
    result("rating", "stars", {"rating": 4}),
    result(
        "polygonlabels",
        "outline",
        {"points": [[1, 2], [3, 4]], "closed": True, "polygonlabels": ["tail"]},
    ),
]
TASK = {"id": 7, "data": {"image": "/data/upload/1/7f3a2b1c-a.jpg", "shop": "north"}, "meta": {}}
TASK |= {
    "annotations": [
        {"id": 1, "result": RESULTS},
        {"was_cancelled": True, "result": RESULTS[:1]},
        None,
    ]
}
MINIMAL = {
    "id": 7,
    "image": "/data/upload/1/7f3a2b1c-a.jpg",
    "shop": "north",
    "choice": "cat",
    "label": BOXES,
    **WORK,
}
MINIMAL |= {
    "caption": "a cat on a mat",
    "outline": [{"points": [[1, 2]], "polygonlabels": ["tail"]}],
    "stars": 4,
}


@pytest.mark.parametrize("form", ["tasks.json", "minimal.json", "export.csv"])
def test_answers_are_attributes_and_texts_and_boxes_are_their_labels(tmp_path, form):
    folder = photos(tmp_path / "x", "pets/a.jpg", "pets/b.jpg")
    if form == "export.csv":
        with (folder / form).open("w", newline="") as stream:
            writer = csv.DictWriter(stream, MINIMAL)
            writer.writeheader()
            writer.writerow(
                {
                    name: json.dumps(cell) if isinstance(cell, list) else cell
                    for name, cell in MINIMAL.items()
                }
            )
    else:
        (folder / form).write_text(json.dumps([TASK if form == "tasks.json" else MINIMAL]))
    source = read_source(folder)
    (record,) = source.records
    assert (record.id, record.image, record.captions) == ("7", "pets/a.jpg", ["a cat on a mat"])
    assert str(record.attributes.pop("stars")) == "4"
    assert record.attributes == {
        "shop": "north",
        "choice": "cat",
        "label": ["Dog", "Car"],
        "outline": "tail",
    }
    assert [
        report.file for report in source.others if report.outcome == "not named by the table"
    ] == ["pets/b.jpg"]
    build([f"x={folder}"], tmp_path / "built")


def test_tasks_of_which_some_have_no_answer_are_read(tmp_path):
    folder = photos(tmp_path / "x", "a.jpg", "b.jpg")
    tasks = [TASK, {"id": 8, "data": {"image": "s3://bucket/b.jpg"}, "annotations": []}]
    (folder / "project.json").write_text(json.dumps(tasks))
    assert [record.image for record in read_source(folder).records] == ["a.jpg", "b.jpg"]


def test_what_is_nested_deeply_is_left_out(tmp_path):
    folder = photos(tmp_path / "x", "a.jpg")
    deep = json.loads("[" * 400 + '"x"' + "]" * 400)
    (folder / "project.json").write_text(
        json.dumps([{**TASK, "annotations": [{"result": [result("choices", "c", deep)]}]}])
    )
    (record,) = read_source(folder).records
    assert record.attributes == {"shop": "north"}

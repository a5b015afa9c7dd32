"""training/demo/benchmarks/asking.py on a tiny run and made-up sets."""

from functools import partial

import pytest
import torch

from genius.errors import UserError
from genius.models.reader import Reader, ReaderConfig
from genius.reports import Report
from genius.run import BUILT_FROM
from tests.collections.samples import write_source
from tests.search.tiny import publish_tiny_run
from training.data.requests import Phrasing
from training.demo.benchmarks import asking


@pytest.fixture
def data(tmp_path):
    objects = [
        {"img_path": f"{n}.png", "txt": "kite", "attributes": {"class": n}} for n in range(3)
    ]
    write_source(tmp_path / "objects", objects)
    write_source(
        tmp_path / "flickr8k", [{"img_path": "0.png", "captions": ["A red boat on a lake"]}]
    )
    scene = {
        "img_path": "1.png",
        "captions": ["a street with cars"],
        "attributes": {"category": "road"},
    }
    write_source(tmp_path / "scenes", [scene])
    return tmp_path


def test_kinds_things_and_what_is_left_out_are_measured(tmp_path, data, monkeypatch):
    run = publish_tiny_run(tmp_path / "run")
    with pytest.raises(UserError, match="has no reader; train one"):
        asking.main([str(run.path), str(data), "--device", "cpu"])
    torch.manual_seed(0)
    reader = Reader(ReaderConfig(32, 4))
    run.publish("reader", partial(reader.save, half=True), tuple(sorted(BUILT_FROM["reader"])))
    ways = [
        (True, "entry", "what is it"),
        (False, "photo", "show [{name}]"),
        (True, "similar", "more"),
    ]
    phrasings = [Phrasing("own", *way) for way in ways]
    monkeypatch.setattr(Phrasing, "is_held_out", True)
    monkeypatch.setattr(asking, "read_phrasings", lambda: phrasings)
    asking.main([str(run.path), str(data), "--device", "cpu"])
    kinds, named, left_out = Report.load(run.path / "reports" / "asking.json").tables
    assert [row[:2] for row in kinds.rows] == [
        ["all", 3],
        ["entry, with a picture", 1],
        ["photo, without a picture", 1],
        ["similar, with a picture", 1],
    ]
    assert all(0 <= share <= 1 for row in kinds.rows for share in row[2:])
    assert named.rows[0][:2] == ["what it is", 1] and left_out.rows[0][:2] == ["all", "35 pairs"]


def test_the_texts_of_a_picture_are_its_captions_and_labels(data):
    assert asking.texts_of_pictures(data) == {"1.png": "a street with cars road"}

"""The five real sets as one collection: rows, splits and sizes that can be known beforehand."""

import json
import os
from pathlib import Path

import pytest

from genius.collections.building import build
from genius.collections.checker import Checker
from genius.collections.layout import SPLITS, TASKS
from genius.collections.mbeir import Collection

SETS = ("flickr8k", "fashion", "grocery", "visual7w", "emoji")
DATA = os.environ.get("GENIUS_DATA")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not DATA, reason="GENIUS_DATA is not set: no real sets here")]


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    root = tmp_path_factory.mktemp("real") / "collection"
    build([str(Path(DATA) / name) for name in SETS], root, benchmark=True)
    return Collection(root)


def test_all_eight_tasks_occur_in_at_least_ten_rows(collection):
    rows = collection.rows()
    assert len(rows) >= 10 and {row.task for row in rows} == set(TASKS)
    assert all(row.splits == SPLITS for row in rows)


def test_the_checker_finds_no_problem(collection):
    assert list(Checker(collection.root).problems()) == []


def test_the_official_split_is_kept_and_validation_comes_from_training(collection):
    official = {}
    for line in (Path(DATA) / "flickr8k" / "manifest.jsonl").read_text().splitlines():
        record = json.loads(line)
        official[record["id"]] = record["split"]
    seen = {split: set() for split in SPLITS}
    for split in SPLITS:
        for item in collection.candidates(f"union_{split}"):
            if item.image and item.id.startswith("0:"):
                seen[split].add(json.loads(item.source)["id"])
    assert seen["test"] == {name for name, split in official.items() if split == "dev"}
    assert seen["train"] | seen["val"] == {name for name, split in official.items() if split == "train"}
    assert not seen["train"] & seen["val"] and 500 < len(seen["val"]) < 700

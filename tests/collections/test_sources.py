"""What a source is: a folder, a table or nothing that can be read; and the pairs beside it."""

import os
from pathlib import Path

import pytest

from genius.collections.building import build
from genius.collections.sources import ComposedPair
from genius.errors import UserError
from tests.collections.built import captions_of, read
from tests.collections.samples import json_lines, photos, written


def test_a_folder_without_a_table_is_its_images(tmp_path):
    source = read(tmp_path, ["a.png", "b.png"], {"deep/er/c.JPG": b"", "notes.txt": "no image"})
    assert captions_of(source) == {"a.png": [], "b.png": [], "deep/er/c.JPG": []}
    assert source.table is None


def test_a_source_that_is_missing_or_closed_or_one_file_says_so_and_what_to_do(
    tmp_path, monkeypatch
):
    folder = photos(tmp_path / "x", "1.png")
    written(tmp_path, dict.fromkeys(("a.7z", "a.tar.gz", "notes.docx"), b"PK"))
    (tmp_path / "empty").mkdir()
    for source, said in {
        "gone": "gone is missing; name a folder of images, or a table",
        "empty": "contains no images",
        "x/1.png": "1.png is not a folder; name the folder that holds it",
        "a.7z": "a.7z is not a folder; unpack it, and name the folder with its files",
        "a.tar.gz": "contains no images; .*; a.tar.gz is damaged",
        "notes.docx": "notes.docx is not a folder; name a folder of images, or a table of them",
    }.items():
        with pytest.raises(UserError, match=said):
            build([str(tmp_path / source)], tmp_path / "built")
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != folder)
    closed = "x cannot be read .Permission denied.; name one that you may read"
    with pytest.raises(UserError, match=closed):
        build([str(folder)], tmp_path / "built")


def manifest(*lines: dict) -> dict[str, str]:
    """Two records, and the lines of the pairs."""
    records = [{"id": name, "img_path": f"{name}.png"} for name in "ab"]
    return {"manifest.jsonl": json_lines(records), "cir_pairs.jsonl": json_lines(lines)}


GOOD = {"query_id": "a", "txt": "in blue", "target_id": "b"}


def test_composed_pairs_are_read_next_to_the_manifest(tmp_path):
    source = read(tmp_path, ["a.png", "b.png"], manifest(GOOD))
    assert source.pairs == [ComposedPair("a", "in blue", "b", 1)]


@pytest.mark.parametrize(
    "pair, says",
    [
        ({"query_id": "a"}, "expected query_id, txt and target_id"),
        (GOOD | {"txt": 1}, "expected query_id, txt and target_id"),
        (GOOD | {"txt": " "}, "txt is empty"),
        (GOOD | {"target_id": "z"}, "the id 'z' is not in the table of this folder"),
    ],
)
def test_a_bad_composed_pair_is_named_by_file_and_line(tmp_path, pair, says):
    with pytest.raises(UserError, match=rf"cir_pairs\.jsonl:2: {says}"):
        read(tmp_path, ["a.png", "b.png"], manifest(GOOD, pair))

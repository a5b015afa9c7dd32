"""Writing an M-BEIR directory: what is written is read back, and it appears whole or not at all."""

from pathlib import Path

import pytest

from genius.collections.checker import Checker
from genius.collections.mbeir import BenchmarkRow, Collection
from genius.collections.writer import new_collection
from genius.errors import UserError
from genius.schema import Item, LabeledQuery, Modality
from tests.collections.samples import picture

ITEMS = [
    Item("3:1", Modality.IMAGE, "", "images/a.png", '{"colour": "red"}'),
    Item("3:2", Modality.TEXT, 'é "\u2028\t'),
    Item("3:3", Modality.PAIR, "both", "images/a.png"),
]
QUERY = LabeledQuery(
    "3:1", Modality.TEXT, 0, "line\nbreak", None, ("3:1", "3:3"), ("3:2",), '{"n": 1}'
)


def write(destination: Path) -> None:
    with new_collection(destination) as writer:
        writer.image("images/a.png", picture(1))
        for item in ITEMS:
            writer.candidate(item, "toys", [0], ["train", "test"])
        writer.query(QUERY, "toys", "test")
        for modality in Modality:
            writer.instructions(3, "toys", Modality.TEXT, modality, ["Find it.", "Where is it?"])


def test_written_records_are_read_back_unchanged(tmp_path):
    write(tmp_path / "new" / "toys")
    collection = Collection(tmp_path / "new" / "toys")
    row = BenchmarkRow(3, 0, "toys", ("test",))
    assert collection.rows() == [row]
    assert list(collection.local_pool(row)) == list(collection.all_candidates()) == ITEMS
    assert list(collection.queries("test", row)) == [QUERY]
    assert "union_val" not in collection.pools()  # no candidate is in the validation split
    assert collection.instructions()[3, Modality.TEXT, Modality.PAIR] == [
        "Find it.",
        "Where is it?",
    ]
    assert collection.image_path("images/a.png").read_bytes() == picture(1)
    assert list(Checker(collection.root).problems()) == []


def test_the_destination_must_be_missing_or_empty(tmp_path):
    (tmp_path / "empty").mkdir()
    write(tmp_path / "empty")
    before = sorted((tmp_path / "empty").rglob("*"))
    with pytest.raises(UserError, match="exists and is not empty"):
        write(tmp_path / "empty")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UserError, match="exists and is not empty"):
        write(tmp_path / "file")
    assert sorted((tmp_path / "empty").rglob("*")) == before
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"


def test_the_destination_may_be_the_working_directory(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    write(Path())
    assert Collection(tmp_path / "here").root.is_dir() and list((tmp_path / "here").iterdir())


def test_a_failure_leaves_nothing_behind(tmp_path):
    with pytest.raises(ZeroDivisionError), new_collection(tmp_path / "toys") as writer:
        writer.candidate(ITEMS[1], "toys", [0], ["train"])
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_destination_is_named_in_the_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="toys cannot be written"):
        write(tmp_path / "file" / "toys")

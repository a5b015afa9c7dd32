"""The command that makes the shipped run of photographs."""

import shutil
from dataclasses import replace

import pytest

from genius.errors import UserError
from genius.run import EXTRAS, PARTS, Run
from tests.training.quick_maps import lay_out_by_principal_components
from tests.training.tiny import TINY
from training.photos import __main__ as command
from training.photos.phrasings import PHRASINGS
from training.settings import IndexSettings


def test_a_destination_that_is_not_a_run_is_refused_before_anything_is_built(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match="exists and is not a run; name another directory or remove it first"):
        command.make(tmp_path / "data", tmp_path, tmp_path / "work", TINY, "cpu")
    assert [file.name for file in tmp_path.iterdir()] == ["notes.txt"]


def test_the_page_asks_what_training_knows():
    trained = {text for prompts, _ in PHRASINGS.values() for text in prompts}
    assert {text for name in ("ask", "ask_with_text", "ask_by_text") for text in command.ABOUT[name]} <= trained


def test_the_run_ships_with_examples_and_credits_and_is_made_once(collection, tmp_path, monkeypatch):
    lay_out_by_principal_components(monkeypatch)
    built = []

    def micro(data, destination, cache):
        built.append(data)
        shutil.copytree(collection.root, destination)
        return []

    monkeypatch.setattr(command, "build_photo_collection", micro)
    monkeypatch.setattr(command, "write_photo_examples", lambda run, data: (run / "examples").mkdir())
    monkeypatch.setattr(command, "write_credits", lambda run, data: (run / "CREDITS.md").write_text("To whom"))
    monkeypatch.setattr("training.ranker.MIN_QUERIES", 1)
    settings = replace(TINY, index=IndexSettings("union_test", thumbnail_side=20))
    for _ in range(2):
        command.make(tmp_path / "data", tmp_path / "assets" / "photos", tmp_path / "work", settings, "cpu")
    assert built == [tmp_path / "data"]
    run = Run(tmp_path / "assets" / "photos")
    names = {file.name for file in run.path.iterdir()}
    assert {"CREDITS.md", "examples", "manifest.json", "reports"} <= names
    assert all(run.folder(part).is_dir() for part in (*PARTS, *EXTRAS))
    assert str(tmp_path) not in (run.path / "manifest.json").read_text()

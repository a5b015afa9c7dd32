import io
import json
import sqlite3
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from genius.errors import UserError
from genius.files import describe
from genius.index import update
from genius.index.__main__ import main
from genius.index.check import problems
from genius.run import Run, digest_of
from tests.index.changes import opened
from tests.index.test_publishing import change_twice_before


@pytest.fixture
def folder(tmp_path) -> Path:
    """Four pictures with texts, one of them broken."""
    folder = tmp_path / "photos"
    folder.mkdir()
    rng = np.random.default_rng(1)
    table = ""
    for name in "abcd":
        pixels = rng.integers(0, 255, (20, 30, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{name}.png")
        row = {"image": f"{name}.png", "text": f"Picture {name}", "colour": name}
        table += json.dumps(row) + "\n"
    (folder / "d.png").write_bytes(b"broken")
    (folder / "table.jsonl").write_text(table)
    return folder


def test_a_run_grows_shrinks_and_is_checked(run, folder, capsys, monkeypatch):
    assert main([str(run), "add", str(folder), "--device", "cpu"]) == 1
    printed = capsys.readouterr().out
    assert "new 10, skipped 0, duplicate 0, unreadable 2" in printed  # a picture, a title, both
    assert "unreadable: d.png is not a readable" in printed
    assert main([str(run), "remove", "0:1", "1:1", "5:5"]) == 1
    assert capsys.readouterr().out == "removed 2, unknown 1: 5:5\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO("0:2\n\n 1:2 \n"))
    assert main([str(run), "remove", "-"]) == 0
    assert capsys.readouterr().out == "removed 2\n"
    assert main([str(run), "check"]) == 0
    printed = capsys.readouterr().out
    for words in ("18 items", "10 indexed by training, 8 added since", "problems: 0", "2 segments"):
        assert words in printed
    assert main([str(run), "compact"]) == 0 and main([str(run), "compact"]) == 0
    assert capsys.readouterr().out == "one segment\nnothing to do: one segment\n"
    assert main([str(run), "check"]) == 0
    assert "1 segment\n" in capsys.readouterr().out


def test_adding_again_skips_or_finds_copies(run, folder, capsys):
    main([str(run), "add", str(folder), "--device", "cpu"])
    capsys.readouterr()
    main([str(run), "add", f"again={folder}", "--device", "cpu"])
    assert "new 0, skipped 0, duplicate 10, unreadable 2" in capsys.readouterr().out


def test_versions_of_pictures_that_are_there_are_added_and_counted(
    run, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr("genius.index.duplicates.OLDER", 3)
    rng = np.random.default_rng(2)
    for name in "abcde":
        picture = Image.fromarray(rng.integers(0, 255, (5, 5, 3), dtype=np.uint8))
        for part, side in (("first", 160), ("later", 90)):
            if name != "e" or part == "later":
                (tmp_path / part).mkdir(exist_ok=True)
                picture.resize((side, side)).save(tmp_path / part / f"{name}.png")
    main([str(run), "add", str(tmp_path / "first"), "--device", "cpu"])
    assert "items that are here" not in capsys.readouterr().out
    main([str(run), "add", str(tmp_path / "later"), "--device", "cpu"])
    printed = capsys.readouterr().out
    assert "new 5, skipped 0, duplicate 0, unreadable 0" in printed
    assert "4 pictures are versions of items that are here\n" in printed


def test_check_names_what_is_not_as_it_was_written(run, capsys):
    folder = Run(run).folder("index")
    with sqlite3.connect(folder / "items.sqlite") as database:
        database.execute("UPDATE items SET modality = 1 WHERE row = 3")
    database.close()
    embeddings = np.load(folder / "embeddings.npy")
    embeddings[5] *= 2
    np.save(folder / "embeddings.npy", embeddings)
    with Run(run).changing_manifest() as manifest:
        entry, files = manifest["parts"]["index"], describe(folder)  # as if it had been written so
        digest = digest_of(files)
        entry |= {"files": files, "digest": digest, "folder": f"index-{digest[:8]}"}
        folder.rename(run / entry["folder"])
    assert main([str(run), "check"]) == 1
    printed = capsys.readouterr().out
    assert "row 3 has another modality than its item '0:3'" in printed
    assert "the embedding of '0:5' has length 2.0" in printed and "problems: 2" in printed


def test_an_index_that_changes_while_it_is_opened_is_checked_all_the_same(run, monkeypatch, capsys):
    change_twice_before(monkeypatch, "sha256", run)
    assert main([str(run), "check"]) == 0
    assert "problems: 0" in capsys.readouterr().out


def test_files_of_another_version_are_no_problems_of_the_one_that_was_opened(run):
    index = opened(run)
    update.remove(run, ["0:1"])
    with pytest.raises(UserError, match="was changed while it was opened; check it again"):
        next(problems(run, index))


def test_what_is_no_run_is_said(tmp_path):
    with pytest.raises(UserError, match="is not a run; train one"):
        main([str(tmp_path), "check"])

import errno
import json
import os
import re
import threading

import pytest
import torch
from safetensors.torch import save_file

from genius import run as run_module
from genius.errors import UserError
from genius.files import describe, sha256, write_json
from genius.locks import ReadLock, deletion_lock
from genius.run import Run


def write(text: str):
    return lambda folder: (folder / "model.safetensors").write_text(text)


@pytest.fixture
def run(tmp_path) -> Run:
    run = Run(tmp_path / "run")
    run.publish("encoder", write("encoder"))
    run.publish("fusion", write("fusion"), ("encoder",))
    return run


def test_a_published_part_is_found_again_with_its_files(run):
    again = Run(run.path)
    assert (again.folder("fusion") / "model.safetensors").read_text(encoding="utf-8") == "fusion"
    assert again.has("encoder") and not again.has("decoder")


def test_a_run_of_the_first_release_loads_without_its_ranker(run):
    manifest = json.loads((run.path / "manifest.json").read_text(encoding="utf-8"))
    manifest["parts"]["ranker"] = manifest["parts"]["fusion"]
    write_json(run.path / "manifest.json", manifest)
    assert Run(run.path).folder("fusion").exists() and not Run(run.path).has("ranker")


def test_a_failing_writer_leaves_the_run_as_it_was(run):
    before = (run.path / "manifest.json").read_text(encoding="utf-8")

    def failing(folder):
        (folder / "model.safetensors").write_text("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        run.publish("encoder", failing)
    assert (run.path / "manifest.json").read_text(encoding="utf-8") == before
    assert not list(run.path.glob(".*.*"))
    assert Run(run.path).folder("fusion").exists()


def test_a_part_built_from_another_encoder_is_refused(run):
    run.publish("encoder", write("another encoder"))
    with pytest.raises(UserError, match="the fusion of .* was built from another encoder"):
        Run(run.path).folder("fusion")


def test_the_same_bytes_change_nothing_and_others_replace_the_folder(run):
    old = run.folder("encoder")
    digest = run.digest("encoder")
    run.publish("encoder", write("encoder"))
    assert Run(run.path).digest("encoder") == digest and Run(run.path).folder("fusion").exists()
    run.publish("encoder", write("another encoder"))
    assert not old.exists()


@pytest.mark.parametrize("damage", ["flip", "truncate", "delete"])
def test_a_damaged_file_is_refused_by_name_and_publishing_again_repairs_it(run, damage):
    file = run.folder("encoder") / "model.safetensors"
    if damage == "delete":
        file.unlink()
    else:
        file.write_text("encodes" if damage == "flip" else "enc")
    with pytest.raises(UserError, match="model.safetensors"):
        Run(run.path).folder("encoder")
    run.publish("encoder", write("encoder"))
    assert Run(run.path).folder("fusion").exists() and file.read_text(encoding="utf-8") == "encoder"


@pytest.mark.parametrize("part", ["encoder", "fusion"])
def test_a_file_that_vanishes_while_it_is_checked_is_missing(run, monkeypatch, part):
    """Another process may train the part anew."""
    monkeypatch.setattr(run_module, "sha256", lambda file: file.unlink() or sha256(file))
    with pytest.raises(UserError, match="model.safetensors is missing; the run is incomplete"):
        Run(run.path).folder(part)


def test_the_folder_of_a_part_may_be_deleted_when_it_was_checked(run):
    folder = run.folder("encoder")
    with deletion_lock(folder) as free:
        assert free
    with run.reading("encoder"), deletion_lock(folder) as free:
        assert not free


def test_files_in_subfolders_are_published_and_checked_too(run):
    def write_nested(folder):
        (folder / "text").mkdir()
        (folder / "text" / "tokenizer.json").write_text("words")

    run.publish("encoder", write_nested)
    folder = Run(run.path).folder("encoder")
    assert (folder / "text" / "tokenizer.json").read_text(encoding="utf-8") == "words"
    (folder / "text" / "tokenizer.json").write_text("other")
    with pytest.raises(UserError, match="text/tokenizer.json is not the file that training wrote"):
        Run(run.path).folder("encoder")
    run.publish("encoder", write_nested)
    (folder / "text" / "tokenizer.json").unlink()
    with pytest.raises(UserError, match="text/tokenizer.json is missing"):
        Run(run.path).folder("encoder")


def test_others_may_read_the_weights_that_a_run_publishes(run):
    """For safetensors makes files that only their owner may read."""
    run.publish(
        "encoder",
        lambda folder: save_file({"weight": torch.zeros(3)}, folder / "model.safetensors"),
    )
    umask = os.umask(0)
    os.umask(umask)
    assert (run.folder("encoder") / "model.safetensors").stat().st_mode & 0o777 == 0o666 & ~umask


def test_a_missing_part_says_how_to_train_it(run, tmp_path):
    with pytest.raises(UserError, match="holds no decoder; train it with: python -m training"):
        run.folder("decoder")
    with pytest.raises(
        UserError, match="asets is not a run; train one with: python -m training COLLECTION RUN"
    ):
        Run(tmp_path / "asets").folder("decoder")


def test_the_temporary_folder_of_a_process_at_work_stays(run):
    def slow(folder):
        Run(run.path).publish("quantizer", write("quantizer"))
        write("decoder")(folder)

    run.publish("decoder", slow)
    parts = Run(run.path).manifest["parts"]
    assert all((run.path / parts[part]["folder"]).is_dir() for part in ("decoder", "quantizer"))


def test_a_part_names_the_parts_it_was_really_built_from(run):
    """Also if they were replaced while it was computed: then it does not fit, and loading says
    so.
    """
    early = Run(run.path)
    Run(run.path).publish("encoder", write("another encoder"))
    early.publish("quantizer", write("quantizer"), ("encoder",))
    with pytest.raises(UserError, match="quantizer of .* was built from another encoder"):
        Run(run.path).folder("quantizer")


def test_changes_at_the_same_time_are_all_kept(run):
    def change(number: int) -> None:
        for time in range(10):
            Run(run.path).record(**{f"fact {number} {time}": 1})
            run.publish("decoder", write(f"{number} {time}"))

    threads = [threading.Thread(target=change, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    now = Run(run.path)
    assert sum(name.startswith("fact") for name in now.manifest) == 40
    folder = now.manifest["parts"]["decoder"]["folder"]
    assert [found.name for found in run.path.glob("decoder-*")] == [folder]
    assert not list(run.path.glob(".*.*"))


def test_a_folder_that_somebody_reads_stays_until_a_later_change(run):
    old = run.folder("encoder")
    lock = ReadLock(old)
    run.publish("encoder", write("another encoder"))
    assert (old / "model.safetensors").read_text(encoding="utf-8") == "encoder"
    lock.release()
    run.publish("encoder", write("a third encoder"))
    assert not old.exists() and len(list(run.path.glob("encoder-*"))) == 1


def test_a_changed_version_of_a_part_shares_files_and_the_version_before_goes_with_its_reader(run):
    def two_files(folder):
        (folder / "a").write_text("a")
        (folder / "b").write_text("b")

    first = run.publish("index", two_files, ("encoder",))
    reader = ReadLock(first)
    before = (first / "a").stat().st_ino
    second = run.replace(
        "index", lambda folder: (folder / "b").write_text("B"), {"c": "a"}, note="changed"
    )
    assert (second / "c").stat().st_ino == before and first.exists()
    now = Run(run.path).manifest
    assert now["parts"]["index"]["built_from"] == {"encoder": run.digest("encoder")}
    assert now["note"] == "changed"
    third = run.replace("index", lambda folder: (folder / "b").write_text("BB"), {"a": "c"})
    assert {folder.name for folder in run.path.glob("index-*")} == {first.name, third.name}
    reader.release()
    run.sweep("index")
    assert list(run.path.glob("index-*")) == [third] and (third / "a").stat().st_ino == before
    random = "0" * 32
    for name in (f".index-0123abcd.{random}", f"..index-0123abcd.{random}.{random}"):
        left = run.path / name  # of a process that was killed deleting it
        left.mkdir()
        run.sweep("index")
        assert not left.exists()
    (run.path / "manifest.json").unlink()
    run.sweep("index")
    assert third.exists()  # a lost manifest names nothing


@pytest.mark.parametrize("part", ["index", "encoder"])
def test_a_version_made_from_what_was_replaced_meanwhile_is_refused(run, part):
    run.publish("index", write("index"), ("encoder",))
    early = Run(run.path)
    Run(run.path).publish(part, write("trained again"))
    before = (run.path / "manifest.json").read_text(encoding="utf-8")
    with pytest.raises(
        UserError, match=f"another process has published a new {part} .* nothing was changed"
    ):
        early.replace("index", write("one item more"))
    assert (run.path / "manifest.json").read_text(encoding="utf-8") == before and not list(
        run.path.glob(".*.*")
    )
    assert len(list(run.path.glob("index-*"))) == 1


@pytest.mark.parametrize(
    "error, words",
    [
        (OSError(errno.ENOSPC, "No space left on device"), "the disk of .* is full"),
        (OSError("200 requested and 100 written"), "the disk of .* is full"),  # numpy
        (OSError(errno.EROFS, "Read-only file system"), "cannot be written"),
    ],
)
@pytest.mark.parametrize("at", ["part", "manifest"])
def test_a_full_or_protected_disk_is_one_sentence_and_the_run_stays_as_it_was(
    run, monkeypatch, error, words, at
):
    before = describe(run.path)

    def fail(*_):
        raise error

    if at == "manifest":
        monkeypatch.setattr(run_module, "write_json", fail)
    with pytest.raises(UserError, match=f"{words}.*; nothing was changed"):
        run.publish("encoder", fail if at == "part" else write("another encoder"))
    assert describe(run.path) == before
    assert len([folder for folder in run.path.iterdir() if folder.is_dir()]) == 2


def test_not_a_number_becomes_null_in_json_and_is_refused_in_a_manifest(run):
    write_json(
        run.path / "report.json", {"loss": [float("nan"), 1.5, float("inf")], "n": (1, None)}
    )
    assert json.loads((run.path / "report.json").read_text(encoding="utf-8")) == {
        "loss": [None, 1.5, None],
        "n": [1, None],
    }
    (run.path / "manifest.json").write_text('{"format": 1, "parts": {}, "seconds": NaN}')
    with pytest.raises(
        UserError, match="manifest.json is not a run manifest .expected value at line 1 column 39"
    ):
        Run(run.path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"format": 1}',
        '{"format": 99, "parts": {}}',
        '{"format": 1, "parts": []}',
        '{"format": 1, "parts": {"encoder": {}}}',
        '{"format": 1, "parts": {"encoder": {"folder": "..", "digest": "", "files": {}, '
        '"built_from": {}}}}',
        '{"format": 1, "parts": {"virus": {"folder": "x"}}}',
        '{"format": 1, "parts": {"encoder": {"folder": "../../etc"}}}',
    ],
)
def test_a_manifest_that_is_none_is_refused_in_one_sentence(tmp_path, text):
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(UserError, match="manifest.json"):
        Run(tmp_path)


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        ([], "settings"),
        ({"index": {"thumbnail_side": 0}}, "settings.index.thumbnail_side"),
        ({"decoder": {"self_queries": 1}}, "settings.decoder.self_queries"),
        ({"encoder": {"rows": [3]}}, "settings.encoder.rows.0"),
    ],
)
def test_settings_of_a_wrong_type_are_refused_in_one_sentence(tmp_path, settings, place):
    (tmp_path / "manifest.json").write_text(
        json.dumps({"format": 1, "parts": {}, "settings": settings})
    )
    with pytest.raises(
        UserError,
        match=rf"manifest.json is not a run manifest \({re.escape(place)}: .*train the run",
    ):
        Run(tmp_path)


def test_settings_that_a_run_does_not_record_have_their_defaults(tmp_path):
    run = Run(tmp_path)
    assert run.settings.index.thumbnail_side == 192 and not run.settings.decoder.self_queries
    settings = {"later": {"x": []}, "encoder": {"rows": ["0:mscoco"], "epochs": 3}}
    run.record(settings=settings)
    assert Run(tmp_path).manifest["settings"] == settings, "only training reads the others"
    assert run.settings.encoder.rows == ["0:mscoco"] and run.settings.decoder.rows == []

import errno
import json
import shutil
from dataclasses import replace

import pytest

from genius.errors import UserError
from genius.locks import write_lock
from genius.run import Run
from tests.training.tiny import TINY
from training.__main__ import train
from training.command_line import Arguments
from training.stage import CURVES, only_trainer, peak_memory, record_epoch, record_stage, run_stage


def test_published_weights_are_not_replaced(collection, tmp_path):
    Run(tmp_path).record(left_out={"clip_sf": {}})
    with pytest.raises(UserError, match="python -m training.features COLLECTION .* --preset paper"):
        train(Arguments(collection.root, tmp_path, "small", TINY, "cpu"))
    assert "stages" not in Run(tmp_path).manifest


@pytest.mark.parametrize("world", ["{bad", "[]", '{"seed": 0}'])
def test_a_bad_description_of_the_world_is_refused_before_a_stage(collection, tmp_path, world):
    root = shutil.copytree(collection.root, tmp_path / "collection")
    (root / "world.json").write_text(world)
    with pytest.raises(UserError, match=r"world\.json: "):
        train(Arguments(root, tmp_path / "run", "small", TINY, "cpu"))
    assert not Run(tmp_path / "run").has("encoder")


def test_a_stage_leaves_the_recorded_settings_of_earlier_ones(collection, tmp_path):
    """A command of one stage is easily started with another preset than the stages before it."""
    first = Arguments(collection.root, tmp_path, "small", TINY, "cpu")
    other = replace(TINY, encoder=replace(TINY.encoder, epochs=77), quantizer=replace(TINY.quantizer, epochs=55))
    record_stage("encoder", first, 1.0)
    record_stage("features", replace(first, settings=other), 1.0)
    settings = Run(tmp_path).manifest["settings"]
    assert settings["encoder"]["epochs"] == TINY.encoder.epochs
    assert settings["quantizer"]["epochs"] == 55
    record_stage("encoder", replace(first, settings=other), 1.0)
    assert Run(tmp_path).manifest["settings"]["encoder"]["epochs"] == 77


def test_the_peak_memory_is_in_gigabytes():
    alone, with_workers = (peak_memory("cpu", workers) for workers in (0, 2))
    assert 0.05 < float(alone.split()[2]) < 64
    assert "data-loader worker" in with_workers and "data-loader worker" not in alone


def curves(run: Run) -> dict:
    return json.loads((run.path / CURVES).read_text())


def test_epochs_are_added_stage_by_stage(tmp_path):
    run = Run(tmp_path)
    record_epoch(run, "encoder", 0, loss=2.0)
    record_epoch(run, "encoder", 1, loss=1.0)
    record_epoch(run, "decoder", 0, loss=3.0)
    assert curves(run) == {
        "encoder": [{"epoch": 0, "loss": 2.0}, {"epoch": 1, "loss": 1.0}],
        "decoder": [{"epoch": 0, "loss": 3.0}],
    }


def test_a_repeated_epoch_replaces_the_later_ones(tmp_path):
    run = Run(tmp_path)
    for epoch in range(3):
        record_epoch(run, "encoder", epoch, loss=9.0)
    record_epoch(run, "encoder", 1, loss=1.0)
    assert [point["loss"] for point in curves(run)["encoder"]] == [9.0, 1.0]


def test_a_run_is_trained_by_one_process_at_a_time(tmp_path):
    """And not while its index changes, nor the other way round."""
    with write_lock(tmp_path), pytest.raises(UserError, match="is being changed already"), only_trainer(tmp_path):
        pass
    refused = pytest.raises(UserError, match="is being changed already")
    with only_trainer(tmp_path), only_trainer(tmp_path), refused, write_lock(tmp_path):
        pass
    with write_lock(tmp_path):
        pass


def test_a_run_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "run").write_text("mine")
    with (
        pytest.raises(UserError, match="run is a file; name a directory to train into"),
        only_trainer(tmp_path / "run"),
    ):
        pass
    assert (tmp_path / "run").read_text() == "mine"


def test_a_full_disk_ends_a_stage_with_a_sentence(collection, tmp_path):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(UserError, match="the disk of .*run is full .* what was finished stays; make room"):
        run_stage("features", full, Arguments(collection.root, tmp_path / "run", "small", TINY, "cpu"))

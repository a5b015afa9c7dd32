"""One stage: its record in the run, its lock, its checkpoints."""

import errno
import sys
from dataclasses import replace
from types import ModuleType

import pytest
import torch
from torch import nn

from genius.errors import UserError
from genius.locks import write_lock
from genius.run import Run
from tests.training.tiny import TINY, arguments, other_texts, tiny
from training import stage
from training.__main__ import train
from training.checkpoint import Checkpoints, reseed
from training.stage import (
    Stage,
    is_done,
    only_trainer,
    peak_memory,
    record_stage,
    records_stamp,
    run_stage,
)


def test_published_weights_are_not_replaced(collection, tmp_path):
    Run(tmp_path).record(left_out={"clip_sf": {}})
    with pytest.raises(UserError, match="python -m training.features COLLECTION .* --preset paper"):
        train(arguments(collection, tmp_path))
    assert "stages" not in Run(tmp_path).manifest


def test_a_stage_leaves_the_recorded_settings_of_earlier_ones(collection, tmp_path):
    """A command of one stage is easily started with another preset than the stages before it."""
    first = arguments(collection, tmp_path)
    other = tiny(encoder={"epochs": 77}, quantizer={"epochs": 55})
    record_stage("encoder", first, 1.0, "")
    record_stage("features", replace(first, settings=other), 1.0, "")
    settings = Run(tmp_path).manifest["settings"]
    assert settings["encoder"]["epochs"] == TINY.encoder.epochs
    assert settings["quantizer"]["epochs"] == 55
    record_stage("encoder", replace(first, settings=other), 1.0, "")
    assert Run(tmp_path).manifest["settings"]["encoder"]["epochs"] == 77


def test_a_stage_is_a_module_with_train_and_an_entry_in_stages(collection, tmp_path, monkeypatch):
    summary = ModuleType("training.stages.summary")
    summary.train = lambda arguments: (arguments.run / "summary.txt").write_text(
        str(arguments.collection)
    )
    monkeypatch.setitem(sys.modules, "training.stages.summary", summary)
    monkeypatch.setattr(stage, "STAGES", {"summary": Stage("summary")})
    monkeypatch.setattr("training.__main__.STAGES", stage.STAGES)
    monkeypatch.setattr("training.__main__.reads_apart", lambda run: False)
    for _ in range(2):
        train(arguments(collection, tmp_path))
    assert (tmp_path / "summary.txt").read_text(encoding="utf-8") == str(collection.root)
    assert list(Run(tmp_path).manifest["stages"]) == ["summary"]


def test_the_peak_memory_is_in_gigabytes():
    alone, with_workers = (peak_memory("cpu", workers) for workers in (0, 2))
    assert 0.05 < float(alone.split()[2]) < 64
    assert "data-loader worker" in with_workers and "data-loader worker" not in alone


def test_a_run_is_trained_by_one_process_at_a_time(tmp_path):
    """And not while its index changes, nor the other way round."""
    with (
        write_lock(tmp_path),
        pytest.raises(UserError, match="is being changed already"),
        only_trainer(tmp_path),
    ):
        pass
    refused = pytest.raises(UserError, match="is being changed already")
    with only_trainer(tmp_path), only_trainer(tmp_path), refused, write_lock(tmp_path):
        pass
    with write_lock(tmp_path):
        pass


def test_a_run_that_is_a_file_or_below_one_is_refused(tmp_path):
    (tmp_path / "file").write_text("mine")
    for path, reason in (("file", "File exists"), ("file/run", "Not a directory")):
        refused = pytest.raises(
            UserError, match=rf"{path} cannot be made \({reason}\); name another directory"
        )
        with refused, only_trainer(tmp_path / path):
            pass
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"


def test_a_mistyped_collection_leaves_no_folder(tmp_path):
    with pytest.raises(UserError, match="is not a collection"):
        train(arguments(tmp_path / "nosuch", tmp_path / "runs" / "run"))
    assert not (tmp_path / "runs").exists()
    (tmp_path / "run").mkdir()
    with pytest.raises(UserError, match="is not a collection"):
        train(arguments(tmp_path / "nosuch", tmp_path / "run"))
    assert (tmp_path / "run").exists()  # it was there before


def test_a_full_disk_ends_a_stage_with_a_sentence(collection, tmp_path):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(
        UserError, match="the disk of .*run is full .* what was finished stays; make room"
    ):
        run_stage("features", full, arguments(collection, tmp_path / "run"))


def test_a_collection_that_has_changed_is_not_done(root, tmp_path):
    run = tmp_path / "run"
    given = arguments(root, run)
    for name in ("encoder", "features"):
        run_stage(name, lambda _: Run(run).record(left=1), given)
    assert is_done("features", given)
    other_texts(root)
    with pytest.raises(
        UserError,
        match="collection has changed since the features of .*; repeat from: python -m "
        "training.features",
    ):
        is_done("features", given)
    run_stage("features", lambda _: None, given)
    assert is_done("features", given)


def test_a_collection_that_was_moved_is_named_with_its_former_place(root, tmp_path):
    given = arguments(root, tmp_path / "run")
    run_stage("features", lambda _: None, given)
    moved = root.rename(tmp_path / "elsewhere")
    with pytest.raises(
        UserError,
        match=f"was made from the collection {root}, not {moved}; name that one, or another",
    ):
        is_done("features", replace(given, collection=moved))


@pytest.mark.parametrize(
    "folder", ["cand_pool/global", "cand_pool/local", "query/val", "qrels/train", "instructions"]
)
def test_the_stamp_of_a_collection_covers_every_file_that_training_reads(root, folder):
    before = records_stamp(root)
    assert before == records_stamp(root)
    file = next(file for file in sorted((root / folder).rglob("*")) if file.is_file())
    file.write_text(file.read_text(encoding="utf-8") + "\n")
    assert records_stamp(root) != before


def test_the_stamp_of_a_collection_ignores_what_file_managers_leave(root):
    before = records_stamp(root)
    (root / "cand_pool/.DS_Store").write_text("")
    assert records_stamp(root) == before


def start(seed: int = 0) -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(seed)
    model = nn.Conv2d(2, 3, 3).to(memory_format=torch.channels_last)
    return model, torch.optim.AdamW(model.parameters(), lr=0.1, fused=True)


def step(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    model(torch.ones(1, 2, 5, 5)).square().sum().backward()
    optimizer.step()
    optimizer.zero_grad()


def test_weights_and_optimizer_state_are_restored(tmp_path):
    model, optimizer = start()
    step(model, optimizer)
    Checkpoints(tmp_path, "encoder", "facts").save(model, optimizer, 0)
    step(model, optimizer)

    again, its_optimizer = start(seed=1)
    assert Checkpoints(tmp_path, "encoder", "facts").resume(again, its_optimizer) == 1
    step(again, its_optimizer)

    assert all(
        torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters(), strict=True)
    )


def test_other_settings_are_refused_in_one_sentence(tmp_path):
    Checkpoints(tmp_path, "encoder", 1).save(*start(), 0)
    with pytest.raises(UserError, match="other settings or data; delete that folder"):
        Checkpoints(tmp_path, "encoder", 2).resume(*start())


def test_only_the_best_and_the_last_epoch_are_kept(tmp_path):
    checkpoints, (model, optimizer) = Checkpoints(tmp_path, "decoder"), start()
    weights = []
    for epoch, score in enumerate([0.1, 0.7, 0.3, 0.7]):
        step(model, optimizer)
        weights.append(model.weight.detach().clone())
        checkpoints.save(model, optimizer, epoch, score)
    assert sorted(file.stem for file in checkpoints.folder.glob("epoch-*")) == [
        "epoch-1",
        "epoch-3",
    ]
    left = [list(checkpoints.epochs(*start(), 5, patience)) for patience in (0, 2, 3)]
    assert left == [[4], [], [4]]
    assert checkpoints.load_best(model) == 1
    assert torch.equal(model.weight, weights[1])


def test_a_half_written_epoch_is_ignored(tmp_path):
    checkpoints, (model, optimizer) = Checkpoints(tmp_path, "decoder"), start()
    checkpoints.save(model, optimizer, 0)
    (checkpoints.folder / "epoch-1.pt").write_bytes(b"half")
    assert checkpoints.resume(*start()) == 1
    checkpoints.save(model, optimizer, 1)
    assert checkpoints.resume(*start()) == 2


def test_every_epoch_has_its_own_randomness():
    drawn = [
        (float(torch.rand(())), float(rng.random()))
        for seed in (0, 1)
        for epoch in (0, 1)
        for rng in [reseed(seed, epoch)]
    ]
    assert len(set(drawn)) == 4
    reseed(0, 1)
    assert float(torch.rand(())) == drawn[1][0]

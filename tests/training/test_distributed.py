"""Two processes make what one makes: each stage is trained again by two, from what one process made
before it.

Sums are added in another order, which Adam can magnify; so weights agree within 1e-4, features
within fp16.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from genius.encoding.features import FeatureFiles
from genius.run import Run
from tests.training import shared_stages
from tests.training.tiny import weights_of
from tests.training.tiny_towers import write_towers
from tests.waiting import free_port
from training import distributed
from training.stages.curves import read_curves

ROOT = Path(__file__).parents[2]
LAUNCH = (
    "--multi_gpu",
    "--num_processes=2",
    "--num_machines=1",
    "--mixed_precision=no",
    "--dynamo_backend=no",
)
STAGES = ("encoder", "features", "quantizer", "decoder", "index")


@pytest.fixture(scope="module")
def alone(collection, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("alone") / "run"
    for stage in STAGES:
        shared_stages.train(stage, collection.root, path, "cpu")
    return path


@pytest.fixture(scope="module")
def locked(collection, tmp_path_factory) -> Path:
    """A run on locked towers, which lie beside it, that one process trained."""
    folder = tmp_path_factory.mktemp("locked")
    write_towers(folder / "towers")
    shared_stages.train(shared_stages.LOCKED, collection.root, folder / "alone", "cpu")
    return folder / "alone"


def launched(way: str, arguments: list[str]) -> str:
    """What two processes print; either the documented command starts them, or the first one
    forks.
    """
    port = str(free_port())
    environment = {"OMP_NUM_THREADS": "1"}
    command = [sys.executable]
    if way == "accelerate launch":
        command += ["-m", "accelerate.commands.launch", *LAUNCH, f"--main_process_port={port}"]
    else:
        environment |= {
            "WORLD_SIZE": "2",
            "LOCAL_WORLD_SIZE": "2",
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": port,
        }
    ended = subprocess.run(
        [*command, "-m", shared_stages.__name__, *arguments],
        env=os.environ | environment,
        cwd=ROOT,
        text=True,
        capture_output=True,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.fixture(
    scope="module", params=["fork", pytest.param("accelerate launch", marks=pytest.mark.slow)]
)
def together(collection, alone, locked, request, tmp_path_factory) -> dict[str, Path]:
    """For each stage a run in which two processes trained it."""
    folder = tmp_path_factory.mktemp("together")
    runs = {stage: folder / stage for stage in STAGES}
    for run in runs.values():
        shutil.copytree(alone, run)
    shutil.rmtree(runs["features"] / "features")
    shutil.copytree(locked.parent / "towers", folder / "towers")
    runs[shared_stages.LOCKED] = folder / "locked"
    targets = [f"{stage}={run}" for stage, run in runs.items()]
    gradients = f"{shared_stages.GRADIENTS}={runs['encoder'] / 'gradients'}"
    printed = launched(request.param, [str(collection.root), *targets, gradients])
    assert printed.count("encoder epoch 0 ") == 2, "only the main process reports"
    return runs


@pytest.mark.parametrize(
    ("stage", "part"),
    [
        ("encoder", "encoder"),
        ("quantizer", "fusion"),
        ("quantizer", "quantizer"),
        ("decoder", "decoder"),
    ],
)
def test_weights_agree(alone, together, stage, part):
    expected, found = (weights_of(run, part) for run in (alone, together[stage]))
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=0)


def test_heads_behind_locked_towers_agree(locked, together):
    runs = locked, together[shared_stages.LOCKED]
    expected, found = (weights_of(run, "encoder") for run in runs)
    # weights into which small deviations were folded are large
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=5e-3)
    for kind, array in (("images", "image"), ("texts", "text")):
        expected, found = (FeatureFiles(run / "towers" / kind) for run in runs)
        assert len(found) > shared_stages.SHARD and not found.unfinished()
        np.testing.assert_allclose(getattr(found, array), getattr(expected, array), atol=2e-3)


@pytest.mark.parametrize("stage", ["encoder", "quantizer", "decoder"])
def test_losses_and_hit_rates_agree(alone, together, stage):
    expected, found = (read_curves(Run(run))[stage] for run in (alone, together[stage]))
    for one, two in zip(expected, found, strict=True):
        assert {name: figure for name, figure in two.items() if name != "seconds"} == pytest.approx(
            {name: figure for name, figure in one.items() if name != "seconds"}, abs=1e-4
        )


def test_gradients_are_those_of_the_whole_batch(together, tmp_path):
    shared_stages.write_gradients(tmp_path / "gradients")  # by this process alone
    expected, found = (
        load_file(folder / "gradients") for folder in (tmp_path, together["encoder"])
    )
    torch.testing.assert_close(found, expected)


def test_features_agree(alone, together):
    for name in ("candidates", "train", "val"):
        expected, found = (
            FeatureFiles(run / "features" / name) for run in (alone, together["features"])
        )
        assert len(found) > shared_stages.SHARD and found.progress["done"] == len(expected)
        for array in ("image", "text", "embedding", "masks"):
            np.testing.assert_allclose(
                getattr(found, array), getattr(expected, array), atol=2e-3, err_msg=array
            )


def test_one_process_makes_the_index(alone, together):
    assert Run(together["index"]).digest("index") and list(
        Run(together["index"]).manifest["stages"]
    ) == list(STAGES)


@pytest.mark.parametrize("is_main", [True, False])
def test_the_others_go_on_if_the_main_process_fails_in_what_it_does_first(monkeypatch, is_main):
    """They wait for it before the block, and meet the same fault then; they do not wait until they
    are ended.
    """
    order = []
    monkeypatch.setattr(distributed, "is_main", lambda: is_main)
    monkeypatch.setattr(distributed, "barrier", lambda: order.append("barrier"))
    with pytest.raises(OSError, match="the disk is full"), distributed.main_process_first():
        order.append("block")
        raise OSError("the disk is full")
    assert order == (["block", "barrier"] if is_main else ["barrier", "block"])


def test_a_command_that_is_not_shared_refuses_several_processes(monkeypatch, capsys):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(SystemExit):
        distributed.run_alone(pytest.fail)
    assert (
        "2 processes were started (WORLD_SIZE), but only training, its stages and "
        "training.folder share" in capsys.readouterr().err
    )


def test_every_command_shares_its_work_or_refuses_several_processes():
    for file in sorted((ROOT / "training").rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        _, main, started = text.partition('if __name__ == "__main__":')
        if main:
            shared = re.search(r"\b(parse_arguments|stage_command|init_distributed)\(", text)
            assert bool(shared) != ("    run_alone(main)\n" in started), file


def test_slices_cover_the_batch_once(monkeypatch):
    for world_size in (1, 2, 3):
        monkeypatch.setattr(distributed, "world_size", lambda world_size=world_size: world_size)
        for n in (3, 7, 8):
            rows, weights = [], []
            for rank in range(world_size):
                monkeypatch.setattr(distributed, "rank", lambda rank=rank: rank)
                rows += list(range(n))[distributed.local_slice(n)]
                weights.append(distributed.local_weight(n))
            assert rows == list(range(n)) and sum(weights) == pytest.approx(world_size)

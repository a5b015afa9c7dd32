"""Locked-tower training: heads learn on outputs of the towers that were computed once."""

import json
import shutil
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file

import training.image_augmentation
from genius.run import Run
from tests.training.tiny import TINY
from tests.training.tiny_towers import COLORS, locked_settings, write_color_collection, write_towers
from training import contrastive, encoder, tower_outputs
from training.encoder import new_encoder
from training.settings import Arguments
from training.stage import run_stage


@pytest.fixture(scope="module")
def towers(tmp_path_factory) -> tuple[str, str]:
    return write_towers(tmp_path_factory.mktemp("towers") / "towers")


@pytest.fixture(scope="module")
def colors(tmp_path_factory):
    return write_color_collection(tmp_path_factory.mktemp("colors") / "collection")


def train(collection, run, settings):
    settings = replace(TINY, encoder=settings)
    run_stage("encoder", encoder.train, Arguments(collection.root, run, "small", settings, "cpu"))
    return load_file(Run(run).folder("encoder") / "model.safetensors")


def curve(run):
    return json.loads((run / "reports" / "training.json").read_text())["encoder"]


@pytest.fixture(scope="module")
def trained(towers, colors, tmp_path_factory):
    """A run whose heads were trained, without interruption."""
    run = tmp_path_factory.mktemp("trained") / "run"
    train(colors, run, locked_settings(*towers))
    return run


def weights(run):
    return load_file(Run(run).folder("encoder") / "model.safetensors")


def is_head(name):
    return name.startswith(("clip.visual.head", "clip.text.proj")) or name == "clip.logit_scale"


def test_heads_learn(trained):
    points = curve(trained)
    assert points[-1]["loss"] < 0.7 * points[0]["loss"]
    assert points[-1]["val_hit_at_5"] > 5 * 5 / (2 * len(COLORS) ** 2)


def test_towers_do_not_change(trained, towers):
    before = new_encoder(locked_settings(*towers)).state_dict()
    after = weights(trained)
    assert before.keys() == after.keys()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed and all(map(is_head, changed))


def test_a_killed_run_resumes_to_the_same_weights(trained, towers, colors, tmp_path, monkeypatch):
    settings, record = locked_settings(*towers), contrastive.record_epoch

    def killed(run, stage, epoch, **figures):
        if epoch == 4:
            raise KeyboardInterrupt
        record(run, stage, epoch, **figures)

    monkeypatch.setattr(contrastive, "record_epoch", killed)
    with pytest.raises(KeyboardInterrupt):
        train(colors, tmp_path, settings)
    monkeypatch.setattr(contrastive, "record_epoch", record)
    resumed, expected = train(colors, tmp_path, settings), weights(trained)
    assert all(torch.equal(weight, expected[name]) for name, weight in resumed.items())
    assert not list((tmp_path / "checkpoints").iterdir())


def test_outputs_that_were_computed_before_a_kill_are_kept(towers, colors, tmp_path, monkeypatch):
    monkeypatch.setattr(tower_outputs, "IMAGE_SHARD", 32)
    opened, open_item_image = [], training.image_augmentation.open_item_image

    def counted(collection, path, **options):
        if len(opened) == 100:
            raise KeyboardInterrupt
        opened.append(path)
        return open_item_image(collection, path, **options)

    monkeypatch.setattr(tower_outputs, "open_item_image", counted)
    with pytest.raises(KeyboardInterrupt):
        train(colors, tmp_path, locked_settings(*towers))
    opened.clear()
    monkeypatch.setattr(
        tower_outputs, "open_item_image", lambda *given: opened.append(given) or open_item_image(*given)
    )
    train(colors, tmp_path, replace(locked_settings(*towers), epochs=1))
    assert 80 < len(opened) <= 180 - 2 * 32 + 1  # one more to learn the width


def test_a_second_training_opens_no_image_but_one(trained, towers, colors, tmp_path, monkeypatch):
    shutil.copytree(trained, tmp_path / "run")
    opened, open_item_image = [], tower_outputs.open_item_image
    monkeypatch.setattr(
        tower_outputs, "open_item_image", lambda *given: opened.append(given) or open_item_image(*given)
    )
    train(colors, tmp_path / "run", replace(locked_settings(*towers), learning_rate=1e-3, epochs=1))
    assert len(opened) <= 1

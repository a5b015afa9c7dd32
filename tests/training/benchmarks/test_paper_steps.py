"""The benchmark makes as many steps of each stage as it was asked for."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from genius.collections.mbeir import Collection
from genius.run import Run
from training.benchmarks import paper_steps
from training.pairs import CandidateTable, Pairs
from training.presets import PAPER
from training.settings import with_changes

STEPS = 2


@pytest.mark.parametrize("device", list(paper_steps.BATCHES))
def test_every_stage_makes_the_steps_that_were_asked_for(device, tmp_path, monkeypatch):
    """Quantizer and decoder learn from one collection, in batches of other sizes on a GPU."""
    commands = {}

    def note(command, check):
        commands[command[2].removeprefix("training.")] = command
        run = Run(tmp_path / "run")
        if not run.has("encoder"):
            run.publish("encoder", lambda aside: (aside / "weights").write_text("none"))

    monkeypatch.setattr(paper_steps.subprocess, "run", note)
    monkeypatch.setattr(paper_steps, "usable_device", torch.device)
    paper_steps.main([str(tmp_path), "--steps", str(STEPS), "--device", device])

    assert list(commands) == ["encoder", "features", "quantizer", "decoder"]
    for stage, batch in zip(("encoder", "quantizer", "decoder"), paper_steps.BATCHES[device], strict=True):
        command = commands[stage]
        changes = [change for option, change in pairwise(command) if option == "--set"]
        settings = getattr(with_changes(PAPER, changes), stage)
        collection = Collection(command[3])
        pairs = Pairs.read(collection, "train", CandidateTable.read(collection))
        order = pairs.epoch(np.random.default_rng(0), settings.upsample_to, settings.rows)
        assert settings.batch == batch and settings.epochs == 1
        assert len(order) == STEPS * batch


def test_a_start_after_a_kill_between_the_two_collections_writes_the_second_alone(tmp_path, monkeypatch):
    written = []

    def write(root, queries, few, drawn):
        written.append(root.name)
        if written == ["pictures", "texts"]:
            raise KeyboardInterrupt
        root.mkdir(parents=True)

    monkeypatch.setattr(paper_steps, "write", write)
    monkeypatch.setattr(paper_steps.subprocess, "run", lambda *_, **__: None)
    monkeypatch.setattr(paper_steps, "random_features", lambda *_: None)
    monkeypatch.setattr(paper_steps, "Collection", lambda root: None)
    with pytest.raises(KeyboardInterrupt):
        paper_steps.main([str(tmp_path), "--device", "cpu"])
    paper_steps.main([str(tmp_path), "--device", "cpu"])
    assert written == ["pictures", "texts", "texts"]

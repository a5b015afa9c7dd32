"""Training of CLIP-FF, BLIP-SF and BLIP-FF through the encoder stage."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from genius.errors import UserError
from genius.models.encoder import Encoder
from genius.models.feature_fusion import FeatureFusionEncoder
from genius.run import Run
from tests.training.tiny import TINY
from training import encoder, encoder_inputs, features
from training.ablations.variants import ENCODERS
from training.checkpoint import Checkpoints
from training.command_line import Arguments
from training.curves import read_curves
from training.encoder_inputs import FeatureFusionLoader
from training.pairs import CandidateTable, Pairs
from training.settings import EncoderSettings, with_stage_changes
from training.stage import run_stage

PLAIN = replace(TINY.encoder, modality_weight=0.0, instruction_swap_prob=0.0, epochs=2, bf16=False)


def settings_of(name: str, base: EncoderSettings = PLAIN) -> EncoderSettings:
    settings = replace(TINY, encoder=base)
    return with_stage_changes(settings, *ENCODERS[name](settings)).encoder


def trained(collection, run, settings: EncoderSettings) -> Run:
    arguments = Arguments(collection.root, run, "small", replace(TINY, encoder=settings), "cpu")
    run_stage("encoder", encoder.train, arguments)
    return Run(run)


@pytest.mark.parametrize("name", ["CLIP-FF", "BLIP-SF", "BLIP-FF"])
def test_training_reduces_the_loss(collection, tmp_path, name):
    run = trained(collection, tmp_path, settings_of(name, replace(PLAIN, epochs=4, learning_rate=3e-3)))
    losses = [epoch["loss"] for epoch in read_curves(run)["encoder"]]
    assert losses[-1] < losses[0] - 0.05  # after twelve steps
    load = Encoder if name == "BLIP-SF" else FeatureFusionEncoder
    assert load.load(run.folder("encoder")).embed([None], ["A text."]).isfinite().all()


@pytest.mark.parametrize("name", ["CLIP-FF", "BLIP-FF"])
def test_a_killed_training_resumes_and_ends_with_the_same_weights(collection, tmp_path, monkeypatch, name):
    settings = settings_of(name, replace(PLAIN, modality_weight=0.5, instruction_swap_prob=0.1))
    whole = trained(collection, tmp_path / "whole", settings)
    save = Checkpoints.save

    def killed(*arguments):
        save(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoints, "save", killed)
    with pytest.raises(KeyboardInterrupt):
        trained(collection, tmp_path / "killed", settings)
    monkeypatch.undo()
    resumed = trained(collection, tmp_path / "killed", settings)
    expected, found = (load_file(run.folder("encoder") / "model.safetensors") for run in (whole, resumed))
    assert all(torch.equal(weight, found[name]) for name, weight in expected.items())


def test_two_processes_embed_the_inputs_that_one_does(collection, tmp_path, monkeypatch):
    settings = settings_of("CLIP-FF", replace(PLAIN, augment=False))
    model = FeatureFusionEncoder.over(encoder.new_encoder(settings), 2).eval()
    pairs = Pairs.read(collection, "train", CandidateTable.read(collection))
    loader = FeatureFusionLoader(collection, [pairs], settings, model, None, tmp_path)
    queries = np.arange(len(pairs))[::2][:9]  # of all rows, whose targets are images, texts and both

    def embedded() -> torch.Tensor:
        ((_, inputs),) = loader.load_pairs(pairs, [queries], np.random.default_rng(0), training=False)
        with torch.inference_mode():
            return inputs.embedding(model)

    expected, parts = embedded(), []
    monkeypatch.setattr(encoder_inputs, "all_gather", lambda local, n: local)
    for process in range(2):
        monkeypatch.setattr(
            encoder_inputs, "local_slice", lambda n, process=process: slice(n * process // 2, n * (process + 1) // 2)
        )
        parts.append(embedded())
    assert [len(part) for part in parts] == [4, 5]
    assert torch.allclose(torch.cat(parts), expected, atol=1e-5)
    mixed = {(item.image is None, bool(item.text)) for item in loader.items}
    assert len(mixed) > 1, "images and texts are missing in different places"


def test_ids_are_refused_for_fused_features_in_one_sentence(collection, tmp_path):
    settings = settings_of("CLIP-FF", replace(PLAIN, epochs=0))
    trained(collection, tmp_path, settings)
    with pytest.raises(UserError, match="one embedding for image and text together"):
        run_stage(
            "features",
            features.train,
            Arguments(collection.root, tmp_path, "small", replace(TINY, encoder=settings), "cpu"),
        )


def test_blip_score_fusion_serves_ids(collection, tmp_path):
    settings = settings_of("BLIP-SF", replace(PLAIN, epochs=0))
    trained(collection, tmp_path, settings)
    run_stage(
        "features",
        features.train,
        Arguments(collection.root, tmp_path, "small", replace(TINY, encoder=settings), "cpu"),
    )
    assert (tmp_path / "features" / "candidates" / "progress.json").is_file()

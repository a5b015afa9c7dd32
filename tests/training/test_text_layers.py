"""The last layers of the text tower may learn with the heads, on what reaches them."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from genius.errors import UserError
from genius.models.encoder import Encoder
from genius.run import Run
from tests.search.tiny import tiny_encoder
from tests.training.tiny import TINY, Killed, killed_while, train_stage
from tests.training.tiny_towers import locked_settings
from training.curves import read_curves
from training.encoder import new_encoder
from training.text_layers import TextLayers, TextStates

TEXTS = ["red", "green on blue", "white on black, find it", "yellow on red"] * 20


@pytest.fixture(scope="module")
def settings(towers):
    return locked_settings(*towers, text_layers=1)


@pytest.fixture(scope="module")
def encoder(settings) -> Encoder:
    return new_encoder(settings).requires_grad_(False)


def test_they_go_on_from_what_reaches_them(encoder, tmp_path):
    layers = TextLayers(encoder, 1)
    states = TextStates(layers, TEXTS, tmp_path)
    rows = np.array([2, 0, 79, 5, 2])
    expected = encoder.split().text_outputs(encoder.tokenize([TEXTS[row] for row in rows]))
    found = layers(torch.from_numpy(states[rows]))
    torch.testing.assert_close(found, expected, atol=5e-3, rtol=5e-3)
    assert len(encoder.clip.text.transformer.encoder.layer) == 2
    assert len(states) == 80 and states[np.array([], dtype=int)].shape == (0, 1, 24)


def test_their_states_are_computed_once(encoder, tmp_path, monkeypatch):
    layers = TextLayers(encoder, 1)
    before = TextStates(layers, TEXTS, tmp_path)[np.arange(80)]
    monkeypatch.setattr(layers, "states", None)
    np.testing.assert_array_equal(TextStates(layers, TEXTS, tmp_path)[np.arange(80)], before)


def test_gradients_reach_these_layers_alone(encoder):
    layers = TextLayers(encoder, 1)
    layers.trained.requires_grad_(True)
    layers(layers.states(encoder.tokenize(TEXTS[:4]))).square().sum().backward()
    with_gradient = {name for name, weight in encoder.named_parameters() if weight.grad is not None}
    assert with_gradient and all(".encoder.layer.1." in name for name in with_gradient)
    encoder.zero_grad(set_to_none=True)


def test_another_tower_has_no_such_layers(encoder):
    for model, count in ((tiny_encoder(), 1), (encoder, 3)):
        with pytest.raises(UserError, match=r"set encoder\.locked\.text_layers to 0"):
            TextLayers(model, count)


def test_training_changes_them_and_the_heads_and_resumes(settings, colors, tmp_path, monkeypatch):
    settings = replace(settings, epochs=4, average=0.5)

    def train(name: str) -> dict[str, torch.Tensor]:
        run = train_stage("encoder", colors, tmp_path / name, replace(TINY, encoder=settings))
        return load_file(run.folder("encoder") / "model.safetensors")

    expected, before = train("whole"), new_encoder(settings).state_dict()
    changed = {name for name in before if not torch.equal(before[name], expected[name])}
    of_layers = {name for name in changed if name.startswith("clip.text.transformer")}
    assert of_layers and all(".layer.1." in name for name in of_layers)
    assert any(name.startswith("clip.visual.head") for name in changed)
    losses = [point["loss"] for point in read_curves(Run(tmp_path / "whole"))["encoder"]]
    assert losses[-1] < losses[0]
    assert not (tmp_path / "whole" / "cache").exists() and not (tmp_path / "whole" / "towers" / "texts").exists()
    with monkeypatch.context() as patch, pytest.raises(Killed):
        killed_while(patch, "encoder", "after an epoch")
        train("killed")
    resumed = train("killed")
    assert all(torch.equal(weight, expected[name]) for name, weight in resumed.items())


def test_the_features_that_follow_are_those_of_the_trained_tower(settings, colors, tmp_path):
    given = replace(TINY, encoder=replace(settings, epochs=2))
    run = train_stage("encoder", colors, tmp_path / "run", given)
    train_stage("features", colors, tmp_path / "run", given)
    text = next(item.text for item in colors.all_candidates() if item.text)
    row = [item.text for item in colors.all_candidates()].index(text)
    stored = np.load(run.path / "features" / "candidates" / "text.npy")[row, 0]
    expected = Encoder.load(run.folder("encoder")).encode([None], [text]).text[0]
    np.testing.assert_allclose(stored, expected, atol=5e-3, rtol=5e-3)

"""Predicted classes and their cache."""

import hashlib

import numpy as np
import pytest
import torch

from genius.errors import UserError
from tests.training.photos.sets import write_picture
from training.photos import predictions
from training.photos.predictions import KEPT, predict


class FakeTower(torch.nn.Module):
    """Class 1 of 12 for bright pictures, class 0 for dark ones."""

    def forward(self, pixels):
        bright = pixels.mean(dim=(1, 2, 3), keepdim=False)
        return torch.stack([-9 * bright, 9 * bright, *[bright * 0 - 20] * 10], dim=1)


@pytest.fixture
def pictures(tmp_path):
    files = [
        write_picture(tmp_path / f"{shade}.png", np.full((4, 5, 3), shade, dtype=np.uint8)) for shade in (0, 250, 9)
    ]
    return {hashlib.sha256(file.read_bytes()).digest(): file for file in files}


def test_predictions_are_probabilities_by_class_and_are_read_from_the_cache(pictures, tmp_path, monkeypatch):
    monkeypatch.setattr(predictions, "image_tower", lambda name: FakeTower())
    found = predict(pictures, tmp_path / "cache.npz")
    assert [max(found[digest], key=found[digest].get) for digest in pictures] == [0, 1, 0]
    assert all(len(classes) == KEPT and sum(classes.values()) <= 1.0001 for classes in found.values())

    monkeypatch.delattr(predictions, "image_tower")
    again = predict(pictures, tmp_path / "cache.npz")
    assert again.keys() == found.keys()
    for digest, classes in again.items():
        assert classes == pytest.approx(found[digest])


def test_a_cache_of_another_tower_and_a_damaged_one_are_refused(pictures, tmp_path, monkeypatch):
    monkeypatch.setattr(predictions, "image_tower", lambda name: FakeTower())
    cache = tmp_path / "cache.npz"
    predict(pictures, cache)
    with pytest.raises(UserError, match="holds predictions of tf_efficientnet_lite2 260; delete it or name another"):
        predict(pictures, cache, tower="resnet18")
    for damaged in (b"nothing", cache.read_bytes()[:200]):
        cache.write_bytes(damaged)
        with pytest.raises(UserError, match="is not a file of predictions"):
            predict(pictures, cache)

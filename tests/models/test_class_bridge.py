"""The class bridge: what a classifier tells apart is kept beside a head; checked against sums class
by class.
"""

from pathlib import Path

import pytest
import timm
import torch
from timm.data import ImageNetInfo
from torch import nn
from torch.testing import assert_close

from genius.errors import UserError
from genius.models.class_bridge import BridgedHead, ClassTexts, classes_of
from genius.models.encoder import Encoder
from genius.models.towers import image_tower
from tests.models.test_open_clip import edit
from tests.models.tiny_towers import TINY, tiny_towers_encoder, write_image_tower, write_timm_folder


def bridged(temperature=1.0, gain=1.0) -> BridgedHead:
    torch.manual_seed(0)
    head = BridgedHead(nn.Linear(6, 4), 5, 6, 4, temperature, gain)
    head.set_classifier(nn.Linear(6, 5))
    head.prototypes.copy_(nn.functional.normalize(torch.randn(5, 4), dim=-1))
    with torch.no_grad():
        head.weight.fill_(0.7)
    return head


@pytest.mark.parametrize(("temperature", "gain"), [(1.0, 1.0), (0.3, 1.0), (1.0, 1.5)])
def test_classes_are_added_by_their_probabilities(temperature, gain):
    head = bridged(temperature, gain)
    outputs = torch.randn(3, 6)
    with torch.no_grad():
        features = head(outputs)
    for output, feature in zip(outputs, features, strict=True):
        projected = head.head.weight @ output + head.head.bias
        logits = (head.classifier @ output + head.classifier_bias) / temperature
        shares = logits.exp() / logits.exp().sum()
        classes = sum(share * prototype for share, prototype in zip(shares, head.prototypes))
        expected = (
            projected + 0.7 * gain * projected.norm() * classes / max(classes.norm(), 1e-6) ** 0.5
        )
        assert_close(feature, expected)


def bridged_encoder(folder: Path, image: str = f"{TINY}.r160_in1k", bridge: bool = True) -> Encoder:
    return tiny_towers_encoder(folder, image, head="residual", bridge=bridge)


def test_a_bridge_is_saved_and_loaded_with_its_encoder(tmp_path):
    encoder = bridged_encoder(tmp_path)
    head = encoder.split().image_head
    assert isinstance(head, BridgedHead) and head.classifier.any()
    folder = tmp_path / "saved"
    folder.mkdir()
    encoder.save(folder)
    loaded = Encoder.load(folder)
    pixels = torch.rand(2, 3, 64, 64)
    with torch.inference_mode():
        expected = encoder.split().image_head(encoder.split().image_outputs(pixels))
        present = torch.ones(2, dtype=torch.bool)
        assert_close(
            loaded.for_inference()(pixels, present, torch.zeros(0), ~present).image, expected
        )
    assert loaded.config.model["bridge"]["labels"] == "imagenet-1k"


def test_without_a_classifier_of_known_classes_there_is_no_bridge(tmp_path):
    assert classes_of(timm.create_model(TINY, num_classes=0)) == ""
    assert classes_of(timm.create_model(TINY, num_classes=7)) == ""
    assert "bridge" not in bridged_encoder(tmp_path, bridge=False).config.model


SYNSETS = ImageNetInfo("imagenet-1k").label_names()


@pytest.mark.parametrize(
    ("said", "labels"),
    [
        ({}, ""),
        ({"tag": "in1k"}, "imagenet-1k"),
        ({"tag": "augreg_in21k_ft_in1k_384"}, "imagenet-1k"),
        ({"tag": "augreg_in21k"}, ""),  # weights that went on to learn other classes
        ({"tag": "fb_dino"}, ""),
        ({"label_names": SYNSETS}, "imagenet-1k"),
        ({"tag": "in1k", "label_names": [f"dish {number}" for number in range(1000)]}, ""),
        ({"label_names": SYNSETS[::-1]}, ""),
    ],
)
def test_a_thousand_classes_are_those_of_imagenet_only_if_the_tower_says_so(tmp_path, said, labels):
    write_timm_folder(tmp_path, **said)
    assert classes_of(image_tower(str(tmp_path))) == labels


def test_weights_in_a_file_are_of_imagenet_if_their_name_has_the_tag(tmp_path):
    _, name = write_image_tower(tmp_path)
    assert classes_of(image_tower(name)) == ""
    assert classes_of(image_tower(name.replace(":", ".r160_in1k:"))) == "imagenet-1k"
    assert "bridge" not in bridged_encoder(tmp_path, name).config.model


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": "imagenet-22k"}, "has the shape"),
        ({"labels": "my-classes"}, "have no names; expected imagenet-1k"),
        ({"labels": "../secret"}, "labels"),
        ({"temperature": 0}, "temperature"),
    ],
)
def test_a_bridge_that_does_not_fit_is_refused_in_one_sentence(tmp_path, change, message):
    folder = tmp_path / "saved"
    folder.mkdir()
    bridged_encoder(tmp_path).save(folder)
    ((key, value),) = change.items()
    edit(folder / "config.json", "model", "bridge", key, value=value)
    with pytest.raises(UserError, match=message):
        Encoder.load(folder)


def test_classes_have_names_and_definitions():
    texts = ClassTexts.of("imagenet-1k")
    assert len(texts.names) == len(texts.definitions) == 1000
    assert texts.names[1][0] == "goldfish" and texts.definitions[1].startswith("small golden")
    assert texts.entries[1].startswith("Goldfish (Carassius auratus): small golden")

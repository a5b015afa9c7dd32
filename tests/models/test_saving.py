import os
from dataclasses import dataclass

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from genius.errors import UserError
from genius.models.decoder import IDDecoder
from genius.models.encoder import Encoder
from genius.models.fusion import Fusion
from genius.models.saving import LARGE, load_model, round_to_half, save_model
from tests.models.tiny_towers import tiny_towers_encoder
from tests.search.tiny import tiny_decoder, tiny_encoder, tiny_fusion


@dataclass(frozen=True)
class Config:
    width: int = 3


class Model(nn.Module):
    """A weight, an integer buffer, and a buffer that only training needs."""

    def __init__(self, config: Config):
        super().__init__()
        self.layer = nn.Linear(config.width, 2)
        self.register_buffer("count", torch.tensor(70_001))
        self.register_buffer("spare_total", torch.ones(config.width))


def test_half_precision_halves_the_floating_weights_and_rounds_them(tmp_path):
    torch.manual_seed(0)
    model = Model(Config())
    save_model(model, Config(), tmp_path, half=True)

    stored = load_file(tmp_path / "model.safetensors")
    loaded = load_model(Model, Config, tmp_path)

    assert {name: tensor.dtype for name, tensor in stored.items()} == {
        "layer.weight": torch.float16,
        "layer.bias": torch.float16,
        "count": torch.int64,
        "spare_total": torch.float16,
    }
    assert torch.equal(loaded.layer.weight, model.layer.weight.half().float())
    assert loaded.layer.weight.dtype == model.layer.weight.dtype == torch.float32
    assert loaded.count == 70_001


def same(model: nn.Module, weights: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(tensor, weights[name]) for name, tensor in model.state_dict().items())


def test_a_model_comes_back_the_same_and_in_half_precision_if_it_was_rounded_before(tmp_path):
    parts = (Encoder(tiny_encoder().config), tiny_fusion(), tiny_decoder(geometry=True))
    for kind, model in zip((Encoder, Fusion, IDDecoder), parts, strict=True):
        model.save(tmp_path)
        assert same(kind.load(tmp_path), model.state_dict())
        before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        round_to_half(model)
        model.save(tmp_path, half=True)
        loaded = kind.load(tmp_path)
        assert same(loaded, model.state_dict()) and not same(loaded, before)


@pytest.mark.parametrize("half", [False, True])
def test_tied_weights_are_stored_once_and_the_same_weights_give_the_same_bytes(half, tmp_path):
    decoder = tiny_decoder()
    stored = set()
    for _ in range(2):
        decoder.save(tmp_path, half=half)
        stored.add((tmp_path / "model.safetensors").read_bytes())
    names = load_file(tmp_path / "model.safetensors").keys()
    assert len(stored) == 1 and len(names) < len(decoder.state_dict())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda weight: weight.fill_(torch.nan), "layer.weight holds a number that is not finite"),
        (lambda weight: weight.bfloat16(), "layer.weight holds torch.bfloat16, not torch.float32"),
        (
            lambda weight: weight.T.contiguous(),
            r"layer.weight has the shape \(3, 2\), its config says \(2, 3\)",
        ),
    ],
)
def test_weights_of_another_type_or_shape_or_that_are_not_finite_are_refused(
    tmp_path, change, reason
):
    save_model(Model(Config()), Config(), tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    save_file(
        tensors | {"layer.weight": change(tensors["layer.weight"])}, tmp_path / "model.safetensors"
    )
    with pytest.raises(UserError, match=reason):
        load_model(Model, Config, tmp_path)


@pytest.mark.parametrize(
    ("width", "reason"), [(10**5, "its config says"), (10**12, "you tried to allocate")]
)
def test_a_config_of_a_larger_model_than_its_weights_is_refused(tmp_path, width, reason):
    save_model(Model(Config()), Config(), tmp_path)
    (tmp_path / "config.json").write_text(f'{{"width": {width}}}')
    with pytest.raises(UserError, match=reason):
        load_model(Model, Config, tmp_path)


@pytest.mark.parametrize("length", [2**33, -1, 9, 0])
def test_a_file_of_weights_that_is_not_as_long_as_its_header_says_is_refused(tmp_path, length):
    save_model(Model(Config()), Config(), tmp_path)
    file = tmp_path / "model.safetensors"
    os.truncate(file, length if length >= 0 else file.stat().st_size + length)
    with pytest.raises(UserError, match="cannot be loaded"):
        load_model(Model, Config, tmp_path)


def test_a_weight_beyond_half_precision_is_named():
    model = Model(Config())
    nn.init.constant_(model.layer.bias, 70_000.0)
    with pytest.raises(UserError, match="layer.bias does not fit half precision"):
        round_to_half(model)


def test_only_optional_weights_may_be_missing(tmp_path):
    save_model(Model(Config()), Config(), tmp_path, exclude=("spare_",))
    assert "spare_total" not in load_file(tmp_path / "model.safetensors")
    assert load_model(Model, Config, tmp_path, optional=("spare_",)).spare_total.sum() == 3
    with pytest.raises(UserError, match="weights are missing or unknown, such as spare_total"):
        load_model(Model, Config, tmp_path)


class WideModel(nn.Module):
    """Weights that are stored in different ways where a model is stored in 8 bits."""

    half_weights = ("head.",)

    def __init__(self, config: Config):
        super().__init__()
        self.wide, self.small = nn.Linear(512, 256), nn.Linear(4, config.width)
        self.head = nn.Linear(512, 256)
        self.filters = nn.Conv2d(64, 128, 3)
        # a weight whose name is that of scales, as in some timm models
        self.scale = nn.Parameter(torch.ones(2))
        self.register_buffer("count", torch.tensor(70_001))


def test_eight_bits_store_large_matrices_as_integers_and_lose_at_most_half_a_step(tmp_path):
    torch.manual_seed(0)
    model = WideModel(Config())
    with torch.no_grad():
        model.wide.weight[3] = 0  # a row without a scale
    save_model(model, Config(), tmp_path, eight_bit=True)
    stored = load_file(tmp_path / "model.safetensors")
    assert stored["wide.weight"].dtype == torch.int8 and stored["wide.weight.scale"].shape == (256,)
    others = {
        name: tensor.dtype for name, tensor in stored.items() if not name.startswith("wide.weight")
    }
    assert others.pop("count") == torch.int64 and set(others.values()) == {torch.float16}

    loaded = load_model(WideModel, Config, tmp_path).wide.weight
    step = model.wide.weight.abs().amax(1, keepdim=True) / 127
    assert ((loaded - model.wide.weight).abs() <= 0.51 * step + 1e-6).all()


def test_weights_rounded_to_eight_bits_are_stored_without_loss(tmp_path):
    torch.manual_seed(0)
    model = WideModel(Config())
    round_to_half(model, eight_bit=True)
    save_model(model, Config(), tmp_path, eight_bit=True)
    assert same(load_model(WideModel, Config, tmp_path), model.state_dict())


@pytest.mark.parametrize("damage", ["other rows", "no scales", "no matrix"])
def test_an_eight_bit_matrix_whose_scales_do_not_fit_is_refused(tmp_path, damage):
    save_model(WideModel(Config()), Config(), tmp_path, eight_bit=True)
    tensors = load_file(tmp_path / "model.safetensors")
    scales = tensors.pop("wide.weight.scale")
    if damage == "other rows":
        tensors["wide.weight.scale"] = scales[1:].clone()
    elif damage == "no matrix":
        del tensors["wide.weight"]
    save_file(tensors, tmp_path / "model.safetensors")
    with pytest.raises(
        UserError, match="has no scales that fit it|missing or unknown, such as wide.weight"
    ):
        load_model(WideModel, Config, tmp_path)


def test_a_weight_named_like_scales_is_loaded_from_every_kind_of_file(tmp_path):
    for kind in ({}, {"half": True}, {"eight_bit": True}):
        save_model(WideModel(Config()), Config(), tmp_path, **kind)
        assert torch.equal(load_model(WideModel, Config, tmp_path).scale, torch.ones(2))


def test_the_heads_of_an_encoder_stay_in_half_precision(tmp_path):
    encoder = tiny_towers_encoder(tmp_path, dim=260, image_size=32)
    encoder.save(tmp_path, eight_bit=True)
    stored = load_file(tmp_path / "model.safetensors")
    heads = [name for name in stored if name.startswith(Encoder.half_weights)]
    assert any(stored[name].numel() > LARGE for name in heads)
    assert all(stored[name].dtype == torch.float16 for name in heads)
    assert Encoder.load(tmp_path).encode([None], ["a red dog"]).text.shape == (1, 260)

"""An encoder is split into towers and heads, whatever open_clip built it from; heads with a linear
path.
"""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from genius.errors import UserError
from genius.models.encoder import Encoder
from genius.models.encoder_config import EncoderConfig
from genius.models.heads import ResidualHead, fold_standardization
from tests.models.test_open_clip import PLAIN, TEXT
from tests.models.tiny_towers import tiny_towers_encoder

CUSTOM = PLAIN | {"custom_text": True}


def new_encoder(config) -> Encoder:
    torch.manual_seed(0)
    return Encoder(EncoderConfig(config)).eval()


@pytest.mark.parametrize(
    "config",
    [
        CUSTOM,
        CUSTOM | {"text_cfg": TEXT | {"proj_bias": True}},
        CUSTOM | {"text_cfg": TEXT | {"no_causal_mask": True, "pool_type": "last"}},
    ],
    ids=["custom", "text bias", "SigLIP text"],
)
def test_heads_on_the_outputs_of_the_towers_give_the_features(config):
    check_split(new_encoder(config))


@pytest.mark.parametrize("head", ["mlp", "linear", "residual"])
def test_heads_on_the_outputs_of_pretrained_towers_give_the_features(tmp_path, head):
    check_split(tiny_towers_encoder(tmp_path, head=head))


def check_split(encoder: Encoder) -> None:
    split = encoder.split()
    side = encoder.config.model["vision_cfg"]["image_size"]
    pixels = torch.rand(3, 3, side, side)
    tokens = encoder.tokenize(["a red dog", "a dog", "a"])
    present = torch.ones(3, dtype=torch.bool)
    with torch.inference_mode():
        features = encoder(pixels, present, tokens, present)
        assert_close(split.image_head(split.image_outputs(pixels)), features.image)
        assert_close(split.text_head(split.text_outputs(tokens)), features.text)
    with torch.no_grad():
        for parameter in (*split.image_head.parameters(), *split.text_head.parameters()):
            parameter.mul_(2)  # the heads are the encoder's own
        assert not torch.allclose(encoder(pixels, present, tokens, present).image, features.image)
        assert not torch.allclose(encoder(pixels, present, tokens, present).text, features.text)


def test_a_tower_without_a_head_of_its_own_is_refused():
    with pytest.raises(UserError, match="the head of .* cannot be trained apart from it"):
        new_encoder(
            CUSTOM | {"text_cfg": TEXT | {"proj_type": "none", "width": 12, "heads": 2}}
        ).split()


@pytest.mark.parametrize("head", ["mlp", "linear", "residual"])
def test_the_standardization_of_a_towers_outputs_folds_into_the_head(tmp_path, head):
    split = tiny_towers_encoder(tmp_path, head=head).split()
    for layer, centered in ((split.image_head, True), (split.text_head, head == "residual")):
        width = next(
            module for module in layer.modules() if isinstance(module, nn.Linear)
        ).in_features
        outputs = torch.rand(5, width)
        mean = torch.rand(width) * centered
        std = torch.rand(width) + 0.5
        with torch.inference_mode():
            expected = layer((outputs - mean) / std)
            fold_standardization(layer, mean, std)
            assert_close(layer(outputs), expected, atol=1e-5, rtol=1e-4)
    if head != "residual":
        with pytest.raises(ValueError, match="has no bias"):
            fold_standardization(split.text_head, torch.ones(16), torch.ones(16))


def test_the_standardization_folds_into_a_projection_matrix():
    head = new_encoder(PLAIN).split().image_head
    outputs = torch.rand(5, 32)
    std = torch.rand(32) + 0.5
    with torch.inference_mode():
        expected = head(outputs / std)
    fold_standardization(head, torch.zeros(32), std)
    assert_close(head(outputs), expected)


def test_a_residual_head_is_a_linear_map_and_a_hidden_layer():
    torch.manual_seed(0)
    head = ResidualHead(5, 3, hidden=4, dropout=0.5).eval()
    x = torch.rand(2, 5)
    linear, inner = head.first.weight[:3], head.first.weight[3:]
    expected = x @ linear.T + head.first.bias[:3]
    expected = (
        expected
        + F.gelu(x @ inner.T + head.first.bias[3:]) @ head.hidden[2].weight.T
        + head.hidden[2].bias
    )
    assert_close(head(x), expected)


def test_dropout_leaves_the_linear_path_alone():
    torch.manual_seed(0)
    head = ResidualHead(5, 3, hidden=4, dropout=0.99).train()
    x = torch.rand(1, 5)
    linear = F.linear(x, head.first.weight[:3], head.first.bias[:3]) + head.hidden[2].bias
    assert_close(torch.stack([head(x) for _ in range(50)]).median(0).values, linear)

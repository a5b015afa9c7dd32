"""genius/models/folding.py: a folded image tower computes the same features."""

import copy

import pytest
import torch
from torch import nn

from genius.models.encoder import Encoder
from genius.models.encoder_config import EncoderConfig
from genius.models.folding import fold_image_tower, folded
from tests.models.test_open_clip import PLAIN


def with_used_norms(module: nn.Module) -> nn.Module:
    """Batch norms as after training: statistics and gains that change something."""
    generator = torch.Generator().manual_seed(1)
    for norm in (part for part in module.modules() if isinstance(part, nn.BatchNorm2d)):
        for values, low, high in (
            (norm.running_mean, -0.3, 0.3),
            (norm.running_var, 0.5, 2.0),
            (norm.weight.data, 0.5, 1.5),
            (norm.bias.data, -0.3, 0.3),
        ):
            values.uniform_(low, high, generator=generator)
    return module.eval()


def norms(module: nn.Module) -> int:
    return sum(isinstance(part, nn.BatchNorm2d) for part in module.modules())


@pytest.mark.parametrize(("name", "left"), [("test_efficientnet", 0), ("resnet10t", 1)])  # 1: behind a stem of several
def test_an_encoder_of_a_convolutional_tower_keeps_its_features_and_loses_its_norms(name, left):
    torch.manual_seed(0)
    vision = {"timm_model_name": name, "image_size": 64, "timm_proj": "linear"}
    encoder = Encoder(EncoderConfig(PLAIN | {"vision_cfg": vision}))
    with_used_norms(encoder)
    encoder.config.preprocess["size"] = 64
    pixels = torch.randn(3, 3, 64, 64)
    with torch.no_grad():
        expected = encoder.clip.encode_image(pixels)
        assert norms(encoder.clip.visual) > 5
        fold_image_tower(encoder)
        found = encoder.clip.encode_image(pixels)

    assert norms(encoder.clip.visual) == left
    torch.testing.assert_close(found, expected, atol=1e-5 * expected.abs().max().item(), rtol=0)


def test_a_tower_without_norms_stays_itself():
    tower = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten())
    assert folded(tower, 8) is tower


class Crossed(nn.Module):
    """Its norm is defined behind the convolution and applied before it."""

    def __init__(self):
        super().__init__()
        self.convolution, self.norm = nn.Conv2d(3, 3, 3), nn.BatchNorm2d(3)

    def forward(self, pixels):
        return self.convolution(self.norm(pixels))


def test_a_tower_that_folding_would_change_stays_itself():
    torch.manual_seed(0)
    tower = with_used_norms(Crossed())
    before = copy.deepcopy(tower.state_dict())

    assert folded(tower, 8) is tower
    for name, values in tower.state_dict().items():
        assert torch.equal(values, before[name])

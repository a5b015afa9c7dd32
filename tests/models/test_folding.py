"""An image tower with folded batch norms computes what it did before."""

import timm
import torch
from PIL import Image
from torch import nn
from torch.testing import assert_close

from genius.models.folding import fold_batch_norms
from tests.models.tiny_towers import tiny_towers_encoder


def norms(tower: nn.Module) -> list[nn.Module]:
    return [module for module in tower.modules() if isinstance(module, nn.BatchNorm2d)]


def with_statistics(tower: nn.Module) -> nn.Module:
    """The tower with batch norms that change their input, as training leaves them."""
    for norm in norms(tower):
        norm.running_mean.normal_()
        norm.running_var.uniform_(0.5, 2.0)
        nn.init.normal_(norm.weight, 1.0, 0.3)
        nn.init.normal_(norm.bias)
    return tower.eval()


def folded_like_before(tower: nn.Module, x: torch.Tensor) -> int:
    with torch.inference_mode():
        expected = tower(x)
        folded = fold_batch_norms(tower)
        assert_close(tower(x), expected, rtol=1e-4, atol=1e-4)
    return folded


def test_every_batch_norm_of_an_efficientnet_and_a_resnet_is_folded():
    torch.manual_seed(0)
    for name in ("tf_efficientnet_lite0", "resnet10t"):
        tower = with_statistics(timm.create_model(name))
        number = len(norms(tower))
        assert folded_like_before(tower, torch.randn(2, 3, 64, 64)) == number > 0
        assert not norms(tower)


def test_what_is_read_twice_stands_alone_or_standardizes_its_weights_is_not_folded():
    class Tower(nn.Module):
        def __init__(self):
            super().__init__()
            self.twice = nn.Conv2d(3, 3, 1)
            self.norm_of_twice = nn.BatchNorm2d(3)
            self.first_norm = nn.BatchNorm2d(3)
            self.standardized = timm.layers.StdConv2d(3, 3, 1)
            self.norm_of_standardized = nn.BatchNorm2d(3)
            self.shared = nn.Conv2d(3, 3, 1)
            self.norm_of_shared = nn.BatchNorm2d(3)

        def forward(self, x):
            x = self.twice(self.first_norm(x))
            x = x + self.norm_of_twice(x)
            x = self.norm_of_standardized(self.standardized(x))
            return self.norm_of_shared(self.shared(x)) + self.shared(x)

    torch.manual_seed(0)
    assert folded_like_before(with_statistics(Tower()), torch.randn(2, 3, 8, 8)) == 0


def test_a_tower_that_cannot_be_traced_stays_as_it_is():
    class Tower(nn.Sequential):
        def forward(self, x):
            return super().forward(x) if x.sum() > 0 else x

    tower = Tower(nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3))
    assert folded_like_before(with_statistics(tower), torch.ones(1, 3, 4, 4)) == 0


def test_an_encoder_for_inference_gives_the_same_features(tmp_path):
    encoder, folded = (tiny_towers_encoder(tmp_path) for _ in range(2))
    with_statistics(encoder.clip.visual)
    folded.load_state_dict(encoder.state_dict())
    assert folded.train().for_inference() is folded and not folded.training
    assert norms(encoder.clip.visual) and not norms(folded.clip.visual)
    inputs = [Image.new("RGB", (70, 60), "green"), None], ["", "A tree."]
    assert_close(folded.encode(*inputs).embedding(), encoder.encode(*inputs).embedding())

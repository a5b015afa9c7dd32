"""Heads with a linear path, against their definition."""

import torch
import torch.nn.functional as F
from PIL import Image

from genius.models.encoder import Encoder
from genius.models.heads import ResidualHead
from genius.models.split import fold_standardization
from tests.models.test_towers import write_image_tower, write_text_tower


def test_a_residual_head_is_a_linear_map_and_a_hidden_layer():
    torch.manual_seed(0)
    head, x = ResidualHead(5, 3, hidden=4, dropout=0.5).eval(), torch.rand(2, 5)
    linear, inner = head.first.weight[:3], head.first.weight[3:]
    expected = x @ linear.T + head.first.bias[:3]
    expected = expected + F.gelu(x @ inner.T + head.first.bias[3:]) @ head.hidden[2].weight.T + head.hidden[2].bias
    torch.testing.assert_close(head(x), expected)


def test_dropout_leaves_the_linear_path_alone():
    torch.manual_seed(0)
    head, x = ResidualHead(5, 3, hidden=4, dropout=0.99).train(), torch.rand(1, 5)
    linear = F.linear(x, head.first.weight[:3], head.first.bias[:3]) + head.hidden[2].bias
    torch.testing.assert_close(torch.stack([head(x) for _ in range(50)]).median(0).values, linear)


def test_mean_and_deviation_of_the_outputs_fold_into_a_residual_head():
    torch.manual_seed(0)
    head, x, mean, std = ResidualHead(5, 3, 4, 0.0), torch.rand(2, 5), torch.rand(5), torch.rand(5) + 0.5
    expected = head((x - mean) / std)
    fold_standardization(head, mean, std)
    torch.testing.assert_close(head(x), expected)


def test_an_encoder_with_residual_heads_is_stored_and_loaded(tmp_path):
    _, name = write_image_tower(tmp_path)
    write_text_tower(tmp_path / "text")
    encoder = Encoder.from_towers(
        name, str(tmp_path / "text"), dim=12, image_size=64, head="residual", hidden=6, text_dropout=0.5
    )
    (tmp_path / "saved").mkdir()
    encoder.save(tmp_path / "saved")
    inputs = [Image.new("RGB", (70, 60), "red"), None], ["", "a red dog"]
    stored = Encoder.load(tmp_path / "saved")
    torch.testing.assert_close(stored.encode(*inputs).embedding(), encoder.encode(*inputs).embedding())

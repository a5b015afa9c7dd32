import pytest
from torch import nn

from genius.errors import UserError
from genius.models.decoder import IDDecoder
from genius.models.fusion import Fusion
from training.encoder import new_encoder
from training.settings import DEMO, PAPER, PRESETS, SMALL, changed


def test_a_setting_is_changed_at_any_depth_and_nothing_else_is():
    settings = changed(changed(SMALL, "encoder.epochs=1"), "decoder.decoder.layers=2")
    assert (settings.encoder.epochs, settings.decoder.decoder.layers) == (1, 2)
    assert settings.quantizer == SMALL.quantizer


def test_whole_numbers_serve_where_fractions_are_expected():
    assert changed(SMALL, "encoder.learning_rate=1").encoder.learning_rate == 1.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("encoder.epochs", "expected STAGE.NAME=VALUE"),
        ("encoder.epoch=3", "no 'epoch'; choose from architecture, pretrained, epochs"),
        ("encoders.epochs=3", "no 'encoders'; choose from encoder, features"),
        ("encoder.epochs=three", "expected a value like"),
        ("encoder.bf16=1", "expected a value like true"),
        ("encoder.crop=0", "crop is a share above 0"),
        ("encoder.substitution=1.0", "substitution is a probability below 1"),
        ("index.thumbnail_quality=101", "thumbnail_quality is 1 to 100"),
        ("quantizer.quantizer.gradient=magic", "expected one of rotation, straight_through"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_in_one_sentence(change, message):
    with pytest.raises(UserError, match=message):
        changed(SMALL, change)


def test_the_parts_of_a_preset_fit_each_other():
    for settings in PRESETS.values():
        quantizer, decoder = settings.quantizer.quantizer, settings.decoder.decoder
        assert quantizer.code_sizes == decoder.code_sizes
        assert quantizer.dim == decoder.dim == settings.quantizer.fusion.dim


def test_the_paper_preset_has_the_published_sizes():
    assert PAPER.quantizer.quantizer.code_sizes == (3,) + (4096,) * 8
    assert (PAPER.decoder.decoder.width, PAPER.decoder.decoder.layers, PAPER.decoder.decoder.prefix) == (512, 6, 30)
    assert (PAPER.quantizer.rq_weight, PAPER.quantizer.mse_weight, PAPER.quantizer.temperature) == (100, 100, 0.01)


def test_the_demo_preset_fits_the_space_that_its_parts_may_take():
    encoder, stage = new_encoder(DEMO.encoder), DEMO.quantizer
    parts = [Fusion(stage.fusion), IDDecoder(DEMO.decoder.decoder)]
    codebooks = sum(stage.quantizer.code_sizes) * stage.quantizer.dim
    assert 2 * numbers(encoder) <= 20e6  # two bytes a number
    assert 2 * (codebooks + sum(numbers(part) for part in parts)) <= 12e6


def numbers(model: nn.Module) -> int:
    stored = {tensor.data_ptr(): tensor.numel() for tensor in model.state_dict().values()}  # tied ones once
    return sum(stored.values())

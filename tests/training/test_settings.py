"""Settings, and the arguments that the commands of training share."""

import sys
from itertools import permutations

import pytest
from torch import nn

from genius.errors import UserError
from genius.models.decoder import IDDecoder
from genius.models.fusion import Fusion
from training.command_line import parse_arguments, reported_command
from training.encoder import new_encoder
from training.presets import PAPER, PHOTOS, SMALL, TOY
from training.settings import with_changes, with_stage_changes


def test_a_setting_is_changed_at_any_depth_and_no_other_is():
    settings = with_stage_changes(with_stage_changes(SMALL, "encoder.epochs=1"), "decoder.decoder.layers=2")
    assert (settings.encoder.epochs, settings.decoder.decoder.layers) == (1, 2)
    assert settings.quantizer == SMALL.quantizer


def test_changes_are_applied_together_so_their_order_does_not_matter():
    for changes in permutations(["decoder.keep_best=false", "decoder.patience=0"]):
        assert not with_changes(PHOTOS, changes).decoder.keep_best
    with pytest.raises(UserError, match="patience=2 --set decoder.keep_best=false: expected that keep_best is true"):
        with_changes(SMALL, ["decoder.patience=2", "quantizer.epochs=1", "decoder.keep_best=false"])


def test_of_two_values_of_one_setting_the_last_holds_and_both_are_checked():
    assert with_changes(SMALL, ["encoder.epochs=3", "encoder.epochs=2"]).encoder.epochs == 2
    with pytest.raises(UserError, match="epochs=x: expected a value like"):
        with_changes(SMALL, ["encoder.epochs=x", "encoder.epochs=2"])


def test_the_smallest_values_are_accepted():
    for change in (
        "features.phrasings=1",
        "features.batch=1",
        "decoder.epochs=1",
        "decoder.batch=2",
        "decoder.warmup_steps=0",
        "decoder.decoder_weights=[0]",
        "quantizer.kmeans_vectors=2",
    ):
        with_stage_changes(SMALL, change)


def test_a_setting_of_several_types_takes_each_of_them():
    assert with_stage_changes(PAPER, "decoder.upsample_to=0").decoder.upsample_to == 0
    assert with_stage_changes(SMALL, 'decoder.upsample_to={"webqa": 9}').decoder.upsample_to == {"webqa": 9}
    assert with_stage_changes(SMALL, "encoder.architecture=ViT-B-32").encoder.architecture == "ViT-B-32"
    assert with_stage_changes(SMALL, 'encoder.architecture={"embed_dim": 3}').encoder.architecture == {"embed_dim": 3}
    assert with_stage_changes(SMALL, "decoder.decoder_weights=[1, 0.5]").decoder.decoder_weights == (1.0, 0.5)
    assert with_stage_changes(PAPER, "encoder.pretrained=").encoder.pretrained == ""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("encoder.epochs", "expected STAGE.NAME=VALUE"),
        ("encoder.epoch=3", "no 'epoch'; choose from architecture, fusion, pretrained, epochs"),
        ("encoders.epochs=3", "no 'encoders'; choose from encoder, features"),
        ("encoder.epochs=three", "expected a value like"),
        ("encoder.bf16=1", "expected a value like true"),
        ("encoder.upsample_to=true", "expected a value like 5000"),
        ("encoder.locked=0", "expected a value like"),
        ("encoder.rows=shop", r'expected a value like \["NAME"\]'),
        ("encoder.epochs.more=1", "expected a value like 5"),
        ("encoder.min_crop=0", "min_crop is above 0"),
        ("encoder.instruction_swap_prob=1.0", "instruction_swap_prob is a probability below 1"),
        ("features.phrasings=0", "phrasings and batch are at least 1"),
        ("features.batch=0", "phrasings and batch are at least 1"),
        ("decoder.epochs=0", "epochs is at least 1 and batch at least 2"),
        ("decoder.batch=1", "epochs is at least 1 and batch at least 2"),
        ("encoder.learning_rate=0", "learning_rate is above 0"),
        ("encoder.weight_decay=-0.1", "weight_decay is at least 0"),
        ("encoder.warmup=2", "warmup is between 0 and 1"),
        ("encoder.batch=1", "batch is at least 2 and group at least 1"),
        ("encoder.modality_weight=-1", "modality_weight is at least 0"),
        ("encoder.towers.bridge_temperature=0", "bridge_temperature is above 0"),
        ("encoder.towers.bridge_cut=1.0", "bridge_cut is a probability below 1"),
        ("encoder.locked.class_pictures=1", "class_pictures is 0, or at least 2"),
        ("encoder.locked.class_pictures=101", "class_pictures is 0, or at least 2 and at most 100"),
        ("quantizer.temperature=0", "temperature is above 0"),
        ("quantizer.learning_rate=0.0", "learning_rate is above 0"),
        ("quantizer.mse_weight=-1", "rq_weight and mse_weight are at least 0"),
        ("quantizer.kmeans_vectors=1", "kmeans_vectors is at least 2"),
        ("decoder.learning_rate=-1e-4", "learning_rate is above 0"),
        ("decoder.warmup_steps=-1", "warmup_steps is at least 0"),
        ("decoder.decoder_weights=[]", "at least one weight, each between 0 and 1"),
        ("decoder.decoder_weights=[1, 1.5]", "at least one weight, each between 0 and 1"),
        ("quantizer.quantizer.codebook_size=65537", "level 1 has 65,537 codes; at most 65,536"),
        ("quantizer.quantizer.gradient=magic", "expected one of rotation, straight_through"),
    ],
)
def test_an_impossible_setting_is_refused_in_one_sentence(change, message):
    with pytest.raises(UserError, match=message):
        with_stage_changes(SMALL, change)


def test_the_parts_of_the_toy_preset_fit_their_budgets():
    encoder, stage = new_encoder(TOY.encoder), TOY.quantizer
    parts = [Fusion(stage.fusion), IDDecoder(TOY.decoder.decoder)]
    codebooks = sum(stage.quantizer.code_sizes) * stage.quantizer.dim
    assert 2 * weights_of(encoder) <= 2e6  # two bytes a number
    assert 2 * (codebooks + sum(weights_of(part) for part in parts)) <= 1e6


def weights_of(model: nn.Module) -> int:
    stored = {tensor.data_ptr(): tensor.numel() for tensor in model.state_dict().values()}  # tied ones once
    return sum(stored.values())


def test_ids_of_one_level_are_refused():
    with pytest.raises(UserError, match="levels is at least 2"):
        with_changes(SMALL, ["quantizer.quantizer.levels=1", "decoder.decoder.levels=1"])


@pytest.mark.parametrize("option", ["--seed", "--workers"])
@pytest.mark.parametrize("value", ["-1", "1.5", "two"])
def test_a_number_below_zero_or_none_is_refused(tmp_path, monkeypatch, option, value):
    monkeypatch.setattr(sys, "argv", ["training", "collection", str(tmp_path), option, value])
    with pytest.raises(UserError, match=f"{option} {value}: expected an integer of at least 0"):
        parse_arguments("training", "")


def test_a_collection_is_not_trained_into(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["training", str(tmp_path), f"{tmp_path}/../{tmp_path.name}"])
    with pytest.raises(UserError, match="is the collection; name another directory for the run"):
        parse_arguments("training", "")


def test_a_reported_command_names_no_path(tmp_path):
    words = [str(tmp_path), "run", "--limit", "3"]
    assert reported_command("training.ablations", words, {tmp_path: "COLLECTION"}) == (
        "python -m training.ablations COLLECTION run --limit 3"
    )

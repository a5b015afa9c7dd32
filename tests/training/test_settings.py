"""Settings, and the arguments that the commands of training share: which preset a training has that
names none.
"""

from itertools import permutations
from operator import attrgetter

import pytest
import torch

from genius.errors import UserError
from genius.run import BUILT_FROM, Run
from tests.search.tiny import DIM, tiny_encoder
from training import command_line, presets
from training.command_line import parse_arguments
from training.presets import PAPER, PHOTOS, SMALL
from training.settings import with_changes, with_stage_changes
from training.stages.encoder import new_encoder


def test_a_setting_is_changed_at_any_depth_and_no_other_is():
    settings = with_stage_changes(
        with_stage_changes(SMALL, "encoder.epochs=1"), "decoder.decoder.layers=2"
    )
    assert (settings.encoder.epochs, settings.decoder.decoder.layers) == (1, 2)
    assert settings.quantizer == SMALL.quantizer


def test_changes_are_applied_together_so_their_order_does_not_matter():
    for changes in permutations(["decoder.keep_best=false", "decoder.patience=0"]):
        assert not with_changes(PHOTOS, changes).decoder.keep_best
    with pytest.raises(
        UserError, match="patience=2 --set decoder.keep_best=false: expected that keep_best is true"
    ):
        with_changes(SMALL, ["decoder.patience=2", "quantizer.epochs=1", "decoder.keep_best=false"])


def test_of_two_values_of_one_setting_the_last_holds_and_both_are_checked():
    assert with_changes(SMALL, ["encoder.epochs=3", "encoder.epochs=2"]).encoder.epochs == 2
    with pytest.raises(UserError, match="epochs=x: expected a value like"):
        with_changes(SMALL, ["encoder.epochs=x", "encoder.epochs=2"])


def test_the_smallest_values_are_accepted():
    names = (
        "features.phrasings=1 features.batch=1 decoder.epochs=1 decoder.batch=2 "
        "decoder.warmup_steps=0"
    )
    with_stage_changes(
        SMALL, *names.split(), "decoder.decoder_weights=[0]", "quantizer.kmeans_vectors=2"
    )


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("decoder.upsample_to", "0", 0),
        ("decoder.upsample_to", '{"webqa": 9}', {"webqa": 9}),
        ("encoder.architecture", "ViT-B-32", "ViT-B-32"),
        ("encoder.architecture", '{"embed_dim": 3}', {"embed_dim": 3}),
        ("decoder.decoder_weights", "[1, 0.5]", (1.0, 0.5)),
        ("encoder.pretrained", "", ""),
    ],
)
def test_a_setting_of_several_types_takes_each_of_them(name, text, value):
    assert attrgetter(name)(with_stage_changes(PAPER, f"{name}={text}")) == value


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("encoder.epochs", "expected STAGE.NAME=VALUE"),
        ("encoder.epoch=3", "no 'epoch'; choose from .*architecture, fusion, pretrained, epochs"),
        ("encoders.epochs=3", "no 'encoders'; choose from encoder, features"),
        ("encoder.epochs=three", "expected a value like"),
        ("encoder.bf16=1", "expected a value like true"),
        ("encoder.upsample_to=true", "expected a value like 5000"),
        ("encoder.locked=0", "expected a value like"),
        ("encoder.rows=shop", r'expected a value like \["NAME"\]'),
        ("encoder.epochs.more=1", "expected a value like 5"),
        ("encoder.min_crop=0", "min_crop: Input should be greater than 0$"),
        (
            "encoder.instruction_swap_prob=1.0",
            "instruction_swap_prob: Input should be less than 1$",
        ),
        ("features.phrasings=0", "phrasings: Input should be greater than or equal to 1$"),
        ("encoder.learning_rate=0", "learning_rate: Input should be greater than 0$"),
        ("encoder.weight_decay=-0.1", "weight_decay: Input should be greater than or equal to 0$"),
        ("encoder.warmup=2", "warmup: Input should be less than or equal to 1$"),
        ("encoder.towers.head=cnn", "head: Input should be 'mlp', 'linear' or 'residual'$"),
        ("encoder.learning_rate=1e999", "learning_rate: Input should be a finite number$"),
        ("encoder.batch=1", "batch: Input should be greater than or equal to 2$"),
        ("encoder.locked.class_pictures=1", "class_pictures is 0, or at least 2"),
        ("decoder.decoder_weights=[]", "decoder_weights: .* at least 1 item"),
        (
            "decoder.decoder_weights=[1, 1.5]",
            "decoder_weights.1: Input should be less than or equal to 1$",
        ),
        ("quantizer.quantizer.codebook_size=65537", "level 1 has 65,537 codes; at most 65,536"),
        ("quantizer.quantizer.gradient=magic", "expected one of rotation, straight_through"),
    ],
)
def test_an_impossible_setting_is_refused_in_one_sentence(change, message):
    with pytest.raises(UserError, match=message):
        with_stage_changes(SMALL, change)


def test_settings_that_exclude_each_other_are_refused():
    with pytest.raises(
        UserError, match="modality_weight is above 0 where instruction_swap_prob is"
    ):
        with_changes(SMALL, ["encoder.instruction_swap_prob=0.5", "encoder.modality_weight=0"])
    with pytest.raises(UserError, match="grad_checkpointing is false where locked.enabled is true"):
        with_changes(PHOTOS, ["encoder.grad_checkpointing=true"])
    with pytest.raises(UserError, match="locked.enabled is false where fusion is feature"):
        with_changes(PHOTOS, ["encoder.fusion=feature"])
    assert with_changes(SMALL, ["encoder.grad_checkpointing=true"]).encoder.grad_checkpointing


def test_ids_of_one_level_are_refused():
    with pytest.raises(UserError, match="levels is at least 2"):
        with_changes(SMALL, ["quantizer.quantizer.levels=1", "decoder.decoder.levels=1"])


@pytest.mark.parametrize("option", ["--seed", "--workers"])
@pytest.mark.parametrize("value", ["-1", "1.5", "two"])
def test_a_number_below_zero_or_none_is_refused(tmp_path, option, value):
    with pytest.raises(UserError, match=f"{option} {value}: expected an integer of at least 0"):
        parse_arguments("training", "", ["collection", str(tmp_path), option, value])


def test_a_collection_is_not_trained_into(tmp_path):
    with pytest.raises(UserError, match="is the collection; name another directory for the run"):
        parse_arguments("training", "", [str(tmp_path), f"{tmp_path}/../{tmp_path.name}"])


@pytest.fixture
def parsed(collection, tmp_path, monkeypatch):
    """What is parsed of these words after COLLECTION and RUN; the shipped run has a tiny
    encoder.
    """
    photos = Run(tmp_path / "photos")
    photos.publish("encoder", tiny_encoder().save)
    for part in presets.LINKED[1:]:
        photos.publish(
            part, lambda path: (path / "config.json").write_text("{}"), tuple(BUILT_FROM[part])
        )
    monkeypatch.setattr(presets, "PHOTO_RUN", photos.path)
    monkeypatch.setattr(command_line, "PHOTO_RUN", photos.path)

    paths = str(collection.root), str(tmp_path / "run")
    return lambda *words: parse_arguments("training", "", [*paths, *words])


def test_few_pictures_begin_with_the_shipped_encoder_in_sizes_that_fit_them(parsed, capsys):
    arguments = parsed("--set", "encoder.epochs=3")
    assert (
        "has few pictures: training begins with the shipped encoder (else: --preset small)"
        in capsys.readouterr().out
    )
    settings = arguments.settings
    assert (arguments.preset, settings.encoder.epochs, settings.encoder.locked.enabled) == (
        "shipped",
        3,
        True,
    )
    assert (
        settings.quantizer.quantizer.dim == DIM and settings.quantizer.quantizer.codebook_size == 16
    )
    begun = new_encoder(settings.encoder).state_dict()
    assert all(
        torch.equal(weight, begun[name]) for name, weight in tiny_encoder().state_dict().items()
    )


def test_random_weights_are_for_many_pictures_or_on_request_and_a_run_goes_on_as_it_began(
    parsed, tmp_path, monkeypatch
):
    assert parsed("--preset", "small").settings == SMALL
    Run(tmp_path / "run").record(preset="toy")
    assert parsed().preset == "toy"
    Run(tmp_path / "run").record(preset="folder")
    monkeypatch.setattr(command_line, "FEW", 3)
    assert parsed().preset == "small"

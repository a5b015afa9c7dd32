"""Every number of the presets `paper` and `paper-text` against its source: presets.tsv.

Sources: "UniIR" is the published CLIP-SF training, "RQ" and "GR" the published configurations and
code of quantizer and decoder (residual_quantization/, generative_retriever/), "§" a section of the
paper. Where its text differs from the code, `paper-text` has a value and a source of its own.
"""

import dataclasses
import json
from pathlib import Path

import pytest
import torch

from genius.evaluation.paper import ROWS, read_published
from genius.models.decoder import IDDecoder
from genius.models.encoder import Features
from genius.models.fusion import Fusion, FusionConfig
from genius.run import Run, shipped_run
from training.demo.photos.__main__ import shipped_settings
from training.presets import PAPER, PRESETS
from training.stage import recorded_settings
from training.stages import decoder, encoder, optimization, quantizer
from training.stages.optimization import adamw, cosine

TABLE = {line["setting"]: line for line in read_published(Path(__file__).with_name("presets.tsv"))}
CONSTANTS = {  # beside their use, in both presets
    "encoder's FUSION_LAYERS": (
        encoder.FUSION_LAYERS,
        2,
        "UniIR CLIPFeatureFusion conf_t5.num_layers",
    ),
    "encoder's betas": (encoder.BETAS, (0.9, 0.98), "UniIR create_optimizer"),
    "quantizer's betas": (quantizer.BETAS, (0.9, 0.999), "RQ create_optimizer: AdamW's default"),
    "decoder's betas": (decoder.BETAS, (0.9, 0.98), "GR create_optimizer"),
    "eps": (optimization.EPS, 1e-6, "UniIR, RQ, GR create_optimizer"),
    "quantizer's weight decay": (quantizer.WEIGHT_DECAY, 0.2, "RQ create_optimizer"),
    "decoder's weight decay": (decoder.WEIGHT_DECAY, 1e-4, "GR create_optimizer"),
    "quantizer's last rate": (
        quantizer.FINAL_LEARNING_RATE,
        1e-5,
        "RQ CosineAnnealingLR(eta_min=1e-5)",
    ),
    "decoder's gradient norm": (
        decoder.CLIP_GRAD_NORM,
        1.0,
        "GR train_one_epoch: clip_grad_norm_(…, 1)",
    ),
    "α of Eq. 11": (decoder.ALPHA, 2.0, "GR hyperparameter_config.alpha; §5.2"),
}
OFF = (  # options that neither the code nor the paper has
    "encoder.average",
    "encoder.mask_positives",
    "encoder.augment",
    "encoder.half",
    "encoder.eight_bit",
    "encoder.grad_checkpointing",
    "encoder.modality_weight",
    "encoder.instruction_swap_prob",
    "encoder.image_tower",
    "encoder.text_tower",
    "encoder.locked.enabled",
    "quantizer.fusion.instruction",
    "quantizer.mask_positives",
    "quantizer.keep_best",
    "quantizer.patience",
    "quantizer.half",
    "decoder.decoder.sizes",
    "decoder.decoder.geometry",
    "decoder.self_queries",
    "decoder.keep_best",
    "decoder.patience",
    "decoder.half",
)
UNUSED = (  # what says how such an option works, or has no effect on what is learned
    "encoder.towers.",
    "encoder.locked.views",
    "encoder.locked.phrasings",
    "encoder.locked.input_dropout",
    "encoder.locked.class_pictures",
    "encoder.min_crop",
    "encoder.horizontal_flip",
    "encoder.cache_images",
    "features.batch",
    "decoder.decoder.geometry_scale",
    "index.",
)


def flat(owner, path: str = "") -> dict:
    """Every setting by its path, as --set takes it."""
    settings = {}
    for each in dataclasses.fields(owner):
        value = getattr(owner, each.name)
        settings |= (
            flat(value, f"{path}{each.name}.")
            if dataclasses.is_dataclass(value)
            else {path + each.name: value}
        )
    return settings


@pytest.mark.parametrize("preset", ["paper", "paper-text"])
def test_every_setting_has_the_value_of_its_source(preset: str):
    settings = {
        name: value for name, value in flat(PRESETS[preset]).items() if not name.startswith(UNUSED)
    }
    assert not any(settings.pop(name) for name in OFF)
    published = {name: json.loads(line[preset] or line["paper"]) for name, line in TABLE.items()}
    assert {
        name: list(value) if isinstance(value, tuple) else value for name, value in settings.items()
    } == published
    assert all(
        line["source"] and bool(line["its source"]) == bool(line["paper-text"])
        for line in TABLE.values()
    )


def test_every_constant_has_the_value_of_its_source():
    for name, (value, published, source) in CONSTANTS.items():
        assert value == published, f"{name}: {source}"


def test_training_photos_has_the_settings_of_the_shipped_run():
    assert recorded_settings(Run(shipped_run("photos"))) == shipped_settings(0)


@pytest.mark.parametrize("name", PRESETS)
def test_the_parts_of_a_preset_fit_each_other(name):
    PRESETS[name].check()


@pytest.fixture(scope="module")
def t5() -> IDDecoder:
    return IDDecoder(PAPER.decoder.decoder)


def test_the_decoder_is_t5_small_without_encoder_layers(t5):
    """GR retriever.py: T5ForGenerativeRetrieval, random weights."""
    config = t5.t5.config
    assert (
        config.num_layers == 0
        and config.num_decoder_layers == 6
        and config.feed_forward_proj == "relu"
    )
    assert (config.relative_attention_num_buckets, config.relative_attention_max_distance) == (
        32,
        128,
    )
    assert (
        config.layer_norm_epsilon == 1e-6
        and config.tie_word_embeddings
        and config.decoder_start_token_id == 0
    )
    assert config.vocab_size == PAPER.decoder.decoder.vocabulary == 32_774
    assert PAPER.decoder.decoder.offsets == (3, *(6 + level * 4096 for level in range(8)))
    assert PAPER.quantizer.quantizer.code_sizes == (3,) + (4096,) * 8
    assert t5.project.weight.shape == (30 * 512, 768)


def test_weight_decay_excludes_norms_biases_and_the_relative_attention_bias(t5):
    """GR exclude_condition. Of T5-small's 21 such parameters 20 are vectors."""
    settings = PAPER.decoder.learning_rate, decoder.WEIGHT_DECAY, decoder.BETAS
    optimizer = adamw(t5, *settings)
    decayed, others = (group["params"] for group in optimizer.param_groups)
    assert [group["weight_decay"] for group in optimizer.param_groups] == [1e-4, 0.0]
    assert optimizer.defaults["betas"] == (0.9, 0.98) and optimizer.defaults["eps"] == 1e-6
    names = {id(parameter): name for name, parameter in t5.named_parameters()}
    assert all("norm" not in names[id(p)] and "bias" not in names[id(p)] for p in decayed)
    assert sorted({names[id(p)].split(".")[-2] for p in others}) == [
        "final_layer_norm",
        "layer_norm",
        "project",
        "relative_attention_bias",
    ]
    (everything,) = adamw(t5, *settings, decay_all=True).param_groups
    assert everything["weight_decay"] == 1e-4 and len(everything["params"]) == len(decayed) + len(
        others
    )


def test_the_decoders_learning_rate_is_the_published_schedule():
    """GR models/utils.py: cosine_warmup_scheduler."""
    total = 4000
    warmup = PAPER.decoder.warmup_steps
    rates = [
        cosine(step, total, warmup / total, from_zero=PAPER.decoder.warmup_from_zero)
        for step in range(total)
    ]
    assert rates[0] == 0 and rates[1] == pytest.approx(1 / 500) and rates[250] == pytest.approx(0.5)
    assert rates[500] == 1 and rates[2250] == pytest.approx(0.5)


def test_the_quantizers_learning_rate_is_the_published_schedule():
    """RQ CosineAnnealingLR(T_max, eta_min=1e-5), stepped after each batch."""
    settings = PAPER.quantizer
    total = 40
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=settings.learning_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, total, eta_min=1e-5)
    for step in range(total):
        ours = settings.learning_rate * cosine(
            step, total, final=quantizer.FINAL_LEARNING_RATE / settings.learning_rate
        )
        assert ours == pytest.approx(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()


def test_the_papers_fusion_has_no_branches():
    """§4.2.1: h(x, y) = λ·x + (1 − λ)·y + MLP([x; y]), normalized as the losses expect."""
    torch.manual_seed(0)
    fusion = Fusion(FusionConfig(6, branch=0, hidden=10))
    image, text = torch.randn(2, 5, 6)
    known = torch.ones(5, dtype=torch.bool)
    both = torch.cat([text, image], dim=-1)
    share = fusion.gate(both).sigmoid()
    expected = share * text + (1 - share) * image + fusion.mix(both)
    torch.testing.assert_close(
        fusion(Features(image, text, known, known)), torch.nn.functional.normalize(expected, dim=-1)
    )
    assert {name.split(".")[0] for name, _ in fusion.named_parameters()} == {"mix", "gate"}


def test_the_upsampled_datasets_are_mbeirs():
    assert PAPER.encoder.upsample_to.keys() < {dataset for _, dataset in ROWS}

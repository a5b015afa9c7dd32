"""Every number of the presets `paper` and `paper-text` against its source, and `small` and `demo` against records.

Sources: "UniIR" is the published CLIP-SF training, "RQ" and "GR" the published configurations and code of quantizer
and decoder (residual_quantization/, generative_retriever/), "§" a section of the paper. "ours" marks an option that
neither has, which has to be off. Where the text is silent, `paper-text` takes the value of the code.
"""

import dataclasses
import json
from pathlib import Path

import pytest
import torch

from genius.evaluation.paper import ROWS
from genius.models.decoder import IDDecoder
from genius.models.encoder import Features
from genius.models.fusion import Fusion, FusionConfig
from training.checkpoint import fingerprint
from training.decoder import QUERY_AUGMENTATIONS
from training.optimization import adamw, cosine
from training.photos.__main__ import shipped_settings
from training.presets import DEMO, PAPER, PAPER_TEXT, PRESETS, SMALL
from training.settings import AUGMENTATIONS, Settings

MBEIR = {"webqa": 100_000, "edis": 50_000, "nights": 50_000, "fashioniq": 50_000, "cirr": 50_000}
UPSAMPLED = "train_query_data_path: mbeir_union_up_train.jsonl, made by UniIR's mbeir_data_generator.py"

ENCODER = {
    "image_tower": ("", "ours"),
    "text_tower": ("", "ours"),
    "architecture": ("ViT-L-14-quickgelu", "UniIR model.clip_vision_model_name: ViT-L/14; §5.2"),
    "pretrained": ("openai", "UniIR clip.load; §4.1"),
    "fusion": ("score", "UniIR CLIPScoreFusion; §4.1"),
    "fusion_layers": (2, "UniIR CLIPFeatureFusion conf_t5.num_layers, unused"),
    "epochs": (20, "UniIR trainer_config.num_train_epochs"),
    "batch": (4 * 105, "UniIR dataloader_config.train_batch_size: 105, four GPUs"),
    "group": (1, "ours"),
    "upsample_to": (MBEIR, f"UniIR {UPSAMPLED}"),
    "rows": ((), "UniIR all of M-BEIR, mbeir_union_up_train.jsonl"),
    "drop_last": (True, "UniIR DataLoader(drop_last=True)"),
    "learning_rate": (1e-5, "UniIR trainer_config.learning_rate"),
    "weight_decay": (0.2, "UniIR create_optimizer"),
    "betas": ((0.9, 0.98), "UniIR create_optimizer"),
    "eps": (1e-6, "UniIR create_optimizer"),
    "warmup": (0.0, "UniIR trainer_config.warmup_steps: 0"),
    "clip_grad_norm": (0.0, "UniIR train_one_epoch does not clip"),
    "max_logit_scale": (0.0, "UniIR logit_scale.exp() without a clamp"),
    "symmetric_loss": (False, "UniIR compute_inbatch_contrastive_loss; Eq. 2"),
    "mask_positives": (False, "ours"),
    "augment": (False, "ours"),
    "min_crop": (0.55, "ours, unused"),
    "horizontal_flip": (True, "ours, unused"),
    "image_cache": (256, "M-BEIR's images have a short side of 256"),
    "half": (False, "ours"),
    "eight_bit": (False, "ours"),
    "bf16": (True, "UniIR GradScaler, fp16: a named departure"),
    "average": (0.0, "ours"),
    "grad_checkpointing": (False, "ours"),
    "extras.factor_weight": (0.0, "ours"),
    "extras.modality_weight": (0.0, "ours"),
    "extras.instruction_swap_prob": (0.0, "ours"),
    "extras.instruction_word_dropout": (0.0, "ours"),
    "extras.synonym_prob": (0.0, "ours"),
    "extras.teacher": ("", "ours"),
    "towers.dim": (256, "ours, unused"),
    "towers.image_size": (224, "ours, unused"),
    "towers.head": ("mlp", "ours, unused"),
    "towers.hidden": (1024, "ours, unused"),
    "towers.text_dropout": (0.0, "ours, unused"),
    "towers.image_dropout": (0.0, "ours, unused"),
    "towers.context_length": (77, "ours, unused"),
    "towers.resize_mode": ("shortest", "ours, unused"),
    "locked.enabled": (False, "ours"),
    "locked.cache": ("", "ours, unused"),
    "locked.views": (4, "ours, unused"),
    "locked.phrasings": (4, "ours, unused"),
    "locked.input_dropout": (0.0, "ours, unused"),
    "locked.image_blocks": (0, "ours"),
    "locked.text_blocks": (0, "ours"),
    "locked.unlocked_epochs": (0, "ours"),
    "locked.unlocked_batch": (128, "ours, unused"),
    "locked.unlocked_learning_rate": (1e-5, "ours, unused"),
}
FEATURES = {
    "phrasings": (1, "GENIUS clip_feature_extration_train.py: one random prompt per query"),
    "batch": (256, "no effect on results"),
}
QUANTIZER = {
    "fusion.dim": (768, "RQ Combiner(768, 2560, 5120); ViT-L/14"),
    "fusion.branch": (2560, "RQ Combiner(768, 2560, 5120)"),
    "fusion.hidden": (5120, "RQ Combiner(768, 2560, 5120)"),
    "quantizer.dim": (768, "RQ ResidualVQ(dim=768)"),
    "quantizer.levels": (9, "RQ codebook_config.codebook_level: 8, and one for modality; §5.2"),
    "quantizer.codebook_size": (4096, "RQ codebook_config.codebook_vocab; §5.2"),
    "quantizer.modality_code": ("emergent", "RQ modality_index=True only sets the size of the first codebook"),
    "quantizer.gradient": ("rotation", "RQ default of vector-quantize-pytorch"),
    "quantizer.decay": (0.9, "RQ ResidualVQ(decay=0.9)"),
    "quantizer.dead_ratio": (2 / (2 * 8000 / 4096), "RQ threshold_ema_dead_code: 2 of 16,000 vectors a batch"),
    "quantizer.restart_ratio": (2 / (2 * 8000 / 4096), "RQ an expired code restarts with the count of the threshold"),
    "quantizer.shared": (False, "§C.5: a codebook of its own for each level"),
    "quantizer.restart_spread": (1.0, "RQ an expired code is replaced by a residual of the batch"),
    "quantizer.distance": ("published", "RQ cdist of vector-quantize-pytorch, in fp32"),
    "row_limit": (0, "ours"),
    "rows": ((), "RQ all of M-BEIR"),
    "validate_last": (False, "ours"),
    "epochs": (21, "RQ trainer_config.num_train_epochs"),
    "batch": (4 * 2000, "RQ dataloader_config.train_batch_size: 2000, four GPUs"),
    "upsample_to": (MBEIR, f"RQ {UPSAMPLED}"),
    "drop_last": (True, "RQ DataLoader(drop_last=True)"),
    "learning_rate": (1e-4, "RQ trainer_config.learning_rate; §5.2"),
    "final_learning_rate": (1e-5, "RQ CosineAnnealingLR(eta_min=1e-5)"),
    "weight_decay": (0.2, "RQ create_optimizer"),
    "betas": ((0.9, 0.999), "RQ create_optimizer: AdamW's default"),
    "eps": (1e-6, "RQ create_optimizer"),
    "temperature": (0.01, "RQ ContrastiveLoss(temperature=0.01); §5.2"),
    "contrastive_weight": (1 / 4, "RQ GatherLayer: its gradient on four GPUs is a quarter"),
    "rq_weight": (100.0, "RQ 1e2 * rq_loss.mean(); §5.2"),
    "mse_weight": (100.0, "RQ 1e2 * self.critic(…); §5.2"),
    "rq_sum": (False, "RQ mean over levels and elements"),
    "mse_raw": (False, "RQ critic: MSELoss of normalized vectors"),
    "symmetric_loss": (True, "RQ ContrastiveLoss: both directions"),
    "mask_positives": (False, "ours"),
    "keep_best": (False, "ours"),
    "coarse_factor": ("", "ours"),
    "coarse_weight": (0.0, "ours"),
    "coarse_temperature": (0.1, "ours, unused"),
    "kmeans_vectors": (2 * 8000, "RQ kmeans_init on the first batch, gathered from four GPUs"),
    "kmeans_iterations": (1000, "RQ ResidualVQ(kmeans_iters=1000)"),
    "half": (False, "ours"),
}
DECODER = {
    "decoder.dim": (768, "GR embed_projector; ViT-L/14"),
    "decoder.levels": (9, "GR codebook_config.codebook_level: 8, and one for modality"),
    "decoder.codebook_size": (4096, "GR codebook_config.codebook_vocab"),
    "decoder.sizes": ((), "ours, for IDs of other shapes"),
    "decoder.width": (512, "GR T5-small d_model; §5.2"),
    "decoder.layers": (6, "GR T5-small num_decoder_layers"),
    "decoder.heads": (8, "GR T5-small num_heads"),
    "decoder.head_width": (64, "GR T5-small d_kv"),
    "decoder.ff_width": (2048, "GR T5-small d_ff"),
    "decoder.prefix": (30, "GR embed_projector; §5.2"),
    "decoder.prefix_hidden": (0, "GR embed_projector is one Linear"),
    "decoder.dropout": (0.1, "GR T5-small dropout_rate"),
    "decoder.embedding_scale": (100.0, "GR code embeddings start as projected codewords times 100"),
    "decoder.geometry": (False, "ours"),
    "decoder.geometry_scale": (20.0, "ours, unused"),
    "decoder.decoder_weight": (1.0, "ours, the decoder alone"),
    "row_limit": (0, "ours"),
    "rows": ((), "GR all of M-BEIR"),
    "validate_last": (False, "ours"),
    "epochs": (31, "GR trainer_config.num_train_epochs"),
    "batch": (4 * 256, "GR dataloader_config.train_batch_size: 256, four GPUs"),
    "upsample_to": (MBEIR, f"GR {UPSAMPLED}"),
    "drop_last": (True, "GR DataLoader(drop_last=True)"),
    "learning_rate": (1e-4, "GR trainer_config.learning_rate; §5.2"),
    "weight_decay": (1e-4, "GR create_optimizer"),
    "decay_all": (False, "GR exclude_condition: ndim < 2, or bn, ln, bias, logit_scale in the name"),
    "betas": ((0.9, 0.98), "GR create_optimizer"),
    "eps": (1e-6, "GR create_optimizer"),
    "warmup_steps": (500, "GR cosine_warmup_scheduler(warmup_epochs=500)"),
    "warmup_from_zero": (True, "GR cosine_warmup_scheduler: step / 500"),
    "clip_grad_norm": (1.0, "GR train_one_epoch: clip_grad_norm_(…, 1)"),
    "augmentation": ("elementwise", "GR retriever.py: one weight per element, square roots, L2"),
    "alpha": (2.0, "GR hyperparameter_config.alpha; §5.2"),
    "self_queries": (False, "ours"),
    "keep_best": (False, "ours"),
    "patience": (0, "ours"),
    "decoder_weights": ((1.0,), "ours, the decoder alone"),
    "half": (False, "ours"),
    "bf16": (True, "GR GradScaler, fp16: a named departure"),
}
INDEX = {
    "pool": ("", "no part of training"),
    "thumbnail_side": (192, "no part of training"),
    "thumbnail_quality": (80, "no part of training"),
}
TABLE = {
    f"{stage}.{name}": row
    for stage, rows in (
        ("encoder", ENCODER),
        ("features", FEATURES),
        ("quantizer", QUANTIZER),
        ("decoder", DECODER),
        ("index", INDEX),
    )
    for name, row in rows.items()
} | {"seed": (0, "UniIR, RQ, GR seed: 2023, set by --seed")}

TEXT = {  # where the paper's text differs from the code
    "encoder.epochs": (0, "§4.1: UniIR's pretrained weights, frozen"),
    "quantizer.fusion.branch": (0, "§4.2.1: h(x, y) on the features themselves"),
    "quantizer.quantizer.modality_code": ("forced", "§4.2.3: the first code explicitly represents modality"),
    "quantizer.quantizer.distance": ("squared", "Eq. 5"),
    "quantizer.epochs": (20, "§5.2"),
    "quantizer.batch": (256, "§5.2"),
    "quantizer.contrastive_weight": (1.0, "Eq. 8"),
    "quantizer.rq_sum": (True, "Eq. 7"),
    "quantizer.mse_raw": (True, "§4.2.4: ‖ẑ_q − ẑ_c‖²"),
    "quantizer.symmetric_loss": (False, "Eq. 3"),
    "quantizer.kmeans_vectors": (2 * 256, "§5.2: k-means on the first training batch"),
    "decoder.decoder.prefix_hidden": (512, "Eq. 9: an MLP, whose width is not given; here d' = 512"),
    "decoder.epochs": (30, "§5.2"),
    "decoder.batch": (256, "§5.2"),
    "decoder.warmup_steps": (0, "§5.2: cosine scheduling, no warm-up"),
    "decoder.augmentation": ("scalar", "Eq. 11"),
}
BASELINES = ("rows", "fusion", "fusion_layers", "grad_checkpointing")
# settings that records of a preset are older than, by the path of their stage
LATER = {
    "encoder": ("eight_bit", "image_tower", "text_tower", "towers", "locked", "average", *BASELINES),
    "quantizer": ("row_limit", "rows", "validate_last"),
    "quantizer.quantizer": ("shared",),
    "decoder": ("patience", "row_limit", "rows", "validate_last"),
    "decoder.decoder": ("sizes",),
}

GONE = {"hard_groups": 0.0}  # of encoder.extras: recorded of every preset, and off in all

ASSETS = Path(__file__).parents[2] / "assets"
SHIPPED = ASSETS / "demo" / "manifest.json"
SHIPPED_PHOTOS = ASSETS / "photos" / "manifest.json"


def flat(settings: Settings) -> dict:
    """Every setting by its path, as --set takes it."""

    def walk(owner, path: str):
        for f in dataclasses.fields(owner):
            value = getattr(owner, f.name)
            if dataclasses.is_dataclass(value):
                yield from walk(value, f"{path}{f.name}.")
            else:
                yield path + f.name, value

    return dict(walk(settings, ""))


def test_every_setting_has_a_source():
    assert flat(PAPER).keys() == TABLE.keys() and TEXT.keys() <= TABLE.keys()
    assert all(source for _, source in [*TABLE.values(), *TEXT.values()])


@pytest.mark.parametrize("name", TABLE)
def test_paper_is_the_published_code(name):
    expected, source = TABLE[name]
    assert flat(PAPER)[name] == expected, source


@pytest.mark.parametrize("name", TABLE)
def test_paper_text_is_the_text_and_otherwise_the_code(name):
    expected, source = TEXT.get(name, TABLE[name])
    assert flat(PAPER_TEXT)[name] == expected, source


def measured(preset: Settings, later: dict[str, tuple[str, ...]] = LATER) -> dict:
    """The settings of a preset without those that were added later, which have their default."""
    settings, default = dataclasses.asdict(preset), dataclasses.asdict(PAPER)
    for path, names in later.items():
        own, usual = settings, default
        for part in path.split("."):
            own, usual = own[part], usual[part]
        for name in names:
            assert own.pop(name) == usual[name]
    settings["encoder"]["extras"] = GONE | settings["encoder"]["extras"]
    return settings


def test_demo_is_what_the_shipped_run_was_trained_with():
    recorded = json.loads(SHIPPED.read_text())["settings"]
    assert recorded == json.loads(json.dumps(measured(DEMO)))


def test_training_photos_has_the_settings_of_the_shipped_run():
    recorded, settings = json.loads(SHIPPED_PHOTOS.read_text())["settings"], shipped_settings(0)
    patient = dataclasses.replace(settings.decoder, patience=0)  # two more epochs, neither of which was kept
    expected = dataclasses.replace(settings, decoder=patient)
    assert recorded == json.loads(json.dumps(measured(expected, LATER | {"encoder": BASELINES})))


def test_small_is_what_it_was_measured_with():
    assert fingerprint(measured(SMALL)) == "557ee4754342df73"


@pytest.mark.parametrize("name", PRESETS)
def test_the_parts_of_a_preset_fit_each_other(name):
    PRESETS[name].check()


@pytest.fixture(scope="module")
def decoder() -> IDDecoder:
    return IDDecoder(PAPER.decoder.decoder)


def test_the_decoder_is_t5_small_without_encoder_layers(decoder):
    """GR retriever.py: T5ForGenerativeRetrieval, random weights."""
    config = decoder.t5.config
    assert config.num_layers == 0 and config.num_decoder_layers == 6 and config.feed_forward_proj == "relu"
    assert (config.relative_attention_num_buckets, config.relative_attention_max_distance) == (32, 128)
    assert config.layer_norm_epsilon == 1e-6 and config.tie_word_embeddings and config.decoder_start_token_id == 0
    assert config.vocab_size == PAPER.decoder.decoder.vocabulary == 32_774
    assert PAPER.decoder.decoder.offsets == (3, *(6 + level * 4096 for level in range(8)))
    assert PAPER.quantizer.quantizer.code_sizes == (3,) + (4096,) * 8
    assert decoder.project.weight.shape == (30 * 512, 768)


def test_weight_decay_excludes_norms_biases_and_the_relative_attention_bias(decoder):
    """GR exclude_condition. Of T5-small's 21 such parameters 20 are vectors."""
    optimizer = adamw(decoder, PAPER.decoder)
    decayed, others = (group["params"] for group in optimizer.param_groups)
    assert [group["weight_decay"] for group in optimizer.param_groups] == [1e-4, 0.0]
    assert optimizer.defaults["betas"] == (0.9, 0.98) and optimizer.defaults["eps"] == 1e-6
    names = {id(parameter): name for name, parameter in decoder.named_parameters()}
    assert all("norm" not in names[id(p)] and "bias" not in names[id(p)] for p in decayed)
    assert sorted({names[id(p)].split(".")[-2] for p in others}) == [
        "final_layer_norm",
        "layer_norm",
        "project",
        "relative_attention_bias",
    ]
    (everything,) = adamw(decoder, SMALL.decoder, SMALL.decoder.decay_all).param_groups
    assert everything["weight_decay"] == 1e-4 and len(everything["params"]) == len(decayed) + len(others)


def test_weight_decay_of_the_quantizer_stage_excludes_biases():
    """RQ exclude_condition; codebooks are buffers here and have no decay."""
    fusion = Fusion(FusionConfig(6, 8, 10))
    decayed, others = adamw(fusion, PAPER.quantizer).param_groups
    assert decayed["weight_decay"] == 0.2 and all(p.ndim == 2 for p in decayed["params"])
    assert others["weight_decay"] == 0.0 and all(p.ndim == 1 for p in others["params"])


def test_the_decoders_learning_rate_is_the_published_schedule():
    """GR models/utils.py: cosine_warmup_scheduler."""
    total, warmup = 4000, PAPER.decoder.warmup_steps
    rates = [cosine(step, total, warmup / total, from_zero=PAPER.decoder.warmup_from_zero) for step in range(total)]
    assert rates[0] == 0 and rates[1] == pytest.approx(1 / 500) and rates[250] == pytest.approx(0.5)
    assert rates[500] == 1 and rates[2250] == pytest.approx(0.5)


def test_the_quantizers_learning_rate_is_the_published_schedule():
    """RQ CosineAnnealingLR(T_max, eta_min=1e-5), stepped after each batch."""
    settings, total = PAPER.quantizer, 40
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=settings.learning_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, total, eta_min=1e-5)
    for step in range(total):
        ours = settings.learning_rate * cosine(step, total, final=settings.final_learning_rate / settings.learning_rate)
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


def test_the_settings_name_every_augmentation_that_the_decoder_has():
    assert set(AUGMENTATIONS) == QUERY_AUGMENTATIONS.keys()


def test_the_upsampled_datasets_are_mbeirs():
    assert MBEIR.keys() < {dataset for _, dataset in ROWS}

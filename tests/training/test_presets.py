"""Every number of the presets `paper` and `paper-text` against its source.

Sources: "UniIR" is the published CLIP-SF training, "RQ" and "GR" the published configurations and code of quantizer
and decoder (residual_quantization/, generative_retriever/), "§" a section of the paper. Where the text is silent,
`paper-text` takes the value of the code.
"""

import dataclasses

import pytest
import torch

from genius.evaluation.paper import ROWS
from genius.models.decoder import IDDecoder
from genius.models.encoder import Features
from genius.models.fusion import Fusion, FusionConfig
from genius.run import Run, shipped_run
from training import contrastive, decoder, encoder, optimization, quantizer
from training.decoder import QUERY_AUGMENTATIONS
from training.optimization import adamw, cosine
from training.photos.__main__ import shipped_settings
from training.presets import PAPER, PAPER_TEXT, PRESETS
from training.settings import AUGMENTATIONS, Settings
from training.stage import recorded_settings

MBEIR = {"webqa": 100_000, "edis": 50_000, "nights": 50_000, "fashioniq": 50_000, "cirr": 50_000}
UPSAMPLED = "train_query_data_path: mbeir_union_up_train.jsonl, made by UniIR's mbeir_data_generator.py"
DEAD = 2 / (2 * 8000 / 4096)

TABLE = {  # setting -> value in `paper`, source and, where the text differs, value in `paper-text`, source
    "encoder.architecture": ("ViT-L-14-quickgelu", "UniIR model.clip_vision_model_name: ViT-L/14; §5.2"),
    "encoder.pretrained": ("openai", "UniIR clip.load; §4.1"),
    "encoder.fusion": ("score", "UniIR CLIPScoreFusion; §4.1"),
    "encoder.epochs": (20, "UniIR trainer_config.num_train_epochs", 0, "§4.1: UniIR's pretrained weights, frozen"),
    "encoder.batch": (4 * 105, "UniIR dataloader_config.train_batch_size: 105, four GPUs"),
    "encoder.upsample_to": (MBEIR, f"UniIR {UPSAMPLED}"),
    "encoder.rows": ((), "UniIR all of M-BEIR, mbeir_union_up_train.jsonl"),
    "encoder.drop_last": (True, "UniIR DataLoader(drop_last=True)"),
    "encoder.learning_rate": (1e-05, "UniIR trainer_config.learning_rate"),
    "encoder.weight_decay": (0.2, "UniIR create_optimizer"),
    "encoder.warmup": (0.0, "UniIR trainer_config.warmup_steps: 0"),
    "encoder.clip_grad_norm": (0.0, "UniIR train_one_epoch does not clip"),
    "encoder.max_logit_scale": (0.0, "UniIR logit_scale.exp() without a clamp"),
    "encoder.symmetric_loss": (False, "UniIR compute_inbatch_contrastive_loss; Eq. 2"),
    "encoder.bf16": (True, "UniIR GradScaler, fp16: a named departure"),
    "features.phrasings": (1, "GENIUS clip_feature_extration_train.py: one random prompt per query"),
    "quantizer.fusion.dim": (768, "RQ Combiner(768, 2560, 5120); ViT-L/14"),
    "quantizer.fusion.branch": (2560, "RQ Combiner(768, 2560, 5120)", 0, "§4.2.1: h(x, y) on the features themselves"),
    "quantizer.fusion.hidden": (5120, "RQ Combiner(768, 2560, 5120)"),
    "quantizer.quantizer.dim": (768, "RQ ResidualVQ(dim=768)"),
    "quantizer.quantizer.levels": (9, "RQ codebook_config.codebook_level: 8, and one for modality; §5.2"),
    "quantizer.quantizer.codebook_size": (4096, "RQ codebook_config.codebook_vocab; §5.2"),
    "quantizer.quantizer.modality_code": (
        "emergent",
        "RQ modality_index=True only sets the size of the first codebook",
        "forced",
        "§4.2.3: the first code explicitly represents modality",
    ),
    "quantizer.quantizer.gradient": ("rotation", "RQ default of vector-quantize-pytorch"),
    "quantizer.quantizer.decay": (0.9, "RQ ResidualVQ(decay=0.9)"),
    "quantizer.quantizer.dead_ratio": (DEAD, "RQ threshold_ema_dead_code: 2 of 16,000 vectors a batch"),
    "quantizer.quantizer.restart_ratio": (DEAD, "RQ an expired code restarts with the count of the threshold"),
    "quantizer.quantizer.shared": (False, "§C.5: a codebook of its own for each level"),
    "quantizer.quantizer.restart_spread": (1.0, "RQ an expired code is replaced by a residual of the batch"),
    "quantizer.quantizer.distance": ("published", "RQ cdist of vector-quantize-pytorch, in fp32", "squared", "Eq. 5"),
    "quantizer.rows": ((), "RQ all of M-BEIR"),
    "quantizer.epochs": (21, "RQ trainer_config.num_train_epochs", 20, "§5.2"),
    "quantizer.batch": (4 * 2000, "RQ dataloader_config.train_batch_size: 2000, four GPUs", 256, "§5.2"),
    "quantizer.upsample_to": (MBEIR, f"RQ {UPSAMPLED}"),
    "quantizer.drop_last": (True, "RQ DataLoader(drop_last=True)"),
    "quantizer.learning_rate": (0.0001, "RQ trainer_config.learning_rate; §5.2"),
    "quantizer.temperature": (0.01, "RQ ContrastiveLoss(temperature=0.01); §5.2"),
    "quantizer.contrastive_weight": (1 / 4, "RQ GatherLayer: its gradient on four GPUs is a quarter", 1.0, "Eq. 8"),
    "quantizer.rq_weight": (100.0, "RQ 1e2 * rq_loss.mean(); §5.2"),
    "quantizer.mse_weight": (100.0, "RQ 1e2 * self.critic(…); §5.2"),
    "quantizer.rq_sum": (False, "RQ mean over levels and elements", True, "Eq. 7"),
    "quantizer.mse_raw": (False, "RQ critic: MSELoss of normalized vectors", True, "§4.2.4: ‖ẑ_q − ẑ_c‖²"),
    "quantizer.symmetric_loss": (True, "RQ ContrastiveLoss: both directions", False, "Eq. 3"),
    "quantizer.kmeans_vectors": (
        2 * 8000,
        "RQ kmeans_init on the first batch, gathered from four GPUs",
        512,
        "§5.2: k-means on the first training batch",
    ),
    "quantizer.kmeans_iterations": (1000, "RQ ResidualVQ(kmeans_iters=1000)"),
    "decoder.decoder.dim": (768, "GR embed_projector; ViT-L/14"),
    "decoder.decoder.levels": (9, "GR codebook_config.codebook_level: 8, and one for modality"),
    "decoder.decoder.codebook_size": (4096, "GR codebook_config.codebook_vocab"),
    "decoder.decoder.width": (512, "GR T5-small d_model; §5.2"),
    "decoder.decoder.layers": (6, "GR T5-small num_decoder_layers"),
    "decoder.decoder.heads": (8, "GR T5-small num_heads"),
    "decoder.decoder.head_width": (64, "GR T5-small d_kv"),
    "decoder.decoder.ff_width": (2048, "GR T5-small d_ff"),
    "decoder.decoder.prefix": (30, "GR embed_projector; §5.2"),
    "decoder.decoder.prefix_hidden": (
        0,
        "GR embed_projector is one Linear",
        512,
        "Eq. 9: an MLP, whose width is not given; here d' = 512",
    ),
    "decoder.decoder.dropout": (0.1, "GR T5-small dropout_rate"),
    "decoder.decoder.embedding_scale": (100.0, "GR code embeddings start as projected codewords times 100"),
    "decoder.rows": ((), "GR all of M-BEIR"),
    "decoder.epochs": (31, "GR trainer_config.num_train_epochs", 30, "§5.2"),
    "decoder.batch": (4 * 256, "GR dataloader_config.train_batch_size: 256, four GPUs", 256, "§5.2"),
    "decoder.upsample_to": (MBEIR, f"GR {UPSAMPLED}"),
    "decoder.drop_last": (True, "GR DataLoader(drop_last=True)"),
    "decoder.learning_rate": (0.0001, "GR trainer_config.learning_rate; §5.2"),
    "decoder.decay_all": (False, "GR exclude_condition: ndim < 2, or bn, ln, bias, logit_scale in the name"),
    "decoder.warmup_steps": (
        500,
        "GR cosine_warmup_scheduler(warmup_epochs=500)",
        0,
        "§5.2: cosine scheduling, no warm-up",
    ),
    "decoder.warmup_from_zero": (True, "GR cosine_warmup_scheduler: step / 500"),
    "decoder.augmentation": (
        "elementwise",
        "GR retriever.py: one weight per element, square roots, L2",
        "scalar",
        "Eq. 11",
    ),
    "decoder.bf16": (True, "GR GradScaler, fp16: a named departure"),
    "encoder.group": (1, "ours, as without this option"),
    "decoder.decoder.decoder_weight": (1.0, "ours, as without this option"),
    "decoder.decoder_weights": ((1.0,), "ours, as without this option"),
    "seed": (0, "UniIR, RQ, GR seed: 2023, set by --seed"),
}
CONSTANTS = {  # beside their use, in both presets
    "encoder's FUSION_LAYERS": (encoder.FUSION_LAYERS, 2, "UniIR CLIPFeatureFusion conf_t5.num_layers"),
    "encoder's betas": (contrastive.BETAS, (0.9, 0.98), "UniIR create_optimizer"),
    "quantizer's betas": (quantizer.BETAS, (0.9, 0.999), "RQ create_optimizer: AdamW's default"),
    "decoder's betas": (decoder.BETAS, (0.9, 0.98), "GR create_optimizer"),
    "eps": (optimization.EPS, 1e-6, "UniIR, RQ, GR create_optimizer"),
    "quantizer's weight decay": (quantizer.WEIGHT_DECAY, 0.2, "RQ create_optimizer"),
    "decoder's weight decay": (decoder.WEIGHT_DECAY, 1e-4, "GR create_optimizer"),
    "quantizer's last rate": (quantizer.FINAL_LEARNING_RATE, 1e-5, "RQ CosineAnnealingLR(eta_min=1e-5)"),
    "decoder's gradient norm": (decoder.CLIP_GRAD_NORM, 1.0, "GR train_one_epoch: clip_grad_norm_(…, 1)"),
    "α of Eq. 11": (decoder.ALPHA, 2.0, "GR hyperparameter_config.alpha; §5.2"),
}
OFF = (  # options that neither the code nor the paper has
    "encoder.average", "encoder.mask_positives", "encoder.augment", "encoder.half", "encoder.eight_bit",
    "encoder.grad_checkpointing", "encoder.modality_weight", "encoder.instruction_swap_prob", "encoder.image_tower",
    "encoder.text_tower", "encoder.locked.enabled", "quantizer.mask_positives", "quantizer.keep_best",
    "quantizer.patience", "quantizer.half", "decoder.decoder.sizes", "decoder.decoder.geometry", "decoder.self_queries",
    "decoder.keep_best", "decoder.patience", "decoder.half",
)  # fmt: skip
UNUSED = (  # what says how such an option works, or has no effect on what is learned
    "encoder.towers.", "encoder.locked.views", "encoder.locked.phrasings", "encoder.locked.input_dropout",
    "encoder.locked.class_pictures",
    "encoder.min_crop", "encoder.horizontal_flip", "encoder.cache_images",
    "features.batch", "decoder.decoder.geometry_scale", "index.",
)  # fmt: skip


def flat(owner, path: str = "") -> dict:
    """Every setting by its path, as --set takes it."""
    settings = {}
    for each in dataclasses.fields(owner):
        value = getattr(owner, each.name)
        settings |= flat(value, f"{path}{each.name}.") if dataclasses.is_dataclass(value) else {path + each.name: value}
    return settings


@pytest.mark.parametrize(("preset", "place"), [(PAPER, 0), (PAPER_TEXT, -2)], ids=["paper", "paper-text"])
def test_every_setting_has_the_value_of_its_source(preset: Settings, place: int):
    settings = {name: value for name, value in flat(preset).items() if not name.startswith(UNUSED)}
    assert not any(settings.pop(name) for name in OFF)
    assert settings == {name: row[place] for name, row in TABLE.items()}
    assert all(row[1::2] and all(row[1::2]) for row in TABLE.values())


def test_every_constant_has_the_value_of_its_source():
    for name, (value, published, source) in CONSTANTS.items():
        assert value == published, f"{name}: {source}"


def test_training_photos_has_the_settings_of_the_shipped_run():
    """Which stopped two epochs later, neither of which was kept."""
    recorded, settings = recorded_settings(Run(shipped_run("photos"))), shipped_settings(0)
    assert recorded == dataclasses.replace(settings, decoder=dataclasses.replace(settings.decoder, patience=0))


@pytest.mark.parametrize("name", PRESETS)
def test_the_parts_of_a_preset_fit_each_other(name):
    PRESETS[name].check()


@pytest.fixture(scope="module")
def t5() -> IDDecoder:
    return IDDecoder(PAPER.decoder.decoder)


def test_the_decoder_is_t5_small_without_encoder_layers(t5):
    """GR retriever.py: T5ForGenerativeRetrieval, random weights."""
    config = t5.t5.config
    assert config.num_layers == 0 and config.num_decoder_layers == 6 and config.feed_forward_proj == "relu"
    assert (config.relative_attention_num_buckets, config.relative_attention_max_distance) == (32, 128)
    assert config.layer_norm_epsilon == 1e-6 and config.tie_word_embeddings and config.decoder_start_token_id == 0
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
    assert everything["weight_decay"] == 1e-4 and len(everything["params"]) == len(decayed) + len(others)


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


def test_the_settings_name_every_augmentation_that_the_decoder_has():
    assert set(AUGMENTATIONS) == QUERY_AUGMENTATIONS.keys()


def test_the_upsampled_datasets_are_mbeirs():
    assert MBEIR.keys() < {dataset for _, dataset in ROWS}

"""The presets: settings of all stages under a name.

`paper` reproduces the published code and `paper-text` the text of the paper; training/README.md lists where they
depart from their source, and why. The others are ours, for two CPU cores: `small` and `toy` train everything from
scratch, `toy` made the run of the toy world; `photos` trains heads behind pretrained towers. The run of photographs has
earlier heads, see training/photos/__main__.py.
"""

import math
from dataclasses import replace

from genius.models.decoder import DecoderConfig
from genius.models.fusion import FusionConfig
from genius.models.quantizer import QuantizerConfig
from training.settings import (
    DecoderSettings,
    EncoderSettings,
    FeatureSettings,
    IndexSettings,
    LockedSettings,
    QuantizerSettings,
    Settings,
    TowerSettings,
)
from training.shipped import SHIPPED

MIN_CODES, MAX_CODES = 16, 4096  # per level, where sizes follow the collection
MAX_LEVELS = 9
QUANTIZER_SAMPLES, DECODER_SAMPLES = 300_000, 120_000  # samples of either stage over all epochs
MIN_EPOCHS, MAX_EPOCHS = 4, 40
PATIENCE = 1 / 8  # of all epochs

# A code that gets fewer than 2 of the 16,000 vectors of a published batch is restarted with 2 of them.
DEAD_RATIO = 2 / (16_000 / 4096)
PAPER = Settings(
    EncoderSettings(),
    FeatureSettings(),
    QuantizerSettings(
        quantizer=QuantizerConfig(
            modality_code="emergent", dead_ratio=DEAD_RATIO, restart_ratio=DEAD_RATIO, distance="published"
        )
    ),
    DecoderSettings(),
)

PAPER_TEXT = replace(
    PAPER,
    encoder=replace(PAPER.encoder, epochs=0),  # section 4.1: UniIR's weights as they are; --set encoder.pretrained=…
    quantizer=replace(
        PAPER.quantizer,
        fusion=FusionConfig(branch=0),
        quantizer=replace(PAPER.quantizer.quantizer, modality_code="forced", distance="squared"),
        epochs=20,
        batch=256,
        contrastive_weight=1.0,
        rq_sum=True,
        mse_raw=True,
        symmetric_loss=False,
        kmeans_vectors=512,  # queries and targets of the first batch
    ),
    decoder=replace(
        PAPER.decoder,
        epochs=30,
        batch=256,
        warmup_steps=0,
        augmentation="scalar",
        decoder=replace(PAPER.decoder.decoder, prefix_hidden=512),
    ),
)

SMALL_DIM, SMALL_CODES = 256, 256
SMALL = Settings(
    encoder=EncoderSettings(
        architecture={
            "embed_dim": SMALL_DIM,
            "vision_cfg": {"timm_model_name": "resnet10t", "timm_pool": "avg", "timm_proj": "linear", "image_size": 80},
            "text_cfg": {"context_length": 32, "vocab_size": 49408, "width": 256, "heads": 4, "layers": 3},
        },
        pretrained="",
        epochs=5,
        batch=384,
        group=96,
        upsample_to=5000,
        drop_last=False,
        learning_rate=1e-3,
        weight_decay=0.1,
        warmup=0.05,
        clip_grad_norm=1.0,
        max_logit_scale=100.0,
        symmetric_loss=True,
        mask_positives=True,
        augment=True,
    ),
    features=FeatureSettings(phrasings=4),
    quantizer=QuantizerSettings(
        fusion=FusionConfig(SMALL_DIM, branch=512, hidden=1024),
        quantizer=QuantizerConfig(SMALL_DIM, levels=9, codebook_size=SMALL_CODES, restart_ratio=1.0),
        epochs=12,
        batch=1024,
        upsample_to=5000,
        drop_last=False,
        learning_rate=5e-4,
        temperature=0.05,
        contrastive_weight=1.0,
        mask_positives=True,
        keep_best=True,
        kmeans_iterations=25,
    ),
    decoder=DecoderSettings(
        decoder=DecoderConfig(
            SMALL_DIM,
            levels=9,
            codebook_size=SMALL_CODES,
            width=256,
            layers=4,
            heads=4,
            ff_width=1024,
            prefix=8,
            dropout=0.0,
            embedding_scale=10.0,
            geometry=True,
        ),
        epochs=4,
        batch=512,
        upsample_to=5000,
        drop_last=False,
        learning_rate=5e-4,
        decay_all=True,
        warmup_steps=200,
        warmup_from_zero=False,
        self_queries=True,
        keep_best=True,
        decoder_weights=(1.0, 0.75, 0.5, 0.25, 0.1),
    ),
)

PHOTOS = Settings(  # heads behind pretrained towers
    encoder=replace(
        SMALL.encoder,
        image_tower="tf_efficientnet_lite2",
        text_tower="sentence-transformers/all-MiniLM-L6-v2",
        architecture="",
        epochs=20,
        batch=1024,
        group=512,
        upsample_to=0,
        learning_rate=2e-3,
        max_logit_scale=20.0,
        average=0.998,
        min_crop=0.45,
        eight_bit=True,
        bf16=False,
        modality_weight=0.5,
        instruction_swap_prob=0.2,
        towers=TowerSettings(
            dim=SMALL_DIM,
            image_size=260,
            head="residual",
            hidden=2048,
            image_dropout=0.5,
            text_dropout=0.5,
            resize_mode="squash",
            bridge=True,
        ),
        locked=LockedSettings(enabled=True, views=4, phrasings=2, input_dropout=0.25, class_pictures=6),
    ),
    features=FeatureSettings(phrasings=2),
    quantizer=replace(SMALL.quantizer, epochs=8, upsample_to=0, half=True),
    decoder=replace(
        SMALL.decoder,
        decoder=replace(SMALL.decoder.decoder, layers=3, ff_width=512, prefix=6),
        epochs=3,
        patience=1,
        upsample_to=0,
        half=True,
        bf16=False,
    ),
    index=IndexSettings(thumbnail_side=160),
)

FURTHER = replace(  # the heads of the shipped encoder are trained further; the other parts follow `settings_for`
    PHOTOS,
    encoder=replace(
        PHOTOS.encoder,
        image_tower="",
        text_tower="",
        architecture=SHIPPED,
        locked=replace(PHOTOS.encoder.locked, class_pictures=0),  # codes are of the collection alone
    ),
)

TOY_DIM, TOY_LEVELS, TOY_CODES = 96, 5, 64
TOY = Settings(  # the run of the toy world, a few megabytes; see toy_world.py
    encoder=replace(
        SMALL.encoder,
        architecture={
            "embed_dim": TOY_DIM,
            "vision_cfg": {"layers": [1, 1, 1, 1], "width": 8, "head_width": 32, "image_size": 64},
            "text_cfg": {"context_length": 32, "vocab_size": 4096, "width": 64, "heads": 4, "layers": 2},
        },
        epochs=8,
        batch=128,
        group=32,
        upsample_to=0,
        learning_rate=2e-3,
        augment=False,
        eight_bit=True,
        bf16=False,
    ),
    features=FeatureSettings(phrasings=2),
    quantizer=replace(
        SMALL.quantizer,
        fusion=FusionConfig(TOY_DIM, branch=64, hidden=128),
        quantizer=QuantizerConfig(TOY_DIM, levels=TOY_LEVELS, codebook_size=TOY_CODES, restart_ratio=1.0),
        upsample_to=0,
        half=True,
    ),
    decoder=replace(
        SMALL.decoder,
        decoder=replace(
            SMALL.decoder.decoder,
            dim=TOY_DIM,
            levels=TOY_LEVELS,
            codebook_size=TOY_CODES,
            width=64,
            layers=2,
            head_width=16,
            ff_width=192,
            prefix=4,
        ),
        epochs=6,
        batch=256,
        upsample_to=0,
        half=True,
        bf16=False,
    ),
    index=IndexSettings(pool="union_test", thumbnail_side=64),
)

PRESETS = {"small": SMALL, "toy": TOY, "photos": PHOTOS, "shipped": FURTHER, "paper": PAPER, "paper-text": PAPER_TEXT}


def settings_for(settings: Settings, dim: int, items: int, pairs: int) -> Settings:
    """Settings for this dimension of embeddings, number of items, and number of training pairs.

    A level has about √items codes, so that two levels separate most items and the others near-duplicates. The fewer
    pairs, the more epochs.
    """
    codes = 2 ** round(math.log2(max(items, 1)) / 2)
    size = {
        "dim": dim,
        "codebook_size": min(max(codes, MIN_CODES), MAX_CODES),
        "levels": min(3 + math.ceil(math.log2(max(items, 2)) / 3), MAX_LEVELS),
    }
    quantizer, decoder = settings.quantizer, settings.decoder
    return replace(
        settings,
        quantizer=replace(
            quantizer,
            fusion=replace(quantizer.fusion, dim=dim, branch=2 * dim, hidden=4 * dim),
            quantizer=replace(quantizer.quantizer, **size),
            **epochs_for(QUANTIZER_SAMPLES, pairs),
            upsample_to=0,
        ),
        decoder=replace(
            decoder,
            decoder=replace(decoder.decoder, **size),
            **epochs_for(DECODER_SAMPLES, pairs + items),
            upsample_to=0,
        ),
    )


def epochs_for(samples: int, pairs: int) -> dict[str, int]:
    epochs = min(max(samples // max(pairs, 1), MIN_EPOCHS), MAX_EPOCHS)
    return {"epochs": epochs, "patience": max(1, int(PATIENCE * epochs))}

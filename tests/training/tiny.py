"""Settings that train every stage in seconds, and ways to end a training early."""

from dataclasses import replace

import pytest

from genius.models.decoder import DecoderConfig
from genius.models.fusion import FusionConfig
from genius.models.quantizer import QuantizerConfig
from tests.search.tiny import tiny_encoder
from training import umap_layout
from training.checkpoint import Checkpoints
from training.presets import SMALL
from training.settings import Settings

DIM, LEVELS, CODES = 12, 4, 5

TINY: Settings = replace(
    SMALL,
    encoder=replace(
        SMALL.encoder,
        architecture=tiny_encoder().config.model,
        epochs=2,
        batch=8,
        group=4,
        upsample_to=0,
        modality_weight=0.5,
        instruction_swap_prob=0.1,
    ),
    features=replace(SMALL.features, phrasings=2, batch=8),
    quantizer=replace(
        SMALL.quantizer,
        fusion=FusionConfig(DIM, 16, 24),
        epochs=2,
        batch=16,
        upsample_to=0,
        quantizer=QuantizerConfig(DIM, LEVELS, CODES),
        kmeans_vectors=100,
    ),
    decoder=replace(
        SMALL.decoder,
        epochs=2,
        batch=16,
        upsample_to=0,
        warmup_steps=2,
        decoder=DecoderConfig(
            DIM,
            LEVELS,
            CODES,
            width=16,
            layers=1,
            heads=2,
            head_width=8,
            ff_width=24,
            prefix=2,
            geometry=True,
            embedding_scale=4.0,
        ),
    ),
)


def lay_out_by_principal_components(patch: pytest.MonkeyPatch) -> None:
    """Treat all vectors of maps as the few that are laid out without UMAP, which compiles itself for many seconds."""
    patch.setattr(umap_layout, "MIN_VECTORS", 1_000_000)


def killed_after_an_epoch(patch: pytest.MonkeyPatch) -> None:
    """Let training die when it has saved its first epoch."""
    save = Checkpoints.save

    def killed(*arguments):
        save(*arguments)
        raise KeyboardInterrupt

    patch.setattr(Checkpoints, "save", killed)

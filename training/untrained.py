"""Fusion, quantizer and decoder of an encoder that no shipped part fits, made in seconds, without training.

The fused feature is the embedding itself, the codebooks are those of k-means on it, level by level, and the decoder
adds nothing to their geometry: IDs are searched by the distance of their codewords alone.
"""

from functools import partial

import numpy as np
import torch

from genius.encoding.features import FeatureFiles
from genius.models.decoder import DecoderConfig, IDDecoder
from genius.models.fusion import Fusion, FusionConfig
from genius.models.quantizer import QuantizerConfig, ResidualQuantizer
from genius.models.saving import round_to_half
from genius.run import Run
from training.settings import Settings

SAMPLE, ITERATIONS = 16_000, 25  # of k-means


@torch.no_grad()
def publish_codes(run: Run, files: FeatureFiles, modalities: np.ndarray, settings: Settings) -> None:
    """Publish the three parts. files: features of all candidates; modalities (n,): of these."""
    config = settings.quantizer.quantizer
    fusion = embedding_as_it_is(config.dim)
    rows = np.sort(np.random.default_rng(settings.seed).permutation(len(modalities))[:SAMPLE])
    quantizer = ResidualQuantizer(config)
    z = fusion(files.features(rows))
    quantizer.initialize(z, torch.from_numpy(modalities[rows]).long(), settings.seed, ITERATIONS)
    round_to_half(quantizer)  # as its readers will load it
    run.publish("fusion", fusion.save, ("encoder",))
    run.publish("quantizer", partial(quantizer.save, half=True), ("encoder", "fusion"))
    run.publish("decoder", partial(geometry_alone(quantizer).save, half=True), ("quantizer",))


@torch.no_grad()
def embedding_as_it_is(dim: int) -> Fusion:
    """A fusion that gives (x + y) / ‖x + y‖, as the embedding."""
    fusion = Fusion(FusionConfig(dim, branch=0, hidden=1))
    for weight in fusion.parameters():
        weight.zero_()
    return fusion


@torch.no_grad()
def geometry_alone(quantizer: ResidualQuantizer) -> IDDecoder:
    """A decoder whose logits are the distances to the codewords, and which a search does not ask."""
    config: QuantizerConfig = quantizer.config
    decoder = IDDecoder(
        DecoderConfig(
            config.dim,
            config.levels,
            config.codebook_size,
            width=1,
            layers=1,
            heads=1,
            head_width=1,
            ff_width=1,
            prefix=1,
            dropout=0.0,
            geometry=True,
            decoder_weight=0.0,
        )
    )
    decoder.initialize(quantizer)
    for weight in decoder.t5.parameters():
        weight.zero_()
    return decoder

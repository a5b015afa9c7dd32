"""Build the models of a run from the weights of the published checkpoints.

Their sizes are those of the settings, and every weight has to fit them. Level 0 has three modality codes, whose
numbering emerged in training.
"""

from dataclasses import asdict
from typing import Any

import open_clip
import torch
from open_clip.transform import PreprocessCfg

from genius.errors import UserError
from genius.models.decoder import DecoderConfig, IDDecoder
from genius.models.encoder import Encoder
from genius.models.encoder_config import EncoderConfig
from genius.models.fusion import Fusion, FusionConfig
from genius.models.quantizer import QuantizerConfig, ResidualQuantizer
from training.published.checkpoint_file import Checkpoint

CLIP, QUANTIZER = "clip_model.", "quantizer."  # prefixes of the weights of a model in a checkpoint


def encoder_of(clip_sf: Checkpoint, architecture: str | dict[str, Any]) -> Encoder:
    """OpenAI's CLIP of this architecture, fine-tuned by UniIR."""
    model = open_clip.get_model_config(architecture) if isinstance(architecture, str) else architecture
    preprocess = asdict(PreprocessCfg(size=model["vision_cfg"]["image_size"]))
    encoder = Encoder(EncoderConfig(model, preprocess, source=f"UniIR CLIP-SF, {clip_sf.file.name}"))
    clip_sf.fill(encoder.clip, CLIP)
    return encoder.eval()


def fusion_of(checkpoint: Checkpoint, prefix: str, config: FusionConfig) -> Fusion:
    """The published `Combiner`, from a quantizer's checkpoint (prefix "") or a decoder's."""
    fusion = Fusion(config)
    for module, name in (
        (fusion.text_branch, "text_projection_layer"),
        (fusion.image_branch, "image_projection_layer"),
        (fusion.mix[0], "combiner_layer"),
        (fusion.mix[2], "output_layer"),
        (fusion.gate[0], "dynamic_scalar.0"),
        (fusion.gate[2], "dynamic_scalar.3"),
    ):
        checkpoint.fill(module, f"{prefix}encoder.{name}.")
    return fusion.eval()


def quantizer_of(checkpoint: Checkpoint, prefix: str, config: QuantizerConfig) -> ResidualQuantizer:
    """The codebooks of the published `ResidualVQ`, without the moving averages of training.

    Raises UserError if a codebook was not initialized, or the two copies of the first one differ.
    """
    layers, quantizer = f"{prefix}residual_rq.layers.", ResidualQuantizer(config)
    for level, codebook in enumerate(quantizer.codebooks):
        if not checkpoint.take(f"{layers}{level}._codebook.initted", (1,)).all():
            raise UserError(f"{checkpoint.file}: the codebook of level {level} was not initialized")
        codebook.copy_(checkpoint.take(f"{layers}{level}._codebook.embed", (1, *codebook.shape))[0])
    first = quantizer.codebooks[0]
    if not torch.equal(checkpoint.take(f"{prefix}vq._codebook.embed", (1, *first.shape))[0].to(first.dtype), first):
        raise UserError(f"{checkpoint.file}: {prefix}vq and {layers}0 differ, expected one codebook under two names")
    checkpoint.leave_out(f"{prefix}vq._codebook.*", "level 0 under another name")
    for average in ("cluster_size", "embed_avg"):
        checkpoint.leave_out(f"{layers}*._codebook.{average}", "moving averages of training")
    checkpoint.leave_out(f"{prefix}{CLIP}*", "a copy of the encoder")
    return quantizer.eval()


def decoder_of(genius: Checkpoint, quantizer: ResidualQuantizer, config: DecoderConfig) -> IDDecoder:
    """The published T5 decoder of this quantizer's IDs."""
    decoder = IDDecoder(config)
    genius.fill(decoder.project, "embed_projector.0.")
    genius.fill(decoder.t5, "id_generator.")
    for copy, codebook in zip(decoder.codebooks, quantizer.codebooks, strict=True):
        copy.copy_(codebook)
    genius.leave_out("contra_projector.*", "not used by the published search")
    genius.leave_out(f"{CLIP}*", "a copy of the encoder")
    return decoder.eval()

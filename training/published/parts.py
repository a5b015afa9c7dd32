"""Build the models of a run from the weights of the published checkpoints.

Sizes are inferred from the shapes of some weights, and every other weight has to fit them. Level 0 has three modality
codes, whose numbering emerged in training.
"""

from dataclasses import asdict
from math import isqrt
from typing import Any

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
HEAD_WIDTH = 64  # in every OpenAI CLIP


def encoder_of(clip_sf: Checkpoint) -> Encoder:
    """OpenAI's CLIP, fine-tuned by UniIR. Raises UserError if the weights are not those of a ViT."""
    architecture = clip_architecture(clip_sf)
    preprocess = asdict(PreprocessCfg(size=architecture["vision_cfg"]["image_size"]))
    encoder = Encoder(EncoderConfig(architecture, preprocess, source=f"UniIR CLIP-SF, {clip_sf.file.name}"))
    clip_sf.fill(encoder.clip, CLIP)
    return encoder.eval()


def clip_architecture(clip_sf: Checkpoint) -> dict[str, Any]:
    """The model configuration in open_clip's format."""
    width, _, patch, _ = clip_sf.shape(f"{CLIP}visual.conv1.weight", 4)
    places, _ = clip_sf.shape(f"{CLIP}visual.positional_embedding", 2)  # a class token, then a square
    vocabulary, text_width = clip_sf.shape(f"{CLIP}token_embedding.weight", 2)
    length, _ = clip_sf.shape(f"{CLIP}positional_embedding", 2)
    _, dim = clip_sf.shape(f"{CLIP}text_projection", 2)
    return {
        "embed_dim": dim,
        "quick_gelu": True,
        "vision_cfg": {
            "image_size": isqrt(places - 1) * patch,
            "width": width,
            "patch_size": patch,
            "layers": clip_sf.count(f"{CLIP}visual.transformer.resblocks."),
        },
        "text_cfg": {
            "context_length": length,
            "vocab_size": vocabulary,
            "width": text_width,
            "heads": text_width // HEAD_WIDTH,
            "layers": clip_sf.count(f"{CLIP}transformer.resblocks."),
        },
    }


def fusion_of(checkpoint: Checkpoint, prefix: str) -> Fusion:
    """The published `Combiner`, from a quantizer's checkpoint (prefix "") or a decoder's."""
    branch, dim = checkpoint.shape(f"{prefix}encoder.text_projection_layer.weight", 2)
    hidden, _ = checkpoint.shape(f"{prefix}encoder.combiner_layer.weight", 2)
    fusion = Fusion(FusionConfig(dim, branch, hidden))
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


def quantizer_of(checkpoint: Checkpoint, prefix: str) -> ResidualQuantizer:
    """The codebooks of the published `ResidualVQ`, without the moving averages of training.

    Raises UserError if a codebook was not initialized, or the two copies of the first one differ.
    """
    layers = f"{prefix}residual_rq.layers."
    levels = checkpoint.count(layers)
    _, size, dim = checkpoint.shape(f"{layers}{levels - 1}._codebook.embed", 3)
    quantizer = ResidualQuantizer(QuantizerConfig(dim, levels, size, modality_code="emergent", distance="published"))
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


def decoder_of(genius: Checkpoint, quantizer: ResidualQuantizer) -> IDDecoder:
    """The published T5 decoder of this quantizer's IDs."""
    t5, dim = "id_generator.", quantizer.config.dim
    _, width = genius.shape(f"{t5}shared.weight", 2)
    attention = f"{t5}decoder.block.0.layer.0.SelfAttention.q.weight"
    hidden = f"{t5}decoder.block.0.layer.2.DenseReluDense.wi.weight"
    _, heads = genius.shape(f"{t5}decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", 2)
    prefixed, _ = genius.shape("embed_projector.0.weight", 2)
    decoder = IDDecoder(
        DecoderConfig(
            dim,
            quantizer.config.levels,
            quantizer.config.codebook_size,
            width=width,
            heads=heads,
            layers=genius.count(f"{t5}decoder.block."),
            head_width=genius.shape(attention, 2)[0] // heads,
            ff_width=genius.shape(hidden, 2)[0],
            prefix=prefixed // width,
        )
    )
    genius.fill(decoder.project, "embed_projector.0.")
    genius.fill(decoder.t5, t5)
    for copy, codebook in zip(decoder.codebooks, quantizer.codebooks, strict=True):
        copy.copy_(codebook)
    genius.leave_out("contra_projector.*", "not used by the published search")
    genius.leave_out(f"{CLIP}*", "a copy of the encoder")
    return decoder.eval()

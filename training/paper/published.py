"""Convert UniIR's CLIP-SF and the quantizer and decoder of GENIUS into the parts of a run, as
safetensors.

    python -m training.published [--clip-sf FILE] [--genius FILE] [--rq FILE] DEST

A checkpoint is a path, or hf://OWNER/REPOSITORY/FILE on the Hugging Face hub; its models have the
sizes of preset paper. Every weight is mapped or listed as left out, in the output and in the run's
manifest. A decoder keeps the quantizer it was trained for, which is in its own checkpoint; --rq is
used only if there is none.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import open_clip
import torch
from open_clip.transform import PreprocessCfg

from genius.commands import command_parser
from genius.errors import UserError
from genius.models.decoder import DecoderConfig, IDDecoder
from genius.models.encoder import Encoder
from genius.models.encoder_config import EncoderConfig
from genius.models.fusion import Fusion, FusionConfig
from genius.models.quantizer import QuantizerConfig, ResidualQuantizer
from genius.run import BUILT_FROM, Run, is_run
from training.distributed import run_alone
from training.paper.checkpoint_file import CLIP_SF, GENIUS, Checkpoint, local_file
from training.presets import PAPER
from training.settings import Settings
from training.stage import only_trainer

CLIP, QUANTIZER = "clip_model.", "quantizer."  # prefixes of the weights of a model in a checkpoint


Parts = dict[str, Encoder | Fusion | ResidualQuantizer | IDDecoder]
LeftOut = dict[str, dict[str, str]]  # clip_sf, genius or rq -> name of a weight -> reason


def convert(
    clip_sf: Checkpoint,
    genius: Checkpoint,
    rq: Checkpoint | None,
    leave_out: Sequence[str],
    sizes: Settings,
) -> tuple[Parts, LeftOut]:
    """Build the parts of a run, of these sizes. leave_out: names of further weights to leave out; *
    matches anything.

    Raises UserError if a weight is missing, unknown or of another shape.
    """
    checkpoints = {"clip_sf": clip_sf, "genius": genius}
    source, prefix = genius, QUANTIZER
    if not genius.has(QUANTIZER):
        if rq is None:
            raise UserError(
                f"{genius.file} has no quantizer; name the one that its decoder was trained for "
                "with --rq"
            )
        checkpoints["rq"] = source = rq
        prefix = ""
    quantizer = quantizer_of(source, prefix, sizes.quantizer.quantizer)
    parts: Parts = {
        "encoder": encoder_of(clip_sf, sizes.encoder.architecture),
        "fusion": fusion_of(source, prefix, sizes.quantizer.fusion),
        "quantizer": quantizer,
        "decoder": decoder_of(genius, quantizer, sizes.decoder.decoder),
    }
    for checkpoint in checkpoints.values():
        for pattern in leave_out:
            checkpoint.leave_out(pattern, "by --leave-out")
        checkpoint.close()
    return parts, {name: checkpoint.left_out for name, checkpoint in checkpoints.items()}


def encoder_of(clip_sf: Checkpoint, architecture: str | dict[str, Any]) -> Encoder:
    """OpenAI's CLIP of this architecture, fine-tuned by UniIR."""
    model = (
        open_clip.get_model_config(architecture) if isinstance(architecture, str) else architecture
    )
    preprocess = asdict(PreprocessCfg(size=model["vision_cfg"]["image_size"]))
    encoder = Encoder(
        EncoderConfig(model, preprocess, source=f"UniIR CLIP-SF, {clip_sf.file.name}")
    )
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
    layers = f"{prefix}residual_rq.layers."
    quantizer = ResidualQuantizer(config)
    for level, codebook in enumerate(quantizer.codebooks):
        if not checkpoint.take(f"{layers}{level}._codebook.initted", (1,)).all():
            raise UserError(f"{checkpoint.file}: the codebook of level {level} was not initialized")
        codebook.copy_(checkpoint.take(f"{layers}{level}._codebook.embed", (1, *codebook.shape))[0])
    first = quantizer.codebooks[0]
    if not torch.equal(
        checkpoint.take(f"{prefix}vq._codebook.embed", (1, *first.shape))[0].to(first.dtype), first
    ):
        raise UserError(
            f"{checkpoint.file}: {prefix}vq and {layers}0 differ, expected one codebook "
            "under two names"
        )
    checkpoint.leave_out(f"{prefix}vq._codebook.*", "level 0 under another name")
    for average in ("cluster_size", "embed_avg"):
        checkpoint.leave_out(f"{layers}*._codebook.{average}", "moving averages of training")
    checkpoint.leave_out(f"{prefix}{CLIP}*", "a copy of the encoder")
    return quantizer.eval()


def decoder_of(
    genius: Checkpoint, quantizer: ResidualQuantizer, config: DecoderConfig
) -> IDDecoder:
    """The published T5 decoder of this quantizer's IDs."""
    decoder = IDDecoder(config)
    genius.fill(decoder.project, "embed_projector.0.")
    genius.fill(decoder.t5, "id_generator.")
    for copy, codebook in zip(decoder.codebooks, quantizer.codebooks, strict=True):
        copy.copy_(codebook)
    genius.leave_out("contra_projector.*", "not used by the published search")
    genius.leave_out(f"{CLIP}*", "a copy of the encoder")
    return decoder.eval()


def publish(parts: Parts, left_out: LeftOut, destination: Path) -> None:
    """Write the parts of a run.

    Raises UserError if the destination exists and is not a run, or another process is changing it.
    """
    is_empty = destination.is_dir() and not any(destination.iterdir())
    if destination.exists() and not (is_empty or is_run(destination)):
        raise UserError(
            f"{destination} is not a run; name an empty directory, or one that does not exist"
        )
    with only_trainer(destination):
        run = Run(destination)  # its facts first, so that no kill leaves all parts without them
        run.record(left_out=left_out, normalize_embeddings=True)
        for part, model in parts.items():
            run.publish(part, model.save, tuple(sorted(BUILT_FROM[part])))


def summary(left_out: LeftOut) -> list[str]:
    """Lines that say whose quantizer is used, and list the weights that were left out."""
    lines = [f"quantizer  that of {'rq' if 'rq' in left_out else 'genius'}"]
    for checkpoint, reasons in left_out.items():
        for reason in dict.fromkeys(reasons.values()):
            names = Counter(
                re.sub(r"\.\d+\.", ".*.", name) for name, why in reasons.items() if why == reason
            )
            listed = ", ".join(
                f"{name} ({number})" if number > 1 else name for name, number in names.items()
            )
            lines.append(f"left out   {checkpoint}, {reason}: {listed}")
    return lines


def main(arguments: Sequence[str] | None = None, sizes: Settings = PAPER) -> None:
    parser = command_parser("training.published", __doc__)
    parser.add_argument("destination", type=Path, metavar="DEST", help="the run to write")
    parser.add_argument(
        "--clip-sf", default=CLIP_SF, metavar="FILE", help="UniIR's CLIP-SF (default: %(default)s)"
    )
    parser.add_argument(
        "--genius",
        default=GENIUS,
        metavar="FILE",
        help="decoder and quantizer (default: %(default)s)",
    )
    parser.add_argument("--rq", metavar="FILE", help="a quantizer checkpoint")
    weights = "weights to leave out; * matches anything"
    parser.add_argument("--leave-out", action="append", default=[], metavar="NAME", help=weights)
    options = parser.parse_args(arguments)
    clip_sf, genius = (
        Checkpoint.read(local_file(name)) for name in (options.clip_sf, options.genius)
    )
    rq = Checkpoint.read(local_file(options.rq)) if options.rq else None
    parts, left_out = convert(clip_sf, genius, rq, options.leave_out, sizes)
    publish(parts, left_out, options.destination)
    print(*summary(left_out), sep="\n")
    print(f"done: {options.destination} has encoder, fusion, quantizer and decoder")


if __name__ == "__main__":
    run_alone(main)

"""Convert UniIR's CLIP-SF and the quantizer and decoder of GENIUS into the parts of a run, as safetensors.

    python -m training.published --clip-sf clip_sf_large.pth --genius GENIUS_t5small.pth [--rq rq_clip_large.pth] DEST

A checkpoint is a path, or hf://OWNER/REPOSITORY/FILE on the Hugging Face hub; its models have the sizes of preset
paper. Every weight is mapped or listed as left out, in the output and in the run's manifest. A decoder keeps the
quantizer it was trained for, which is in its own checkpoint; --rq is used only if there is none.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from genius.commands import command_parser
from genius.errors import UserError
from genius.models.decoder import IDDecoder
from genius.models.encoder import Encoder
from genius.models.fusion import Fusion
from genius.models.quantizer import ResidualQuantizer
from genius.run import Run, is_run
from training.distributed import run_alone
from training.presets import PAPER
from training.published.checkpoint_file import CLIP_SF, GENIUS, Checkpoint, local_file
from training.published.parts import QUANTIZER, decoder_of, encoder_of, fusion_of, quantizer_of
from training.settings import Settings
from training.stage import only_trainer


@dataclass(frozen=True)
class Published:
    """The models of the checkpoints."""

    encoder: Encoder
    fusion: Fusion
    quantizer: ResidualQuantizer
    decoder: IDDecoder
    left_out: dict[str, dict[str, str]]  # clip_sf, genius or rq -> name of a weight -> reason


def convert(
    clip_sf: Checkpoint, genius: Checkpoint, rq: Checkpoint | None, leave_out: Sequence[str], sizes: Settings
) -> Published:
    """Build the models, of these sizes. leave_out: names of further weights to leave out; * matches anything.

    Raises UserError if a weight is missing, unknown or of another shape.
    """
    checkpoints = {"clip_sf": clip_sf, "genius": genius}
    source, prefix = genius, QUANTIZER
    if not genius.has(QUANTIZER):
        if rq is None:
            raise UserError(f"{genius.file} has no quantizer; name the one that its decoder was trained for with --rq")
        checkpoints["rq"] = source = rq
        prefix = ""
    fusion = fusion_of(source, prefix, sizes.quantizer.fusion)
    quantizer = quantizer_of(source, prefix, sizes.quantizer.quantizer)
    decoder = decoder_of(genius, quantizer, sizes.decoder.decoder)
    encoder = encoder_of(clip_sf, sizes.encoder.architecture)
    for checkpoint in checkpoints.values():
        for pattern in leave_out:
            checkpoint.leave_out(pattern, "by --leave-out")
        checkpoint.close()
    left_out = {name: checkpoint.left_out for name, checkpoint in checkpoints.items()}
    return Published(encoder, fusion, quantizer, decoder, left_out)


def publish(published: Published, destination: Path) -> Run:
    """Write the parts of a run.

    Raises UserError if the destination exists and is not a run, or another process is changing it.
    """
    if destination.exists() and not is_run(destination) and any(destination.iterdir()):
        raise UserError(f"{destination} is not a run; name an empty directory, or one that does not exist")
    with only_trainer(destination):
        run = Run(destination)  # its facts first, so that no kill leaves all parts without them
        run.record(left_out=published.left_out, normalize_embeddings=True)
        run.publish("encoder", published.encoder.save)
        run.publish("fusion", published.fusion.save, ("encoder",))
        run.publish("quantizer", published.quantizer.save, ("encoder", "fusion"))
        run.publish("decoder", published.decoder.save, ("quantizer",))
        return run


def summary(published: Published) -> list[str]:
    """Lines that say whose quantizer is used, and list the weights that were left out."""
    lines = [f"quantizer  that of {'rq' if 'rq' in published.left_out else 'genius'}"]
    for checkpoint, left_out in published.left_out.items():
        for reason in dict.fromkeys(left_out.values()):
            names = Counter(re.sub(r"\.\d+\.", ".*.", name) for name, why in left_out.items() if why == reason)
            listed = ", ".join(f"{name} ({number})" if number > 1 else name for name, number in names.items())
            lines.append(f"left out   {checkpoint}, {reason}: {listed}")
    return lines


def main(arguments: Sequence[str] | None = None, sizes: Settings = PAPER) -> None:
    parser = command_parser("training.published", __doc__)
    parser.add_argument("destination", type=Path, metavar="DEST", help="the run to write")
    parser.add_argument("--clip-sf", default=CLIP_SF, metavar="FILE", help="UniIR's CLIP-SF (default: %(default)s)")
    parser.add_argument(
        "--genius", default=GENIUS, metavar="FILE", help="the decoder and its quantizer (default: %(default)s)"
    )
    parser.add_argument("--rq", metavar="FILE", help="a quantizer checkpoint")
    parser.add_argument(
        "--leave-out", action="append", default=[], metavar="NAME", help="weights to leave out; * matches anything"
    )
    options = parser.parse_args(arguments)
    read = [name and Checkpoint.read(local_file(name)) for name in (options.clip_sf, options.genius, options.rq)]
    published = convert(*read, options.leave_out, sizes)
    publish(published, options.destination)
    print("\n".join([*summary(published), f"done: {options.destination} has encoder, fusion, quantizer and decoder"]))


if __name__ == "__main__":
    run_alone(main)

"""How fast does an encoder read images and texts in each precision, and how far are its vectors from those in float32?

    python -m training.benchmarks.encoding_precision [--batch 256] [--set encoder.architecture=ViT-B-16]

The encoder of preset `paper` (ViT-L/14) with random weights, random images, and texts as long as it reads. Prints, for
float32, TF32 (products only, on GPUs) and bfloat16: inputs per second in batches, milliseconds for one, and the least
cosine to the vectors in float32.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from string import ascii_lowercase

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from torch import Tensor

from genius.errors import exit_on_user_error
from genius.evaluation.arguments import add_device, command_parser, parse_positive
from genius.evaluation.speed.machine import describe_machine, synchronize
from genius.evaluation.tables import table
from genius.models.encoder import Encoder
from genius.runtime import computes_bf16, tf32_products, usable_device
from training.command_line import add_set_argument
from training.distributed import expect_one_process
from training.encoder import new_encoder
from training.presets import PRESETS
from training.settings import with_changes

REPEATS = 5


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("training.benchmarks.encoding_precision", __doc__)
    parser.add_argument(
        "--batch", type=partial(parse_positive, "--batch"), default=256, help="inputs at once (default: %(default)s)"
    )
    add_device(parser)
    add_set_argument(parser)
    options = parser.parse_args(arguments)
    device = usable_device(options.device)
    settings = with_changes(PRESETS["paper"], ["encoder.pretrained=", *options.set]).encoder
    torch.manual_seed(0)
    encoder = new_encoder(settings).to(device, memory_format=torch.channels_last).for_inference()
    machine = describe_machine(device)
    print(f"{machine['gpu'] or machine['processor']}, torch {machine['torch']}, batches of {options.batch}\n")
    print(table(measure(encoder, options.batch, device)))


@torch.inference_mode()
def measure(encoder: Encoder, batch: int, device: torch.device) -> list[dict[str, str]]:
    """A row for each precision and kind of input."""
    rows, references, calls = [], {}, draw_calls(encoder, batch)
    for precision, within in precisions(device).items():
        for kind, encode in calls.items():
            with within():
                vectors = F.normalize(encode(batch).float(), dim=-1)
                together, alone = (seconds(partial(encode, count), device) for count in (batch, 1))
            reference = references.setdefault(kind, vectors)
            rows.append(
                {
                    "precision": precision,
                    "input": kind,
                    "per second": f"{batch / together:,.0f}",
                    "ms, one": f"{1000 * alone:.1f}",
                    "least cosine": f"{(vectors * reference).sum(-1).min():.6f}",
                }
            )
    return rows


def precisions(device: torch.device) -> dict[str, Callable[[], AbstractContextManager]]:
    """Those that the device computes in."""
    every = {"float32": nullcontext}
    if device.type == "cuda":
        every["TF32"] = tf32_products
    if computes_bf16(device):
        every["bfloat16"] = partial(torch.autocast, device.type, torch.bfloat16)
    return every


def draw_calls(encoder: Encoder, batch: int) -> dict[str, Callable[[int], Tensor]]:
    """Functions that encode so many random images, or texts as long as the encoder reads; the same in every call."""
    rng = np.random.default_rng(0)
    images = [Image.fromarray(rng.integers(0, 255, (64, 64, 3), dtype=np.uint8)) for _ in range(batch)]
    texts = [" ".join(rng.choice(list(ascii_lowercase), 200)) for _ in range(batch)]
    pixels, tokens = encoder.preprocess(images).to(encoder.device), encoder.tokenize(texts).to(encoder.device)
    present, absent = (torch.full((batch,), value, device=encoder.device) for value in (True, False))
    return {
        "image": lambda count: encoder(pixels[:count], present[:count], tokens[:0], absent[:count]).image,
        "text": lambda count: encoder(pixels[:0], absent[:count], tokens[:count], present[:count]).text,
    }


def seconds(call: Callable[[], object], device: torch.device) -> float:
    """Of one call, after two that are not timed."""
    for repeat in range(REPEATS + 2):
        if repeat == 2:
            synchronize(device)
            start = time.perf_counter()
        call()
    synchronize(device)
    return (time.perf_counter() - start) / REPEATS


if __name__ == "__main__":
    with exit_on_user_error():
        expect_one_process()
        main()

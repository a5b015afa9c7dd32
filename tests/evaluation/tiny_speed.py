"""A benchmark that takes a second: a small random decoder over a few hundred IDs."""

from dataclasses import replace
from pathlib import Path

import torch

from genius.evaluation.speed.workloads import Setup, uniform
from genius.models.decoder import DecoderConfig

CONFIG = DecoderConfig(
    dim=48,
    levels=4,
    codebook_size=16,
    width=32,
    layers=2,
    heads=2,
    head_width=16,
    ff_width=48,
    prefix=3,
    dropout=0.0,
)


def tiny_setup(folder: Path, items: int = 600, beams: int = 6, geometry: bool = False) -> Setup:
    """geometry: the decoder adds that of the codes to its logits."""
    workload = uniform(
        items, replace(CONFIG, geometry=geometry), seed=0, device=torch.device("cpu")
    )
    return Setup.build(workload, items, beams, folder)

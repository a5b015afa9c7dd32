"""Codes of many candidates, and how far these lie from what they stand for.

Shapes: n candidates, d dim, M levels.
"""

from __future__ import annotations

import numpy as np
import torch

from genius.index.segments import ConcatenatedArray
from genius.models.quantizer import ResidualQuantizer

BLOCK = 8192


def quantize_all(
    fused: np.ndarray | ConcatenatedArray, modalities: np.ndarray, quantizer: ResidualQuantizer
) -> np.ndarray:
    """Codes (n, M) uint16 of fused candidate features (n, d), block by block."""
    device = quantizer.codebook_0.device
    return np.concatenate(
        [
            quantizer.encode(
                torch.from_numpy(fused[start : start + BLOCK].astype(np.float32)).to(device),
                torch.from_numpy(modalities[start : start + BLOCK]).long().to(device),
            )
            .cpu()
            .numpy()
            .astype(np.uint16)
            for start in range(0, len(fused), BLOCK)
        ]
    )


@torch.inference_mode()
def reconstruction_errors(
    fused: np.ndarray | ConcatenatedArray, codes: np.ndarray, quantizer: ResidualQuantizer
) -> np.ndarray:
    """‖z − ẑ‖² (n,) float32 of fused features z (n, d) and the vectors ẑ that their codes (n, M) stand for."""
    device, errors = quantizer.codebook_0.device, np.empty(len(fused), dtype=np.float32)
    for start in range(0, len(fused), BLOCK):
        part = slice(start, start + BLOCK)
        z, quantized = (
            torch.from_numpy(fused[part].astype(np.float32)).to(device),
            quantizer.decode(torch.from_numpy(codes[part].astype(np.int64)).to(device)),
        )
        errors[part] = (z - quantized).square().sum(-1).cpu().numpy()
    return errors

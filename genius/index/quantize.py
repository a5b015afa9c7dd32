"""Codes of many candidates.

Shapes: n candidates, d dim, M levels.
"""

from __future__ import annotations

import numpy as np
import torch

from genius.models.quantizer import ResidualQuantizer

BLOCK = 8192


def quantize_all(fused: np.ndarray, modalities: np.ndarray, quantizer: ResidualQuantizer) -> np.ndarray:
    """Codes (n, M) uint16 of fused candidate features (n, d), block by block."""
    device = quantizer.codebook_0.device
    return np.concatenate([
        quantizer.encode(torch.from_numpy(fused[start:start + BLOCK].astype(np.float32)).to(device),
                         torch.from_numpy(modalities[start:start + BLOCK]).long().to(device)).cpu().numpy()
        .astype(np.uint16) for start in range(0, len(fused), BLOCK)])

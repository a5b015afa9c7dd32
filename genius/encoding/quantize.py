"""Codes of many candidates, and the distances of their quantized vectors.

Shapes: n candidates, d dim of z, M levels.
"""

from typing import Protocol

import numpy as np
import torch

from genius.models.quantizer import ResidualQuantizer

QUANTIZE_BLOCK = 8192  # candidates quantized at once


class Rows(Protocol):
    """An array (n, d), or several that are read as one; a slice of it is (b, d)."""

    def __len__(self) -> int: ...
    def __getitem__(self, rows: slice) -> np.ndarray: ...  # (b, d)


def quantize_all(fused: Rows, modalities: np.ndarray, quantizer: ResidualQuantizer) -> np.ndarray:
    """Codes (n, M) uint16 of the fused features (n, d) of candidates with these modalities (n,)."""
    device = quantizer.codebooks[0].device
    codes = []
    for start in range(0, len(fused), QUANTIZE_BLOCK):
        rows = slice(start, start + QUANTIZE_BLOCK)
        z = torch.from_numpy(fused[rows].astype(np.float32)).to(device)
        of_block = quantizer.encode(z, torch.from_numpy(modalities[rows]).long().to(device))
        codes.append(of_block.cpu().numpy().astype(np.uint16))
    return np.concatenate(codes)


@torch.inference_mode()
def squared_distances(fused: Rows, codes: np.ndarray, quantizer: ResidualQuantizer) -> np.ndarray:
    """(n, 2) float32: ‖z − ẑ‖² and ‖ẑ‖² of fused features z (n, d) and their quantized vectors ẑ,
    from codes (n, M).
    """
    device = quantizer.codebooks[0].device
    distances = np.empty((len(fused), 2), dtype=np.float32)
    for start in range(0, len(fused), QUANTIZE_BLOCK):
        rows = slice(start, start + QUANTIZE_BLOCK)
        z = torch.from_numpy(fused[rows].astype(np.float32)).to(device)
        quantized = quantizer.decode(torch.from_numpy(codes[rows].astype(np.int64)).to(device))
        both = torch.stack([z - quantized, quantized], dim=1)  # (b, 2, d)
        distances[rows] = both.double().square().sum(-1).cpu().numpy()
    return distances

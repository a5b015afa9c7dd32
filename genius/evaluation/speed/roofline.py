"""The compute-bound minimum of a search: its operations divided by the measured rate of matrix products.

Operations are those that the search needs: a beam attends to its own codes, cross-attention reads the prefix once per
query. A multiplication and an addition are two operations.
"""

from __future__ import annotations

import time

import torch

from genius.evaluation.speed.machine import synchronize
from genius.models.decoder import DecoderConfig

SIDE = 2048  # of the square matrices


def search_operations(config: DecoderConfig, beams_scored: float, whole_vocabulary: bool) -> float:
    """Operations of one query that scores this many beams, summed over all levels.

    whole_vocabulary: the softmax is over all tokens, not only the codes of the level.
    """
    inner = config.heads * config.head_width
    prefix = config.prefix * config.width * (config.prefix_hidden or config.dim) + config.dim * config.prefix_hidden
    memory = 2 * config.layers * config.prefix * config.width * inner  # keys and values of cross-attention
    projections = 6 * config.width * inner  # q, k, v, out of self-attention; q, out of cross-attention
    feed_forward = 2 * config.width * config.ff_width
    attended = config.prefix + (config.levels + 1) / 2  # keys per beam, averaged over levels
    head = config.width * (config.vocabulary if whole_vocabulary else config.code_sizes[-1])
    beam = config.layers * (projections + feed_forward + 2 * inner * attended) + head
    return 2.0 * (prefix + memory) + 2.0 * beams_scored * beam


def matrix_rate(device: torch.device, dtype: torch.dtype, tries: int = 10) -> float:
    """Operations per second of the fastest of several products of large square matrices."""
    a, b = (torch.randn(SIDE, SIDE, device=device).to(dtype) for _ in range(2))
    seconds = []
    for _ in range(tries):
        synchronize(device)
        start = time.perf_counter()
        torch.mm(a, b)
        synchronize(device)
        seconds.append(time.perf_counter() - start)
    return 2 * SIDE**3 / min(seconds)

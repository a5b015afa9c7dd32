"""The time that arithmetic alone would take: operations of a search ÷ the rate of a matrix product.

Operations are counted as the search needs them: a beam attends to its own codes, cross-attention reads the prefix
once per query. A multiplication and an addition are two operations.

Shapes: m model width, h heads, a width of a head, N prefix length, V tokens, M levels.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import torch

from genius.models.decoder import DecoderConfig

SIDE = 2048  # of the square matrices


@dataclass(frozen=True)
class Operations:
    """Of one search step, and of what is done once."""

    query: float  # once per query: the prefix embeddings, their keys and values
    row: float  # per beam and level: the decoder's blocks, without attention itself
    attention: float  # per beam and level, averaged over levels
    vocabulary: float  # per beam and level: the head over all tokens
    level: float  # per beam and level: the head over the level's codes

    @classmethod
    def of(cls, config: DecoderConfig) -> Operations:
        inner = config.heads * config.head_width  # h · a
        projections = 6 * config.width * inner  # q, k, v, out; cross-attention's q, out
        feed = 2 * config.width * config.ff_width
        project = (
            config.prefix * config.width * (config.prefix_hidden or config.dim) + config.dim * config.prefix_hidden
        )
        memory = 2 * config.layers * config.prefix * config.width * inner  # cross-attention's k, v
        keys = config.prefix + (config.levels + 1) / 2  # attended to, on average
        return cls(
            query=2.0 * (project + memory),
            row=2.0 * config.layers * (projections + feed),
            attention=4.0 * config.layers * inner * keys,
            vocabulary=2.0 * config.width * config.vocabulary,
            level=2.0 * config.width * config.codebook_size,
        )

    def search(self, rows: float, whole_vocabulary: bool) -> float:
        """Of a query that decodes `rows` beams over all levels."""
        head = self.vocabulary if whole_vocabulary else self.level
        return self.query + rows * (self.row + self.attention + head)


def matrix_rate(device: torch.device, dtype: torch.dtype, tries: int = 10) -> float:
    """Operations a second of the fastest of some products of large square matrices."""
    a, b = (torch.randn(SIDE, SIDE, device=device).to(dtype) for _ in range(2))
    best = float("inf")
    for _ in range(tries):
        synchronise(device)
        start = time.perf_counter()
        a @ b
        synchronise(device)
        best = min(best, time.perf_counter() - start)
    return 2 * SIDE**3 / best


def synchronise(device: torch.device) -> None:
    """Wait until the device has done what it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)

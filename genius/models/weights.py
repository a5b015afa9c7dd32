"""Matrices of weights that multiply a few rows at a time, as a beam search does: in float32, bfloat16 or 8 bits.

Shapes: r rows, i inputs, o outputs.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

FEW_ROWS = 8  # up to as many, `multiply_rows` asks for the transposed product
MAX_WEIGHT, MAX_ACTIVATION = 63, 127


def multiply_rows(x: Tensor, weights: Tensor) -> Tensor:
    """x (r, i) and weights (o, i) -> (r, o), their product as F.linear gives it, sooner for few rows.

    MKL reads the weights up to four times as fast when it is asked for the transposed product of two to eight
    rows, and even a single row is multiplied sooner as two.
    """
    if x.device.type != "cpu" or x.dtype != torch.float32 or not 0 < len(x) <= FEW_ROWS:
        return F.linear(x, weights)
    rows = x.repeat(2, 1) if len(x) == 1 else x
    return (weights @ rows.T)[:, : len(x)].T.contiguous()


class Weights:
    """A matrix (o, i) in the dtype of the rows that it multiplies."""

    def __init__(self, matrix: Tensor):
        self.matrix = matrix.contiguous()

    def __call__(self, x: Tensor) -> Tensor:
        """x (r, i) -> (r, o)."""
        return multiply_rows(x, self.matrix)

    def __len__(self) -> int:
        """o."""
        return len(self.matrix)

    def prepare(self, x: Tensor) -> Tensor:
        """Rows (r, i) that several parts of the matrix will multiply; it takes them unprepared, too."""
        return x

    def part(self, start: int, stop: int) -> Weights:
        """The matrix of the outputs start … stop − 1; shares the memory."""
        return Weights(self.matrix[start:stop])


class EightBitRows(NamedTuple):
    """Rows in 8 bits, with a scale for each."""

    values: Tensor  # (r, i) int8
    scales: Tensor  # (r, 1)


class EightBitWeights:
    """A matrix (o, i) in 8 bits, with a scale for each output; it multiplies rows in 8 bits, with a scale for each row.

    Sums are exact in 32 bits, so a row's product does not depend on the other rows. Weights have seven bits: processors
    without VNNI add pairs of products in 16 bits, where eight would overflow. For CPUs only.
    """

    def __init__(self, matrix: Tensor, scales: Tensor | None = None):
        """scales (o,): of a matrix that is in 8 bits already."""
        if scales is None:
            scales = matrix.float().abs().amax(1).clamp_(min=1e-12) / MAX_WEIGHT
            matrix = (matrix.float() / scales[:, None]).round_().to(torch.int8)
            if matrix.shape[1] > matrix.shape[0]:  # oneDNN multiplies few rows by long ones twice as fast in this order
                matrix = matrix.T.contiguous().T
        self.matrix, self.scales = matrix, scales

    def __call__(self, x: Tensor | EightBitRows) -> Tensor:
        """x (r, i) float32 -> (r, o) float32."""
        rows = self.prepare(x) if isinstance(x, Tensor) else x
        return torch._int_mm(rows.values, self.matrix.T).float().mul_(rows.scales).mul_(self.scales)

    def __len__(self) -> int:
        """o."""
        return len(self.matrix)

    def prepare(self, x: Tensor) -> EightBitRows:
        """Rows (r, i) that several parts of the matrix will multiply, in 8 bits."""
        scales = x.abs().amax(1, keepdim=True).clamp_(min=1e-12).div_(MAX_ACTIVATION)
        return EightBitRows((x / scales).round_().to(torch.int8), scales)

    def part(self, start: int, stop: int) -> EightBitWeights:
        """The matrix of the outputs start … stop − 1; shares the memory."""
        return EightBitWeights(self.matrix[start:stop], self.scales[start:stop])


def weights_in(dtype: torch.dtype, matrix: Tensor) -> Weights | EightBitWeights:
    """A matrix (o, i) in float32, bfloat16 or, for dtype int8, in 8 bits."""
    return EightBitWeights(matrix) if dtype == torch.int8 else Weights(matrix.to(dtype))

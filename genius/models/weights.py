"""Matrices of weights that multiply a few rows at a time, as a beam search does: in float32, bfloat16 or 8 bits.

Shapes: r rows, i inputs, o outputs.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from genius.runtime import computes_bf16

FEW_ROWS = 8  # up to as many, `multiply_rows` asks for the transposed product
MAX_WEIGHT, MAX_ACTIVATION = 63, 127
PACKED_ROWS = 120  # that oneDNN multiplies at once


def multiply_rows(x: Tensor, weights: Tensor) -> Tensor:
    """x (r, i) and weights (o, i) -> (r, o), their product as F.linear gives it, sooner for few rows.

    MKL is faster when it is asked for the transposed product of two to eight rows, and multiplies a single row sooner
    as two.
    """
    if x.device.type != "cpu" or x.dtype != torch.float32 or not 0 < len(x) <= FEW_ROWS:
        return F.linear(x, weights)
    rows = x.repeat(2, 1) if len(x) == 1 else x
    return (weights @ rows.T)[:, : len(x)].T.contiguous()


class PlainWeights:
    """A matrix (o, i) in the dtype of the rows that it multiplies."""

    def __init__(self, matrix: Tensor):
        self._matrix = matrix.contiguous()

    def __call__(self, x: Tensor) -> Tensor:
        """x (r, i) -> (r, o)."""
        return F.linear(x, self._matrix)

    @staticmethod
    def prepare(x: Tensor) -> Tensor:
        """Rows (r, i) that several matrices will multiply."""
        return x


class PackedWeights(PlainWeights):
    """The same on a CPU, packed once in oneDNN's order, as torch.compile packs it: 50 rows take half the time."""

    def __init__(self, matrix: Tensor):
        super().__init__(matrix)
        self._matrix = torch.ops.mkldnn._reorder_linear_weight(self._matrix, PACKED_ROWS)

    def __call__(self, x: Tensor) -> Tensor:
        """x (r, i) -> (r, o)."""
        if 0 < len(x) <= PACKED_ROWS:
            return self._multiply(x)
        if not len(x):
            return x.new_empty(0, len(self._matrix))
        return torch.cat([self._multiply(rows) for rows in x.split(PACKED_ROWS)])

    def _multiply(self, x: Tensor) -> Tensor:
        """x (r, i), at most PACKED_ROWS of them -> (r, o)."""
        filled = _filled_up(len(x))
        rows = x if filled == len(x) else F.pad(x, (0, 0, 0, filled - len(x)))
        return torch.ops.mkldnn._linear_pointwise(rows, self._matrix, None, "none", [], "")[: len(x)]

    @staticmethod
    def can_pack(matrix: Tensor) -> bool:
        """Whether oneDNN multiplies in the dtype of this matrix, where it lies."""
        return (
            matrix.device.type == "cpu"
            and torch.backends.mkldnn.is_available()
            and (matrix.dtype == torch.float32 or computes_bf16(matrix.device))
        )


def _filled_up(rows: int) -> int:
    """1, 2, 4 or a multiple of ten, as beam sizes are; oneDNN keeps code and memory for each number of rows."""
    return next((few for few in (1, 2, 4) if rows <= few), -(-rows // 10) * 10)


class EightBitRows(NamedTuple):
    """Rows in 8 bits, with a scale for each."""

    values: Tensor  # (r, i) int8
    scales: Tensor  # (r, 1)


class EightBitWeights:
    """A matrix (o, i) in 8 bits, with a scale for each output; it multiplies rows in 8 bits, with a scale for each row.

    Sums are exact in 32 bits, so a row's product does not depend on the other rows. Weights have seven bits: processors
    without VNNI add pairs of products in 16 bits, where eight would overflow. For CPUs only.
    """

    def __init__(self, matrix: Tensor):
        self._scales = matrix.float().abs().amax(1).clamp_(min=1e-12) / MAX_WEIGHT  # (o,)
        rounded = (matrix.float() / self._scales[:, None]).round_().to(torch.int8)
        if matrix.shape[1] > matrix.shape[0]:  # oneDNN multiplies few rows by long ones twice as fast in this order
            rounded = rounded.T.contiguous().T
        self._matrix = rounded

    def __call__(self, x: Tensor | EightBitRows) -> Tensor:
        """x (r, i) float32 -> (r, o) float32."""
        rows = self.prepare(x) if isinstance(x, Tensor) else x
        return torch._int_mm(rows.values, self._matrix.T).float().mul_(rows.scales).mul_(self._scales)

    @staticmethod
    def prepare(x: Tensor) -> EightBitRows:
        """Rows (r, i) that several matrices will multiply, in 8 bits."""
        scales = x.abs().amax(1, keepdim=True).clamp_(min=1e-12).div_(MAX_ACTIVATION)
        return EightBitRows((x / scales).round_().to(torch.int8), scales)


Weights = PlainWeights | EightBitWeights


def weights_in(dtype: torch.dtype, matrix: Tensor) -> Weights:
    """A matrix (o, i) in float32, bfloat16 or, for dtype int8, in 8 bits."""
    if dtype == torch.int8:
        return EightBitWeights(matrix)
    matrix = matrix.to(dtype)
    return PackedWeights(matrix) if PackedWeights.can_pack(matrix) else PlainWeights(matrix)

"""Query augmentation (Eq. 11): what the decoder is given between a query and its target.

Shapes: b batch, d dim.
"""

from __future__ import annotations

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor

Weights = Callable[[int], Tensor]  # width -> (b, width) drawn from Beta(α, α)


def elementwise(query: Tensor, target: Tensor, weights: Weights) -> Tensor:
    """The published code's mixture: √s·query + √(1−s)·target with s for each element, normalised."""
    s = weights(query.shape[1])
    return F.normalize(s.sqrt() * query + (1 - s).sqrt() * target, dim=-1)


def scalar(query: Tensor, target: Tensor, weights: Weights) -> Tensor:
    """The paper's mixture (Eq. 11): μ·query + (1−μ)·target with one μ for each pair."""
    mu = weights(1)
    return mu * query + (1 - mu) * target


def unmixed(query: Tensor, target: Tensor, weights: Weights) -> Tensor:
    """No augmentation (the ablation)."""
    return query


MIXTURES: dict[str, Callable[[Tensor, Tensor, Weights], Tensor]] = {
    "elementwise": elementwise,
    "scalar": scalar,
    "none": unmixed,
}

"""What the training stages share: the contrastive loss, weight decay and the learning rate's course.

Shapes: b pairs of a batch, d dim.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def contrastive(query: Tensor, target: Tensor, scale: Tensor | float, answered: Tensor, both_ways: bool) -> Tensor:
    """InfoNCE (Eq. 2, Eq. 3) over a batch of pairs, in which other positives are no negatives.

    query, target: (b, d) normalised; answered: (b, b) bool, target j answers query i.
    """
    labels = torch.arange(len(query), device=query.device)
    others = answered & ~torch.eye(len(query), dtype=torch.bool, device=query.device)
    logits = (scale * query @ target.T).masked_fill(others, -torch.inf)
    loss = F.cross_entropy(logits, labels)
    return (loss + F.cross_entropy(logits.T, labels)) / 2 if both_ways else loss


def decayed(model: nn.Module, weight_decay: float) -> list[dict]:
    """Parameter groups: weight decay for matrices only, as in the published code."""
    matrices = [p for p in model.parameters() if p.requires_grad and p.ndim > 1]
    others = [p for p in model.parameters() if p.requires_grad and p.ndim <= 1]
    return [{"params": matrices, "weight_decay": weight_decay}, {"params": others, "weight_decay": 0.0}]


def cosine(step: int, steps: int, warmup: float, final: float = 0.0) -> float:
    """Learning rate at this step as a share of its peak: linear warm-up, then half a cosine to `final`."""
    rising = warmup * steps
    if step < rising:
        return (step + 1) / rising
    return final + (1 - final) * 0.5 * (1 + math.cos(math.pi * (step - rising) / max(1, steps - rising)))

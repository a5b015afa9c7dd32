"""Batch norms folded into the convolutions before them: the same image features from less work.

In eval mode a batch norm multiplies each channel by a constant and adds another, so the convolution before it can do
both. A folded tower cannot be trained or saved any more: only what serves folds its towers.

Shapes: s image side.
"""

from __future__ import annotations

import copy

import torch
from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from genius.models.encoder import Encoder

TOLERANCE = 1e-4  # of the outputs, relative to the largest; else a tower stays as it is


def fold_image_tower(encoder: Encoder) -> None:
    """Fold the batch norms of an encoder's image tower, where it has some. It must be in eval mode."""
    side = encoder.config.preprocess["size"]
    encoder.clip.visual = folded(encoder.clip.visual, side if isinstance(side, int) else max(side))


@torch.no_grad()
def folded(tower: nn.Module, side: int) -> nn.Module:
    """A copy of an image tower in eval mode without batch norms, or the tower itself where they cannot be folded.

    Which module follows which is guessed from the order in which they are defined, so the outputs are compared for a
    random picture of side s.
    """
    device = next(tower.parameters()).device
    changed = copy.deepcopy(tower)
    if not _fold(changed):
        return tower
    pixels = torch.randn(1, 3, side, side, generator=torch.Generator().manual_seed(0)).to(device)
    expected, found = tower(pixels), changed(pixels)
    same = (found - expected).abs().max() <= TOLERANCE * expected.abs().max()
    return changed if same else tower


def _fold(module: nn.Module) -> int:
    """Fold the children of a module in place; returns how many."""
    count, last, before = 0, "", None  # name of the child before, and itself
    for name, child in list(module.named_children()):
        if _fit(before, child):
            setattr(module, last, fuse_conv_bn_eval(before, child))
            setattr(module, name, _activation(child))
            count += 1
        else:
            count += _fold(child)
        last, before = name, child
    return count


def _fit(before: nn.Module | None, norm: nn.Module) -> bool:
    """Whether these may be a convolution and the batch norm of its outputs."""
    kinds = isinstance(before, nn.Conv2d) and isinstance(norm, nn.BatchNorm2d)
    return kinds and before.out_channels == norm.num_features and norm.running_mean is not None


def _activation(norm: nn.BatchNorm2d) -> nn.Module:
    """What timm's batch norms do after normalizing."""
    parts = [part for part in (getattr(norm, "drop", None), getattr(norm, "act", None)) if part is not None]
    return nn.Sequential(*(part for part in parts if not isinstance(part, nn.Identity)))

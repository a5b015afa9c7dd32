"""Heads with a linear path behind pretrained towers (ours).

What pretrained towers say fits the shared space almost by a linear map, which few examples determine well; the hidden
layer next to it learns the rest.

Shapes: b batch, t width of a tower's outputs, h hidden units, d embedding dim.
"""

from __future__ import annotations

import open_clip
from torch import Tensor, nn


class ResidualHead(nn.Module):
    """The sum of a linear map and a network with one hidden layer."""

    def __init__(self, width: int, dim: int, hidden: int, dropout: float):
        super().__init__()
        self.dim = dim
        self.first = nn.Linear(width, dim + hidden)  # both paths take the outputs by one matrix
        self.hidden = nn.Sequential(nn.GELU(), nn.Dropout(dropout), nn.Linear(hidden, dim))

    def forward(self, outputs: Tensor) -> Tensor:
        """(b, t) -> (b, d)."""
        first = self.first(outputs)
        return first[..., : self.dim] + self.hidden(first[..., self.dim :])


def add_residual_heads(clip: open_clip.CustomTextCLIP, hidden: int, image_dropout: float, text_dropout: float) -> None:
    """Replace the linear heads of a model with a timm tower and a Hugging Face tower."""
    image, text = clip.visual.head.proj, clip.text.proj
    clip.visual.head = ResidualHead(image.in_features, image.out_features, hidden, image_dropout)
    clip.text.proj = ResidualHead(text.in_features, text.out_features, hidden, text_dropout)

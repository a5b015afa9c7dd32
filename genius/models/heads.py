"""Heads that project the outputs of towers into the shared space: an encoder is cut before them, or
gets other ones.

Training with locked towers (LiT, Zhai et al. 2022) computes the outputs of the towers once, and
trains the heads on them.

Shapes: b batch, s image side, n tokens, d embedding dim, t and u the widths of the towers' outputs,
h hidden units.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from open_clip import CoCa, CustomTextCLIP
from open_clip.hf_model import HFTextEncoder
from open_clip.timm_model import TimmModel
from torch import Tensor, nn

from genius.errors import UserError

Encode = Callable[[Tensor], Tensor]


class SplitEncoder:
    """Towers and heads of an open_clip model; the heads are the model's own, so training them
    trains the model.

    The head of a timm or Hugging Face tower is what open_clip adds to it; the head of open_clip's
    own transformers is their last projection.
    """

    image_head: nn.Module  # (b, t) -> (b, d)
    text_head: nn.Module  # (b, u) -> (b, d)
    # pixels (b, 3, s, s) -> outputs of the image tower (b, t), of an encoder in eval mode
    image_outputs: Encode
    text_outputs: Encode  # tokens (b, n) -> outputs of the text tower (b, u), as well

    def __init__(self, clip: Any, encode_images: Encode, encode_texts: Encode):
        """encode_images, encode_texts: encode pixels (b, 3, s, s) and tokens (b, n) with `clip`.

        Raises UserError if a tower has no head that can be split off.
        """
        self.image_head, self.image_outputs = _split(clip, clip.visual, encode_images)
        self.text_head, self.text_outputs = _split(clip, getattr(clip, "text", clip), encode_texts)


def _split(clip: Any, tower: Any, encode: Encode) -> tuple[nn.Module, Encode]:
    """The head of a tower, and a function that encodes without it."""
    if isinstance(clip, CoCa):
        head = None  # it normalizes its features behind the projection
    elif isinstance(tower, TimmModel):
        head = None if "pool" in tower.head._modules else tower.head
    elif isinstance(tower, HFTextEncoder):
        head = tower.proj
    else:
        head = getattr(tower, "proj", getattr(tower, "text_projection", None))
    if isinstance(head, nn.Parameter):
        return Projection(head), partial(_encode_with_identity, head, encode)
    if head is None or not list(head.parameters()):
        raise UserError(
            f"the head of {type(tower).__name__} cannot be trained apart from it; take "
            "encoder.image_tower and "
            "encoder.text_tower, or an architecture with a projection behind each tower"
        )
    return head, partial(_encode_up_to, head, encode)


@torch.no_grad()
def _encode_up_to(head: nn.Module, encode: Encode, inputs: Tensor) -> Tensor:
    """What reaches the head."""
    hook = head.register_forward_hook(lambda _, inputs, __: inputs[0])  # replaces the head's result
    try:
        return encode(inputs)
    finally:
        hook.remove()


@torch.no_grad()
def _encode_with_identity(projection: nn.Parameter, encode: Encode, inputs: Tensor) -> Tensor:
    """Encode with the identity in place of a projection matrix."""
    weights = projection.data
    projection.data = torch.eye(len(weights), dtype=weights.dtype, device=weights.device)
    try:
        return encode(inputs)
    finally:
        projection.data = weights


class Projection(nn.Module):
    """A model's projection matrix (t, d) as a module."""

    def __init__(self, weight: nn.Parameter):
        super().__init__()
        self.weight = weight

    def forward(self, outputs: Tensor) -> Tensor:
        """(b, t) -> (b, d)."""
        return outputs @ self.weight


@torch.no_grad()
def fold_standardization(head: nn.Module, mean: Tensor, std: Tensor) -> None:
    """Change a head that was trained on standardized outputs, (x − mean) / std, so that it takes x
    itself.

    mean, std: (t,). Raises ValueError if the head's first layer has no bias to take up the mean; a
    mean of zero needs none.
    """
    if isinstance(head, Projection):
        head.weight.div_(std[:, None])
        bias = None
        shift = mean @ head.weight
    else:
        first = next(layer for layer in head.modules() if isinstance(layer, nn.Linear))
        first.weight.div_(std)
        bias = first.bias
        shift = first.weight @ mean
    if bias is not None:
        bias.sub_(shift)
    elif mean.any():
        raise ValueError(
            "the head's first layer has no bias, so only a mean of zero can be folded into it"
        )


class ResidualHead(nn.Module):
    """The sum of a linear map and a network with one hidden layer (ours).

    What pretrained towers say fits the shared space almost by a linear map, which few examples
    determine well; the hidden layer next to it learns the rest.
    """

    def __init__(self, width: int, dim: int, hidden: int, dropout: float):
        super().__init__()
        self.dim = dim
        self.first = nn.Linear(width, dim + hidden)  # both paths take the outputs by one matrix
        self.hidden = nn.Sequential(nn.GELU(), nn.Dropout(dropout), nn.Linear(hidden, dim))

    def forward(self, outputs: Tensor) -> Tensor:
        """(b, t) -> (b, d)."""
        first = self.first(outputs)
        return first[..., : self.dim] + self.hidden(first[..., self.dim :])


def add_residual_heads(
    clip: CustomTextCLIP, hidden: int, image_dropout: float, text_dropout: float
) -> None:
    """Replace the linear heads of a model with a timm tower and a Hugging Face tower."""
    image, text = clip.visual.head.proj, clip.text.proj
    clip.visual.head = ResidualHead(image.in_features, image.out_features, hidden, image_dropout)
    clip.text.proj = ResidualHead(text.in_features, text.out_features, hidden, text_dropout)

"""BLIP's towers (Li et al. 2022), transformers' own, in the form of an open_clip model.

An Encoder of them is BLIP-SF: it adds the features of image and text. With a grounded text tower
they make BLIP-FF.

Shapes: b batch, s image side, n tokens, m image tokens, u width of the image tower, d embedding
dim.
"""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from transformers import BlipTextConfig, BlipTextModel, BlipVisionConfig, BlipVisionModel

TEMPERATURE = 0.07  # that training starts from
# of the random weights; transformers' image tower has 1e-10, which only pretrained weights replace
SPREAD = 0.02
GROWTH = 4  # units of a feed-forward layer for each unit of its tower's width


class BlipImageTower(nn.Module):
    """A vision transformer."""

    def __init__(self, sizes: Mapping[str, Any], dim: int, projected: bool):
        """sizes: image_size, patch_size, width, layers and heads. projected: with a projection (u)
        -> (d) behind it.
        """
        super().__init__()
        config = BlipVisionConfig(
            hidden_size=sizes["width"],
            intermediate_size=GROWTH * sizes["width"],
            num_hidden_layers=sizes["layers"],
            num_attention_heads=sizes["heads"],
            image_size=sizes["image_size"],
            patch_size=sizes["patch_size"],
            initializer_range=SPREAD,
        )
        self.tower = BlipVisionModel(config)
        self.proj = nn.Linear(config.hidden_size, dim) if projected else None

    def tokens(self, pixels: Tensor) -> Tensor:
        """(b, 3, s, s) -> (b, m, u); the first token stands for the whole image."""
        return self.tower(pixels).last_hidden_state

    def forward(self, pixels: Tensor) -> Tensor:
        """(b, 3, s, s) -> (b, d), or (b, u) without a projection."""
        pooled = self.tokens(pixels)[:, 0]
        return pooled if self.proj is None else self.proj(pooled)


class BlipTextTower(nn.Module):
    """BERT; if it is grounded, each of its layers also attends to the tokens of an image."""

    def __init__(self, sizes: Mapping[str, Any], dim: int, image_width: int | None):
        """sizes: context_length, vocab_size, width, layers and heads. image_width: u if it is
        grounded, else None.
        """
        super().__init__()
        config = BlipTextConfig(
            vocab_size=sizes["vocab_size"],
            hidden_size=sizes["width"],
            encoder_hidden_size=image_width or sizes["width"],
            intermediate_size=GROWTH * sizes["width"],
            num_hidden_layers=sizes["layers"],
            num_attention_heads=sizes["heads"],
            max_position_embeddings=sizes["context_length"],
            initializer_range=SPREAD,
            is_decoder=image_width is not None,  # transformers' name for having cross-attention
            pad_token_id=None,
            bos_token_id=None,
            eos_token_id=None,
            sep_token_id=None,
        )
        self.grounded = image_width is not None
        self.tower = BlipTextModel(config, add_pooling_layer=False)
        self.proj = nn.Linear(config.hidden_size, dim)

    def forward(self, tokens: Tensor, image_tokens: Tensor | None = None) -> Tensor:
        """Tokens (b, n) of texts and, if the tower is grounded, of their images (b, m, u) ->
        (b, d).

        What follows the end of a text changes nothing. The first token is pooled; BLIP's pooling
        has a tanh where the tower is grounded, and none where it stands alone.
        """
        present = text_mask(tokens)
        states = self.tower(
            tokens[:, : present.shape[1]],
            attention_mask=present.long(),
            encoder_hidden_states=image_tokens,
        ).last_hidden_state
        pooled = self.proj(states[:, 0])
        return pooled.tanh() if self.grounded else pooled


class BlipTowers(nn.Module):
    """Both towers and the temperature, with the methods of an open_clip model."""

    def __init__(
        self,
        embed_dim: int,
        vision_cfg: Mapping[str, Any],
        text_cfg: Mapping[str, Any],
        grounded: bool = False,
    ):
        super().__init__()
        self.visual = BlipImageTower(vision_cfg, embed_dim, projected=not grounded)
        self.text = BlipTextTower(text_cfg, embed_dim, vision_cfg["width"] if grounded else None)
        self.logit_scale = nn.Parameter(torch.tensor(-math.log(TEMPERATURE)))

    def encode_image(self, pixels: Tensor) -> Tensor:
        """(b, 3, s, s) -> (b, d), of towers that are not grounded."""
        return self.visual(pixels)

    def encode_text(self, tokens: Tensor) -> Tensor:
        """(b, n) -> (b, d)."""
        return self.text(tokens)


def text_mask(tokens: Tensor) -> Tensor:
    """(b, n) tokens -> (b, length of the longest text) bool: up to the end token, which has the
    highest number.
    """
    ends = tokens.argmax(-1)
    return torch.arange(int(ends.max()) + 1, device=tokens.device) <= ends[:, None]

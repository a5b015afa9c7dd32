"""Feature-level fusion of an image and a text: CLIP-FF and BLIP-FF of UniIR (Wei et al. 2024,
section 3.2).

Both towers' tokens meet before they are pooled, so an input has one embedding that is no sum of
those of its image and its text: these encoders serve dense search, as baselines, and not the
generative pipeline. As in UniIR a missing image is one of zeros, and a missing text is empty.

CLIP-FF: layers of a T5 encoder over the projected tokens of both towers, averaged. BLIP-FF: a text
tower whose layers attend to the tokens of the image. Unlike UniIR's, CLIP-FF ignores padding, which
comes last because T5 sees how far tokens stand apart, and its text tokens are projected.

Shapes: b batch, s image side, n tokens, m image tokens, d embedding dim.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import torch
import torch.nn.functional as F
from open_clip.timm_model import TimmModel
from open_clip.transformer import VisionTransformer
from PIL import Image
from torch import Tensor, nn
from transformers import T5Config
from transformers.models.t5.modeling_t5 import T5Stack

from genius.errors import UserError
from genius.models.blip import BlipTowers, text_mask
from genius.models.encoder import Encoder, causal_states
from genius.models.encoder_config import EncoderConfig

HEAD_WIDTH = 64  # of the fusion layers; UniIR's have 12 such heads and 2,048 units for d = 768
UNITS = 8 / 3  # of a feed-forward layer for each unit of d


class FeatureFusionEncoder(Encoder):
    """Makes one embedding of an image and a text; `forward` and `encode` return it in place of
    features.
    """

    fuses_features = True

    def __init__(self, config: EncoderConfig):
        super().__init__(config)
        if not isinstance(self.clip, BlipTowers):
            check_towers(self.clip)
            self.fusion = fusion_layers(self.dim, config.model["fusion"]["layers"])
            if isinstance(self.clip.visual, VisionTransformer):
                self.clip.visual.output_tokens = True

    @classmethod
    def over(cls, encoder: Encoder, layers: int) -> Self:
        """An encoder with the towers of another one; what fuses them is new. layers: of the fusion,
        for CLIP-FF.

        Raises UserError if a tower does not give its tokens.
        """
        fused = cls(
            replace(encoder.config, model=encoder.config.model | {"fusion": {"layers": layers}})
        )
        # BLIP-FF has other parts behind its towers
        fused.clip.load_state_dict(encoder.clip.state_dict(), strict=False)
        return fused

    def forward(  # type: ignore[override]  # an embedding in place of features
        self, pixels: Tensor, image_mask: Tensor, tokens: Tensor, text_mask: Tensor
    ) -> Tensor:
        """(b, d) normalized embeddings of b inputs, some of which lack an image or a text;
        arguments as Encoder's.
        """
        tokens = self._all_tokens(tokens, text_mask)
        image_tokens = self._image_tokens(pixels, image_mask)
        if isinstance(self.clip, BlipTowers):
            fused = self.clip.text(tokens, image_tokens)
        else:
            fused = self._fuse(tokens, image_tokens)
        return F.normalize(fused.float(), dim=-1)

    @torch.inference_mode()
    def embed(self, images: Sequence[Image.Image | None], texts: Sequence[str]) -> Tensor:
        """(b, d) the embeddings of b pairs."""
        return self(*self.inputs(images, texts))

    def _fuse(self, tokens: Tensor, image_tokens: Tensor) -> Tensor:
        """(b, n) and (b, m, d) -> (b, d): fusion layers over all tokens, averaged."""
        present = text_mask(tokens)
        texts = text_tokens(self.clip, tokens[:, : present.shape[1]])
        present = torch.cat([present.new_ones(image_tokens.shape[:2]), present], dim=1)
        everything = torch.cat([image_tokens, texts], dim=1)
        states = self.fusion(
            inputs_embeds=everything, attention_mask=present.long()
        ).last_hidden_state
        return (states * present[..., None]).sum(1) / present.sum(1, keepdim=True)

    def _image_tokens(self, pixels: Tensor, mask: Tensor) -> Tensor:
        """(images, 3, s, s) -> (b, m, ·); inputs without an image share the tokens of one that is
        zero everywhere.
        """
        if not mask.all():
            side = self.config.preprocess["size"]
            blank = torch.zeros(
                1, 3, *((side, side) if isinstance(side, int) else side), device=self.device
            )
            pixels = torch.cat([pixels, blank]) if len(pixels) else blank
        place = torch.where(mask, mask.cumsum(0) - 1, len(pixels) - 1)
        return image_tokens(self.clip, pixels)[place]

    def _all_tokens(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """(texts, n) -> (b, n); an input without a text has the tokens of an empty one."""
        empty = self._empty_text.to(self.device)
        width = max(tokens.shape[-1] if len(tokens) else 0, len(empty))
        out = empty.new_zeros(len(mask), width)
        out[~mask, : len(empty)] = empty
        if len(tokens):
            out[mask, : tokens.shape[1]] = tokens
        return out

    @cached_property
    def _empty_text(self) -> Tensor:
        """(2,) start and end."""
        tokens = self.tokenize([""])
        return tokens[0, : int(tokens.argmax(-1)) + 1]


def fusion_layers(dim: int, layers: int) -> nn.Module:
    """An encoder of T5 over vectors (b, n, d), in proportion to the published one."""
    stack = T5Stack(
        T5Config(
            vocab_size=1,
            d_model=dim,
            d_kv=HEAD_WIDTH,
            d_ff=round(UNITS * dim),
            num_layers=layers,
            num_heads=max(1, dim // HEAD_WIDTH),
            is_decoder=False,
            use_cache=False,
            eos_token_id=None,
        )
    )
    del stack.embed_tokens  # it only takes vectors
    return stack


def check_towers(clip: Any) -> None:
    """Raise UserError if a tower does not give its tokens."""
    visual = clip.visual
    text = getattr(clip, "text", clip)
    pooled = isinstance(visual, TimmModel) and "pool" in visual.head._modules
    if pooled or not isinstance(visual, TimmModel | VisionTransformer):
        raise UserError(
            f"{type(visual).__name__} gives no tokens of an image to be fused; take a vision "
            "transformer of open_clip or a model of timm that pools by itself"
        )
    if (
        not isinstance(getattr(text, "text_projection", None), nn.Parameter)
        or getattr(text, "attn_mask", None) is None
    ):
        raise UserError(
            f"{type(text).__name__} gives no tokens of a text to be fused; take "
            "open_clip's own text tower or BLIP's"
        )


def image_tokens(clip: Any, pixels: Tensor) -> Tensor:
    """(i, 3, s, s) -> (i, m, d): the tokens or places of the image tower, each projected; BLIP's
    are not, (i, m, u).
    """
    visual = clip.visual
    if isinstance(clip, BlipTowers):
        return visual.tokens(pixels)
    if isinstance(visual, VisionTransformer):
        pooled, tokens = visual(pixels)
        return torch.cat([pooled[:, None], tokens @ visual.proj], dim=1)
    states = visual.trunk.forward_features(pixels)
    return visual.head(states.flatten(2).mT if states.ndim == 4 else states)


def text_tokens(clip: Any, tokens: Tensor) -> Tensor:
    """(b, n) -> (b, n, d): the projected tokens of open_clip's text tower."""
    tower = getattr(clip, "text", clip)
    return tower.ln_final(causal_states(tower, tokens)) @ tower.text_projection

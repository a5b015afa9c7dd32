"""An encoder of which only the heads and, if asked for, the last blocks of the towers are trained.

Shapes: b inputs, d embedding dim, s image side, n tokens, t and u the widths of the towers' outputs.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from open_clip.hf_model import HFTextEncoder
from torch import Tensor, nn

from genius.errors import UserError
from genius.models.encoder import Encoder, Features
from genius.models.encoder_config import EncoderConfig
from genius.models.split import fold_standardization


class LockedEncoder(nn.Module):
    """Stands in for an encoder in training.

    Its weights are those of the encoder that are trained, so a checkpoint holds no towers. The towers stay in eval
    mode: no dropout, and batch normalization by the statistics of their own training.
    """

    def __init__(self, encoder: Encoder, input_dropout: float = 0.0):
        """Locks the towers. input_dropout: of the cached outputs. Raises UserError for a tower without a head."""
        super().__init__()
        self._hidden = (encoder, encoder.split())  # not submodules
        self.dropout = nn.Dropout(input_dropout)
        self.cached_images = self.cached_texts = True  # whether inputs are outputs of the towers
        self.standardization: list[tuple[Tensor, Tensor] | None] = [None, None]  # (t,) and (u,) mean and deviation
        encoder.eval().requires_grad_(False)
        for head in self._heads:
            head.requires_grad_(True)
        self.logit_scale.requires_grad_(True)
        self._register_trained()

    def _register_trained(self) -> None:
        trained = {name: weight for name, weight in self.encoder.named_parameters() if weight.requires_grad}
        self.trained = nn.ParameterDict({name.replace(".", "/"): weight for name, weight in trained.items()})

    @property
    def encoder(self) -> Encoder:
        return self._hidden[0]

    @property
    def _heads(self) -> tuple[nn.Module, nn.Module]:
        split = self._hidden[1]
        return split.image_head, split.text_head

    @property
    def device(self) -> torch.device:
        return self.encoder.device

    @property
    def logit_scale(self) -> nn.Parameter:
        return self.encoder.logit_scale

    @property
    def dim(self) -> int:
        return self.encoder.dim

    @property
    def config(self) -> EncoderConfig:
        return self.encoder.config

    def tokenize(self, texts: Sequence[str]) -> Tensor:
        return self.encoder.tokenize(texts)

    def train(self, mode: bool = True) -> LockedEncoder:
        super().train(mode)
        self.encoder.eval()
        for head in self._heads:
            head.train(mode)
        return self

    def standardize(self, image: tuple[Tensor, Tensor], text: tuple[Tensor, Tensor]) -> None:
        """Give the heads standardized outputs from now on; image (t,) and text (u,): mean and standard deviation."""
        for number, (head, (mean, std)) in enumerate(zip(self._heads, (image, text), strict=True)):
            if not takes_mean(head):
                mean = torch.zeros_like(mean)
            self.standardization[number] = mean.to(self.device), std.to(self.device)

    def fold(self) -> None:
        """Change the heads so that they take outputs that are not standardized."""
        for number, head in enumerate(self._heads):
            if statistics := self.standardization[number]:
                fold_standardization(head, *statistics)
                self.standardization[number] = None

    def unlock(self, image_blocks: int, text_blocks: int) -> None:
        """Also train the last blocks of the towers. A tower with some takes pixels or tokens from now on.

        Raises UserError if the blocks of a tower cannot be unlocked.
        """
        self._unlock_blocks(image_blocks, text_blocks)
        self.cached_images, self.cached_texts = not image_blocks, not text_blocks
        self._register_trained()

    def check_unlock(self, image_blocks: int, text_blocks: int) -> None:
        """Raise UserError, before the heads are trained, if `unlock` would; changes nothing."""
        trained = list(self.trained.values())
        try:
            self._unlock_blocks(image_blocks, text_blocks)
        finally:
            self.encoder.requires_grad_(False)
            for weight in trained:
                weight.requires_grad_(True)

    def _unlock_blocks(self, image_blocks: int, text_blocks: int) -> None:
        clip = self.encoder.clip
        for blocks, kind, lock in (
            (image_blocks, "image", clip.lock_image_tower),
            (text_blocks, "text", clip.lock_text_tower),
        ):
            try:
                if blocks and kind == "text" and isinstance(getattr(clip, "text", None), HFTextEncoder):
                    unlock_layers(clip.text.transformer, blocks)
                elif blocks:
                    for name, weight in clip.named_parameters():
                        if name.startswith("visual.") == (kind == "image"):
                            weight.requires_grad_(True)
                    lock(blocks)
            except (AssertionError, AttributeError, ImportError, RuntimeError, ValueError) as error:  # by architecture
                raise UserError(
                    f"the last blocks of this {kind} tower cannot be unlocked ({str(error) or type(error).__name__}); "
                    f"set encoder.locked.{kind}_blocks to 0"
                ) from error

    def forward(self, pixels: Tensor, image_mask: Tensor, tokens: Tensor, text_mask: Tensor) -> Features:
        """As Encoder.forward; pixels (images, t) and tokens (texts, u) are outputs of the towers where cached."""
        return Features(
            self.encoder.encode_present(self._image, pixels, image_mask),
            self.encoder.encode_present(self._text, tokens, text_mask),
            image_mask,
            text_mask,
        )

    def _image(self, pixels: Tensor) -> Tensor:
        if not self.cached_images:
            return self.encoder.clip.encode_image(pixels)
        return self._cached(0, pixels)

    def _text(self, tokens: Tensor) -> Tensor:
        if not self.cached_texts:
            none, every = torch.zeros(len(tokens), dtype=torch.bool), torch.ones(len(tokens), dtype=torch.bool)
            return self.encoder(torch.zeros(0), none, tokens, every).text
        return self._cached(1, tokens)

    def _cached(self, number: int, outputs: Tensor) -> Tensor:
        """Outputs of a tower (b, t) or (b, u) -> (b, d)."""
        if statistics := self.standardization[number]:
            outputs = (outputs - statistics[0]) / statistics[1]
        return self._heads[number](self.dropout(outputs))


def unlock_layers(transformer: nn.Module, layers: int) -> None:
    """Unlock the last layers of a Hugging Face transformer; open_clip knows the layers of two architectures only.

    Raises ValueError if it has no list of layers.
    """
    lists = [module for module in transformer.modules() if isinstance(module, nn.ModuleList)]
    if not lists:
        raise ValueError("it has no list of layers")
    for layer in list(max(lists, key=len))[-layers:]:
        layer.requires_grad_(True)


def takes_mean(head: nn.Module) -> bool:
    """Whether the first layer of a head has a bias, into which a mean can be folded."""
    first = next((layer for layer in head.modules() if isinstance(layer, nn.Linear)), None)
    return first is not None and first.bias is not None

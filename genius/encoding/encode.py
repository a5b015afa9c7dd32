"""Encode a batch of things into the arrays of features.py.

Shapes: b things, i images, p phrasings, d embedding dim, s image side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from open_clip.transform import PreprocessCfg, image_transform_v2
from PIL import Image
from torch import Tensor

from genius.models.encoder import Encoder, Features

Thing = tuple[str | None, Sequence[str]]  # relative image path, p texts


class AsSeen:
    """Opens an image and gives it the form that the encoder sees."""

    def __init__(self, open_path: Callable[[str], Image.Image | None], preprocess: dict[str, Any]):
        """open_path: None for an image that is left out. preprocess: the encoder's."""
        self._open, self._transform = open_path, image_transform_v2(PreprocessCfg(**preprocess), is_train=False)

    def __call__(self, path: str) -> Tensor | None:
        """-> (3, s, s)"""
        image = self._open(path)
        return None if image is None else self._transform(image)


@torch.inference_mode()
def encode(
    encoder: Encoder,
    things: Sequence[Thing],
    pixels: Tensor,
    there: Tensor,
    image: np.ndarray,
    text: np.ndarray,
    embedding: np.ndarray,
    masks: np.ndarray,
) -> None:
    """Fill image (b, d), text (b, p, d), embedding (b, d), of the first phrasing, and masks (b, 2).

    pixels (i, 3, s, s): the images that could be opened; there: bool, which of those that the things name.
    """
    image_mask = torch.tensor([bool(path) for path, _ in things])
    image_mask[image_mask.clone()] = there
    seen = encoder(pixels.to(encoder.device), image_mask, torch.zeros(0), torch.zeros_like(image_mask)).image
    read = [
        encoder.encode([None] * len(things), [texts[phrasing] for _, texts in things])
        for phrasing in range(text.shape[1])
    ]
    image[:], masks[:, 0], masks[:, 1] = seen.cpu(), image_mask, read[0].text_mask.cpu()
    embedding[:] = Features(seen, read[0].text, image_mask, read[0].text_mask).embedding().cpu()
    for phrasing, features in enumerate(read):
        text[:, phrasing] = features.text.cpu()

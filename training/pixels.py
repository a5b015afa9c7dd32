"""Decoded images for encoder training, and their augmentation.

Each image is decoded and made square once, the way the encoder sees it later, into a
memory-mapped file (27 KB an image at 96 px), so that epochs cost no decoding.

Shapes: n images, c side of the cache, b batch, s side the model sees.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image, ImageOps
from torch import Tensor
from tqdm import tqdm

from genius.collections.images import open_image
from genius.collections.mbeir import Collection
from genius.errors import UserError
from genius.index.features import batched
from training.checkpoint import fingerprint

BLOCK = 512      # images decoded at a time

SQUARED: dict[str, Callable] = {     # open_clip's resize modes: how an image becomes a square
    "shortest": ImageOps.fit, "longest": ImageOps.pad, "squash": Image.Image.resize}


class PixelCache:
    """Images of a collection as uint8, by their relative paths."""

    def __init__(self, collection: Collection, paths: Sequence[str], side: int, resize_mode: str, folder: Path):
        """Decode what is not in the cache yet. Raises UserError for an image that cannot be opened."""
        self.row = {path: row for row, path in enumerate(dict.fromkeys(paths))}
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{fingerprint(str(collection.root.resolve()), side, resize_mode, list(self.row))}.npy"

        def decode(path: str) -> np.ndarray:
            image = open_item_image(collection, path, max_side=4 * side)
            return np.asarray(SQUARED[resize_mode](image, (side, side), Image.Resampling.BICUBIC)).transpose(2, 0, 1)

        if not file.exists():
            aside = file.with_suffix(".partial")
            pixels = np.lib.format.open_memmap(aside, mode="w+", dtype=np.uint8,
                                               shape=(len(self.row), 3, side, side))
            with ThreadPoolExecutor() as pool:
                for part in batched(tqdm(self.row.items(), desc="decode images", unit="image"), BLOCK):
                    for (_, row), square in zip(part, pool.map(decode, [path for path, _ in part]), strict=True):
                        pixels[row] = square
            pixels.flush()
            aside.rename(file)
        self.pixels = np.load(file, mmap_mode="r")

    def read(self, paths: Sequence[str]) -> Tensor:
        """-> (b, 3, c, c) float in 0 … 1."""
        rows = [self.row[path] for path in paths]
        return torch.from_numpy(self.pixels[rows]).float() / 255


def augmented(images: Tensor, side: int, crop: float, mirror: bool) -> Tensor:
    """Random crops of at least this share of the area, mildly stretched, half of them mirrored if so wished.

    (b, 3, c, c) -> (b, 3, s, s)
    """
    b = len(images)
    scale = torch.empty(b).uniform_(crop, 1).sqrt()
    stretch = torch.empty(b).uniform_(-0.15, 0.15).exp()
    width, height = (scale * stretch).clamp(max=1), (scale / stretch).clamp(max=1)
    theta = torch.zeros(b, 2, 3)
    theta[:, 0, 0] = width * (torch.randint(0, 2, (b,)) * 2 - 1) if mirror else width
    theta[:, 1, 1] = height
    theta[:, 0, 2] = (torch.rand(b) * 2 - 1) * (1 - width)
    theta[:, 1, 2] = (torch.rand(b) * 2 - 1) * (1 - height)
    grid = F.affine_grid(theta, [b, 3, side, side], align_corners=False)
    cropped = F.grid_sample(images, grid, padding_mode="border", align_corners=False)
    light = torch.empty(b, 1, 1, 1).uniform_(0.8, 1.2)
    return (cropped * light).clamp(0, 1)


def resized(images: Tensor, side: int) -> Tensor:
    """(b, 3, c, c) -> (b, 3, s, s)."""
    return F.interpolate(images, size=(side, side), mode="bicubic", antialias=True).clamp(0, 1)


def normalised(images: Tensor, mean: Sequence[float], std: Sequence[float]) -> Tensor:
    """0 … 1 -> what the model was made for."""
    return (images - torch.tensor(mean)[:, None, None]) / torch.tensor(std)[:, None, None]


def open_item_image(collection: Collection, path: str, max_side: int | None = None) -> Image.Image:
    """An image of a collection. Raises UserError that names collection and path if it cannot be opened."""
    try:
        return open_image(collection.image_path(path), max_side=max_side)
    except UserError as error:
        raise UserError(f"{collection.root}, image {path}: {error}") from None

"""Decoded images for encoder training, and their augmentation.

Each image is decoded and made square once, as the encoder will see it, into a memory-mapped file
(25 KB per image at 91 px), so that epochs need no decoding. Where this file would be too large
(`encoder.cache_images=false`), images are opened every time, ahead of the model.

Shapes: c side of the stored squares, b batch, s side that the model sees.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image, ImageEnhance, ImageOps
from torch import Tensor
from tqdm import tqdm

from genius.collections.images import SHOWN, open_image
from genius.collections.mbeir import Collection
from genius.encoding.features import batched
from genius.encoding.image_loader import load_images
from genius.errors import UserError
from genius.files import disk_errors_explained, write_array
from training.checkpoint import fingerprint

BLOCK = 512  # images decoded at a time
MARGIN = 8 / 7  # side of a stored or opened image over that of the model: 256 for 224

SQUARE: dict[str, Callable] = {  # how an image becomes a square, by open_clip's resize modes
    "shortest": ImageOps.fit,
    "longest": ImageOps.pad,
    "squash": Image.Image.resize,
}


@dataclass(frozen=True)
class Squares:
    """Opens images of a collection as squares of this side."""

    collection: Collection
    side: int
    resize_mode: str

    def __call__(self, path: str) -> Tensor:
        """-> (3, c, c) uint8. Raises UserError for an image that cannot be opened."""
        image = open_item_image(self.collection, path, max_side=4 * self.side)
        square = SQUARE[self.resize_mode](image, (self.side, self.side), Image.Resampling.BICUBIC)
        return torch.from_numpy(np.asarray(square).transpose(2, 0, 1).copy())


class PixelCache:
    """Has images of a collection as squares, decoded once."""

    def __init__(self, squares: Squares, paths: Sequence[str], folder: Path, workers: int = 0):
        """Decode the images unless the cache folder has them. Raises UserError for one that cannot
        be opened.
        """
        self.row = {path: row for row, path in enumerate(dict.fromkeys(paths))}
        folder.mkdir(parents=True, exist_ok=True)
        facts = (
            str(squares.collection.root.resolve()),
            squares.side,
            squares.resize_mode,
            list(self.row),
        )
        file = folder / f"{fingerprint(*facts)}.npy"
        if not file.exists():
            aside = file.with_suffix(".partial")
            parts = batched(tqdm(self.row, desc="decode images", unit="image"), BLOCK)
            blocks = (
                decoded.numpy() for _, decoded, _ in load_images(parts, list, squares, workers)
            )
            with disk_errors_explained(folder):
                write_array(aside, (len(self.row), 3, squares.side, squares.side), np.uint8, blocks)
                aside.rename(file)
        self.pixels = np.load(file, mmap_mode="r")

    def __call__(self, path: str) -> Tensor:
        """-> (3, c, c) uint8, as Squares."""
        return torch.from_numpy(self.pixels[self.row[path]].copy())


@dataclass
class Crops:
    """Augmentation parameters of b images."""

    theta: np.ndarray  # (b, 2, 3) float32 affine grid: crop, stretch, flip
    brightness: np.ndarray  # (b,) float32 factor

    @classmethod
    def draw(
        cls, b: int, min_crop: float, horizontal_flip: bool, rng: np.random.Generator
    ) -> "Crops":
        """Random crops of at least this share of the area, slightly stretched; half of them flipped
        if asked for.
        """
        scale = np.sqrt(rng.uniform(min_crop, 1, b))
        stretch = np.exp(rng.uniform(-0.15, 0.15, b))
        sides = np.minimum([scale * stretch, scale / stretch], 1)  # (2, b): width, height
        direction = rng.choice([-1, 1], b) if horizontal_flip else np.ones(b)
        theta = np.zeros((b, 2, 3), dtype=np.float32)
        theta[:, 0, 0], theta[:, 1, 1] = sides[0] * direction, sides[1]
        theta[:, :, 2] = (rng.uniform(-1, 1, (2, b)) * (1 - sides)).T
        return cls(theta, rng.uniform(0.8, 1.2, b).astype(np.float32))

    def part(self, rows: slice) -> "Crops":
        return Crops(self.theta[rows], self.brightness[rows])

    def view(self, number: int, image: Image.Image) -> Image.Image:
        """What this one of the b crops shows of an image."""
        theta = self.theta[number]
        size = np.array(image.size)
        half = np.abs(np.diagonal(theta)) / 2
        center = (1 + theta[:, 2]) / 2
        start = np.floor((center - half) * size)
        end = np.ceil((center + half) * size)
        view = image.crop((*np.maximum(start, 0).astype(int), *np.minimum(end, size).astype(int)))
        view = ImageOps.mirror(view) if theta[0, 0] < 0 else view
        return ImageEnhance.Brightness(view).enhance(float(self.brightness[number]))


def augmented(images: Tensor, crops: Crops, side: int) -> Tensor:
    """Apply the augmentation: (b, 3, c, c) -> (b, 3, s, s)."""
    theta = torch.from_numpy(crops.theta).to(images.device)
    grid = F.affine_grid(theta, [len(images), 3, side, side], align_corners=False)
    cropped = F.grid_sample(images, grid, padding_mode="border", align_corners=False)
    return (
        cropped * torch.from_numpy(crops.brightness).to(images.device)[:, None, None, None]
    ).clamp(0, 1)


def resized(images: Tensor, side: int) -> Tensor:
    """(b, 3, c, c) -> (b, 3, s, s)."""
    return F.interpolate(images, size=(side, side), mode="bicubic", antialias=True).clamp(0, 1)


def open_item_image(collection: Collection, path: str, max_side: int | None = None) -> Image.Image:
    """Open an image of a collection. Raises UserError with collection and path if it cannot be
    opened.
    """
    try:
        return open_image(collection.image_path(path), max_side=max_side)
    except UserError as error:
        raise UserError(f"{collection.root}, image {path[:SHOWN]}: {error}") from None

"""Whether an image looks like those of the index.

What separates drawings from photographs, or photographs from scans, is not what they show but how they are made: flat
or grainy, soft or sharp. The detector measures this texture, without the encoder, which never learned it. A Gaussian is
fitted to the textures of indexed images; an image is out of distribution if its Mahalanobis distance exceeds that of
nearly all images of the validation queries. Only texture counts: a new kind of drawing in the same style passes.

Shapes: n indexed images, q validation images, b images to judge, t features of a texture, h and w of an image.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file
from scipy.fft import dctn

from genius.errors import UserError

FILE = "familiar.safetensors"  # in an index folder
MIN_IMAGES = 50  # of either kind; fewer give no reliable estimate
INLIERS = 0.98  # share of the validation images below the threshold
VARIANCE_FLOOR = 0.3  # added to the variance of every direction, which is 1 on average
MIN_SPREAD = 1e-6  # where all images are equal

SIDE, BLOCK, SCALES = 64, 4, 2  # of the image as it is measured; of a block; how often the image is halved
FAINT = 0.5 / 255  # coefficients well below this count as none
BRIGHTNESS, RED_GREEN, YELLOW_BLUE = (1 / 3, 1 / 3, 1 / 3), (1 / 2, -1 / 2, 0), (1 / 4, 1 / 4, -1 / 2)
CONTRASTS = np.array([BRIGHTNESS, RED_GREEN, YELLOW_BLUE], np.float32).T  # (3, 3) from RGB


def texture(image: Image.Image) -> np.ndarray:
    """RGB image -> (t,) mean and standard deviation, over blocks, of the log magnitude of each cosine coefficient.

    Of brightness and two color contrasts, at two scales.
    """
    square = image.resize((SIDE, SIDE), Image.Resampling.BICUBIC, reducing_gap=2.0)
    planes, features = np.asarray(square, np.float32) / 255 @ CONTRASTS, []  # (h, w, 3)
    for _ in range(SCALES):
        blocks = len(planes) // BLOCK
        parts = planes.reshape(blocks, BLOCK, blocks, BLOCK, 3).transpose(0, 2, 1, 3, 4)
        waves = dctn(parts, axes=(2, 3), norm="ortho") / BLOCK  # 1 for a constant plane of 1
        magnitudes = np.log(np.abs(waves) + FAINT).reshape(blocks * blocks, -1)
        features += [magnitudes.mean(0), magnitudes.std(0)]
        planes = (planes[::2, ::2] + planes[1::2, ::2] + planes[::2, 1::2] + planes[1::2, 1::2]) / 4
    return np.concatenate(features)


@dataclass(frozen=True)
class OODDetector:
    """The Gaussian of an index's textures, and the distance from which on an image is out of distribution."""

    mean: np.ndarray  # (t,)
    whitening: np.ndarray  # (t, t) gives indexed images a variance of at most 1 in every direction
    threshold: float

    @classmethod
    def fit(cls, indexed: np.ndarray, validation: np.ndarray) -> OODDetector | None:
        """From textures (n, t) of indexed and (q, t) of validation images; None if either are too few."""
        if min(len(indexed), len(validation)) < MIN_IMAGES:
            return None
        mean, spread = indexed.mean(0, dtype=np.float64), indexed.std(0, dtype=np.float64) + MIN_SPREAD
        variances, directions = np.linalg.eigh(np.cov((indexed - mean).T / spread[:, None]))
        whitening = directions / np.sqrt(variances + VARIANCE_FLOOR) / spread[:, None]
        gaussian = cls(mean.astype(np.float32), whitening.astype(np.float32), np.inf)
        return cls(gaussian.mean, gaussian.whitening, float(np.quantile(gaussian.distances(validation), INLIERS)))

    def distances(self, textures: np.ndarray) -> np.ndarray:
        """Mahalanobis distances of textures: (b, t) -> (b,)."""
        return np.linalg.norm((textures - self.mean) @ self.whitening, axis=-1)

    def is_out_of_distribution(self, image: Image.Image) -> bool:
        """Whether this RGB image is unlike the indexed ones."""
        return bool(self.distances(texture(image)[None])[0] > self.threshold)

    def save(self, folder: Path) -> None:
        save_file(
            {"mean": self.mean, "whitening": self.whitening, "threshold": np.array(self.threshold)}, folder / FILE
        )

    @classmethod
    def load(cls, folder: Path) -> OODDetector | None:
        """None if the index has no detector. Raises UserError that names a damaged file."""
        file = folder / FILE
        if not file.exists():
            return None
        try:
            arrays = load_file(file)
            mean, whitening, threshold = arrays["mean"], arrays["whitening"], float(arrays["threshold"])
            if whitening.shape != mean.shape * 2 or mean.shape != texture(Image.new("RGB", (1, 1))).shape:
                raise ValueError(f"a mean of shape {mean.shape}, a whitening of shape {whitening.shape}")
        except (OSError, ValueError, TypeError, KeyError, SafetensorError) as error:
            raise UserError(f"{file} is not a detector ({error}); build the index again") from None
        return cls(mean, whitening, threshold)

"""Whether an image looks like those of the index.

What separates drawings from photographs, or photographs from scans, is not what they show but how they are made: flat
or grainy, soft or sharp. The detector measures this texture, without the encoder, which never learned it. A Gaussian is
fitted to the textures of the indexed images of each dataset, so that drawings in one do not blur photographs in
another. An image is out of distribution if its Mahalanobis distance from each Gaussian exceeds that of nearly all
images of the validation queries that are nearest to it. Only texture counts: a new kind of drawing in the same style
passes.

Shapes: c datasets, n indexed images of one, q validation images, b images to judge, t features of a texture, h and w of
an image.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file
from scipy.fft import dctn

from genius.errors import UserError
from genius.reading import check_tensor_size, one_line

FILE = "familiar.safetensors"  # in an index folder
MIN_IMAGES = 50  # of either kind; fewer give no reliable estimate
INLIER_SHARE = 0.98  # share of the validation images below the threshold
VARIANCE_FLOOR = 0.3  # added to the variance of every direction, which is 1 on average
MIN_SPREAD = 1e-6  # where all images are equal

SIDE, BLOCK, SCALES = 64, 4, 2  # of the image as it is measured; of a block; how often the image is halved
MIN_MAGNITUDE = 0.5 / 255  # coefficients well below this count as none
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
        magnitudes = np.log(np.abs(waves) + MIN_MAGNITUDE).reshape(blocks * blocks, -1)
        features += [magnitudes.mean(0), magnitudes.std(0)]
        planes = (planes[::2, ::2] + planes[1::2, ::2] + planes[::2, 1::2] + planes[1::2, 1::2]) / 4
    return np.concatenate(features)


@dataclass(frozen=True)
class OODDetector:
    """The Gaussians of an index's textures, and the distances from which on an image is out of distribution."""

    means: np.ndarray  # (c, t)
    whitenings: np.ndarray  # (c, t, t) give the indexed images of a dataset a variance of at most 1 in every direction
    thresholds: np.ndarray  # (c,)

    @classmethod
    def fit(cls, datasets: Sequence[np.ndarray], validation: np.ndarray) -> "OODDetector | None":
        """From textures (n, t) of the indexed images of each dataset and (q, t) of validation images.

        None if either are too few. A dataset with too few images is joined to the largest.
        """
        groups = sorted((group for group in datasets if len(group)), key=len, reverse=True)
        small = [group for group in groups[1:] if len(group) < MIN_IMAGES]
        groups = [np.concatenate([*groups[:1], *small]), *groups[1 : len(groups) - len(small)]] if groups else []
        if not groups or min(len(groups[0]), len(validation)) < MIN_IMAGES:
            return None
        fitted = [_gaussian(group) for group in groups]
        means = np.array([mean for mean, _ in fitted], np.float32)
        whitenings = np.array([whitening for _, whitening in fitted], np.float32)
        detector = cls(means, whitenings, np.empty(len(groups)))
        indexed = [detector.distances(group)[:, number] for number, group in enumerate(groups)]
        distances = detector.distances(validation)
        nearest = (distances / [max(float(np.median(part)), MIN_SPREAD) for part in indexed]).argmin(1)
        for number, part in enumerate(indexed):
            validated = distances[nearest == number, number]
            detector.thresholds[number] = np.quantile(validated if len(validated) >= MIN_IMAGES else part, INLIER_SHARE)
        return detector

    def distances(self, textures: np.ndarray) -> np.ndarray:
        """Mahalanobis distances of textures from each dataset: (b, t) -> (b, c)."""
        away = [
            np.linalg.norm((textures - mean) @ whitening, axis=-1)
            for mean, whitening in zip(self.means, self.whitenings, strict=True)
        ]
        return np.stack(away, axis=-1)

    def exceed_thresholds(self, textures: np.ndarray) -> np.ndarray:
        """(b,) bool: which textures (b, t) are beyond the threshold of every dataset."""
        return np.all(self.distances(textures) > self.thresholds, axis=-1)

    def is_out_of_distribution(self, image: Image.Image) -> bool:
        """Whether this RGB image is unlike the indexed ones."""
        return bool(self.exceed_thresholds(texture(image)[None])[0])

    def save(self, folder: Path) -> None:
        arrays = {"mean": self.means, "whitening": self.whitenings, "threshold": self.thresholds}
        save_file(arrays, folder / FILE)

    @classmethod
    def load(cls, folder: Path) -> "OODDetector | None":
        """None if the index has no detector. Raises UserError that names a damaged file."""
        file = folder / FILE
        if not file.exists():
            return None
        try:
            check_tensor_size(file)
            arrays = load_file(file)
            means, whitenings, thresholds = arrays["mean"], arrays["whitening"], arrays["threshold"]
            features = len(texture(Image.new("RGB", (1, 1))))
            c = len(means)
            if not c:
                raise ValueError("no dataset")
            if any(array.dtype.kind != "f" or not np.isfinite(array).all() for array in arrays.values()):
                raise ValueError("numbers that are not finite")
            if (means.shape, whitenings.shape, thresholds.shape) != ((c, features), (c, features, features), (c,)):
                raise ValueError(f"means of shape {means.shape}, whitenings of shape {whitenings.shape}")
        except (OSError, ValueError, TypeError, KeyError, IndexError, SafetensorError) as error:
            raise UserError(f"{file} is not a detector ({one_line(error)}); build the index again") from None
        return cls(means, whitenings, thresholds)


def _gaussian(textures: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean (t,) and whitening (t, t) of textures (n, t)."""
    mean, spread = textures.mean(0, dtype=np.float64), textures.std(0, dtype=np.float64) + MIN_SPREAD
    variances, directions = np.linalg.eigh(np.cov((textures - mean).T / spread[:, None]))
    return mean, directions / np.sqrt(variances + VARIANCE_FLOOR) / spread[:, None]

"""Whether a picture looks like those that the index holds.

What tells drawings from photographs, or photographs from scans, is not what they show but how they are made: flat or
grainy, soft or edged. Its texture says that, without the encoder, which never learned it. A Gaussian is fitted to the
textures of indexed pictures; the distance of a picture is how improbable it makes its texture (Mahalanobis), and far
is what lies beyond all but a few of the validation queries' pictures.

Shapes: n indexed pictures, q validation pictures, b pictures asked for, t numbers of a texture, h and w of a picture.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from genius.errors import UserError

FILE = "familiar.safetensors"  # in an index folder
FEWEST = 50  # pictures of either kind; what fewer say is chance
WITHIN = 0.98  # of the validation pictures are not far
FLOOR = 0.3  # variance that every direction is given on top of its own, which is 1 on average
LEAST = 1e-6  # spread, should all pictures be the same

SIDE, WAVES, SCALES = 64, 4, 2  # of the square that is looked at; waves along each side of a block; times it is halved
FAINT = 0.5 / 255  # amount of a wave that is as good as none
BRIGHTNESS, RED_GREEN, YELLOW_BLUE = (1 / 3, 1 / 3, 1 / 3), (1 / 2, -1 / 2, 0), (1 / 4, 1 / 4, -1 / 2)
CONTRASTS = np.array([BRIGHTNESS, RED_GREEN, YELLOW_BLUE], np.float32).T  # (3, 3) from RGB
COSINES = np.cos(np.pi / WAVES * np.outer(np.arange(WAVES), np.arange(WAVES) + 0.5)).astype(np.float32)
COSINES *= np.where(np.arange(WAVES) > 0, np.sqrt(2), 1).astype(np.float32)[:, None] / WAVES  # of equal weight


def texture(image: Image.Image) -> np.ndarray:
    """RGB picture -> (t,) how much there is of each cosine wave in its blocks, and how much that differs by block.

    Of brightness and two contrasts of colour, in logarithms, at two scales.
    """
    square = image.resize((SIDE, SIDE), Image.Resampling.BICUBIC, reducing_gap=2.0)
    planes, found = np.asarray(square, np.float32) / 255 @ CONTRASTS, []  # (h, w, 3)
    for _ in range(SCALES):
        blocks = len(planes) // WAVES
        amounts = np.einsum(
            "ui,vj,aibjc->abuvc", COSINES, COSINES, planes.reshape(blocks, WAVES, blocks, WAVES, 3), optimize=True
        )
        amounts = np.log(np.abs(amounts) + FAINT).reshape(blocks * blocks, -1)
        found += [amounts.mean(0), amounts.std(0)]
        planes = (planes[::2, ::2] + planes[1::2, ::2] + planes[::2, 1::2] + planes[1::2, 1::2]) / 4
    return np.concatenate(found)


@dataclass(frozen=True)
class OODDetector:
    """The distances of pictures from those of an index."""

    mean: np.ndarray  # (t,)
    whitening: np.ndarray  # (t, t) gives indexed pictures a variance of at most 1 in every direction
    threshold: float  # distance from which on a picture is far

    @classmethod
    def fit(cls, indexed: np.ndarray, asked: np.ndarray) -> OODDetector | None:
        """From the textures of both, (n, t) and (q, t); None if either are too few."""
        if min(len(indexed), len(asked)) < FEWEST:
            return None
        mean, spread = indexed.mean(0, dtype=np.float64), indexed.std(0, dtype=np.float64) + LEAST
        variances, directions = np.linalg.eigh(np.cov((indexed - mean).T / spread[:, None]))
        whitening = directions / np.sqrt(variances + FLOOR) / spread[:, None]
        unbounded = cls(mean.astype(np.float32), whitening.astype(np.float32), np.inf)
        return cls(unbounded.mean, unbounded.whitening, float(np.quantile(unbounded.distances(asked), WITHIN)))

    def distances(self, textures: np.ndarray) -> np.ndarray:
        """(b, t) -> (b,)."""
        return np.linalg.norm((textures - self.mean) @ self.whitening, axis=-1)

    def is_out_of_distribution(self, image: Image.Image) -> bool:
        """Whether this RGB picture is unlike the indexed ones."""
        return bool(self.distances(texture(image)[None])[0] > self.threshold)

    def save(self, folder: Path) -> None:
        save_file(
            {"mean": self.mean, "whitening": self.whitening, "threshold": np.array(self.threshold)}, folder / FILE
        )

    @classmethod
    def load(cls, folder: Path) -> OODDetector | None:
        """None if the index has none. Raises UserError that names a file which cannot be one."""
        file = folder / FILE
        if not file.exists():
            return None
        try:
            arrays = load_file(file)
            mean, whitening, threshold = arrays["mean"], arrays["whitening"], float(arrays["threshold"])
            if whitening.shape != mean.shape * 2 or mean.shape != texture(Image.new("RGB", (1, 1))).shape:
                raise ValueError(f"a mean of shape {mean.shape}, a whitening of shape {whitening.shape}")
        except (OSError, ValueError, TypeError, KeyError, SafetensorError) as error:
            raise UserError(f"{file} does not hold distances ({error}); build the index again") from None
        return cls(mean, whitening, threshold)

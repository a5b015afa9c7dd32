"""Whether a picture is like those that the index holds.

A Gaussian is fitted to the image features of the indexed pictures. The distance of a picture is how improbable it
makes the picture's feature (Mahalanobis); far is what lies beyond all but a few of the validation queries' pictures,
which come from where the collection comes from. Features are taken as the encoder projects them: what it never saw
also has an unusual length.

Shapes: n indexed pictures, q validation pictures, b pictures asked for, d embedding dim.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from genius.errors import UserError

FILE = "familiar.safetensors"    # in an index folder
FEWEST = 50                      # pictures of either kind; what fewer say is chance
WITHIN = 0.98                    # of the validation pictures are not far
FLOOR = 0.01                     # of the mean variance: what every direction is given on top of its own
LEAST = 1e-9                     # variance, should all pictures be the same


@dataclass(frozen=True)
class Familiarity:
    """The distances of pictures from those of an index."""

    mean: np.ndarray         # (d,)
    whitening: np.ndarray    # (d, d) gives indexed pictures the variance 1 in every direction
    threshold: float         # distance from which on a picture is far

    @classmethod
    def fit(cls, indexed: np.ndarray, asked: np.ndarray) -> Familiarity | None:
        """From the image features of both, (n, d) and (q, d); None if either are too few."""
        if min(len(indexed), len(asked)) < FEWEST:
            return None
        mean, covariance = indexed.mean(0, dtype=np.float64), np.cov(indexed.T, dtype=np.float64)
        variances, directions = np.linalg.eigh(covariance)
        whitening = directions / np.sqrt(variances + FLOOR * variances.mean() + LEAST)
        unbounded = cls(mean.astype(np.float32), whitening.astype(np.float32), np.inf)
        return cls(unbounded.mean, unbounded.whitening, float(np.quantile(unbounded.distances(asked), WITHIN)))

    def distances(self, images: np.ndarray) -> np.ndarray:
        """Image features (b, d) -> (b,)."""
        return np.linalg.norm((images.astype(np.float32) - self.mean) @ self.whitening, axis=-1)

    def far(self, images: np.ndarray) -> np.ndarray:
        """Image features (b, d) -> (b,) bool."""
        return self.distances(images) > self.threshold

    def save(self, folder: Path) -> None:
        save_file({"mean": self.mean, "whitening": self.whitening, "threshold": np.array(self.threshold, np.float32)},
                  folder / FILE)

    @classmethod
    def load(cls, folder: Path) -> Familiarity | None:
        """None if the index has none. Raises UserError that names a file which cannot be one."""
        file = folder / FILE
        if not file.exists():
            return None
        try:
            arrays = load_file(file)
            mean, whitening, threshold = arrays["mean"], arrays["whitening"], float(arrays["threshold"])
            if whitening.shape != mean.shape * 2:
                raise ValueError(f"a mean of shape {mean.shape}, a whitening of shape {whitening.shape}")
        except (OSError, ValueError, TypeError, KeyError, SafetensorError) as error:
            raise UserError(f"{file} does not hold distances ({error}); build the index again") from None
        return cls(mean, whitening, threshold)

"""Vectors laid out in a plane by UMAP, the layouts of several kinds of vectors of the same things comparable.

UMAP finds a layout only up to chance, rotation and scale. So the first one is the start of every other, each is
then turned, scaled and moved onto the first (Procrustes), and a thing stays about where it was unless its
neighbours changed. AlignedUMAP does the like with a penalty, but wants every slice to hold the same points;
quantized vectors repeat, and repeated vectors ruin the neighbour graph (5,000 vectors with 40 distinct values came
to 4,512 different places), so here each distinct vector is laid out once.

Shapes: n things, d dim, g distinct vectors.
"""

from __future__ import annotations

import warnings

import numpy as np
from umap import UMAP

NEIGHBOURS = 15
FEWEST = 20  # vectors; fewer have no neighbourhoods
EPOCHS = 200  # of a layout that starts from another


def first_layout(vectors: np.ndarray, seed: int) -> np.ndarray:
    """(n, d) -> places (n, 2); of few vectors, their first two principal components."""
    if len(vectors) < FEWEST:
        middle = vectors - vectors.mean(0)
        _, _, axes = np.linalg.svd(middle, full_matrices=False)
        flat = middle @ axes[:2].T
        return np.pad(flat, ((0, 0), (0, 2 - flat.shape[1])))
    return _umap(vectors, "spectral", None, seed)


def next_layout(vectors: np.ndarray, group: np.ndarray, first: np.ndarray, seed: int) -> np.ndarray:
    """Distinct vectors (g, d), which one each thing has (n,), and the first layout (n, 2) -> places (n, 2)."""
    counts = np.bincount(group, minlength=len(vectors))
    start = np.stack([np.bincount(group, axis, len(vectors)) for axis in first.T], axis=1) / counts[:, None]
    if len(vectors) < FEWEST:
        return start[group]
    return onto(_umap(vectors, start.astype(np.float32), EPOCHS, seed)[group], first)


def onto(places: np.ndarray, target: np.ndarray) -> np.ndarray:
    """RowMap (n, 2) turned or mirrored, scaled and moved to lie nearest to the target (n, 2)."""
    centre, middle = places.mean(0), target.mean(0)
    left, stretch, right = np.linalg.svd((places - centre).T @ (target - middle))
    spread = np.square(places - centre).sum()
    scale = stretch.sum() / spread if spread else 1.0
    return (places - centre) @ (left @ right) * scale + middle


def layout_correlation(places: np.ndarray, target: np.ndarray) -> float:
    """Correlation of the places (n, 2) with those of the target: 1 if every thing stayed where it was."""
    one, other = places - places.mean(0), target - target.mean(0)
    size = np.sqrt(np.square(one).sum() * np.square(other).sum())
    return float((one * other).sum() / size) if size else 0.0


def to_edges(layouts: np.ndarray) -> np.ndarray:
    """Layouts (v, n, 2) moved and scaled alike, so that all of them fill -1 to 1."""
    low, high = layouts.min((0, 1)), layouts.max((0, 1))
    return ((layouts - (low + high) / 2) / (max((high - low).max() / 2, 1e-9))).astype(np.float32)


def _umap(vectors: np.ndarray, start: str | np.ndarray, epochs: int | None, seed: int) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the one thread that a seed implies
        return UMAP(
            n_neighbors=min(NEIGHBOURS, len(vectors) - 1), init=start, n_epochs=epochs, random_state=seed, n_jobs=1
        ).fit_transform(vectors)

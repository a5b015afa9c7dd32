"""UMAP layouts of several sets of vectors for the same points, aligned so that they can be compared.

A UMAP layout is determined only up to chance, rotation and scale. So every layout starts from the first one and is
then rotated, scaled and moved onto it (Procrustes): a point stays near its place unless its neighbors changed.
AlignedUMAP uses a penalty instead, but expects distinct vectors in every set; quantized vectors repeat, and repeated
vectors distort the neighbor graph (5,000 vectors with 40 distinct values got 4,512 different places). So each distinct
vector is laid out once.

Shapes: n points, d dim, g distinct vectors, v layouts.
"""

import warnings

import numpy as np
from scipy.linalg import orthogonal_procrustes

NEIGHBORS = 15
MIN_VECTORS = 20  # vectors; fewer have no neighborhoods
EPOCHS = 200  # of a layout that starts from another


def first_layout(vectors: np.ndarray, seed: int) -> np.ndarray:
    """(n, d) -> places (n, 2); of few vectors, their first two principal components."""
    if len(vectors) < MIN_VECTORS:
        centered = vectors - vectors.mean(0)
        _, _, axes = np.linalg.svd(centered, full_matrices=False)
        flat = centered @ axes[:2].T
        return np.pad(flat, ((0, 0), (0, 2 - flat.shape[1])))
    return _umap(vectors, "spectral", None, seed)


def next_layout(vectors: np.ndarray, group: np.ndarray, first: np.ndarray, seed: int) -> np.ndarray:
    """Distinct vectors (g, d), the number of each point's vector (n,), the first layout (n, 2) -> places (n, 2)."""
    counts = np.bincount(group, minlength=len(vectors))
    start = np.stack([np.bincount(group, axis, len(vectors)) for axis in first.T], axis=1) / counts[:, None]
    if len(vectors) < MIN_VECTORS:
        return start[group]
    return procrustes(_umap(vectors, start.astype(np.float32), EPOCHS, seed)[group], first)


def procrustes(places: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Places (n, 2) rotated or reflected, scaled and moved to be nearest to the target (n, 2)."""
    center, target_center = places.mean(0), target.mean(0)
    rotation, stretch = orthogonal_procrustes(places - center, target - target_center)
    spread = np.square(places - center).sum()
    scale = stretch / spread if spread else 1.0
    return (places - center) @ rotation * scale + target_center


def fill_square(layouts: np.ndarray) -> np.ndarray:
    """Move and scale all layouts (v, n, 2) alike, so that together they fill −1 to 1."""
    low, high = layouts.min((0, 1)), layouts.max((0, 1))
    return ((layouts - (low + high) / 2) / (max((high - low).max() / 2, 1e-9))).astype(np.float32)


def _umap(vectors: np.ndarray, start: str | np.ndarray, epochs: int | None, seed: int) -> np.ndarray:
    from umap import UMAP  # here: it compiles itself with numba, which takes seconds

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a seed implies one thread
        return UMAP(
            n_neighbors=min(NEIGHBORS, len(vectors) - 1), init=start, n_epochs=epochs, random_state=seed, n_jobs=1
        ).fit_transform(vectors)

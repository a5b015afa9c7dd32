"""Which pictures are versions of one photograph: resized, or encoded again.

What was cropped or made brighter is another picture; so are two sheets of paper with other words,
but the sheets of one form are told apart only where much is written into them.

Shapes: n pictures, s = SIDE.
"""

from collections.abc import Sequence

import numpy as np
from PIL import Image
from scipy.spatial import KDTree

SIDE = 32  # pixels of a small picture
PARTS, FINE = 4, 4  # parts a side; pixels a side of a square whose mean is no detail
NEAREST = 4  # mean difference of the brightness of parts, up to 255
MOST_DIFFERENT = 24  # of two pixels of 16 × 16, in one colour
ALIKE = 0.7  # cosine of the embeddings of versions; training/LOG.md has what was measured
SAME_DETAIL = 0.96  # correlation of what pixels have beyond the mean around them


def small(image: Image.Image) -> np.ndarray:
    """(s, s, 3) uint8 of an RGB image."""
    return np.asarray(image.resize((SIDE, SIDE)))


def are_versions(picture: np.ndarray, others: np.ndarray) -> np.ndarray:
    """(n,) bool: which of the others (n, s, s, 3) are versions of a small picture (s, s, 3).

    A picture of one colour has no detail, and no versions.
    """
    both = np.concatenate([picture[None], others]).astype(np.float32)
    differences = _means(both[1:] - both[0], 2)
    detail = (both - _means(both, FINE).repeat(FINE, 1).repeat(FINE, 2)).reshape(len(both), -1)
    detail /= np.maximum(np.linalg.norm(detail, axis=1, keepdims=True), SIDE)
    parts = _brightness(both)
    near = np.abs(parts[1:] - parts[0]).mean(1) <= NEAREST
    near &= np.abs(differences).max((1, 2, 3)) <= MOST_DIFFERENT
    return near & (detail[1:] @ detail[0] >= SAME_DETAIL)


def originals(pictures: Sequence[np.ndarray], sizes: Sequence[tuple[int, ...]]) -> list[int]:
    """For each small picture (s, s, 3) the number of the one that it is a version of, or its own.

    sizes: of the pictures; of versions the largest is the original, the first of those.
    """
    order = sorted(range(len(sizes)), key=sizes.__getitem__, reverse=True)
    pixels = np.stack(pictures)
    points = _brightness(pixels)
    tree = KDTree(points)
    found = np.arange(len(pixels))
    is_free = np.ones(len(pixels), dtype=bool)
    for number in order:
        if is_free[number]:
            is_free[number] = False
            near = np.array(tree.query_ball_point(points[number], NEAREST * PARTS**2, p=1))
            near = near[is_free[near]]
            versions = near[are_versions(pixels[number], pixels[near])]
            found[versions], is_free[versions] = number, False
    return found.tolist()


def _brightness(pixels: np.ndarray) -> np.ndarray:
    """(n, s, s, 3) -> (n, PARTS²): of the parts."""
    return _means(pixels, SIDE // PARTS).mean(3).reshape(-1, PARTS**2)


def _means(pixels: np.ndarray, side: int) -> np.ndarray:
    """(n, s, s, 3) -> (n, s / side, s / side, 3): the means of squares of pixels."""
    parts = SIDE // side
    return pixels.reshape(-1, parts, side, parts, side, 3).mean((2, 4), dtype=np.float32)

"""Which pictures of a source are versions of another: one photograph, resized or encoded again.

What was cropped, or made brighter, is told from other pictures by no difference of pixels.
"""

from collections.abc import Sequence

import numpy as np
from PIL import Image
from scipy.spatial import KDTree

SIDE, PARTS = 16, 4  # of a small picture: pixels and parts a side
MOST_DIFFERENT = 1.5  # mean difference of values up to 255; 99 % of JPEGs of quality 50 have less,
#                       95 % at half the size; of 3,000 pictures of products, 2 have less to another
PLAIN = 8  # difference of the values in a picture of one colour, which is no version of another


def small(image: Image.Image) -> bytes:
    """SIDE × SIDE pixels of an RGB image."""
    return image.resize((SIDE, SIDE)).tobytes()


def originals(pictures: Sequence[bytes]) -> list[int]:
    """The number of the first of the small pictures that each is a version of, or its own."""
    pixels = np.frombuffer(b"".join(pictures), np.uint8).reshape(-1, SIDE, SIDE, 3)
    parts = pixels.reshape(-1, PARTS, SIDE // PARTS, PARTS, SIDE // PARTS, 3).mean((2, 4, 5))
    points = parts.reshape(-1, PARTS**2)
    tree, found = KDTree(points), np.arange(len(pixels))
    plain = np.ptp(pixels, (1, 2)).max(1) <= PLAIN
    for number, point in enumerate(points):
        if found[number] == number and not plain[number]:  # parts differ no more than their pixels
            near = np.array(tree.query_ball_point(point, MOST_DIFFERENT * PARTS**2, p=1))
            near = near[(near > number) & (found[near] == near)]
            differences = np.abs(pixels[near].astype(np.int16) - pixels[number])
            found[near[differences.mean((1, 2, 3)) <= MOST_DIFFERENT]] = number
    return found.tolist()

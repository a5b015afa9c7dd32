"""A map as a small picture, which a page shows at once while the interactive figure is loaded.

Shapes: m points.
"""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
from PIL import Image

WIDTH, HEIGHT, MARGIN = 720, 600, 8  # pixels
SCALE = 2  # it is drawn larger and reduced, which smooths the points
POINT = 7  # pixels of the larger picture
OPACITY = 0.75
QUALITY = 70


def map_picture(places: np.ndarray, colors: Sequence[str]) -> bytes:
    """WebP on a transparent ground. places: (m, 2), y upwards. colors: (m,) such as #1f86cc; the last lie on top."""
    width, height, margin = SCALE * WIDTH, SCALE * HEIGHT, SCALE * MARGIN
    pixels = np.zeros((height, width, 4), dtype=np.uint8)
    if len(places):
        low, high = places.min(0), places.max(0)
        scale = float(np.min((np.array([width, height]) - 2 * margin) / np.maximum(high - low, 1e-9)))
        at = (places - (low + high) / 2) * scale * [1, -1] + [width / 2, height / 2]  # the same scale for x and y
        at = np.rint(at).astype(np.int64)
        shades = np.array([[int(color[part : part + 2], 16) for part in (1, 3, 5)] for color in colors], np.uint8)
        offsets = range(-(POINT // 2), POINT // 2 + 1)
        for x in offsets:
            for y in offsets:
                rows, columns = (at[:, 1] + y).clip(0, height - 1), (at[:, 0] + x).clip(0, width - 1)
                pixels[rows, columns, :3], pixels[rows, columns, 3] = shades, round(255 * OPACITY)
    stream = io.BytesIO()
    small = Image.fromarray(pixels, "RGBA").resize((WIDTH, HEIGHT), Image.Resampling.BOX)
    small.save(stream, "WEBP", quality=QUALITY)
    return stream.getvalue()

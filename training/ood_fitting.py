"""Fit the out-of-distribution detector of an index, see genius/search/ood_detector.py.

The image of a query was saved by some other program, so every third indexed image is first resized and compressed.

Shapes: m images, t texture statistics.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from PIL import Image

from genius.collections.images import open_image
from genius.collections.mbeir import Collection
from genius.schema import Item
from genius.search.ood_detector import OODDetector, texture
from training.image_augmentation import open_item_image

SAMPLE = 3000  # images; more do not change the detector
COMPRESSED = {2: (0.5, "WEBP"), 5: (0.8, "JPEG")}  # number among CYCLE images -> scale, format
CYCLE, QUALITY = 6, 60


def fit_ood_detector(collection: Collection, items: Iterable[Item]) -> OODDetector | None:
    """Fit on the images of items and validation queries; None if there are too few."""
    indexed = (item.image for item in items if item.image)
    queries = (query.image for query in collection.queries("val") if query.image)
    return OODDetector.fit(
        textures(collection, sample(indexed), compress=True), textures(collection, sample(queries), compress=False)
    )


def sample(paths: Iterable[str]) -> list[str]:
    """Between SAMPLE and 2 · SAMPLE different paths, evenly spread, or all if there are fewer."""
    chosen, every, number = {}, 1, 0
    for path in paths:
        if path not in chosen:
            if number % every == 0:
                chosen[path] = None
            number += 1
        if len(chosen) == 2 * SAMPLE:
            chosen, every = dict.fromkeys(list(chosen)[::2]), 2 * every
    return list(chosen)


def textures(collection: Collection, paths: list[str], compress: bool) -> np.ndarray:
    """(m, t) texture statistics. Raises UserError for an image that cannot be opened."""

    def texture_of(number: int, path: str) -> np.ndarray:
        image = open_item_image(collection, path)
        return texture(
            compressed(image, *COMPRESSED[number % CYCLE]) if compress and number % CYCLE in COMPRESSED else image
        )

    with ThreadPoolExecutor() as pool:
        return np.array(list(pool.map(texture_of, range(len(paths)), paths)))


def compressed(image: Image.Image, scale: float, kind: str) -> Image.Image:
    """The image after it was resized by `scale` and saved in a lossy format."""
    stream = io.BytesIO()
    image.resize([max(round(scale * side), 1) for side in image.size], Image.Resampling.LANCZOS).save(
        stream, kind, quality=QUALITY
    )
    return open_image(stream.getvalue())

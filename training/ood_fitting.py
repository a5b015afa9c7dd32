"""Fit the detector of images that are unlike those of an index, see genius/search/ood_detector.py.

A visitor's picture was saved by whatever program they used, so every third indexed picture is taken smaller and
saved again with losses.

Shapes: m pictures, t numbers of a texture.
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

SAMPLE = 3000  # pictures that are looked at; more change nothing
SAVED_AGAIN = {2: (0.5, "WEBP"), 5: (0.8, "JPEG")}  # of six pictures, which; how much smaller, and in which format
CYCLE, QUALITY = 6, 60


def fit_ood_detector(collection: Collection, items: Iterable[Item]) -> OODDetector | None:
    """From the pictures of the items and of the validation queries; None if there are too few."""
    indexed = (item.image for item in items if item.image)
    asked = (query.image for query in collection.queries("val") if query.image)
    return OODDetector.fit(
        textures(collection, sample(indexed), saved_again=True), textures(collection, sample(asked), saved_again=False)
    )


def sample(paths: Iterable[str]) -> list[str]:
    """SAMPLE different paths or up to twice as many, evenly, or all there are; no more are ever held."""
    held, every, number = {}, 1, 0
    for path in paths:
        if path not in held:
            if number % every == 0:
                held[path] = None
            number += 1
        if len(held) == 2 * SAMPLE:
            held, every = dict.fromkeys(list(held)[::2]), 2 * every
    return list(held)


def textures(collection: Collection, paths: list[str], saved_again: bool) -> np.ndarray:
    """(m, t). Raises UserError for a picture that cannot be opened."""

    def look(number: int, path: str) -> np.ndarray:
        image = open_item_image(collection, path)
        return texture(
            saved(image, *SAVED_AGAIN[number % CYCLE]) if saved_again and number % CYCLE in SAVED_AGAIN else image
        )

    with ThreadPoolExecutor() as pool:
        return np.array(list(pool.map(look, range(len(paths)), paths)))


def saved(image: Image.Image, scale: float, kind: str) -> Image.Image:
    """The picture as it looks after it was shrunk and saved."""
    stream = io.BytesIO()
    image.resize([max(round(scale * side), 1) for side in image.size], Image.Resampling.LANCZOS).save(
        stream, kind, quality=QUALITY
    )
    return open_image(stream.getvalue())

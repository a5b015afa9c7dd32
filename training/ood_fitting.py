"""Fit the out-of-distribution detector of an index, see genius/search/ood_detector.py.

The image of a query was saved by some other program, so every third indexed image is first resized and compressed.

Shapes: m images, t texture statistics.
"""

import io
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from PIL import Image

from genius.collections.images import open_image
from genius.collections.keys import id_key, key_dataset
from genius.collections.mbeir import Collection
from genius.errors import UserError
from genius.schema import Item
from genius.search.ood_detector import OODDetector, texture
from training.image_augmentation import open_item_image

SAMPLE = 3000  # images of a dataset; more do not change the detector
COMPRESSED = {2: (0.5, "WEBP"), 5: (0.8, "JPEG")}  # number among CYCLE images -> scale, format
CYCLE, QUALITY = 6, 60


def fit_ood_detector(collection: Collection, items: Iterable[Item], asked: Iterable[str]) -> OODDetector | None:
    """Fit on the images of items, by dataset, and on `asked`, those of queries; None if there are too few."""
    indexed: dict[int, EvenSample] = defaultdict(EvenSample)
    for item in items:
        if item.image:
            indexed[key_dataset(id_key(item.id))].add(item.image)
    queries = EvenSample()
    for image in asked:
        queries.add(image)
    return OODDetector.fit(
        [textures(collection, list(sample.paths), compress=True) for sample in indexed.values()],
        textures(collection, list(queries.paths), compress=False),
    )


class EvenSample:
    """Between SAMPLE and 2 · SAMPLE different paths of a stream, evenly spread, or all if there are fewer."""

    def __init__(self) -> None:
        self.paths: dict[str, None] = {}
        self._every, self._number = 1, 0

    def add(self, path: str) -> None:
        if path in self.paths:
            return
        if self._number % self._every == 0:
            self.paths[path] = None
        self._number += 1
        if len(self.paths) == 2 * SAMPLE:
            self.paths, self._every = dict.fromkeys(list(self.paths)[::2]), 2 * self._every


def textures(collection: Collection, paths: list[str], compress: bool) -> np.ndarray:
    """(m, t) texture statistics of the images that can be opened; the others are counted where thumbnails are made."""

    def texture_of(number: int, path: str) -> np.ndarray | None:
        try:
            image = open_item_image(collection, path)
        except UserError:
            return None
        if compress and number % CYCLE in COMPRESSED:
            image = recompress(image, *COMPRESSED[number % CYCLE])
        return texture(image)

    with ThreadPoolExecutor() as pool:
        all_textures = pool.map(texture_of, range(len(paths)), paths)
        return np.array([texture for texture in all_textures if texture is not None])


def recompress(image: Image.Image, scale: float, kind: str) -> Image.Image:
    """The image after it was resized by `scale` and saved in a lossy format."""
    stream = io.BytesIO()
    size = [max(round(scale * side), 1) for side in image.size]
    image.resize(size, Image.Resampling.LANCZOS).save(stream, kind, quality=QUALITY)
    return open_image(stream.getvalue())

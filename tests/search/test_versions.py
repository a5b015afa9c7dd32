"""One thing once: which candidates show the same photograph."""

import io
import json

import numpy as np
from PIL import Image

from genius.collections.versions import small
from genius.schema import Item, Modality
from genius.search.versions import groups_of, show_the_same

RNG = np.random.default_rng(0)


def picture(seed: int) -> Image.Image:
    pixels = np.random.default_rng(seed).integers(0, 256, (6, 6, 3), dtype=np.uint8)
    return Image.fromarray(pixels).resize((60, 60), Image.Resampling.BICUBIC)


def encoded(image: Image.Image, quality: int = 90) -> bytes:
    stream = io.BytesIO()
    image.save(stream, "WEBP", quality=quality)
    return stream.getvalue()


def image_item(number: int, path: str) -> Item:
    return Item(f"0:{number}", Modality.IMAGE, "", path)


def directions(*angles: float) -> np.ndarray:
    return np.array([[np.cos(angle), np.sin(angle)] for angle in angles], dtype=np.float32)


def test_a_picture_its_pair_and_its_captions_are_one_thing():
    items = [
        image_item(1, "a.jpg"),
        Item("0:2", Modality.TEXT, "A dog runs.", None, json.dumps({"picture": "a.jpg"})),
        image_item(3, "b.jpg"),
        Item("0:4", Modality.PAIR, "A dog.", "a.jpg"),
        Item("0:5", Modality.TEXT, "A dog runs."),
    ]
    assert groups_of(
        items, range(len(items)), directions(0, 1, 2, 3, 4), lambda place: None, 9
    ) == [[0, 1, 3], [2], [4]]


def test_a_copy_is_told_by_embedding_and_pixels():
    items = [image_item(number, f"{number}.jpg") for number in range(4)]
    thumbnails = [
        encoded(picture(1)),
        encoded(picture(1), 40),
        encoded(picture(2)),
        encoded(picture(1)),
    ]
    near, far = 0.1, 1.0
    found = groups_of(
        items, range(len(items)), directions(0, near, near, far), thumbnails.__getitem__, 9
    )
    assert found == [[0, 1], [2], [3]], "other pixels, or another embedding, are another thing"


def test_pictures_without_thumbnails_are_no_copies():
    pixels = small(picture(0))
    assert not show_the_same(None, pixels) and not show_the_same(pixels, None)
    assert show_the_same(pixels, pixels)


def test_only_so_many_things_are_told_apart_but_all_their_versions_count():
    items = [
        image_item(1, "a.jpg"),
        image_item(2, "b.jpg"),
        image_item(3, "c.jpg"),
        image_item(4, "a.jpg"),
    ]
    assert groups_of(items, range(4), directions(0, 1, 2, 3), lambda place: None, 2) == [
        [0, 3],
        [1],
    ]

"""genius/search/retriever.py: features are those of the encoder, and no picture passes its tower
twice.
"""

import numpy as np
import pytest
import torch
from PIL import Image

from genius.evaluation.queries import encode
from genius.schema import Query
from genius.search.engine import Engine
from genius.search.retriever import FeatureCache
from tests.search.tiny import publish_tiny_run, tiny_encoder


def picture(seed: int) -> Image.Image:
    return Image.fromarray(
        np.random.default_rng(seed).integers(0, 255, (20, 30, 3), dtype=np.uint8)
    )


@pytest.fixture
def passed(monkeypatch) -> list[int]:
    """How many pictures each call of the encoder took."""
    counts = []
    encode = type(tiny_encoder()).encode

    def spy(self, images, texts):
        counts.append(sum(image is not None for image in images))
        return encode(self, images, texts)

    monkeypatch.setattr(type(tiny_encoder()), "encode", spy)
    return counts


@torch.inference_mode()
def test_features_are_those_of_the_encoder(passed):
    images = [picture(0), None, picture(1), picture(0)]
    texts = ["A dog.", "A cat.", "", "A boat."]
    expected = tiny_encoder().encode(images, texts)
    cache = FeatureCache(tiny_encoder())

    for _ in range(2):
        found = cache.encode(images, texts, [""] * len(images))
        torch.testing.assert_close(found.image, expected.image)
        torch.testing.assert_close(found.text, expected.text)
        assert found.image_mask.tolist() == [True, False, True, True]
        assert found.text_mask.tolist() == expected.text_mask.tolist()
    assert passed == [3, 2, 0]


@torch.inference_mode()
def test_the_pictures_that_were_not_used_for_longest_are_forgotten(passed):
    cache = FeatureCache(tiny_encoder(), capacity=2)
    for seed in (0, 1, 0, 2, 0, 1):
        cache.encode([picture(seed)], [""], [""])
    assert passed == [1, 1, 0, 1, 0, 1]


@torch.inference_mode()
def test_the_same_bytes_in_another_shape_are_another_picture(passed):
    cache = FeatureCache(tiny_encoder())
    pixels = np.arange(1800, dtype=np.uint8).reshape(20, 30, 3)
    for shape in ((20, 30, 3), (30, 20, 3)):
        cache.encode([Image.fromarray(pixels.reshape(shape))], [""], [""])
    assert passed == [1, 1]


def test_a_picture_that_was_remembered_does_not_pass_the_tower_in_its_search(tmp_path, passed):
    engine = Engine.load(publish_tiny_run(tmp_path / "run").path, "cpu")
    (expected,) = engine.search([Query(text="a dog", image=picture(3))])
    other = Engine.load(tmp_path / "run", "cpu")
    passed.clear()
    other.cache_image(picture(3))
    assert passed == [1]
    (found,) = other.search([Query(text="a dog", image=picture(3))])
    assert passed == [1, 0] and [hit.row for hit in found.hits] == [
        hit.row for hit in expected.hits
    ]
    np.testing.assert_allclose(found.embedding, expected.embedding, atol=1e-5)


def test_what_is_timed_encodes_each_picture_anew(tmp_path, passed):
    engine = Engine.load(publish_tiny_run(tmp_path / "run").path, "cpu")
    engine.cache_image(picture(3))
    passed.clear()
    row = encode(
        engine, [[Query("a dog", picture(3)), Query("a cat", picture(3))], [Query("", picture(3))]]
    )
    assert passed == [1, 1] and len(row.z) == 3

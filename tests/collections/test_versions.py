"""Versions of a photograph among the pictures of a source, as its listing counts them."""

import numpy as np
import pytest
from PIL import Image

from genius.collections.building import build
from genius.collections.images import open_image
from genius.collections.versions import MOST_DIFFERENT, originals, small
from tests.collections.samples import encoded


def photograph(seed: int) -> Image.Image:
    """Large soft shapes, and fine noise."""
    random = np.random.default_rng(seed)
    soft = Image.fromarray(random.integers(40, 216, (5, 7, 3), dtype=np.uint8))
    noise = random.integers(-9, 10, (180, 240, 3))
    pixels = np.asarray(soft.resize((240, 180), Image.Resampling.BICUBIC)) + noise
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


def test_the_listing_counts_versions_of_a_photograph(tmp_path):
    folder = tmp_path / "x"
    folder.mkdir()
    photo = photograph(0)
    for name, data in {
        "a.png": encoded(photo),
        "b.jpg": encoded(photo, "JPEG", quality=50),
        "c.webp": encoded(photo.resize((160, 120)), "WEBP", quality=80),
        "d.jpg": encoded(photo, "JPEG", quality=95, comment="x"),
        "e.png": encoded(photograph(1)),
        "f.jpg": encoded(photograph(2), "JPEG"),
    }.items():
        (folder / name).write_bytes(data)
    (row,) = build([str(folder)], tmp_path / "built")
    assert "6 files: used" in str(row) and "3 files: version of another; the first: b.jpg" in str(row)
    assert row.candidates == 6  # every one can be found
    lines = (tmp_path / "built/files.tsv").read_text().splitlines()
    assert [line.split("\t") for line in lines if "version" in line] == [
        ["x", name, "version of another", "a.png"] for name in ("b.jpg", "c.webp", "d.jpg")
    ]


@pytest.mark.parametrize("seed", range(3))
def test_versions_are_those_of_comparing_all_pictures(seed):
    random = np.random.default_rng(seed)
    kinds = random.integers(60, 190, (5, 16, 16, 3))
    changes = random.integers(-3, 4, (40, 16, 16, 3))
    pictures = (kinds[random.integers(0, 5, 40)] + changes * random.integers(0, 3, (40, 1, 1, 1))).astype(np.uint8)
    expected: list[int] = []
    for number, picture in enumerate(pictures.astype(int)):
        firsts = [first for first in range(number) if expected[first] == first]
        alike = (first for first in firsts if np.abs(pictures[first] - picture).mean() <= MOST_DIFFERENT)
        expected.append(next(alike, number))
    assert originals([picture.tobytes() for picture in pictures]) == expected
    assert 5 < len(set(expected)) < 40


def test_pictures_of_one_colour_are_no_versions():
    assert originals([small(Image.new("RGB", (9, 9), (shade, 0, 0))) for shade in (7, 7, 8)]) == [0, 1, 2]


def test_a_small_picture_has_the_colours_of_its_image():
    pixels = np.frombuffer(small(open_image(encoded(Image.new("RGB", (90, 50), (1, 2, 3))))), np.uint8)
    assert pixels.reshape(16, 16, 3)[5, 7].tolist() == [1, 2, 3]

"""A photograph in several versions is one item, which takes what is said of all of them."""

import io
import json
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from genius.collections.__main__ import main
from genius.collections.building import build
from genius.collections.mbeir import Collection
from genius.collections.versions import are_versions, originals, small
from tests.collections.samples import encoded, written


def photograph(seed: int) -> Image.Image:
    """Large soft shapes, and fine noise."""
    random = np.random.default_rng(seed)
    soft = Image.fromarray(random.integers(40, 216, (5, 7, 3), dtype=np.uint8))
    noise = random.integers(-9, 10, (180, 240, 3))
    pixels = np.asarray(soft.resize((240, 180), Image.Resampling.BICUBIC)) + noise
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


@pytest.fixture
def folder(tmp_path) -> Path:
    """A photograph in four versions, of which a.png is the largest, and two others."""
    photo = photograph(0)
    files = {
        "a.png": encoded(photo),
        "b.jpg": encoded(photo, "JPEG", quality=50),
        "0.webp": encoded(photo.resize((160, 120)), "WEBP", quality=80),
        "d.jpg": encoded(photo, "JPEG", quality=95, comment="x"),
        "e.png": encoded(photograph(1)),
        "f.jpg": encoded(photograph(2), "JPEG"),
    }
    return written(tmp_path / "x", files)


def items_of(built: Path) -> dict[str, dict]:
    """What is said of each picture of a collection."""
    items = Collection(built).all_candidates()
    return {Path(item.image).name: json.loads(item.source) for item in items if item.image}


def test_the_largest_version_is_the_item(folder, tmp_path):
    (row,) = build([str(folder)], tmp_path / "built")
    assert "3 files: used" in str(row)
    assert "3 files: version of another; the first: 0.webp" in str(row)
    items = items_of(tmp_path / "built")
    assert {name: said.get("versions") for name, said in items.items()} == {
        "a.png": 4,
        "e.png": None,
        "f.jpg": None,
    }
    assert items.keys() == set(os.listdir(tmp_path / "built/images/x"))
    lines = (tmp_path / "built/files.tsv").read_text(encoding="utf-8").splitlines()
    assert [line.split("\t")[1:] for line in lines if "version" in line] == [
        [name, "version of another", "a.png"] for name in ("0.webp", "b.jpg", "d.jpg")
    ]


def test_all_are_items_if_versions_are_kept(folder, tmp_path):
    assert main(["--keep-versions", str(folder), str(tmp_path / "built")]) == 0
    items = items_of(tmp_path / "built")
    assert len(items) == 6 and not any("versions" in said for said in items.values())


def test_the_texts_of_all_versions_can_be_found(folder, tmp_path):
    written(folder, {"0.txt": "A harbour.", "b.txt": "Boats at rest."})
    build([str(folder)], tmp_path / "built")
    texts = {item.text for item in Collection(tmp_path / "built").all_candidates()} - {""}
    assert texts == {"A harbour.", "Boats at rest."} and len(items_of(tmp_path / "built")) == 3


def test_a_version_of_which_a_table_says_something_else_is_an_item(folder, tmp_path):
    rows = ["a.png,red", "b.jpg,blue", "0.webp,red", "d.jpg,", "e.png,red", "f.jpg,red"]
    written(folder, {"t.csv": "\n".join(["image,colour", *rows])})
    build([str(folder)], tmp_path / "built")
    items = items_of(tmp_path / "built")
    assert sorted(items) == ["a.png", "b.jpg", "e.png", "f.jpg"] and items["a.png"]["versions"] == 3


def page(seed: int) -> Image.Image:
    """Lines of words on white paper."""
    letters = np.random.default_rng(seed).choice(list("etaoinsrhldcu   "), (44, 78))
    paper = Image.new("RGB", (1000, 1400), "white")
    font = ImageFont.load_default(20)
    for number, line in enumerate(letters):
        ImageDraw.Draw(paper).text((90, 90 + 28 * number), "".join(line), "black", font)
    return paper


def test_pages_of_a_book_are_no_versions_of_each_other():
    pages = [page(seed) for seed in range(4)]
    again = Image.open(io.BytesIO(encoded(pages[0].resize((500, 700)), "JPEG", quality=50)))
    found = originals([small(each) for each in [*pages, again]], [(5,)] * 4 + [(4,)])
    assert found == [0, 1, 2, 3, 0]


@pytest.mark.parametrize("seed", range(3))
def test_versions_are_those_of_comparing_all_pictures(seed):
    random = np.random.default_rng(seed)
    kinds = random.integers(60, 190, (5, 32, 32, 3))
    changes = random.integers(-9, 10, (40, 32, 32, 3))
    noisy = kinds[random.integers(0, 5, 40)] + changes * random.integers(0, 4, (40, 1, 1, 1))
    pictures = list(noisy.clip(0, 255).astype(np.uint8))
    sizes = [(size,) for size in random.integers(0, 5, 40).tolist()]
    expected = dict[int, int]()
    for number in sorted(range(40), key=lambda number: (-sizes[number][0], number)):
        firsts = [first for first in expected if expected[first] == first]
        fits = (
            first for first in firsts if are_versions(pictures[first], pictures[number][None])[0]
        )
        expected[number] = next(fits, number)
    assert originals(pictures, sizes) == [expected[number] for number in range(40)]
    assert 5 < len(set(expected.values())) < 40


def test_pictures_of_one_colour_are_no_versions():
    shades = [small(Image.new("RGB", (9, 9), (shade, 0, 0))) for shade in (7, 7, 8)]
    assert originals(shades, [(81,)] * 3) == [0, 1, 2]


def test_a_brighter_or_a_cropped_picture_is_another():
    photo = photograph(0)
    others = [photo.point(lambda value: value + 8), photo.crop((6, 6, 234, 174))]
    assert originals([small(each) for each in (photo, *others)], [(3,), (2,), (1,)]) == [0, 1, 2]
    assert not are_versions(small(photo), np.stack([small(each) for each in others])).any()

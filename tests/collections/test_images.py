"""The guarded image opener: what it makes of good images, and one sentence for each bad one."""

import io
import os
import struct
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from genius.collections import images
from genius.collections.images import DISK, PAGE, Limits, open_image, thumbnail
from genius.errors import UserError
from tests.collections.samples import encoded, picture, png
from tests.waiting import WAIT


def refusal(source, limits: Limits = DISK) -> str:
    with pytest.raises(UserError) as caught:
        open_image(source, limits=limits)
    message = str(caught.value)
    assert "\n" not in message and "Traceback" not in message
    return message


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "BMP", "TIFF", "AVIF"])
def test_what_pillow_opens_safely_opens_as_rgb(form, tmp_path):
    file = tmp_path / "picture"
    file.write_bytes(encoded(Image.new("RGB", (40, 30), (200, 30, 90)), form))
    for source in (file, str(file), file.read_bytes()):
        image = open_image(source)
        assert image.mode == "RGB" and image.size == (40, 30)
        lost = np.abs(np.asarray(image).astype(int) - (200, 30, 90)).max()
        assert lost <= (6 if form in ("JPEG", "WEBP", "AVIF") else 0)


def test_a_part_is_cut_from_the_upright_image_at_its_full_size_before_it_is_shrunk():
    seen = np.random.default_rng(0).integers(0, 256, (40, 60, 3), dtype=np.uint8)
    # as by a camera that was turned
    stored = Image.fromarray(np.ascontiguousarray(np.rot90(seen, 1)))
    exif = Image.Exif()
    exif[0x0112] = 6
    data = encoded(stored, exif=exif)
    whole = np.asarray(open_image(data))
    assert (whole == seen).all()
    part = (0.25, 0.5, 0.75, 1.0)
    assert (np.asarray(open_image(data, part=part)) == seen[20:, 15:45]).all()
    assert open_image(data, part=part, max_side=15).size == (15, 10)
    large = encoded(Image.effect_noise((2_000, 1_000), 50).convert("RGB"), "JPEG")
    # not of a reduced decoding
    assert open_image(large, part=(0.5, 0.5, 0.6, 0.6), max_side=256).size == (200, 100)


@pytest.mark.parametrize(
    "part", [(0.999, 0.999, 1, 1), (0, 0, 1e-9, 1e-9), (0.5, 0.5, 0.5001, 0.5001)]
)
def test_the_smallest_part_still_has_a_pixel(part):
    image = open_image(encoded(Image.new("RGB", (3, 2), "teal"), "PNG"), part=part)
    assert image.size == (1, 1) and image.getpixel((0, 0)) == (0, 128, 128)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_is_applied(orientation):
    seen = np.arange(12, dtype=np.uint8).reshape(3, 4) * 20
    stored = {  # how a camera held in each way stores what it saw
        1: seen,
        2: seen[:, ::-1],
        3: seen[::-1, ::-1],
        4: seen[::-1],
        5: seen.T,
        6: np.rot90(seen, 1),
        7: seen[::-1, ::-1].T,
        8: np.rot90(seen, -1),
    }[orientation]
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = encoded(Image.fromarray(np.ascontiguousarray(stored)), "PNG", exif=exif)
    assert np.array_equal(np.asarray(open_image(data))[..., 0], seen)


def test_unreadable_exif_is_ignored():
    data = encoded(Image.new("RGB", (5, 4)), "JPEG", exif=b"Exif\0\0II*\0\xff\xff\xff\xff")
    assert open_image(data).size == (5, 4)


def test_a_cyclic_exif_directory_does_not_hang():
    rotated = struct.pack("<HHHII", 1, 0x0112, 3, 1, 6)
    loop = b"Exif\0\0II*\0" + struct.pack("<I", 8) + rotated + struct.pack("<I", 8)
    assert open_image(encoded(Image.new("RGB", (5, 4)), "JPEG", exif=loop)).size == (4, 5)


def test_exif_whose_entries_share_their_bytes_takes_no_memory():
    """Pillow copies the bytes of each entry: 2,000 entries of 200 kB would be 400 MB."""
    entries = b"".join(
        struct.pack("<HHII", tag, 7, 200_000, 24_100) for tag in range(0x8000, 0x8000 + 2000)
    )
    block = b"Exif\0\0II*\0" + struct.pack("<IH", 8, 2000) + entries
    data = encoded(Image.new("RGB", (5, 4)), "PNG", exif=block.ljust(224_200, b"x"))
    tracemalloc.start()
    assert open_image(data).size == (5, 4)
    assert tracemalloc.get_traced_memory()[1] < 20e6
    tracemalloc.stop()


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_transparency_becomes_white(mode):
    clear = Image.new("RGBA", (4, 4), (0, 0, 0, 0))
    clear.putpixel((0, 0), (0, 0, 0, 255))
    if mode == "P":
        image = Image.new("P", (4, 4), 1)
        image.putpalette([0, 0, 0, 9, 9, 9])
        image.putpixel((0, 0), 0)
        data = encoded(image, transparency=1)
    else:
        data = encoded(clear.convert(mode))
    pixels = np.asarray(open_image(data))
    assert pixels[0, 0].tolist() == [0, 0, 0] and pixels[3, 3].tolist() == [255, 255, 255]


@pytest.mark.parametrize("mode", ["1", "L", "P", "CMYK"])
def test_other_modes_become_rgb(mode):
    form = "JPEG" if mode == "CMYK" else "PNG"
    image = open_image(encoded(Image.new("RGB", (8, 8), "white").convert(mode), form))
    assert image.mode == "RGB" and np.asarray(image).min() >= 250


def test_animations_give_their_first_frame():
    frames = [Image.new("RGB", (6, 6), colour) for colour in ("red", "blue")]
    for form in ("PNG", "WEBP", "GIF", "TIFF"):
        data = encoded(frames[0], form, save_all=True, append_images=frames[1:], lossless=True)
        assert np.abs(np.asarray(open_image(data))[3, 3].astype(int) - [255, 0, 0]).max() <= 1


OTHERS = {  # what is called .jpg -> what is said of it
    b"version https://git-lfs.github.com/spec/v1\noid sha256:0": "a pointer of Git LFS: git lfs",
    b"\0\0\0\x0cJXL \r\n\x87\n" + bytes(99): "JPEG XL: save it as JPEG or PNG",
    b"\xff\x0a" + bytes(99): "JPEG XL: save it as JPEG or PNG",
    b"\0\0\0\x18ftypmp42" + bytes(99): "a film: save a frame",
    b"\0\0\0\x14ftypqt  " + bytes(99): "a film: save a frame",
    b"\0\0\0\x18ftypcrx " + bytes(99): "a camera raw: develop",
    b"\xef\xbb\xbf\n<!DOCTYPE html><html>404": "a web page: a server sent it in place of the",
    b'{"error": "denied"}': "JSON: a server sent it in place of the picture",
    b"<svg xmlns='http://www.w3.org/2000/svg'/>": "SVG: save it as JPEG or PNG",
    b"%PDF-1.4\n": "PDF: save its pages",
    b"II*\0" + bytes(99): "TIFF: save it with 8 or 16 bits a channel",
    b"\x89PNG\r\n\x1a\n" + bytes(99): "damaged PNG: export or download it again",
} | {
    encoded(Image.new("RGB", (16, 16)), form): f"{name}: save it as JPEG or PNG"
    for form, name in (("PPM", "PPM"), ("TGA", "TGA"), ("ICO", "ICO"), ("JPEG2000", "JPEG 2000"))
}


@pytest.mark.parametrize("data", OTHERS)
def test_what_no_picture_that_can_be_read_is_called_by_its_kind(data):
    assert f"it is {OTHERS[data]}" in refusal(data)


def test_heic_is_refused_with_the_package_that_reads_it(monkeypatch):
    monkeypatch.setattr(images, "READABLE", images.READABLE - {"HEIC"})
    data = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(400)
    said = "it is HEIC: pip install pillow-heif, or export it as JPEG"
    assert images.HEIC or said in refusal(data)


@pytest.mark.parametrize("size", [(300, 100), (100, 300), (20, 10)])
def test_max_side_shrinks_and_never_enlarges(size):
    for form in ("PNG", "JPEG"):
        image = open_image(encoded(Image.new("RGB", size), form), max_side=50)
        assert max(image.size) == min(50, max(size))
        assert abs(image.width / image.height - size[0] / size[1]) < 0.15


def test_an_opened_image_that_is_given_stays_as_it_is():
    given = Image.new("RGB", (40, 30))
    assert open_image(given, max_side=20).size == (20, 15) and given.size == (40, 30)


def test_a_thumbnail_is_a_small_webp():
    image = Image.open(io.BytesIO(thumbnail(picture(7, (400, 200)), 64)))
    assert image.format == "WEBP" and image.size == (64, 32)


BAD = {
    "empty": (b"", "empty"),
    "text": (b"no image at all", "not a readable PNG, JPEG, WebP"),
    "another chunk": (picture(1).replace(b"IDAT", b"IDAX"), "not a readable PNG, JPEG, WebP"),
    "truncated png": (picture(1, (64, 64))[:-40], "damaged"),
    "truncated jpeg": (encoded(Image.radial_gradient("L"), "JPEG")[:1500], "damaged"),
    "truncated webp": (encoded(Image.radial_gradient("L"), "WEBP")[:300], "damaged"),
    "900 million pixels": (png(30_000, 30_000, 8, b"\0"), "pixels"),
    "177 million pixels": (png(13_300, 13_300, 8, b"\0"), "pixels"),
    "a line": (png(1, 70_000, 8, b"\0"), "pixels"),
    "fewer pixels than claimed": (png(50, 50, 8, b"\0"), "damaged"),
}


@pytest.mark.parametrize("kind", BAD)
def test_each_kind_of_invalid_image_gets_its_own_error(kind):
    data, says = BAD[kind]
    assert says in refusal(data)


def test_the_limits_on_bytes_and_pixels_are_checked_before_decoding(tmp_path, monkeypatch):
    limits = Limits(bytes=10_000, pixels=9_999, jpeg_pixels=10_000, side=500)
    assert "MB" in refusal(bytes(10_001), limits)
    assert "megapixels" in refusal(png(100, 100, 8, b"\0"), limits)
    assert "pixels per side" in refusal(png(501, 1, 8, b"\0"), limits)
    jpeg = encoded(Image.new("RGB", (100, 100), "red"), "JPEG")
    assert open_image(jpeg, limits=limits).size == (100, 100)
    assert "megapixels" in refusal(jpeg, replace(limits, jpeg_pixels=9_999))
    monkeypatch.setattr(images, "MAX_FULL", 9_999)
    assert open_image(jpeg).size == (50, 50)  # a large JPEG is decoded at half its size
    large = tmp_path / "large.png"
    with large.open("wb") as stream:
        stream.truncate(10**12)  # a sparse file: reading it would take an hour
    assert "large.png has" in refusal(large)


def test_what_scanners_and_cameras_make_is_read_but_refused_from_a_visitor(tmp_path):
    wide = encoded(Image.new("L", (13_000, 20)), "JPEG")
    (panorama := tmp_path / "panorama.jpg").write_bytes(wide)
    fax = Image.new("1", (9_900, 7_000), 1)
    fax.save(tmp_path / "fax.tif", compression="group4")
    (large := tmp_path / "large.png").write_bytes(picture(1) + bytes(PAGE.bytes))
    for file in (panorama, tmp_path / "fax.tif", large):
        assert open_image(file, max_side=64).mode == "RGB"
        assert "the limit is" in refusal(file, PAGE)
    assert "the limit is 120 megapixels" in refusal(png(11_000, 11_000, 8, b"\0"))


def test_a_pipe_or_folder_is_refused_at_once(tmp_path):
    assert "nowhere.png is missing" in refusal(tmp_path / "nowhere.png")
    assert "not a file" in refusal(tmp_path)
    os.mkfifo(tmp_path / "pipe.png")
    assert "not a file" in refusal(tmp_path / "pipe.png")
    (tmp_path / "loop.png").symlink_to(tmp_path / "loop.png")
    assert "loop.png cannot be read" in refusal(tmp_path / "loop.png")
    assert "cannot be read" in refusal("nul\0.png")


def test_random_damage_gives_an_image_or_a_user_error():
    rng = np.random.default_rng(0)
    whole = [
        encoded(Image.radial_gradient("L").resize((48, 48)), form)
        for form in ("PNG", "JPEG", "WEBP")
    ]
    for trial in range(150):
        data = bytearray(whole[trial % 3])
        for at in rng.integers(0, len(data), 4):
            data[at] = rng.integers(256)
        try:
            assert open_image(bytes(data)).mode == "RGB"
        except UserError as error:
            assert str(error)


@pytest.mark.parametrize("limit, at_once", [(250, 2), (50, 1)])
def test_images_are_decoded_together_only_as_long_as_their_pixels_fit(monkeypatch, limit, at_once):
    decoding = []
    most = []
    second = threading.Barrier(at_once)

    def on_white(image):
        decoding.append(image)
        most.append(len(decoding))
        second.wait(WAIT)  # until as many as may are here
        decoding.pop()
        return image.convert("RGB")

    monkeypatch.setattr(images, "_decoding", images._PixelBudget(limit))
    monkeypatch.setattr(images, "on_white", on_white)
    source = encoded(Image.new("RGB", (10, 10)))
    with ThreadPoolExecutor(4) as pool:
        assert len(list(pool.map(open_image, [source] * 4))) == 4
    assert max(most) == at_once


def test_a_damaged_image_gives_its_pixels_back(monkeypatch):
    budget = images._PixelBudget(100)
    monkeypatch.setattr(images, "_decoding", budget)
    refusal(png(8, 8, 8, b"\0"))
    assert budget._used == 0

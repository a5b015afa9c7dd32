"""Camera raws are seen as the camera showed them."""

import struct

import pytest
from PIL import Image

from genius.collections.formats import MAX_JPEGS
from genius.collections.images import open_image
from genius.errors import UserError
from tests.collections.samples import encoded

SMALL = encoded(Image.new("RGB", (16, 12), "blue"), "JPEG")
LARGE = encoded(Image.new("RGB", (60, 40), "red"), "JPEG")
ORIENTED = struct.pack("<IHHHIII", 8, 1, 0x0112, 3, 1, 8, 0)  # a directory that says: turn it
PIXELS = bytes(range(256)) + b"\xff\xd8\xff\xe0"  # some of which look like the beginning of a JPEG


@pytest.mark.parametrize(
    "name, head, size",
    [
        ("a.dng", b"II*\0" + ORIENTED, (40, 60)),
        ("a.NEF", b"MM\0*" + struct.pack(">IHHHIHHI", 8, 1, 0x0112, 3, 1, 6, 0, 0), (40, 60)),
        ("a.rw2", b"IIU\0" + ORIENTED, (40, 60)),
        ("a.orf", b"IIRO" + ORIENTED, (40, 60)),
        ("a.cr3", b"\0\0\0\x18ftypcrx " + bytes(12) + b"\0\0\0\x40CMT1II*\0" + ORIENTED, (40, 60)),
        ("a.raf", b"FUJIFILMCCD-RAW 0201", (60, 40)),
    ],
)
def test_a_raw_is_the_largest_jpeg_in_it_upright(tmp_path, name, head, size):
    (file := tmp_path / name).write_bytes(head + SMALL + PIXELS + LARGE + PIXELS)
    image = open_image(file)
    assert image.size == size and image.getpixel((5, 5))[0] > 250
    assert max(open_image(file, max_side=30).size) == 30


def test_a_jpeg_that_says_itself_how_it_was_held_is_turned_once(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 3
    own = encoded(Image.new("RGB", (60, 40)), "JPEG", exif=exif)
    (tmp_path / "a.dng").write_bytes(b"II*\0" + ORIENTED + own)
    assert open_image(tmp_path / "a.dng").size == (60, 40)


@pytest.mark.parametrize("rest", [b"", PIXELS, PIXELS * MAX_JPEGS + LARGE])
def test_a_raw_without_a_jpeg_is_refused_with_a_remedy(tmp_path, rest):
    (tmp_path / "a.CR2").write_bytes(b"II*\0\x10\0\0\0CR\x02\0" + bytes(100) + rest)
    with pytest.raises(UserError, match="^a.CR2 holds no JPEG .* develop camera raws to JPEG"):
        open_image(tmp_path / "a.CR2")

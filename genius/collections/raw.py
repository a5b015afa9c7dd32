"""The picture in a camera raw: the largest JPEG that the camera put into it for its screen."""

import re
from collections.abc import Callable
from contextlib import suppress
from itertools import islice

from PIL import Image

SUFFIXES = frozenset(
    [".cr2", ".cr3", ".nef", ".nrw", ".arw", ".sr2", ".srf", ".dng", ".gpr", ".raf", ".orf", ".rw2"]
).union(
    [
        ".rwl",
        ".pef",
        ".srw",
        ".3fr",
        ".fff",
        ".iiq",
        ".mos",
        ".mef",
        ".mrw",
        ".erf",
        ".kdc",
        ".dcr",
        ".x3f",
    ]
)
JPEG = re.compile(rb"\xff\xd8\xff")
MAX_JPEGS = 64  # that are looked at; pixels of a raw may by chance look like one
MAX_HEADER = 2**20  # bytes of a JPEG before its pixels
ORIENTATION = 0x0112  # EXIF tag
TIFF = {b"II": b"II*\0", b"MM": b"MM\0*"}  # order of bytes -> how a TIFF begins


def embedded_jpeg(data: bytes, opened: Callable[[bytes], Image.Image]) -> Image.Image | None:
    """The largest JPEG in a raw, not decoded, with the raw's orientation; None if there is none.

    opened: opens a JPEG, or raises any exception.
    """
    best: tuple[int, int] = 0, 0  # pixels, and where it begins
    for match in islice(JPEG.finditer(data), MAX_JPEGS):
        with suppress(Exception):  # pixels, or a JPEG of more bits, which is the raw itself
            width, height = opened(data[match.start() : match.start() + MAX_HEADER]).size
            best = max(best, (width * height, match.start()))
    if not best[0]:
        return None
    image = opened(data[best[1] :])
    with suppress(Exception):  # an unreadable EXIF block does not affect the pixels
        if ORIENTATION not in (exif := image.getexif()):
            exif[ORIENTATION] = _orientation(data)
    return image


def _orientation(raw: bytes) -> int:
    """By the directory of a raw that is a TIFF, or of a CR3, which has one in a box."""
    box = raw.find(b"CMT1", 0, MAX_HEADER) + 4
    data = raw[box : box + MAX_HEADER] if raw[4:8] == b"ftyp" and box > 3 else raw
    exif = Image.Exif()
    exif.load(TIFF[data[:2]] + data[4:])
    return exif.get(ORIENTATION, 1)

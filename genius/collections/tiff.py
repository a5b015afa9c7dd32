"""Kinds of TIFF that Pillow does not know or reads wrongly; programs of science write them."""

import re
from io import BytesIO

import numpy as np
from PIL import Image
from PIL.TiffImagePlugin import OPEN_INFO, ImageFileDirectory_v2

# tags
WIDTH, HEIGHT, BITS, COMPRESSION, COLORS, CHANNELS, PLANES = 256, 257, 258, 259, 262, 277, 284
STARTS, SIZES, FORMAT, PROFILE = 273, 279, 339, 34675
RGB, FRACTIONS = 2, 3

# Gray in fractions of 64 bits, in whole numbers of 32, and in 16 bits where white is zero
for order, big, photometric in (b"II", "", 0), (b"II", "", 1), (b"MM", "B", 0), (b"MM", "B", 1):
    OPEN_INFO[order, photometric, (3,), 1, (64,), ()] = ("F", f"F;64{big}F")
    OPEN_INFO[order, photometric, (1,), 1, (32,), ()] = ("F", f"F;32{big}")
    OPEN_INFO[order, photometric, (1,), 1, (16,), ()] = (f"I;16{big}", f"I;16{big}")


def in_own_order(image: Image.Image) -> Image.Image:
    """The image, not decoded yet, whose bytes Pillow does not swap again where libtiff does so."""
    tiles = getattr(image, "tile", [])
    for place, tile in enumerate(tiles):
        if tile.codec_name == "libtiff":
            kind, *rest = tile.args
            kind = re.sub(r"^([IF];\d\d)B(?=[FS]|$)", r"\1N", kind)
            tiles[place] = tile._replace(args=(kind, *rest))
    return image


def read_fractions(data: bytes) -> tuple[np.ndarray, bytes] | None:
    """Red, green and blue (h, w, 3) of an uncompressed TIFF in fractions, and its ICC profile.

    None for anything else. What a file claims takes no memory, but what it holds.
    """
    try:
        tags = ImageFileDirectory_v2(data[:8])
        stream = BytesIO(data)
        stream.seek(tags.next)
        tags.load(stream)
        height, width, channels = tags[HEIGHT], tags[WIDTH], tags[CHANNELS]
        (bits,), kind = set(tags[BITS]), (tags[COLORS], *set(tags[FORMAT]))
        rows = list(zip(tags[STARTS], tags[SIZES], strict=True))
        size = height * width * channels * bits // 8
        plain = tags.get(COMPRESSION, 1) == tags.get(PLANES, 1) == 1
        if not plain or kind != (RGB, FRACTIONS) or channels < 3:
            return None
        if size > len(data) or size != sum(length for _, length in rows):
            return None
        numbers = b"".join(data[start : start + length] for start, length in rows)
        kept = np.frombuffer(numbers, f"{'<' if data[:2] == b'II' else '>'}f{bits // 8}")
        return kept.reshape(height, width, channels)[..., :3].astype(np.float32), tags.get(
            PROFILE, b""
        )
    except Exception:  # no TIFF, or a damaged one
        return None

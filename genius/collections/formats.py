"""Files by their bytes: what kind one is, and pictures of kinds that Pillow does not read by
itself, camera raws and TIFFs of science.

Of a raw the picture is the largest JPEG that the camera put into it for its screen.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from itertools import islice

import numpy as np
from PIL import Image
from PIL.TiffImagePlugin import OPEN_INFO, ImageFileDirectory_v2

RAW_SUFFIXES = frozenset(
    [".cr2", ".cr3", ".nef", ".nrw", ".arw", ".sr2", ".srf", ".dng", ".gpr", ".raf", ".orf", ".rw2"]
    + [".rwl", ".pef", ".srw", ".3fr", ".fff", ".iiq", ".mos", ".mef", ".mrw", ".erf", ".kdc"]
    + [".dcr", ".x3f"]
)
KINDS = {  # kind -> how its files begin; the first that fits
    "JPEG": rb"\xff\xd8\xff",
    "PNG": rb"\x89PNG\r\n\x1a\n",
    "GIF": rb"GIF8",
    "WebP": rb"RIFF.{4}WEBP",
    "BMP": rb"BM.{4}\0{4}",
    "TIFF": rb"II[*+]\0|MM\0[*+]",
    "AVIF": rb".{4}ftyp(avi[fs]|(mif1|msf1).{4}(.{4})*?avi[fs])",
    "HEIC": rb".{4}ftyp(hei|hev|mif1|msf1)",
    "a camera raw": rb".{4}ftypcrx|FUJIFILMCCD-RAW|II(RO|RS|U\0)|FOVb|\0MRM",
    "JPEG XL": rb"\xff\x0a|\0\0\0\x0cJXL ",
    "JPEG 2000": rb"\xff\x4f\xff\x51|\0\0\0\x0cjP  ",
    "a film": rb".{4}(ftyp|moov|mdat)|\x1a\x45\xdf\xa3|RIFF.{4}AVI |\0\0\x01[\xba\xb3]",
    "a web page": rb"\s*<(?i:!doctype html|html|head|body|script)",
    "SVG": rb"\s*<(?i:\?xml|svg|!doctype svg)",
    "JSON": rb"\s*[{\[]\s*[\"{\[}\]]",
    "a pointer of Git LFS": rb"version https://git-lfs",
    "PDF": rb"%PDF",
    "PSD": rb"8BPS",
    "a GIMP picture": rb"gimp xcf",
    "PostScript": rb"%!PS|\xc5\xd0\xd3\xc6",
    "EXR": rb"v/1\x01",
    "Radiance HDR": rb"#\?(RADIANCE|RGBE)",
    "PPM": rb"P[1-7fF]\s",
    "ICO": rb"\0\0[\x01\x02]\0[^\0]\0",
    "a ZIP": rb"PK\x03\x04",
}
PATTERNS = {kind: re.compile(start, re.DOTALL) for kind, start in KINDS.items()}
HEAD = 64  # bytes that tell the kind
TGA_END = b"TRUEVISION-XFILE.\0"
ADVICE = {
    "TIFF": "save it with 8 or 16 bits a channel",
    "HEIC": "pip install pillow-heif, or export it as JPEG",
    "a camera raw": "develop camera raws to JPEG",
    "a film": "save a frame of it as JPEG",
    "a pointer of Git LFS": "git lfs pull",
    "a web page": "a server sent it in place of the picture, so download that again",
    "JSON": "a server sent it in place of the picture, so download that again",
    "PDF": "save its pages as JPEG or PNG",
    "a ZIP": "unpack it",
}
HEIC_SUFFIXES = (".heic", ".heif", ".hif")
JPEG = re.compile(rb"\xff\xd8\xff")
MAX_JPEGS = 64  # that are looked at; pixels of a raw may by chance look like one
MAX_HEADER = 2**20  # bytes of a JPEG before its pixels
ORIENTATION = 0x0112  # EXIF tag
TIFF_MARKS = {b"II": b"II*\0", b"MM": b"MM\0*"}  # order of bytes -> how a TIFF begins
# tags of a TIFF, and values of its colours and of its format
WIDTH, HEIGHT, BITS, COMPRESSION, COLORS, CHANNELS, PLANES = 256, 257, 258, 259, 262, 277, 284
STARTS, SIZES, FORMAT, PROFILE = 273, 279, 339, 34675
RGB, FRACTIONS = 2, 3
# Gray in fractions of 64 bits, in whole numbers of 32, and in 16 bits where white is zero
for order, big, photometric in (b"II", "", 0), (b"II", "", 1), (b"MM", "B", 0), (b"MM", "B", 1):
    OPEN_INFO[order, photometric, (3,), 1, (64,), ()] = ("F", f"F;64{big}F")
    OPEN_INFO[order, photometric, (1,), 1, (32,), ()] = ("F", f"F;32{big}")
    OPEN_INFO[order, photometric, (1,), 1, (16,), ()] = (f"I;16{big}", f"I;16{big}")


def kind_of(data: bytes) -> str | None:
    """The kind of a file, of which the first HEAD bytes are enough but for TGA; None if unknown."""
    head = data[:HEAD].removeprefix(b"\xef\xbb\xbf")  # a mark of UTF-8
    if kind := next((kind for kind, pattern in PATTERNS.items() if pattern.match(head)), None):
        return kind
    return "TGA" if data.endswith(TGA_END) else None


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
    exif.load(TIFF_MARKS[data[:2]] + data[4:])
    return exif.get(ORIENTATION, 1)


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
        colors = kept.reshape(height, width, channels)[..., :3].astype(np.float32)
        return colors, tags.get(PROFILE, b"")
    except Exception:  # no TIFF, or a damaged one
        return None

"""Hostile uploads: (file name, content) by what is wrong with them."""

from __future__ import annotations

import gzip
import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import cache

from PIL import Image

SIGNATURE = b"\x89PNG\r\n\x1a\n"
GRAY, RGB, PALETTE, RGBA = 0, 2, 3, 6  # color types of PNG
ANSWERED, REFUSED, EITHER = "answered", "refused in a sentence", None
ORIENTATION = 0x0112


@cache
def photo() -> Image.Image:
    """No symmetry: every orientation looks different."""
    gradient = Image.linear_gradient("L").resize((48, 32))
    return Image.merge("RGB", [gradient, gradient.rotate(90), Image.radial_gradient("L").resize((48, 32))])


def saved(image: Image.Image, kind: str, **options) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, depth: int, color: int, *chunks: bytes) -> bytes:
    """Of zeros, unless the chunks have their own IDAT."""
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0))
    if not any(one[4:8] == b"IDAT" for one in chunks):
        channels = {GRAY: 1, RGB: 3, PALETTE: 1, RGBA: 4}[color]
        row = bytes(1 + (width * depth * channels + 7) // 8)
        packer = zlib.compressobj(1)
        packed = b"".join([*(packer.compress(row) for _ in range(height)), packer.flush()])
        chunks = (*chunks, chunk(b"IDAT", packed))
    return SIGNATURE + header + b"".join(chunks) + chunk(b"IEND", b"")


def inflated(kind: bytes) -> bytes:
    """A chunk that unpacks to 200 MB."""
    return chunk(kind, b"x\0\0" + zlib.compress(bytes(200 * 2**20), 1))


def oriented(orientation: int, kind: str = "JPEG", **options) -> bytes:
    """The photo, stored as it is, with an EXIF orientation."""
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    return saved(photo(), kind, exif=exif, **options)


def frames(kind: str) -> bytes:
    return saved(photo(), kind, save_all=True, append_images=[photo().rotate(90), photo().rotate(180)])


def zipped(start: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("x.py", "print(1)")
    return start + stream.getvalue()


def raw_exif(kind: int, count: int, after: int = 0) -> bytes:
    """An orientation of any EXIF type and count; after: where the next directory is, 8 being this one itself."""
    entry = struct.pack("<HHII", ORIENTATION, kind, count, 6)
    exif = b"Exif\0\0II*\0" + struct.pack("<I", 8) + struct.pack("<H", 1) + entry + struct.pack("<I", after)
    return with_segment(saved(photo(), "JPEG"), 0xE1, exif)


def noisy_exif() -> bytes:
    return with_segment(saved(photo(), "JPEG"), 0xE1, b"Exif\0\0II*\0" * 999)


def with_segment(jpeg: bytes, marker: int, data: bytes) -> bytes:
    return jpeg[:2] + struct.pack(">BBH", 0xFF, marker, len(data) + 2) + data + jpeg[2:]


def webp(canvas: int) -> bytes:
    """A WebP whose header claims a canvas that it does not have."""
    size = (canvas - 1).to_bytes(3, "little")
    extended = b"VP8X" + struct.pack("<I", 10) + bytes(4) + size + size
    inner = extended + saved(photo(), "WEBP", lossless=True)[12:]
    return b"RIFF" + struct.pack("<I", len(inner) + 4) + b"WEBP" + inner


def jpeg_of(width: int, height: int) -> bytes:
    """A JPEG whose header claims another size."""
    jpeg = bytearray(saved(photo(), "JPEG"))
    at = jpeg.index(b"\xff\xc0")
    jpeg[at + 5 : at + 9] = struct.pack(">HH", height, width)
    return bytes(jpeg)


SVG = b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(2)</script></svg>'
HTML = b"<!doctype html><script>alert(1)</script>"


def cases() -> Iterator[tuple[str, str, Callable[[], bytes], str | None]]:
    """(what it is, file name, its bytes, the outcome of a search with it)."""
    plain = {"PNG": "png", "JPEG": "jpg", "WEBP": "webp"}
    for kind, suffix in plain.items():
        name = f"photo.{suffix}"
        yield f"{kind}", name, lambda kind=kind: saved(photo(), kind), ANSWERED
        yield f"{kind} cut in the middle", name, lambda kind=kind: half(saved(photo(), kind)), REFUSED
        yield f"{kind} cut in its header", name, lambda kind=kind: saved(photo(), kind)[:12], REFUSED
        yield f"{kind} without its end", name, lambda kind=kind: saved(photo(), kind)[:-1], EITHER
        yield f"{kind} and more", name, lambda kind=kind: saved(photo(), kind) + b"\0" * 100_000, ANSWERED
        yield f"{kind} of one pixel", name, lambda kind=kind: saved(photo().resize((1, 1)), kind), ANSWERED
    yield "no bytes", "photo.png", lambda: b"", REFUSED
    yield "one byte", "photo.png", lambda: b"\x89", REFUSED
    yield "text", "photo.png", lambda: b"not a picture", REFUSED
    yield "HTML", "photo.png", lambda: HTML, REFUSED
    yield "SVG", "photo.svg", lambda: SVG, REFUSED
    yield "SVG as PNG", "photo.png", lambda: SVG, REFUSED
    yield "HEIC", "photo.heic", lambda: b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(500), REFUSED
    yield "AVIF as JPEG", "photo.jpg", lambda: b"\0\0\0\x1cftypavif\0\0\0\0avifmif1miaf" + bytes(500), REFUSED
    yield "PDF", "photo.pdf", lambda: b"%PDF-1.4\n1 0 obj <<>> endobj", REFUSED
    yield "EPS as JPEG", "photo.jpg", lambda: b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(x) run", REFUSED
    yield "PSD as JPEG", "photo.jpg", lambda: b"8BPS\0\1" + bytes(6) + struct.pack(">HIIHH", 3, 9, 9, 8, 3), REFUSED
    for kind in ("TIFF", "BMP", "ICO", "GIF", "PPM", "TGA", "DDS", "PCX"):
        yield f"{kind} as JPEG", "photo.jpg", lambda kind=kind: saved(photo(), kind), REFUSED
    yield "animated GIF", "photo.gif", lambda: frames("GIF"), REFUSED
    yield "animated PNG", "photo.png", lambda: frames("PNG"), ANSWERED
    yield "animated WebP", "photo.webp", lambda: frames("WEBP"), ANSWERED
    yield "several JPEGs in one", "photo.jpg", lambda: frames("MPO"), EITHER
    yield "gzip", "photo.png.gz", lambda: gzip.compress(saved(photo(), "PNG")), REFUSED
    # modes
    yield "CMYK", "photo.jpg", lambda: saved(photo().convert("CMYK"), "JPEG"), ANSWERED
    yield "gray JPEG", "photo.jpg", lambda: saved(photo().convert("L"), "JPEG"), ANSWERED
    yield "progressive JPEG", "photo.jpg", lambda: saved(photo(), "JPEG", progressive=True), ANSWERED
    yield "16-bit gray", "photo.png", lambda: saved(photo().convert("L").convert("I;16"), "PNG"), ANSWERED
    yield "16-bit color", "photo.png", lambda: png(40, 30, 16, RGB), ANSWERED
    yield "palette", "photo.png", lambda: saved(photo().convert("P"), "PNG"), ANSWERED
    yield "palette with transparency", "photo.png", lambda: saved(photo().convert("P"), "PNG", transparency=0), ANSWERED
    yield "gray with alpha", "photo.png", lambda: saved(photo().convert("LA"), "PNG"), ANSWERED
    yield "one bit", "photo.png", lambda: saved(photo().convert("1"), "PNG"), ANSWERED
    yield "all transparent", "photo.png", lambda: png(40, 30, 8, RGBA), ANSWERED
    yield "no palette", "photo.png", lambda: png(40, 30, 8, PALETTE), EITHER
    yield "palette of one color", "photo.png", lambda: png(9, 9, 8, PALETTE, chunk(b"PLTE", b"\1\2\3")), ANSWERED
    yield "depth that does not exist", "photo.png", lambda: png(9, 9, 7, GRAY), REFUSED
    # headers
    yield "no width", "photo.png", lambda: png(0, 30, 8, GRAY), REFUSED
    yield "no height", "photo.png", lambda: png(30, 0, 8, GRAY), REFUSED
    yield "bad checksum", "photo.png", lambda: flipped(saved(photo(), "PNG"), 30), REFUSED
    yield "no data", "photo.png", lambda: png(30, 30, 8, GRAY, chunk(b"IDAT", b"")), REFUSED
    yield "data that is not packed", "photo.png", lambda: png(30, 30, 8, GRAY, chunk(b"IDAT", b"x" * 99)), REFUSED
    yield "too little data", "photo.png", lambda: png(30, 30, 8, GRAY, chunk(b"IDAT", zlib.compress(b"x"))), EITHER
    yield "too much data", "photo.png", lambda: png(9, 9, 8, GRAY, chunk(b"IDAT", zlib.compress(bytes(9**6)))), EITHER
    yield "JPEG that claims 65,535 × 65,535", "photo.jpg", lambda: jpeg_of(65_535, 65_535), REFUSED
    yield "JPEG that claims 4,000 × 5,000", "photo.jpg", lambda: jpeg_of(4_000, 5_000), EITHER
    yield "JPEG without height", "photo.jpg", lambda: jpeg_of(40, 0), REFUSED
    yield "WebP that claims 16 million pixels a side", "photo.webp", lambda: webp(2**24), REFUSED
    yield "WebP that claims 4,000 pixels a side", "photo.webp", lambda: webp(4_000), EITHER
    yield "signature and noise", "photo.png", lambda: SIGNATURE + bytes(range(256)) * 40, REFUSED
    # bombs
    yield "900 megapixels", "photo.png", lambda: png(30_000, 30_000, 1, GRAY), REFUSED
    yield "177 megapixels", "photo.png", lambda: png(13_300, 13_300, 8, GRAY), REFUSED
    yield "24 megapixels", "photo.png", lambda: png(4_898, 4_898, 8, RGBA), ANSWERED
    yield "one row too many", "photo.png", lambda: png(4_000, 6_001, 1, GRAY), REFUSED
    yield "1 × 20,000", "photo.png", lambda: png(1, 20_000, 8, GRAY), REFUSED
    yield "12,000 × 1", "photo.png", lambda: png(12_000, 1, 8, GRAY), ANSWERED
    yield "2³¹ − 1 pixels a side", "photo.png", lambda: png(2**31 - 1, 2**31 - 1, 8, GRAY, chunk(b"IDAT", b"")), REFUSED
    for kind in (b"zTXt", b"iCCP"):
        yield f"{kind.decode()} of 200 MB", "photo.png", lambda kind=kind: png(9, 9, 8, GRAY, inflated(kind)), EITHER
    yield "9 MB of text", "photo.png", lambda: png(9, 9, 8, GRAY, chunk(b"tEXt", b"x\0" + b"y" * 9 * 2**20)), EITHER
    yield "10 MB and one byte", "photo.png", lambda: padded(10 * 2**20 + 1), REFUSED
    yield "13 MB", "photo.png", lambda: padded(13 * 2**20), REFUSED
    # EXIF
    for value in (0, 9, 255, 65_535):
        yield f"orientation {value}", "photo.jpg", lambda value=value: oriented(value), ANSWERED
    yield "orientation in words", "photo.jpg", lambda: raw_exif(2, 4), ANSWERED
    yield "a billion orientations", "photo.jpg", lambda: raw_exif(3, 10**9), ANSWERED
    yield (
        "EXIF of noise",
        "photo.jpg",
        lambda: with_segment(saved(photo(), "JPEG"), 0xE1, b"Exif\0\0II*\0" * 999),
        ANSWERED,
    )
    yield "EXIF without end", "photo.jpg", lambda: raw_exif(3, 1, after=8), ANSWERED
    # two kinds in one
    yield "JPEG and ZIP", "photo.jpg", lambda: zipped(saved(photo(), "JPEG")), ANSWERED
    yield "PNG and HTML", "photo.html", lambda: saved(photo(), "PNG") + HTML, ANSWERED
    yield "PNG and PHP", "photo.php", lambda: png(9, 9, 8, GRAY, chunk(b"tEXt", b"x\0<?php system('id'); ?>")), ANSWERED
    yield "GIF and JavaScript", "photo.js", lambda: b"GIF89a/*" + bytes(99) + b"*/=1;alert(1)", REFUSED


def half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


def padded(size: int) -> bytes:
    """A picture of this many bytes."""
    image = saved(photo(), "PNG")
    return image + bytes(size - len(image))


NAMES = [
    *("photo", ".png", "..", "photo.txt", "photo.exe", "photo.html", "photo.svg", "PHOTO.PNG ", "photo.png."),
    *("../../../etc/cron.d/x.png", "/etc/passwd", "C:\\x.png", "..\\..\\x.png", "%2e%2e%2fx.png", "a/b/c.png"),
    *("x" * 300 + ".png", "é" * 200 + ".png", "\u202egnp.exe", "a\0b.png", "a\nb.png", 'a"b.png', "a;b.png", "😀.png"),
    *("<img src=x onerror=alert(1)>.png", "$(id).png", "-rf.png", "con.png", "photo.png::$DATA", " "),
]

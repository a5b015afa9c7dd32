"""Open images: the only module that decodes any.

Images of collections and of visitors pass the same checks: few formats, limits on bytes and pixels
before decoding, and a one-sentence error. The limits of one's own disk are those of cameras and
scanners, and those of the page are tighter.
"""

import io
import os
import stat
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from PIL import Image, UnidentifiedImageError
from PIL.ImageFile import ImageFile
from PIL.JpegImagePlugin import JpegImageFile

from genius.collections.colors import (
    eight_bits,
    in_srgb,
    is_dark,
    levels_of,
    low_bytes,
    of_both_bytes,
    on_white,
)
from genius.collections.formats import (
    ADVICE,
    HEIC_SUFFIXES,
    ORIENTATION,
    RAW_SUFFIXES,
    embedded_jpeg,
    in_own_order,
    kind_of,
    read_fractions,
)
from genius.errors import UserError

# left, top, right, bottom of an upright image; 0 to 1 of its width or height
Part = tuple[float, float, float, float]

if HEIC := find_spec("pillow_heif") is not None:  # an extra
    import_module("pillow_heif").register_heif_opener(thumbnails=False)
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "DIB", "TIFF", "AVIF", *("HEIF",) * HEIC)
SUFFIXES = (
    *(".png", ".jpg", ".jpeg", ".webp", ".jpe", ".jfif", ".jif", ".gif", ".bmp", ".dib"),
    *(".tif", ".tiff", ".avif"),
    *HEIC_SUFFIXES * HEIC,
    *RAW_SUFFIXES,
)
READABLE = frozenset(("PNG", "JPEG", "WebP", "GIF", "BMP", "TIFF", "AVIF", *("HEIC",) * HEIC))
NAMES = "PNG, JPEG, WebP, GIF, BMP, TIFF or AVIF"


@dataclass(frozen=True)
class Limits:
    """What is opened at most."""

    bytes: int
    pixels: int
    jpeg_pixels: int  # of a JPEG, which is decoded at a smaller size
    side: int


PAGE = Limits(10 * 2**20, 24_000_000, 64_000_000, 12_000)  # for what visitors send
DISK = Limits(512 * 2**20, 120_000_000, 178_000_000, 65_535)  # a bomb takes a gigabyte of memory
MAX_FULL = 24_000_000  # pixels; a larger JPEG, such as a telephone's, is decoded at half its size
MAX_DECODING = 24_000_000  # pixels that a process decodes together; each takes up to 11 bytes
# pixels; a JPEG is decoded with twice the side that is wanted, but not more than these unless
# wanted. At 260 pixels a photograph of 12 megapixels differs by 0.4 of 255 levels, in less than
# half the time
ENOUGH = 1024
# pixels; decoding a JPEG at this size still reads all of its data, in a fraction of the time
CHECKED_SIDE = 256
SHOWN = 100  # characters of a file name in a message
MAX_EXIF = 2**16  # bytes
UPRIGHT = {  # EXIF orientation -> the transposition that makes the image upright
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


def open_image(
    source: Path | str | bytes | Image.Image,
    *,
    max_side: int | None = None,
    part: Part | None = None,
    name: str = "the image",
    limits: Limits = DISK,
) -> Image.Image:
    """Decode an image, of several the first, into an upright sRGB image on white.

    source: a file, the encoded bytes, or what Pillow made of them. part: crop the upright image to
    it. max_side: shrink the image, or its part, so that no side is longer. name: what messages call
    bytes, whose suffix tells a camera raw. Raises UserError for any other format, a damaged image
    or one that is too large.
    """
    name = Path(source).name if isinstance(source, Path | str) else name
    image = image_header(source, name, limits)
    name = name[:SHOWN]
    with _image_errors(name):
        if max_side and part is None:
            reduced = max(max_side, min(2 * max_side, ENOUGH))
            image.draft(None, (reduced, reduced))  # decode a JPEG at reduced size
        if image.width * image.height > MAX_FULL:
            image.draft(None, (image.width // 2, image.height // 2))
    with _decoding.reserve(image.width * image.height), _image_errors(name):
        deep = low_bytes(image)
        image.load()
        info = image.info
        turn = _turn(image)
        if deep and source is not image and is_dark(image):
            low = image_header(source, name, limits)
            assert isinstance(low, ImageFile), "as the image, it has tiles"
            low.tile = deep
            image = of_both_bytes(image, low)
        image = eight_bits(image)
        image = on_white(_cropped(image if turn is None else image.transpose(turn), part))
        if max_side:
            image = image.copy() if image is source else image
            image.thumbnail((max_side, max_side), Image.Resampling.LANCZOS)
        return in_srgb(image, info)


def image_header(
    source: Path | str | bytes | Image.Image, name: str = "the image", limits: Limits = DISK
) -> Image.Image:
    """An image that is within the limits, not decoded yet. Raises UserError like `open_image`."""
    name = Path(source).name if isinstance(source, Path | str) else name
    is_raw = Path(name).suffix.lower() in RAW_SUFFIXES
    name = name[:SHOWN]
    image: Image.Image | None
    if isinstance(source, Image.Image):
        image = source
    else:
        data = source if isinstance(source, bytes) else read_image_file(source, limits)
        _check_bytes(len(data), name, limits)
        with _image_errors(name, data), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about large images, which _check_pixels refuses
            image = embedded_jpeg(data, _jpeg) if is_raw else _opened(data)
        if image is None:
            raise UserError(f"{name} holds no JPEG that shows it; develop camera raws to JPEG")
    _check_pixels(image, name, limits)
    return image


def _opened(data: bytes) -> Image.Image:
    try:
        return in_own_order(Image.open(io.BytesIO(data), formats=FORMATS))
    except UnidentifiedImageError:
        if (known := read_fractions(data)) is None:
            raise
        image = Image.fromarray(levels_of(known[0]))
        image.info["icc_profile"] = known[1]
        return image


def _jpeg(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data), formats=("JPEG",))


def check_image(file: Path | str, data: bytes | None = None) -> Image.Image:
    """Decode a whole image; returns it small. data: of the file, if it was read already.

    Raises UserError like `open_image`.
    """
    return open_image(file if data is None else data, max_side=CHECKED_SIDE, name=Path(file).name)


def thumbnail(source: Path | str | bytes, side: int, quality: int = 80) -> bytes:
    """WebP bytes of the image with no side longer than `side` pixels. Raises UserError like
    `open_image`.
    """
    stream = io.BytesIO()
    open_image(source, max_side=side).save(stream, "WEBP", quality=quality)
    return stream.getvalue()


def read_image_file(file: Path | str, limits: Limits = DISK) -> bytes:
    """The bytes of a regular file. Raises UserError if it is missing, not a regular file, empty or
    too large.
    """
    file = Path(file)
    name = file.name[:SHOWN]
    try:
        status = file.stat()
        if not stat.S_ISREG(status.st_mode):  # a pipe would block, a device would not end
            raise UserError(f"{name} is not a file; name an image file")
        _check_bytes(status.st_size, name, limits)
        return file.read_bytes()
    except FileNotFoundError:
        raise UserError(
            f"{name} is missing; restore the file, or remove the line or the link that names it"
        ) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{name} cannot be read ({reason})") from None


class _PixelBudget:
    """Bounds the pixels that are decoded at the same time: a few kilobytes can expand to hundreds
    of megabytes.
    """

    def __init__(self, limit: int):
        self.limit = limit
        self.reset()

    def reset(self) -> None:
        self._free = threading.Condition()
        self._used = 0

    @contextmanager
    def reserve(self, pixels: int) -> Iterator[None]:
        """Wait until the pixels fit; an image above the limit waits until it is alone."""
        with self._free:
            self._free.wait_for(lambda: not self._used or self._used + pixels <= self.limit)
            self._used += pixels
        try:
            yield
        finally:
            with self._free:
                self._used -= pixels
                self._free.notify_all()


_decoding = _PixelBudget(MAX_DECODING)
if hasattr(os, "register_at_fork"):
    # a thread that the child does not have may hold it
    os.register_at_fork(after_in_child=_decoding.reset)


@contextmanager
def _image_errors(name: str, data: bytes = b"") -> Iterator[None]:
    """Turn whatever Pillow raises into a UserError."""
    try:
        yield
    except UserError:
        raise
    except UnidentifiedImageError:
        raise UserError(f"{name} is not a readable {NAMES} image; {_advice(data)}") from None
    except Image.DecompressionBombError:
        raise UserError(f"{name} has too many pixels; save a smaller copy") from None
    except Exception as error:  # Pillow's decoders raise almost any exception on damaged data
        raise UserError(
            f"{name} is a damaged image ({error or type(error).__name__}); export or "
            "download it again"
        ) from None


def _advice(data: bytes) -> str:
    kind = kind_of(data)
    if kind is None:
        return "save it as one of these"
    if kind in READABLE and kind != "TIFF":
        return f"it is damaged {kind}: export or download it again"
    return f"it is {kind}: {ADVICE.get(kind, 'save it as JPEG or PNG')}"


def _check_bytes(size: int, name: str, limits: Limits) -> None:
    if size == 0:
        raise UserError(f"{name} is empty; export or download it again")
    if size > limits.bytes:
        raise UserError(
            f"{name} has {size / 2**20:.1f} MB; the limit is {limits.bytes / 2**20:.0f} "
            "MB; save a smaller copy"
        )


def _check_pixels(image: Image.Image, name: str, limits: Limits) -> None:
    width, height = image.size
    limit = limits.jpeg_pixels if isinstance(image, JpegImageFile) else limits.pixels
    if width * height > limit or max(width, height) > limits.side:
        raise UserError(
            f"{name} has {width} × {height} pixels; the limit is {limit / 1e6:.0f} "
            f"megapixels and {limits.side} pixels per side; save a smaller copy"
        )


def _turn(image: Image.Image) -> Image.Transpose | None:
    """The transposition that the EXIF orientation asks for.

    ImageOps.exif_transpose would also rewrite the whole EXIF block, which a hostile file can make
    slow. A block that is larger than a JPEG's can be is not read: its entries may share their
    bytes, and take a thousand times as many.
    """
    if len(image.info.get("exif", b"")) > MAX_EXIF:
        return None
    try:
        orientation = image.getexif().get(ORIENTATION)
    except Exception:  # an unreadable EXIF block does not affect the pixels
        return None
    return UPRIGHT.get(orientation) if isinstance(orientation, int) else None


def _cropped(image: Image.Image, part: Part | None) -> Image.Image:
    """The part of an image, at least one pixel; None: the whole image."""
    if part is None:
        return image
    (width, height), (left, top, right, bottom) = image.size, part
    x = min(int(left * width), width - 1)
    y = min(int(top * height), height - 1)
    return image.crop((x, y, max(round(right * width), x + 1), max(round(bottom * height), y + 1)))

"""Open images: the only module that decodes any.

Images of collections and of visitors pass the same checks: few formats, limits on bytes and pixels before decoding,
and a one-sentence error.
"""

import io
import os
import stat
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from PIL import Image, UnidentifiedImageError
from PIL.JpegImagePlugin import JpegImageFile

from genius.errors import UserError

Part = tuple[float, float, float, float]  # left, top, right, bottom of an upright image; 0 to 1 of its width or height

if HEIC := find_spec("pillow_heif") is not None:  # optional: pip install pillow-heif
    import_module("pillow_heif").register_heif_opener(thumbnails=False)
HEIC_FORMAT, HEIC_SUFFIXES = (("HEIF",), (".heic", ".heif", ".hif")) if HEIC else ((), ())
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "DIB", "TIFF", "AVIF", *HEIC_FORMAT)
SUFFIXES = (
    *(".png", ".jpg", ".jpeg", ".webp", ".jpe", ".jfif", ".jif", ".gif", ".bmp", ".dib", ".tif", ".tiff", ".avif"),
    *HEIC_SUFFIXES,
)
NAMES = "PNG, JPEG, WebP, GIF, BMP, TIFF or AVIF"
MAX_BYTES = 10 * 2**20
MAX_PIXELS = 24_000_000  # that are decoded
MAX_JPEG_PIXELS = 64_000_000  # of a JPEG, such as a telephone's: a large one is decoded at half its size
MAX_SIDE = 12_000
MAX_DECODING = MAX_PIXELS  # pixels that a process decodes at the same time; each takes up to 11 bytes meanwhile
ENOUGH = 1024  # pixels; a JPEG is decoded with twice the side that is wanted, but not more than these unless wanted.
#                At 260 pixels a photograph of 12 megapixels differs by 0.4 of 255 levels, in less than half the time
CHECKED_SIDE = 256  # pixels; decoding a JPEG at this size still reads all of its data, in a fraction of the time
SHOWN = 100  # characters of a file name in a message
ORIENTATION = 0x0112  # EXIF tag
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
) -> Image.Image:
    """Decode an image, of several the first, into an upright RGB image on white.

    source: a file, the encoded bytes, or what Pillow made of them. part: crop the upright image to it. max_side: shrink
    the image, or its part, so that no side is longer. name: what messages call bytes.
    Raises UserError for any other format, a damaged image or one that is too large.
    """
    if isinstance(source, Image.Image):
        image = source
    else:
        name = name[:SHOWN] if isinstance(source, bytes) else Path(source).name[:SHOWN]
        image = image_header(source if isinstance(source, bytes) else read_image_file(source), name)
    with _image_errors(name):
        _check_size(image, name)
        if max_side and part is None:
            reduced = max(max_side, min(2 * max_side, ENOUGH))
            image.draft(None, (reduced, reduced))  # decode a JPEG at reduced size
        if image.width * image.height > MAX_PIXELS:
            image.draft(None, (image.width // 2, image.height // 2))
    with _decoding.reserve(image.width * image.height):
        with _image_errors(name):
            image.load()
        image = _on_white(_cropped(_upright(image), part))
        if max_side:
            image.thumbnail((max_side, max_side), Image.Resampling.LANCZOS)
    return image


def image_header(data: bytes, name: str) -> Image.Image:
    """An image that `open_image` may decode. Raises UserError for any other format and for too many bytes."""
    _check_bytes(len(data), name)
    with _image_errors(name, data), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow warns about large images; _check_size refuses them
        return Image.open(io.BytesIO(data), formats=FORMATS)


def check_image(file: Path | str, data: bytes | None = None) -> Image.Image:
    """Decode a whole image; returns it small. data: of the file, if it was read already.

    Raises UserError like `open_image`.
    """
    return open_image(file if data is None else data, max_side=CHECKED_SIDE, name=Path(file).name)


def thumbnail(source: Path | str | bytes, side: int, quality: int = 80) -> bytes:
    """WebP bytes of the image with no side longer than `side` pixels. Raises UserError like `open_image`."""
    stream = io.BytesIO()
    open_image(source, max_side=side).save(stream, "WEBP", quality=quality)
    return stream.getvalue()


def read_image_file(file: Path | str) -> bytes:
    """The bytes of a regular file. Raises UserError if it is missing, not a regular file, empty or too large."""
    file = Path(file)
    name = file.name[:SHOWN]
    try:
        status = file.stat()
        if not stat.S_ISREG(status.st_mode):  # a pipe would block, a device would not end
            raise UserError(f"{name} is not a file; name an image file")
        _check_bytes(status.st_size, name)
        return file.read_bytes()
    except FileNotFoundError:
        raise UserError(f"{name} is missing; restore the file, or remove the line or the link that names it") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{name} cannot be read ({reason})") from None


class _PixelBudget:
    """Bounds the pixels that are decoded at the same time: a few kilobytes can expand to hundreds of megabytes."""

    def __init__(self, limit: int):
        self.limit = limit
        self.reset()

    def reset(self) -> None:
        self._free, self._used = threading.Condition(), 0

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
    os.register_at_fork(after_in_child=_decoding.reset)  # a thread that the child does not have may hold it


@contextmanager
def _image_errors(name: str, data: bytes = b"") -> Iterator[None]:
    """Turn whatever Pillow raises into a UserError."""
    try:
        yield
    except UserError:
        raise
    except UnidentifiedImageError:
        raise UserError(f"{name} is not a readable {NAMES} image; {_advice(name, data)}") from None
    except Image.DecompressionBombError:
        raise UserError(f"{name} has too many pixels; shrink it below {MAX_PIXELS / 1e6:.0f} megapixels") from None
    except Exception as error:  # Pillow's decoders raise almost any exception on damaged data
        raise UserError(
            f"{name} is a damaged image ({error or type(error).__name__}); export or download it again"
        ) from None


def _advice(name: str, data: bytes) -> str:
    if data.startswith(b"version https://git-lfs"):
        return "it is a pointer of Git LFS: git lfs pull"
    if data[4:8] == b"ftyp" and not HEIC and data[8:12] != b"avif":
        return "if it is HEIC: pip install pillow-heif, or export it as JPEG"
    return "save it as one of these"


def _check_bytes(size: int, name: str) -> None:
    if size == 0:
        raise UserError(f"{name} is empty; export or download it again")
    if size > MAX_BYTES:
        raise UserError(
            f"{name} has {size / 2**20:.1f} MB; the limit is {MAX_BYTES / 2**20:.0f} MB; save a smaller copy"
        )


def _check_size(image: Image.Image, name: str) -> None:
    width, height = image.size
    limit = MAX_JPEG_PIXELS if isinstance(image, JpegImageFile) else MAX_PIXELS
    if width * height > limit or max(width, height) > MAX_SIDE:
        raise UserError(
            f"{name} has {width} × {height} pixels; the limit is {limit / 1e6:.0f} "
            f"megapixels and {MAX_SIDE} pixels per side; save a smaller copy"
        )


def _upright(image: Image.Image) -> Image.Image:
    """Apply the EXIF orientation.

    ImageOps.exif_transpose would also rewrite the whole EXIF block, which a hostile file can make slow.
    """
    try:
        orientation = image.getexif().get(ORIENTATION)
    except Exception:  # an unreadable EXIF block does not affect the pixels
        return image
    turn = UPRIGHT.get(orientation) if isinstance(orientation, int) else None
    return image if turn is None else image.transpose(turn)


def _cropped(image: Image.Image, part: Part | None) -> Image.Image:
    """The part of an image, at least one pixel; None: the whole image."""
    if part is None:
        return image
    (width, height), (left, top, right, bottom) = image.size, part
    x, y = min(int(left * width), width - 1), min(int(top * height), height - 1)
    return image.crop((x, y, max(round(right * width), x + 1), max(round(bottom * height), y + 1)))


def _on_white(image: Image.Image) -> Image.Image:
    """Convert any mode to RGB: scale 16-bit gray (Pillow would clip it), put transparency on white."""
    if image.mode[0] in "IF":
        gray = np.nan_to_num(np.asarray(image).astype(np.float32))  # (h, w) 0 to 65535; fractions: 0 to 1, or to 255
        levels = 65535 if image.mode[0] == "I" else 1 if gray.max() <= 1 else 255
        clear = image.info.get("transparency")
        if isinstance(clear, int):
            gray[gray == clear] = levels
        np.clip(gray, 0, levels, out=gray)
        gray *= 255 / levels
        return Image.fromarray(gray.round(out=gray).astype(np.uint8)).convert("RGB")
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        rgba = image if image.mode == "RGBA" else image.convert("RGBA")  # a copy may have a hundred megabytes
        white = Image.new("RGB", rgba.size, "white")
        white.paste(rgba, mask=rgba)
        return white
    return image.convert("RGB")

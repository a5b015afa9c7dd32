"""What the numbers of a decoded picture mean: any depth and colour space becomes 8-bit sRGB."""

import re
import sys
from collections.abc import Mapping
from functools import lru_cache
from io import BytesIO
from itertools import product
from typing import Any

import numpy as np
from PIL import Image, ImageCms
from PIL.TiffImagePlugin import PHOTOMETRIC_INTERPRETATION

MAX_PROFILE = 10 * 2**20  # bytes; those of printing presses have up to nine million
MODES = {"RGB ": "RGB", "GRAY": "L", "CMYK": "CMYK"}  # colour space of a profile -> of a picture
DEEP = re.compile(r"(RGB[AX]?;16)([BLN])")  # raw modes of Pillow
OTHER_ORDER = {"B": "L", "L": "B", "N": "B" if sys.byteorder == "little" else "L"}
SRGB = ImageCms.createProfile("sRGB")
INTENT = ImageCms.Intent.RELATIVE_COLORIMETRIC
BLACK_IS_BLACK = ImageCms.Flags.BLACKPOINTCOMPENSATION
SAME = 2  # of 255 levels: a profile that changes no colour by more is sRGB
SRGB_GAMMA, SAME_GAMMA = 1 / 2.2, 0.025  # of PNGs, and what differs by more is not sRGB
LEAST_GAMMA, MOST_GAMMA = 0.25, 1.25  # any other is an error of its writer
RANGES = (1, 255, 1023, 4095, 16383, 65535)  # fractions, and numbers of 8 to 16 bits
USED = 1 / 8  # of a range at least; numbers that are all below it have another one
NO_NUMBER = 1e30  # what maps put where they know no height is larger, below zero
SAMPLED_NUMBERS = 1_000_000  # numbers that tell which are rare


def eight_bits(image: Image.Image) -> Image.Image:
    """An image of 8 bits a channel. Gray of more bits, signed or of fractions is scaled."""
    if image.mode[0] not in "IF":
        return image
    gray = np.asarray(image).astype(np.float32)  # (h, w)
    clear = image.info.get("transparency")
    hidden = gray == clear if isinstance(clear, int) else False
    levels = levels_of(gray)
    if getattr(image, "tag_v2", {}).get(PHOTOMETRIC_INTERPRETATION) == 0:  # white is zero
        np.subtract(255, levels, out=levels)
    levels[hidden] = 255
    return Image.fromarray(levels)


def low_bytes(image: Image.Image) -> list[Any]:
    """The tiles by which Pillow, which keeps the high byte of 16 bits, decodes the low ones; empty
    for other images.

    Raw modes name the order of the bytes: in the other order the low byte is the first.
    """
    tiles = []
    for tile in getattr(image, "tile", ()):
        mode, *rest = (tile.args,) if isinstance(tile.args, str) else tile.args or ("",)
        if not isinstance(mode, str) or not (match := DEEP.fullmatch(mode)):
            return []
        other = match[1] + OTHER_ORDER[match[2]]
        tiles.append(tile._replace(args=(other, *rest) if rest else other))
    return tiles


def is_dark(image: Image.Image) -> bool:
    """Whether all high bytes of colours are those of numbers of 12 bits at most."""
    bands: Any = image.getextrema()  # (low, high) of each: it has several
    return max(high for _, high in bands[:3]) < 16


def of_both_bytes(high: Image.Image, low: Image.Image) -> Image.Image:
    """An RGB image of 8 bits, scaled by the range that the numbers of 16 bits use, as gray is."""
    whole, below = (np.asarray(each)[..., :3].astype(np.float32) for each in (high, low))
    levels = Image.fromarray(levels_of(whole * 256 + below))
    if high.mode == "RGBA":
        levels.putalpha(high.getchannel("A"))
    return levels


def levels_of(numbers: np.ndarray) -> np.ndarray:
    """Numbers (h, w, …) of float32 as levels from 0 to 255, scaled by their range; overwrites the
    numbers."""
    low, high = _range(numbers)
    np.clip(numbers, low, high, out=numbers)
    np.nan_to_num(numbers, copy=False, nan=low)
    numbers -= low
    numbers *= 255 / (high - low)
    return numbers.round(out=numbers).astype(np.uint8)


def _range(numbers: np.ndarray) -> tuple[float, float]:
    """What is black and what is white: zero, or the least number below it, and the smallest of
    RANGES that holds all numbers; where they hardly use it, or none does, the least and the
    greatest number, without the rarest."""
    known = np.abs(numbers) < NO_NUMBER
    low = float(numbers.min(where=known, initial=0))
    high = float(numbers.max(where=known, initial=low))
    levels = next((levels for levels in RANGES if levels >= high), np.inf)
    if high >= levels * USED:
        return low, float(levels)
    step = max(1, numbers.size // SAMPLED_NUMBERS)
    some = numbers.ravel()[::step][known.ravel()[::step]]
    if len(some):
        low, high = map(float, np.percentile(some, (0.1, 99.9)))
    return low, high if high > low else low + 1


def on_white(image: Image.Image) -> Image.Image:
    """Put transparency on white. Returns mode L, RGB or CMYK, in the image's own colour space."""
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        rgba = image if image.mode == "RGBA" else image.convert("RGBA")  # a copy may be large
        white = Image.new("RGB", rgba.size, "white")
        white.paste(rgba, mask=rgba)
        return white.convert("L") if image.mode in ("L", "LA") else white
    if image.mode in MODES.values():
        return image
    return image.convert("L" if image.mode == "1" else "RGB")


def in_srgb(image: Image.Image, info: Mapping[Any, Any]) -> Image.Image:
    """An RGB image without a profile, of one in mode L, RGB or CMYK.

    info: `Image.info` of the file, which may have an ICC profile, or a PNG's gamma. A profile that
    is damaged, or of another kind of image, is ignored.
    """
    profile = info.get("icc_profile")
    gamma = SRGB_GAMMA if "srgb" in info else info.get("gamma", SRGB_GAMMA)
    if isinstance(profile, bytes) and profile:
        mode, transform = _to_srgb(profile) if len(profile) <= MAX_PROFILE else ("", None)
        if transform and (image.mode == mode or (image.mode, mode) == ("L", "RGB")):
            image = transform.apply(image if image.mode == mode else image.convert(mode))
    elif LEAST_GAMMA < gamma < MOST_GAMMA and abs(gamma - SRGB_GAMMA) > SAME_GAMMA:
        light = (np.arange(256) / 255) ** (1 / gamma)
        levels = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
        image = image.convert("RGB").point((levels * 255).round().astype(int).tolist() * 3)
    image = image.convert("RGB")
    image.info = {}
    return image


@lru_cache(8)
def _to_srgb(profile: bytes) -> tuple[str, ImageCms.ImageCmsTransform | None]:
    """(mode, what makes sRGB of its images); None for sRGB, and for a profile of no use."""
    if b"mpet" in profile:  # as many steps as its writer likes: time without a bound
        return "", None
    try:
        opened = ImageCms.ImageCmsProfile(BytesIO(profile))
        mode = MODES[opened.profile.xcolor_space]
        transform = ImageCms.buildTransform(opened, SRGB, mode, "RGB", INTENT, BLACK_IS_BLACK)
        if mode == "RGB":
            colors = np.array([list(product(range(0, 256, 51), repeat=3))], dtype=np.uint8)
            made = np.asarray(transform.apply(Image.fromarray(colors)))
            if np.abs(made.astype(int) - colors).max() <= SAME:
                return mode, None
        return mode, transform
    except Exception:  # whatever Pillow and LittleCMS make of a damaged profile
        return "", None

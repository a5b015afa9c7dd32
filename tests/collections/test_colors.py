"""What pictures of any depth and colour space look like: as their twins of 8 bits in sRGB."""

import struct
import zlib
from functools import partial
from io import BytesIO
from itertools import product

import numpy as np
import pytest
from PIL import Image, ImageCms, PngImagePlugin

from genius.collections.images import open_image, thumbnail
from genius.errors import UserError
from tests.collections.samples import encoded, png

RAMP = np.tile(np.linspace(0, 1, 96), (4, 1))
SCENE = Image.fromarray(
    np.random.default_rng(0).integers(0, 256, (8, 8, 3), dtype=np.uint8)
).resize((32, 32))
CURVE = b"curv\0\0\0\0" + struct.pack(">IH", 1, 2 * 256) + bytes(2)  # gamma 2
LINEAR = b"curv\0\0\0\0" + struct.pack(">I", 0)


def fixed(*numbers: float) -> bytes:
    return b"".join(struct.pack(">i", round(number * 65536)) for number in numbers)


def profile(space: bytes, tags: dict[bytes, bytes], connection: bytes = b"XYZ ") -> bytes:
    """An ICC profile of version 4."""
    text = (
        b"mluc\0\0\0\0"
        + struct.pack(">II", 1, 12)
        + b"enUS"
        + struct.pack(">II", 2, 28)
        + b"\0x\0\0"
    )
    white = b"XYZ \0\0\0\0" + fixed(0.9642, 1, 0.8249)
    tags = {b"desc": text, b"cprt": text, b"wtpt": white} | tags
    at = 132 + 12 * len(tags)
    table = b""
    body = b""
    for tag, data in tags.items():
        table += tag + struct.pack(">II", at + len(body), len(data))
        body += data + bytes(-len(data) % 4)
    kind = b"prtr" if space == b"CMYK" else b"mntr"
    head = struct.pack(">I4sI4s4s4s", at + len(body), b"", 0x04300000, kind, space, connection)
    head += (
        struct.pack(">6H", 2026, 1, 1, 0, 0, 0)
        + b"acsp"
        + bytes(28)
        + fixed(0.9642, 1, 0.8249)
        + bytes(48)
    )
    return head + struct.pack(">I", len(tags)) + table + body


def rgb_profile(*columns: tuple[float, float, float], curve: bytes = CURVE) -> bytes:
    names = zip((b"rXYZ", b"gXYZ", b"bXYZ"), columns, strict=True)
    tags = {name: b"XYZ \0\0\0\0" + fixed(*column) for name, column in names}
    return profile(b"RGB ", tags | dict.fromkeys((b"rTRC", b"gTRC", b"bTRC"), curve))


def press() -> bytes:
    """A CMYK profile of a press whose first ink is red, and whose others are nothing."""
    red, paper = (136, 208, 195), (255, 128, 128)  # L*, a* and b*
    inks = b"".join(bytes(red if inks[0] else paper) for inks in product((0, 1), repeat=4))
    lut = b"mft1\0\0\0\0" + bytes((4, 3, 2, 0)) + fixed(1, 0, 0, 0, 1, 0, 0, 0, 1)
    return profile(
        b"CMYK", {b"A2B0": lut + bytes(range(256)) * 4 + inks + bytes(range(256)) * 3}, b"Lab "
    )


# of sRGB
RED = (0.4361, 0.2225, 0.0139)
GREEN = (0.3851, 0.7169, 0.0971)
BLUE = (0.1431, 0.0606, 0.7141)
P3 = rgb_profile((0.5151, 0.2412, -0.0011), (0.2920, 0.6922, 0.0419), (0.1571, 0.0666, 0.7841))
PROPHOTO = rgb_profile((0.7977, 0.2880, 0), (0.1352, 0.7119, 0), (0.0313, 0.0001, 0.8249))
SWAPPED = rgb_profile(GREEN, BLUE, RED)
SRGB = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB"))
GRAY = profile(b"GRAY", {b"kTRC": LINEAR})


def difference(one: Image.Image | bytes, other: Image.Image) -> float:
    """Of 255 levels, on average."""
    one = open_image(one) if isinstance(one, bytes) else one
    return float(np.abs(np.asarray(one, dtype=float) - np.asarray(other.convert("RGB"))).mean())


@pytest.mark.parametrize(
    "form", [{"form": "PNG"}, {"form": "WEBP", "lossless": True}, {"form": "TIFF"}]
)
@pytest.mark.parametrize("colors", [P3, PROPHOTO, SWAPPED])
def test_a_picture_and_its_thumbnail_have_the_colours_of_their_twin_in_srgb(colors, form):
    stored = ImageCms.profileToProfile(SCENE, SRGB, ImageCms.getOpenProfile(BytesIO(colors)), 1)
    assert difference(stored, SCENE) > 5
    data = encoded(stored, icc_profile=colors, **form)
    assert difference(data, SCENE) < 2
    small, twin = (Image.open(BytesIO(thumbnail(of, 32, 100))) for of in (data, encoded(SCENE)))
    assert "icc_profile" not in small.info and difference(small, twin) < 2


def test_transparency_and_gray_have_the_colours_of_their_profiles():
    clear = Image.new("RGBA", (2, 1), (0, 255, 0, 255))
    clear.putpixel((1, 0), (9, 9, 9, 0))
    ((seen, white),) = np.asarray(open_image(encoded(clear, icc_profile=SWAPPED)), dtype=int)
    assert np.abs(seen - (0, 0, 255)).max() <= 2 and white.tolist() == [255] * 3
    for mode in ("L", "LA"):
        half = open_image(encoded(Image.new("L", (2, 2), 128).convert(mode), icc_profile=GRAY))
        assert half.getpixel((0, 0)) == (188, 188, 188)  # half of the light
    linear = rgb_profile(RED, GREEN, BLUE, curve=LINEAR)
    half = open_image(encoded(Image.new("L", (2, 2), 128), icc_profile=linear))
    assert np.abs(np.subtract(half.getpixel((0, 0)), 188)).max() <= 1


def test_inks_have_the_colours_of_their_press():
    ink = Image.new("CMYK", (4, 4), (255, 0, 0, 0))
    seen = open_image(encoded(ink, "TIFF", icc_profile=press())).getpixel((0, 0))
    assert np.abs(np.subtract(seen, (255, 0, 0))).max() <= 10
    assert open_image(encoded(ink, "TIFF")).getpixel((0, 0)) == (0, 255, 255)


@pytest.mark.parametrize(
    "bad", [b"junk" * 64, P3[:300], P3.replace(b"XYZ ", b"mpet"), GRAY, b"", bytes(11 * 2**20)]
)
def test_a_profile_that_is_damaged_or_of_another_kind_does_no_harm(bad):
    assert difference(encoded(SCENE, "TIFF", icc_profile=bad), SCENE) == 0


def test_a_picture_in_srgb_is_not_converted(monkeypatch):
    data = encoded(SCENE, icc_profile=SRGB.tobytes())
    assert difference(data, SCENE) == 0
    monkeypatch.setattr(ImageCms.ImageCmsTransform, "apply", None)  # the profile is known by now
    assert difference(data, SCENE) == 0


@pytest.mark.parametrize(
    "gamma, level", [(1.0, 188), (0.45455, 128), (1 / 1.8, 146), (0, 128), (1e-5, 128), (9, 128)]
)
def test_a_png_is_shown_by_its_gamma(gamma, level):
    chunks = PngImagePlugin.PngInfo()
    chunks.add(b"gAMA", struct.pack(">I", round(gamma * 100_000)))
    for mode in ("L", "RGB"):
        data = encoded(Image.new(mode, (2, 2), (128,) * len(mode)), pnginfo=chunks)
        assert np.abs(np.subtract(open_image(data).getpixel((0, 0)), level)).max() <= 1
    chunks.add(b"sRGB", b"\0")
    seen = open_image(encoded(Image.new("L", (2, 2), 128), pnginfo=chunks))
    assert seen.getpixel((0, 0)) == (128, 128, 128)


def tiff(
    values: np.ndarray, photometric: int = 1, order: str = "<", tags: dict[int, int] | None = None
) -> bytes:
    """A TIFF of one strip, as programs of science write it. values (h, w) or (h, w, channels)."""
    height, width, channels = (*values.shape, 1)[:3]
    data = values.astype(values.dtype.newbyteorder(order)).tobytes()
    if tags == COMPRESSED:
        data = zlib.compress(data) + bytes(9)
        data = data[: len(data) // 2 * 2]
    kind = {"u": 1, "i": 2, "f": 3}[values.dtype.kind]
    own = {256: width, 257: height, 258: values.dtype.itemsize * 8, 259: 1, 262: photometric}
    own |= {273: 8, 277: channels, 278: height, 279: len(data), 339: kind} | (tags or {})
    entries = b"".join(struct.pack(order + "HHII", tag, 4, 1, own[tag]) for tag in sorted(own))
    head = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "I", 8 + len(data))
    return head + data + struct.pack(order + "H", len(own)) + entries + bytes(4)


COMPRESSED = {259: 8}
TWIN = Image.fromarray((RAMP * 255).round().astype(np.uint8))
RAMPS = {
    "12 bits in 16": (RAMP * 4095).astype(np.uint16),
    "16 bits": (RAMP * 65535).astype(np.uint16),
    "signed, of a tomograph": (RAMP * 2000 - 1000).astype(np.int16),
    "32 bits": (RAMP * (2**32 - 1)).astype(np.uint32),
    "up to 1.02": (RAMP * 1.02).astype(np.float32),
    "a little below zero": (RAMP * 1.02 - 0.01).astype(np.float32),
    "up to 255": (RAMP * 255).astype(np.float32),
    "up to 65535": (RAMP * 65535).astype(np.float32),
    "large": (RAMP * 1e9).astype(np.float32),
    "negative": (RAMP * 60 - 90).astype(np.float32),
    "64 bits": RAMP.astype(np.float64),
}


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("kind", RAMPS)
def test_gray_of_any_depth_and_range_looks_as_its_twin_of_eight_bits(kind, order):
    for how in ({}, COMPRESSED):
        assert difference(tiff(RAMPS[kind], order=order, tags=how), TWIN) < 2


@pytest.mark.parametrize("order", ["<", ">"])
def test_white_may_be_zero(order):
    for values in ((65535 * (1 - RAMP)).astype(np.uint16), (1 - RAMP).astype(np.float32), 1 - RAMP):
        assert difference(tiff(values, 0, order), TWIN) < 2


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_colours_in_fractions_look_as_their_twin(dtype, order):
    colors = np.asarray(SCENE) / 255
    for brightest in (1, 1.02, 255):
        assert difference(tiff((colors * brightest).astype(dtype), 2, order), SCENE) < 2
    four = np.concatenate([colors, np.ones((32, 32, 1))], axis=2)
    assert difference(tiff(four.astype(dtype), 2, order), SCENE) < 2


@pytest.mark.parametrize(
    "wrong", [{256: 60_000}, {259: 5}, {277: 2}, {279: 5}, {273: 10**6}, {284: 2}]
)
def test_fractions_that_are_not_as_their_tags_say_are_refused(wrong):
    with pytest.raises(UserError, match="is not a readable PNG|is a damaged image|has 60000"):
        open_image(tiff(np.zeros((4, 4, 3), np.float32), 2, tags=wrong))


def test_a_dark_picture_stays_dark_and_a_mask_is_seen():
    assert np.asarray(open_image(tiff((RAMP * 0.2).astype(np.float32)))).max() == 51
    assert np.asarray(open_image(tiff((RAMP > 0.5).astype(np.uint16)))).max() == 255


def test_a_few_odd_numbers_do_not_hide_the_others():
    heights = (RAMP * 3000 + 70_000).astype(np.float32)
    heights[0, :3] = np.nan, np.inf, -3.4e38  # where nothing is known
    assert difference(open_image(tiff(heights)).crop((0, 1, 96, 4)), TWIN.crop((0, 1, 96, 4))) < 2
    bright = np.tile(RAMP, (9, 8)).astype(np.float32) * 9
    bright[0, 0] = 1e6
    assert np.asarray(open_image(tiff(bright))).mean() > 120


def test_sixteen_bit_gray_is_scaled_not_clipped_and_its_transparent_gray_becomes_white():
    data = encoded(
        Image.fromarray(np.array([[0, 257, 300, 32768, 65535]], dtype=np.uint16)), transparency=300
    )
    assert np.asarray(open_image(data))[0, :, 0].tolist() == [0, 1, 255, 128, 255]


def png16(numbers: np.ndarray) -> bytes:
    """A PNG of 16 bits a colour; numbers (h, w, 3) uint16."""
    height, width, _ = numbers.shape
    return png(width, height, 16, b"".join(b"\0" + row.astype(">u2").tobytes() for row in numbers))


@pytest.mark.parametrize(
    "pack",
    [
        png16,
        *(
            partial(tiff, photometric=2, order=order, tags=how)
            for order in "<>"
            for how in (None, COMPRESSED)
        ),
    ],
)
@pytest.mark.parametrize("white", [255, 1023, 4095, 65535])
def test_colours_of_8_to_12_bits_in_16_are_scaled_by_their_range(pack, white):
    ramp = np.linspace(0, 1, 40 * 30 * 3).reshape(30, 40, 3)
    seen = np.asarray(open_image(pack((ramp * white).astype(np.uint16))))
    assert np.abs(seen - ramp * 255).max() <= 1.5

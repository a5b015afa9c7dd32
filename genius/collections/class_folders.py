"""Folders that say what is in their pictures, as in `dogs/rex.jpg`."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath

from genius.collections.tables import SPLIT_NAMES

CATEGORY = "category"  # the attribute, by which the page calls pictures without words
WORD = re.compile(r"[^\W\d_]{3,}")
CAMERA = re.compile(
    r"(dcim|\d*(canon|nikon|msdcf|apple|andro)\w?|img|images?|pictures?|photos?|new folder.*)", re.I
)


def categories(images: Sequence[str]) -> dict[str, str]:
    """The category of each picture, by its path; none unless all pictures lie in folders of words.

    At least two folders must hold two pictures each. The folder of a split is none
    (train/dogs/rex.jpg).
    """
    named = {image: _folder(image) for image in images}
    counts = Counter(named.values())
    telling = all(WORD.search(name) and not CAMERA.fullmatch(name) for name in counts)
    if not telling or len(counts) < 2 or min(counts.values(), default=0) < 2:
        return {}
    return {image: " ".join(re.split(r"[_\s]+", name)).strip() for image, name in named.items()}


def split_of_folder(image: str) -> str | None:
    """The split that the first folder of a path names, where it holds others."""
    first, *others = _folders(image)[:2] or [""]
    return SPLIT_NAMES.get(first.lower()) if others else None


def _folder(image: str) -> str:
    return next((name for name in reversed(_folders(image)) if name.lower() not in SPLIT_NAMES), "")


def _folders(image: str) -> Sequence[str]:
    return PurePosixPath(image).parts[:-1]

"""Uploads: the files that visitors send, as pictures or a marked part of one."""

import os
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any

from PIL.Image import Image

from genius.collections.images import PAGE, Part, open_image
from genius.errors import UserError
from genius.ui.endpoints import upload_folder
from genius.ui.security import UPLOAD_LIFETIME

EDGES = ("left", "top", "right", "bottom")
MAX_CACHED_UPLOADS = 8  # decoded uploads, at most 3 MB each
LARGEST_SIDE = 1_024  # pixels of a query's picture; it bounds memory under load
NOT_AN_UPLOAD = "Upload the picture as a file; links and embedded data are not accepted."


def upload_path(file: Any) -> str:
    """The path of a file in the folder of uploads. Raises UserError for anything else."""
    fields = file if isinstance(file, dict) else getattr(file, "__dict__", {})
    path = fields.get("path")
    url = str(fields.get("url"))
    if (
        not isinstance(path, str)
        or "\0" in path
        or not Path(path).resolve().is_relative_to(upload_folder())
        or url.startswith("data:")
    ):
        raise UserError(NOT_AN_UPLOAD)
    try:
        os.utime(path)  # uploads are deleted some time after their last use
    except OSError:
        raise UserError("That picture is no longer kept here; choose it again.") from None
    return path


def open_upload(upload: str, part: Part | None = None) -> Image:
    """An uploaded picture, or a part of it. Raises UserError above the limits of the page."""
    return open_image(upload, max_side=LARGEST_SIDE, part=part, limits=PAGE)


class UploadCache:
    """Opens uploads, and remembers the last ones, so that a search need not decode what was just
    uploaded. They are forgotten at the latest when their unused files are deleted. Thread-safe.
    """

    def __init__(self, seconds: float = UPLOAD_LIFETIME):
        self.seconds = seconds
        self._opened = lru_cache(MAX_CACHED_UPLOADS)(open_upload)
        self._forgetting: threading.Timer | None = None

    def open(self, upload: str, part: Part | None = None) -> Image:
        """The picture, or a part of it, in an uploaded file, whose path includes a checksum."""
        if not (self._forgetting and self._forgetting.is_alive()):
            self._forgetting = threading.Timer(self.seconds, self._opened.cache_clear)
            self._forgetting.daemon = True
            self._forgetting.start()
        return self._opened(upload, part)


def part_of(value: Any) -> Part | None:
    """The box that a browser sends, None for none. Raises UserError for what is no box within a
    picture.
    """
    if value in (None, ""):
        return None
    box = [value.get(edge) for edge in EDGES] if isinstance(value, dict) else []
    numbers = [
        float(edge) for edge in box if isinstance(edge, int | float) and not isinstance(edge, bool)
    ]
    if len(numbers) != len(EDGES):
        raise UserError("The marked part is not a box; mark it again.")
    left, top, right, bottom = numbers
    if not (0 <= left < right <= 1 and 0 <= top < bottom <= 1):
        raise UserError("The marked part lies outside of the picture; mark it again.")
    return left, top, right, bottom

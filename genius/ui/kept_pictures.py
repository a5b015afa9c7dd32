"""Pictures of visitors that the server keeps, so that the address of a search includes its picture.

Off unless the host names a folder (--keep-pictures). A picture is kept as it was searched, decoded and written anew, so
that nothing else of an upload remains, such as the place where a photograph was taken. Its name is its checksum. The
folder is bounded in pictures, bytes and age; those that were used least recently go first.
"""

from __future__ import annotations

import hashlib
import io
import logging
import os
import re
import stat
import threading
import time
from contextlib import suppress
from pathlib import Path

from PIL import Image

from genius.collections.images import open_image, read_image_file
from genius.errors import UserError
from genius.files import written_aside

CHECKSUM = re.compile(r"[0-9a-f]{64}")
NAME = re.compile(CHECKSUM.pattern + r"\.webp")
MAX_PICTURES = 2_000
MAX_BYTES = 512 * 2**20
MAX_AGE = 30 * 24 * 3600  # seconds since the last use
OFF = "off"
log = logging.getLogger(__name__)
NOT_KEPT = "The picture of this address is no longer kept here; upload it again."


class KeptPictures:
    """A folder of pictures, which only this class reads and writes. Thread-safe; several processes may share it."""

    def __init__(
        self, folder: Path, max_pictures: int = MAX_PICTURES, max_bytes: int = MAX_BYTES, max_age: float = MAX_AGE
    ):
        """Makes the folder if it is missing, readable by its owner alone. Raises UserError if it cannot be used."""
        self.folder, self.max_pictures, self.max_bytes, self.max_age = folder, max_pictures, max_bytes, max_age
        self._trimming = threading.Lock()
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            writable = os.access(folder, os.R_OK | os.W_OK | os.X_OK)
        except OSError as error:
            raise UserError(f"--keep-pictures needs a folder; {folder} cannot be made ({error.strerror})") from None
        if not writable:
            raise UserError(f"--keep-pictures needs a folder that can be written; {folder} cannot")
        self.trim()

    @property
    def days(self) -> int:
        """How long a picture is kept at most after its last use."""
        return round(self.max_age / (24 * 3600))

    def keep(self, picture: Image.Image) -> str:
        """Keep a picture without loss, and return its checksum; empty, with a warning in the log, if it cannot be."""
        stream = io.BytesIO()
        picture.convert("RGB").save(stream, "WEBP", lossless=True, method=0)  # quick; the file is a little larger
        data = stream.getvalue()
        checksum = hashlib.sha256(data).hexdigest()
        file = self._file(checksum)
        try:
            if file.exists():
                os.utime(file)
            else:
                with written_aside(file) as aside:
                    aside.write_bytes(data)
                    os.replace(aside, file)
                self.trim()
        except OSError as error:
            log.warning("a picture could not be kept: %s", error.strerror)
            return ""
        return checksum

    def open(self, checksum: object) -> Image.Image:
        """The picture of a checksum, which counts as a use. Raises UserError for one that is not kept, or is none."""
        if not isinstance(checksum, str) or not CHECKSUM.fullmatch(checksum):
            raise UserError(NOT_KEPT)
        file = self._file(checksum)
        try:
            is_file = stat.S_ISREG(file.lstat().st_mode)  # a link could lead anywhere
        except OSError:
            is_file = False
        if not is_file or time.time() - file.lstat().st_mtime > self.max_age:
            raise UserError(NOT_KEPT)
        data = read_image_file(file)
        if hashlib.sha256(data).hexdigest() != checksum:
            raise UserError(NOT_KEPT)
        with suppress(OSError):
            os.utime(file)
        return open_image(data)

    def trim(self) -> None:
        """Delete what is too old, and then the oldest until the limits hold. Other files are left alone."""
        with self._trimming:
            pictures, total, now = 0, 0, time.time()
            for file, status in sorted(self._files(), key=lambda entry: -entry[1].st_mtime):
                pictures, total = pictures + 1, total + status.st_size
                if pictures > self.max_pictures or total > self.max_bytes or now - status.st_mtime > self.max_age:
                    with suppress(OSError):
                        file.unlink()

    def _file(self, checksum: str) -> Path:
        return self.folder / f"{checksum}.webp"

    def _files(self) -> list[tuple[Path, os.stat_result]]:
        files = []
        for file in self.folder.iterdir():
            with suppress(OSError):  # another process deleted it
                if NAME.fullmatch(file.name) and stat.S_ISREG((status := file.lstat()).st_mode):
                    files.append((file, status))
        return files


def picture_folder(option: str) -> KeptPictures | None:
    """For the value of --keep-pictures: a folder, or OFF. Raises UserError for a folder that cannot be used."""
    return None if option == OFF else KeptPictures(Path(option))

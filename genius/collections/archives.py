"""Find the pictures among files and in the ZIPs among them, of which nothing is believed: neither names nor sizes."""

import re
import zlib
from collections.abc import Iterable, Iterator
from io import FileIO
from pathlib import Path, PurePosixPath
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from genius.collections.images import PAGE
from genius.collections.listing import HIDDEN, UNREADABLE, FileReport, is_hidden, other_than_picture
from genius.errors import UserError

MAX_ENTRIES = 10_000  # of an archive
MAX_UNPACKED = 2**30  # bytes of all files of all archives
MAX_LIST = 16 * 2**20  # bytes of an archive's list of its files
UNSAFE = re.compile(r"[^\w .()+-]")  # characters of a name
LONGEST = 60  # characters of a name


def find_pictures(files: Iterable[Path], folder: Path) -> tuple[list[Path], list[FileReport]]:
    """Pictures, those of a ZIP unpacked below `folder`, and what all other files are."""
    found: list[Path | FileReport] = []
    room = MAX_UNPACKED
    for file in files:
        if file.suffix.lower() != ".zip":
            found.append(other_than_picture(file.parent, file.name) or file)
            continue
        try:
            for unpacked in _unpack(file, folder / str(len(found)), room):
                found.append(unpacked)
                room -= unpacked.stat().st_size if isinstance(unpacked, Path) else 0
        except (BadZipFile, OSError, ValueError, NotImplementedError, UserError) as error:
            found.append(FileReport(file.name, UNREADABLE, f"{file.name} cannot be unpacked ({error})"))
    pictures = [one for one in found if isinstance(one, Path)]
    return pictures, [one for one in found if isinstance(one, FileReport)]


def _unpack(archive: Path, folder: Path, room: int) -> Iterator[Path | FileReport]:
    """Each file of a ZIP: a picture, alone in a folder, or what it is. Raises UserError for more than `room` bytes."""
    with _Bounded(archive) as stream, ZipFile(stream) as opened:
        entries = [entry for entry in opened.infolist() if not entry.is_dir()]
        size = sum(min(entry.file_size, PAGE.bytes + 1) for entry in entries)
        if len(entries) > MAX_ENTRIES or size > room:
            raise UserError(
                f"it holds {len(entries):,} files of {size / 2**20:,.0f} MB; the limit is {MAX_ENTRIES:,} files of "
                f"{room / 2**20:,.0f} MB"
            )
        for number, entry in enumerate(entries):
            yield _unpack_entry(opened, entry, folder / str(number))


def _unpack_entry(archive: ZipFile, entry: ZipInfo, folder: Path) -> Path | FileReport:
    path = PurePosixPath(entry.filename)
    if any(map(is_hidden, path.parts, ("", *path.parts))):
        return FileReport(entry.filename, HIDDEN)
    if entry.flag_bits & 1:
        return FileReport(entry.filename, UNREADABLE, f"{path.name} is encrypted")
    if entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED):  # LZMA may ask for gigabytes of memory
        return FileReport(entry.filename, UNREADABLE, f"{path.name} is compressed in a rare way; pack it as usual")
    folder.mkdir(parents=True)
    file = folder / (UNSAFE.sub("_", path.name)[-LONGEST:].lstrip(".") or "_")
    try:
        with archive.open(entry) as stream:
            file.write_bytes(stream.read(PAGE.bytes + 1))  # refused when it is added
    except (BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        return FileReport(entry.filename, UNREADABLE, f"{file.name} cannot be unpacked ({error})")
    return other_than_picture(folder, file.name) or file


class _Bounded(FileIO):
    """A file of which `zipfile` reads no list of files that would fill the memory."""

    def read(self, size: int | None = -1) -> bytes:
        if size is not None and size > MAX_LIST:
            raise BadZipFile("its list of files is too long")
        return super().read(size)

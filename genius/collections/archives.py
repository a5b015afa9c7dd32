"""Unpack archives, of which nothing is believed, neither names nor sizes: the ZIPs that a visitor
sends, and the ZIP and TAR files of a source, as webdataset has them.
"""

import bz2
import gzip
import re
import shutil
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from functools import partial
from io import BufferedIOBase, FileIO
from lzma import LZMADecompressor, LZMAError
from pathlib import Path, PurePosixPath
from tempfile import NamedTemporaryFile
from typing import IO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo, is_zipfile

from genius.collections.images import PAGE
from genius.collections.lines import PACKED
from genius.collections.listing import (
    HIDDEN,
    OTHER,
    PICTURES,
    UNREADABLE,
    UNSUPPORTED,
    FileReport,
    is_hidden,
    other_than_picture,
)
from genius.errors import UserError
from genius.reading import one_line

MAX_ENTRIES = 10_000  # of an archive
MAX_UNPACKED = 2**30  # bytes of all files of all archives
MAX_LIST = 16 * 2**20  # bytes of an archive's list of its files
UNSAFE = re.compile(r"[^\w .()+-]")  # characters of a name
LONGEST_NAME = 60  # characters of a name
# of compressed TARs
OPENERS: dict[str, Callable[[Path], BufferedIOBase]] = {"gzip": gzip.open, "bzip2": bz2.open}
# how files begin; a name may lie
STARTS = {b"PK\3\4": "ZIP", b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\0": "XZ"}
# of a source
SUFFIXES = (".zip", ".tar", ".tgz", ".tbz2", ".txz", ".tar.gz", ".tar.bz2", ".tar.xz")
# bytes in one of a compressed TAR, above the first DENSE: pictures have one, texts ten
MOST_DENSE = 50
DENSE = 2**24
MAX_XZ = 2**28  # bytes of memory that an XZ may ask for
TEXTS = (
    *(".txt", ".caption", ".csv", ".tsv", ".json", ".jsonl", ".xml", ".yaml", ".yml"),
    *(".names", ".labels", ".xmp"),
)
MAX_FILE = 2**26  # bytes of a file of a source's archive
CHUNK = 2**20  # bytes
DISK_BLOCK = 2**12  # bytes that a file takes at least
# what reading a damaged archive raises; RuntimeError: of compressions that Python cannot read
DAMAGE = (
    *(BadZipFile, tarfile.TarError, zlib.error, LZMAError),
    *(OSError, ValueError, EOFError, RuntimeError),
)

# name, bytes, why it cannot be read, its content
Member = tuple[str, int, str, Callable[[], IO[bytes] | None]]


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
            message = f"{file.name} cannot be unpacked ({error})"
            found.append(FileReport(file.name, UNREADABLE, message))
    pictures = [one for one in found if isinstance(one, Path)]
    return pictures, [one for one in found if isinstance(one, FileReport)]


def _unpack(archive: Path, folder: Path, room: int) -> Iterator[Path | FileReport]:
    """Each file of a ZIP: a picture, alone in a folder, or what it is. Raises UserError for more
    than `room` bytes.
    """
    with _Bounded(archive) as stream, ZipFile(stream) as opened:
        entries = [entry for entry in opened.infolist() if not entry.is_dir()]
        size = sum(min(entry.file_size, PAGE.bytes + 1) for entry in entries)
        if len(entries) > MAX_ENTRIES or size > room:
            limit = f"the limit is {MAX_ENTRIES:,} files of {room / 2**20:,.0f} MB"
            raise UserError(f"it holds {len(entries):,} files of {size / 2**20:,.0f} MB; {limit}")
        for number, entry in enumerate(entries):
            yield _unpack_entry(opened, entry, folder / str(number))


def _unpack_entry(archive: ZipFile, entry: ZipInfo, folder: Path) -> Path | FileReport:
    path = PurePosixPath(entry.filename)
    if any(map(is_hidden, path.parts, ("", *path.parts))):
        return FileReport(entry.filename, HIDDEN)
    if problem := _problem(entry):
        return FileReport(entry.filename, UNREADABLE, f"{path.name} {problem}")
    folder.mkdir(parents=True)
    file = folder / (UNSAFE.sub("_", path.name)[-LONGEST_NAME:].lstrip(".") or "_")
    try:
        with archive.open(entry) as stream:
            file.write_bytes(stream.read(PAGE.bytes + 1))  # refused when it is added
    except (BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        return FileReport(entry.filename, UNREADABLE, f"{file.name} cannot be unpacked ({error})")
    return other_than_picture(folder, file.name) or file


def _problem(entry: ZipInfo) -> str:
    """Why a file of a ZIP is not read; or nothing."""
    if entry.flag_bits & 1:
        return "is encrypted"
    # LZMA may ask for gigabytes of memory
    if entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        return "is compressed in a rare way; pack it as usual"
    return ""


def is_archive(name: str) -> bool:
    """Whether a file of a source is one that is unpacked, by its name."""
    return name.lower().endswith(SUFFIXES)


def _left(archive: Path, path: PurePosixPath, report: str) -> FileReport | None:
    """What is said of a member that is not a picture or a text to read."""
    if any(map(is_hidden, path.parts)):
        return FileReport(report, HIDDEN)
    if is_archive(path.name):
        advice = f"{report} is an archive in an archive: unpack {archive.name} into a folder"
        return FileReport(report, UNSUPPORTED, advice)
    if not path.name.lower().endswith((*PICTURES, *TEXTS, *PACKED)):
        return FileReport(report, OTHER)
    return None


def unpack_archive(archive: Path, folder: Path) -> list[FileReport]:
    """Write the pictures and texts of a ZIP or TAR into a new folder, by their paths; returns what
    is not written.

    Raises UserError if it is no such archive, or needs more than half of what is free on the disk.
    """
    folder.mkdir(parents=True)
    room = shutil.disk_usage(folder).free // 2
    others = list[FileReport]()
    try:
        for name, size, problem, content in _members(archive, folder, room // 2):
            path = PurePosixPath(name.replace("\\", "/"))
            path = path.relative_to(path.anchor)
            report = f"{archive.name}/{path}"
            if left := _left(archive, path, report):
                others.append(left)
                continue
            if ".." in path.parts:
                problem = "has a path that leads out of the archive"
            elif size > MAX_FILE:
                problem = f"has {size / 2**20:,.0f} MB; the limit is {MAX_FILE // 2**20} MB"
            room -= 0 if problem else max(size, DISK_BLOCK)
            if room < 0:
                raise _too_large(archive, folder)
            try:
                if not problem:
                    _write(content(), folder / path, size)
            except DAMAGE as error:
                problem = f"cannot be unpacked ({one_line(error)})"
            if problem:
                others.append(FileReport(report, UNREADABLE, f"{report} {problem}"))
    except DAMAGE as error:
        message = f"{archive.name} is damaged ({one_line(error)})"
        others.append(FileReport(archive.name, UNREADABLE, message))
    return others


def _too_large(archive: Path, folder: Path) -> UserError:
    return UserError(
        f"{archive} needs too much of the disk that {folder} is on; unpack it elsewhere"
    )


def _members(archive: Path, folder: Path, room: int) -> Iterator[Member]:
    """The files of an archive, one by one. A compressed TAR stands in the folder meanwhile, in at
    most `room` bytes: reading goes back in it.
    """
    kind = _kind(archive)
    if kind == "ZIP":
        with _Bounded(archive) as stream, ZipFile(stream) as opened:
            for entry in opened.infolist():
                if not entry.is_dir():
                    content = partial(opened.open, entry)
                    yield entry.filename, entry.file_size, _problem(entry), content
        return
    with ExitStack() as stack:
        whole = archive
        if kind != "TAR":
            file = stack.enter_context(NamedTemporaryFile(dir=folder, prefix="."))
            limit = archive.stat().st_size * MOST_DENSE + DENSE
            for chunk in _expanded(archive, kind):
                if file.tell() + len(chunk) > limit:
                    raise tarfile.TarError("it expands to more than pictures and texts do")
                if file.tell() + len(chunk) > room:
                    raise _too_large(archive, folder)
                file.write(chunk)
            file.flush()
            whole = Path(file.name)
        stream = stack.enter_context(_Bounded(whole))
        tar = stack.enter_context(tarfile.open(fileobj=stream, mode="r:"))
        for member in tar:
            tar.members = []  # type: ignore[attr-defined]  # which would grow with the archive
            if not member.isdir():
                is_plain = member.isreg() and not member.issparse()
                problem = "" if is_plain else "is a link or a device"
                yield member.name, member.size, problem, partial(tar.extractfile, member)


def _kind(archive: Path) -> str:
    """ZIP, TAR or the compression of a TAR, by the bytes of the file."""
    with archive.open("rb") as stream:
        head = stream.read(tarfile.BLOCKSIZE)
    with suppress(tarfile.HeaderError):  # first: the last file in a TAR may be a ZIP
        tarfile.TarInfo.frombuf(head, "utf-8", "surrogateescape")
        return "TAR"
    found = next((kind for start, kind in STARTS.items() if head.startswith(start)), "")
    return found or ("ZIP" if is_zipfile(archive) else "TAR")


def _expanded(archive: Path, kind: str) -> Iterator[bytes]:
    """The bytes of a compressed TAR, CHUNK by CHUNK."""
    if kind != "XZ":
        with OPENERS[kind](archive) as opened:
            yield from iter(partial(opened.read, CHUNK), b"")
        return
    with archive.open("rb") as stream:
        unpacker = LZMADecompressor(memlimit=MAX_XZ)
        while not unpacker.eof:
            data = stream.read(CHUNK) if unpacker.needs_input else b""
            if unpacker.needs_input and not data:
                raise EOFError("it ends too early")
            yield unpacker.decompress(data, CHUNK)


def _write(content: IO[bytes] | None, file: Path, size: int) -> None:
    """Write what an archive holds, at most the size that it declares, to a new file."""
    assert content is not None
    file.parent.mkdir(parents=True, exist_ok=True)
    with content, file.open("xb") as written:
        while size > 0 and (chunk := content.read(min(CHUNK, size))):
            written.write(chunk)
            size -= len(chunk)


class _Bounded(FileIO):
    """A file of which `zipfile` reads no list of files that would fill the memory."""

    def read(self, size: int | None = -1) -> bytes:
        if size is not None and size > MAX_LIST:
            raise BadZipFile("its list of files is too long")
        return super().read(size)

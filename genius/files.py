"""Write files so that a reader, a full disk or a killed process never leaves half of one."""

import hashlib
import json
import math
import os
import shutil
import sqlite3
import uuid
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike
from safetensors import SafetensorError

from genius.errors import FULL, UserError, disk_problem
from genius.locks import ReadLock, deletion_lock

BYTES_AT_ONCE = 2**24  # bytes written together


def write_json(file: Path, value: Any) -> None:
    """Write JSON atomically. NaN and infinities, which JSON does not have, become null."""
    plain = json.loads(json.dumps(value), parse_constant=lambda name: None)
    write_text(file, json.dumps(plain, indent=1, allow_nan=False) + "\n")


def write_compact(file: Path, value: Any) -> None:
    """Write JSON without spaces into a folder that nobody reads yet."""
    file.write_text(
        json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8"
    )


def write_text(file: Path, text: str) -> None:
    """Write to a new file, then rename it, so that a reader never sees half of the text."""
    with written_aside(file) as aside:
        aside.write_text(text, encoding="utf-8")
        fsync(aside)
        os.replace(aside, file)


@contextmanager
def written_aside(target: Path, folder: bool = False) -> Iterator[Path]:
    """An empty file or folder next to `target`, to be filled and renamed to it; else it is deleted
    at the end.

    What killed processes have left of this target is deleted first. The folder of `target` is made
    if it is missing.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    _delete_left(target)
    lock = None
    while lock is None:
        aside = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
        aside.mkdir() if folder else aside.touch()
        with suppress(FileNotFoundError):  # another process took it for one that was left
            lock = ReadLock(aside)
    try:
        yield aside
    finally:
        _delete(aside)
        lock.release()


def remove_folder(folder: Path) -> None:
    """Delete a folder so that no process, killed or not, leaves or finds half of it."""
    _delete_left(folder)
    if folder.exists():
        aside = folder.rename(folder.with_name(f".{folder.name}.{uuid.uuid4().hex}"))
        shutil.rmtree(aside, ignore_errors=True)


def _delete_left(target: Path) -> None:
    """Delete what killed processes have left next to `target`."""
    for left in target.parent.glob(f".{escape(target.name)}.{'?' * 32}"):
        with suppress(OSError), deletion_lock(left) as free:
            if free:
                _delete(left)


def _delete(path: Path) -> None:
    """Delete a file or folder if it is there and may be deleted."""
    with suppress(OSError):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def describe(folder: Path) -> dict[str, dict[str, Any]]:
    """Size and checksum of every file below a folder, by relative path."""
    return {
        str(file.relative_to(folder)): {"bytes": file.stat().st_size, "sha256": sha256(file)}
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def fsync(path: Path) -> None:
    """Have a file on disk, or the names in a folder."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def link_or_copy(file: Path, link: Path) -> None:
    """Give a file a second name, or copy it where the disk has no hard links."""
    link.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(file, link)
    except OSError:
        shutil.copy2(file, link)


def link_files(source: Path, folder: Path, left_out: Collection[str] = ()) -> None:
    """Link, or copy, all files below `source` into a folder, so that they are the same byte by
    byte, but for names.
    """
    for file in source.rglob("*"):
        if file.is_file() and file.name not in left_out:
            link_or_copy(file, folder / file.relative_to(source))


def write_array(
    file: Path, shape: tuple[int, ...], dtype: DTypeLike, blocks: Iterable[np.ndarray]
) -> None:
    """Write a .npy file of this shape, block (b, …) by block along the first axis.

    Not through a memory map: where a full disk cannot hold a page of one, the operating system
    kills the process.
    """
    try:
        with file.open("wb") as stream:
            _write_header(stream, shape, dtype)
            for block in blocks:
                stream.write(np.ascontiguousarray(block, dtype).data)
    except BaseException:
        file.unlink(missing_ok=True)
        raise


def reserve_array(file: Path, shape: tuple[int, ...], dtype: DTypeLike) -> None:
    """Make a .npy file of zeros that has its space on disk, so that what is written into it later
    will fit.

    A process that has mapped an earlier file of this name keeps that one. Raises OSError, and
    leaves no file, if there is not enough space.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    file.unlink(missing_ok=True)
    try:
        with file.open("wb") as stream:
            _write_header(stream, shape, dtype)
            stream.flush()
            try:
                if size:
                    os.posix_fallocate(stream.fileno(), stream.tell(), size)
            except (AttributeError, OSError) as error:  # not on this system, or not on this disk
                if getattr(error, "errno", None) in FULL:
                    raise
                for start in range(0, size, BYTES_AT_ONCE):
                    stream.write(bytes(min(BYTES_AT_ONCE, size - start)))
    except OSError:
        file.unlink(missing_ok=True)
        raise


def _write_header(stream: BinaryIO, shape: tuple[int, ...], dtype: DTypeLike) -> None:
    np.lib.format.write_array_header_1_0(
        stream, {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": tuple(shape)}
    )


@contextmanager
def disk_errors_explained(folder: Path, outcome: str = "nothing was changed") -> Iterator[None]:
    """Raises UserError, which names the folder, in place of the errors of a disk, such as that it
    is full; others pass.
    """
    try:
        yield
    except (OSError, sqlite3.OperationalError, SafetensorError) as error:
        problem = disk_problem(error)
        file = getattr(error, "filename", None)
        if problem is None or (
            isinstance(file, str | bytes) and not Path(os.fsdecode(file)).is_relative_to(folder)
        ):
            raise
        reason = (
            f"the disk of {folder} is full" if problem == "full" else f"{folder} cannot be written"
        )
        raise UserError(f"{reason} ({error}); {outcome}") from error

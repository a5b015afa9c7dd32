"""Write files so that a reader, a full disk or a killed process never leaves half of one."""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import shutil
import sqlite3
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike
from safetensors import SafetensorError

from genius.errors import UserError

BLOCK = 2**24  # bytes written together
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
PROTECTED = {errno.EROFS, errno.EACCES, errno.EPERM}
FULL_TEXTS = ("No space left", "disk is full", "requested and", "File too large")  # without errno
PROTECTED_TEXTS = ("readonly database", "Read-only file system", "unable to open database file", "disk I/O error")


def write_json(file: Path, value: Any) -> None:
    """Write JSON atomically. NaN and infinities, which JSON does not have, become null."""
    write_text(file, json.dumps(_without_nan(value), indent=1, allow_nan=False) + "\n")


def read_json(file: Path) -> Any:
    """Parse a JSON file. Raises OSError, or ValueError for text that is not JSON; NaN is not."""
    return json.loads(file.read_text(encoding="utf-8"), parse_constant=_refuse_constant)


def write_text(file: Path, text: str) -> None:
    """Write to a new file, then rename it, so that a reader never sees half of the text."""
    file.parent.mkdir(parents=True, exist_ok=True)
    aside = file.with_name(f".{file.name}.{uuid.uuid4().hex}")
    try:
        aside.write_text(text, encoding="utf-8")
        fsync(aside)
        os.replace(aside, file)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


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


def fsync(file: Path) -> None:
    with file.open("rb") as stream:
        os.fsync(stream.fileno())


def link_or_copy(file: Path, link: Path) -> None:
    """Give a file a second name, or copy it where the disk has no hard links."""
    link.parent.mkdir(exist_ok=True)
    try:
        os.link(file, link)
    except OSError:
        shutil.copy2(file, link)


def write_array(file: Path, shape: tuple[int, ...], dtype: DTypeLike, blocks: Iterable[np.ndarray]) -> None:
    """Write a .npy file block by block along the first axis.

    Not through a memory map: where a full disk cannot hold a page of one, the operating system kills the process.
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
    """Make a .npy file of zeros that has its space on disk, so that what is written into it later will fit.

    Raises OSError, and leaves no file, if there is not enough space.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
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
                for start in range(0, size, BLOCK):
                    stream.write(bytes(min(BLOCK, size - start)))
    except OSError:
        file.unlink(missing_ok=True)
        raise


def _write_header(stream: BinaryIO, shape: tuple[int, ...], dtype: DTypeLike) -> None:
    np.lib.format.write_array_header_1_0(
        stream, {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": tuple(shape)}
    )


@contextmanager
def disk_errors_explained(run: Path) -> Iterator[None]:
    """Turn the errors of a full or write-protected disk into a UserError; others pass."""
    try:
        yield
    except (OSError, sqlite3.OperationalError, SafetensorError) as error:
        number, text, file = getattr(error, "errno", None), str(error), getattr(error, "filename", None)
        if file and not Path(os.fsdecode(file)).is_relative_to(run):
            raise
        if number in FULL or any(words in text for words in FULL_TEXTS):
            reason = f"the disk of {run} is full"
        elif number in PROTECTED or any(words in text for words in PROTECTED_TEXTS):
            reason = f"{run} cannot be written"
        else:
            raise
        raise UserError(f"{reason} ({text}); nothing was changed") from error


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")

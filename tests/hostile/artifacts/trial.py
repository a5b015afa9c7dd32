"""Tries mutants of a run, each in a process of its own with limits of time and memory.

Outcomes of a mutant:

    refused in a sentence   one line that names what is wrong
    same results            it answers as the run it was made of
    valid other setting     it answers otherwise, and the changed file is one that a person or a training may write:
                            see `is_setting`, which knows nothing of the code under test
    wrong result, raw error, out of time, out of memory    bad ones
"""

from __future__ import annotations

import ast
import json
import math
import os
import pickle
import random
import re
import resource
import select
import shutil
import signal
import sqlite3
import struct
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from genius.errors import UserError
from tests.hostile.artifacts.tiny_run import answers, seal

SECONDS = 60  # of one mutant on a busy machine
MEGABYTES = 700  # that one may take in addition to what the imports take
ADDRESSES = 8 * 2**30  # bytes of address space in addition: a file may be mapped
LONGEST = 1_000  # characters of a sentence
OPTIONAL = {"errors.npy", "familiar.safetensors"}  # files that a run may lack
DTYPES = {"F16": np.float16, "F32": np.float32, "F64": np.float64}
Change = Callable[[Path, random.Random], None]


class Mutant(NamedTuple):
    """A change of one file. sealed: "no", "files" (their checksums fit), "all" (the whole manifest fits)."""

    file: str  # its path in the run
    name: str
    change: Change
    sealed: str = "all"


class Trials:
    """Tries mutants of one run."""

    def __init__(self, run: Path):
        self.run, self.copy = run, run.parent / "mutant"
        kind, self.expected = self._answers(run)
        assert kind == "answers", self.expected

    def outcome(self, mutant: Mutant) -> tuple[str, str]:
        """What the mutant comes to, and a word about it."""
        shutil.rmtree(self.copy, ignore_errors=True)
        shutil.copytree(self.run, self.copy, copy_function=os.link, symlinks=True)
        file = self.copy / mutant.file
        before = file.read_bytes()
        file.unlink()
        file.write_bytes(before)
        place = re.sub(r"-[0-9a-f]{8}/", "/", mutant.file)  # the same on every machine
        mutant.change(file, random.Random(f"{place} {mutant.name}"))
        after = file.read_bytes() if file.is_file() and file.stat().st_size < 2**28 else None
        if mutant.sealed != "no":
            seal(self.copy, chain=mutant.sealed == "all")
        kind, text = self._answers(self.copy)
        if kind == "refused":
            single = "\n" not in text and len(text) <= LONGEST and "Traceback" not in text
            memory = "allocate" in text or "MemoryError" in text
            return ("out of memory" if memory else "refused in a sentence" if single else "raw error"), text
        if kind != "answers":
            return kind, text
        if text == self.expected:
            return "same results", ""
        gone = not file.exists() and not file.is_symlink()
        if is_setting(mutant.file, before, after) or (gone and file.name in OPTIONAL):
            return "valid other setting", ""
        return "wrong result", "it answers otherwise"

    def _answers(self, run: Path) -> tuple[str, str]:
        """("answers", checksum), ("refused", sentence) or a bad outcome with its traceback."""
        reader, writer = os.pipe()
        if (child := os.fork()) == 0:
            os.close(reader)
            _work(run, writer)
        os.close(writer)
        received, deadline = b"", time.monotonic() + SECONDS
        while select.select([reader], [], [], max(0.0, deadline - time.monotonic()))[0]:
            if not (part := os.read(reader, 2**16)):
                break
            received += part
        else:
            os.kill(child, signal.SIGKILL)
        os.close(reader)
        _, status, used = os.wait4(child, 0)
        if time.monotonic() >= deadline:
            return "out of time", f"after {SECONDS} seconds"
        if used.ru_maxrss > _resident() + MEGABYTES * 1024:
            return "out of memory", f"{used.ru_maxrss // 1024} MB"
        return pickle.loads(received) if received else ("raw error", f"the process ended with status {status}")


def _resident() -> int:
    """Kilobytes that this process takes, which a child begins with."""
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1])


def _work(run: Path, writer: int) -> None:
    """In the child: answer, report, end."""
    try:
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + ADDRESSES
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        try:
            report = "answers", answers(run)
        except UserError as error:
            report = "refused", str(error)
        except MemoryError:
            report = "out of memory", traceback.format_exc(limit=-3)
        except BaseException:
            report = "raw error", traceback.format_exc(limit=-4)
        kind, text = report
        os.write(writer, pickle.dumps((kind, text[: 2**13])))  # whole: at most 32 kB in a pipe of 64
    finally:
        os._exit(0)


def is_setting(name: str, before: bytes, after: bytes | None) -> bool:
    """Whether a file may hold this: a value that a person may set, or numbers that another training may come to.

    JSON: the same fields of the same types (a field that has a default may be left out, a list may have another
    length). Arrays and weights: the same names, types, shapes and order, and finite numbers. SQLite: the same tables,
    sound by SQLite's own check, with values of the types of their columns.
    """
    try:
        if after is None:
            return False
        if name.endswith(".json"):
            return _fits(json.loads(before), json.loads(after))
        if name.endswith(".npy"):
            return _header(before) == _header(after) and len(before) == len(after) and _npy_finite(after)
        if name.endswith(".safetensors"):
            old, new = (
                {name: (one["dtype"], one["shape"]) for name, one in _tensors(data).items()} for data in (before, after)
            )
            return old == new and _safetensors_finite(after)
        if name.endswith(".sqlite"):
            return _schema(before) == _schema(after)
    except (ValueError, KeyError, SyntaxError, sqlite3.Error, struct.error):
        return False
    return False


def _fits(old: Any, new: Any) -> bool:
    if isinstance(old, dict):
        return isinstance(new, dict) and new.keys() <= old.keys() and all(_fits(old[key], new[key]) for key in new)
    if isinstance(old, list):
        return isinstance(new, list) and all(any(_fits(example, value) for example in old) for value in new)
    if isinstance(old, float):
        return isinstance(new, float | int) and not isinstance(new, bool) and math.isfinite(new)
    return type(old) is type(new) or (old is None and isinstance(new, int | str))


def _header(data: bytes) -> Any:
    (size,) = struct.unpack("<H", data[8:10])
    return data[:6], ast.literal_eval(data[10 : 10 + size].decode("latin-1").strip()), size


def _npy_finite(data: bytes) -> bool:
    _, header, size = _header(data)
    numbers = np.frombuffer(data[10 + size :], header["descr"])
    return numbers.dtype.kind != "f" or not np.isinf(numbers).any()  # unknown errors of reconstruction are not numbers


def _tensors(data: bytes) -> dict[str, Any]:
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    return {name: entry for name, entry in header.items() if name != "__metadata__"}


def _safetensors_finite(data: bytes) -> bool:
    (size,) = struct.unpack("<Q", data[:8])
    for entry in _tensors(data).values():
        start, end = entry["data_offsets"]
        if entry["dtype"] in DTYPES:
            numbers = np.frombuffer(data[8 + size + start : 8 + size + end], DTYPES[entry["dtype"]])
            if not np.isfinite(numbers).all():
                return False
    return True


def _schema(data: bytes) -> list[tuple]:
    """Raises sqlite3.Error or ValueError for a database that is not sound."""
    connection = sqlite3.connect(":memory:")
    connection.deserialize(data)
    if connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
        raise ValueError("not sound")
    rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name").fetchall()
    if ("items",) in [row[1:2] for row in rows]:
        columns = "typeof(id), typeof(modality), typeof(text), typeof(source)"
        if connection.execute(f"SELECT DISTINCT {columns} FROM items").fetchall() != [
            ("text", "integer", "text", "text")
        ]:
            raise ValueError("other types")
        rows += connection.execute("SELECT count(*) FROM items")
    elif connection.execute("SELECT 1 FROM shown WHERE picture NOT IN (SELECT picture FROM pictures)").fetchone():
        raise ValueError("pictures are missing")
    return rows

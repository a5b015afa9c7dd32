"""A file layer that kills or stops the process, fails or sleeps at chosen calls; for a child that
ends afterwards.

`install` replaces what changes files below a folder: functions of `os`, `open` for writing (by the
pure-Python `_pyio`, which writes by `os.write`), statements of SQLite that write, and what
safetensors writes. Each call has a number.
"""

import _pyio
import builtins
import errno
import io
import json
import os
import signal
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.numpy
import safetensors.torch

KILL, STOP, FULL, SLOW = "kill", "stop", "full", "slow"
# calls that a full disk refuses
SPACE = {"open", "write", "fallocate", "mkdir", "link", "symlink", "sqlite"}
SECONDS = 0.002  # that a call to a slow disk takes
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


@dataclass(frozen=True)
class Plan:
    """What happens at call number `at`: the process is killed there, or this call and all later
    ones find no space.

    Without a number, all calls are noted; the process sleeps at each if the action is SLOW, and
    stops at each of these kinds until somebody continues it if the action is STOP.
    """

    action: str = ""
    at: int | None = None
    kinds: frozenset[str] = frozenset()  # of calls, for STOP; empty: all
    notes: Path | None = None  # gets the calls of a process that ends by itself, as JSON


class FileLayer:
    def __init__(self, folder: Path, plan: Plan):
        self.folder = os.path.realpath(folder)
        self.plan = plan
        self.calls: list[tuple[str, str]] = []
        self._lock = threading.RLock()

    def install(self) -> None:
        real_open, read_open = os.open, builtins.open

        def opened(path: Any, flags: int, *rest: Any, **named: Any) -> int:
            if flags & WRITING:
                file = self._path(path, named.get("dir_fd"))
                self.call("reopen" if os.path.exists(file) else "open", file)
            return real_open(path, flags, *rest, **named)

        def open_file(file: Any, mode: str = "r", *rest: Any, **named: Any) -> Any:
            writing = isinstance(file, str | os.PathLike) and set(mode) & set("wax+")
            return (_pyio.open if writing else read_open)(file, mode, *rest, **named)

        os.open, builtins.open, io.open = opened, open_file, open_file
        for name in (
            "mkdir",
            "unlink",
            "remove",
            "rmdir",
            "truncate",
            "fsync",
            "ftruncate",
            "posix_fallocate",
        ):
            self._wrap(name)
        for name in ("rename", "replace", "link", "symlink"):
            self._wrap(name, target=1)
        self._wrap_write()
        layer = self
        connect = sqlite3.connect

        class Connection(sqlite3.Connection):
            def __init__(self, database: Any, *rest: Any, **named: Any):
                super().__init__(database, *rest, **named)
                self.file = str(database)

        for name in ("execute", "executemany", "executescript"):
            setattr(Connection, name, _statement(layer, getattr(sqlite3.Connection, name)))
        sqlite3.connect = lambda *given, **named: connect(*given, **{"factory": Connection} | named)
        for module in (safetensors.torch, safetensors.numpy):
            module.serialize_file = _serializing(layer, module.serialize_file)

    def call(self, kind: str, path: str, tear: Callable[[], object] | None = None) -> bool:
        """Count a call; stop, kill or fail if it is the one. tear: does half of it; returns whether
        that was done.
        """
        if not path.startswith(self.folder):
            return False
        action, at = self.plan.action, self.plan.at
        with self._lock:
            if action == FULL and kind not in SPACE:
                return False
            self.calls.append((kind, os.path.relpath(path, self.folder)))
            number = len(self.calls) - 1
        if action == SLOW:
            time.sleep(SECONDS)
        if action == STOP and (not self.plan.kinds or kind in self.plan.kinds):
            if tear:
                tear()
            os.kill(os.getpid(), signal.SIGSTOP)
            return bool(tear)
        if at is None or number < at:
            return False
        if tear and number == at:
            tear()
        if action == KILL:
            os.kill(os.getpid(), signal.SIGKILL)
        if kind == "sqlite":
            raise sqlite3.OperationalError("database or disk is full")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    def note(self) -> None:
        if self.plan.notes:
            with io.FileIO(self.plan.notes, "w") as stream:
                stream.write(json.dumps(self.calls).encode())

    def _path(self, path: Any, folder: int | None = None) -> str:
        if isinstance(path, int):
            return os.readlink(f"/proc/self/fd/{path}")
        base = os.getcwd() if folder is None else os.readlink(f"/proc/self/fd/{folder}")
        return os.path.join(base, os.fsdecode(path))

    def _wrap(self, name: str, target: int = 0) -> None:
        real = getattr(os, name)

        def wrapped(*given: Any, **named: Any) -> Any:
            self.call(name.removeprefix("posix_"), self._path(given[target], named.get("dir_fd")))
            return real(*given, **named)

        setattr(os, name, wrapped)

    def _wrap_write(self) -> None:
        real = os.write

        def wrapped(handle: int, data: Any) -> int:
            view = memoryview(data).cast("B")
            half = len(view) // 2
            if not self.call("write", self._path(handle), lambda: real(handle, view[:half])):
                return real(handle, data)
            real(handle, view[half:])
            return len(view)

        os.write = wrapped


def _statement(layer: FileLayer, real: Callable) -> Callable:
    def wrapped(connection: Any, text: str, *given: Any) -> Any:
        if not text.lstrip().upper().startswith("SELECT"):
            layer.call("sqlite", connection.file)
        return real(connection, text, *given)

    return wrapped


def _serializing(layer: FileLayer, real: Callable) -> Callable:
    def wrapped(tensors: Any, file: Any, *given: Any, **named: Any) -> None:
        def half() -> None:
            real(tensors, file, *given, **named)
            with io.FileIO(file, "r+") as stream:
                stream.truncate(os.path.getsize(file) // 2)

        try:
            layer.call("write", os.fspath(file), half)
        except OSError as error:
            raise safetensors.SafetensorError(
                f"Error while serializing: I/O error: {error.strerror}"
            ) from None
        real(tensors, file, *given, **named)

    return wrapped

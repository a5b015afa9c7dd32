"""Locks of the operating system on folders and files; they end with their process.

`manifest_lock`   short and waiting: taken for every change of a run's manifest
`write_lock`      long and refusing: taken while a run is trained, or its index changed
`ReadLock`        shared: held on a folder while somebody reads it (an index) or fills it (a
                  temporary folder); `deletion_lock` tells whether the folder may be deleted

A lock belongs to the open file, not to the thread: taking `manifest_lock` inside itself waits for
ever. On disks without locks (some network disks) everything may be in use, so nothing that a lock
could keep is deleted, and changes are not kept apart: change a run there from one process at a
time. The log says so once.
"""

import fcntl
import logging
import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from genius.errors import UserError

MANIFEST_LOCK = ".lock"  # in the folder of a run


class ReadLock:
    """Keeps a folder from being deleted until `release`, or until this object is gone."""

    def __init__(self, folder: Path):
        """Raises FileNotFoundError if the folder is gone, or about to be deleted."""
        handle = os.open(folder, os.O_RDONLY)
        self.release = weakref.finalize(self, _unlock, handle)
        if not _lock(handle, exclusive=False):
            raise FileNotFoundError(f"{folder} is being deleted")


@contextmanager
def deletion_lock(folder: Path) -> Iterator[bool]:
    """Yield whether the folder may be deleted: no one holds a ReadLock on it, nor can take one
    inside the block.
    """
    with _opened(folder, os.O_RDONLY) as handle:
        yield _lock(handle, exclusive=True, without_locks=False)


@contextmanager
def write_lock(run: Path) -> Iterator[None]:
    """No one else trains this run or changes its index inside the block. Raises UserError if
    somebody does already.
    """
    try:
        handle = os.open(run, os.O_RDONLY)
    except OSError as error:
        raise UserError(
            f"{run} cannot be read ({error.strerror}); name a run, e.g. assets/photos"
        ) from None
    try:
        if not _lock(handle, exclusive=True):
            raise UserError(
                f"{run.resolve().name} is being changed already, by training or an edit of its "
                "index; try again when that is done"
            )
        yield
    finally:
        _unlock(handle)


@contextmanager
def manifest_lock(run: Path) -> Iterator[None]:
    """No one else changes the manifest of this run inside the block; waits for its turn.

    Keep the block short, and take no `manifest_lock` of the same run inside it.
    """
    with _opened(run / MANIFEST_LOCK, os.O_RDWR | os.O_CREAT) as handle:
        _lock(handle, exclusive=True, wait=True)
        yield


@contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    handle = os.open(path, flags, 0o666)
    try:
        yield handle
    finally:
        _unlock(handle)


def _lock(handle: int, exclusive: bool, wait: bool = False, without_locks: bool = True) -> bool:
    """Lock an open file or folder; False if the locks of others are in the way. without_locks: the
    answer of a disk that has none.
    """
    try:
        fcntl.flock(
            handle, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | (0 if wait else fcntl.LOCK_NB)
        )
    except BlockingIOError:
        return False
    except OSError as error:
        _say_there_are_no_locks(error.strerror)
        return without_locks
    return True


@cache
def _say_there_are_no_locks(reason: str) -> None:
    """Once in a process."""
    logging.getLogger(__name__).warning(
        "this disk has no locks (%s): change a run on it from one process at a time, and delete by "
        "hand what is left of its former versions",
        reason,
    )


def _unlock(handle: int) -> None:
    """Unlock before closing: a child that was forked meanwhile has the same open file, and would
    keep the lock.
    """
    with suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_UN)
    os.close(handle)

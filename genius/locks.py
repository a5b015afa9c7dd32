"""Who uses which version of an index: readers hold its folder, and what nobody holds may be deleted.

Leases are locks of the operating system on the folder, so they end with their process. Where it has none (on some
network disks), nothing is held, and a reader that is overtaken by two changes may have to start again.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from genius.errors import UserError

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None


class ReadLock:
    """Holds a folder until it is dropped."""

    def __init__(self, folder: Path):
        """Raises FileNotFoundError if the folder is gone, or about to be deleted."""
        handle = os.open(folder, os.O_RDONLY)
        weakref.finalize(self, os.close, handle)
        if not _locked(handle, exclusive=False):
            raise FileNotFoundError(f"{folder} is being deleted")


@contextmanager
def unused(folder: Path) -> Iterator[bool]:
    """Whether nobody holds the folder; nobody can take it inside the block if so."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        yield _locked(handle, exclusive=True)
    finally:
        os.close(handle)


@contextmanager
def write_lock(run: Path) -> Iterator[None]:
    """Nobody else changes the index of this run inside the block. Raises UserError if somebody does already."""
    try:
        handle = os.open(run, os.O_RDONLY)
    except OSError as error:
        raise UserError(f"{run} cannot be read ({error.strerror}); name a run, e.g. assets/demo") from None
    try:
        if not _locked(handle, exclusive=True):
            raise UserError(f"the index of {run.resolve().name} is being changed already; try again when that is done")
        yield
    finally:
        os.close(handle)


def _locked(handle: int, exclusive: bool) -> bool:
    """Lock what is open until it is closed; False if others' locks are in the way."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # this disk has no locks
        return True
    return True

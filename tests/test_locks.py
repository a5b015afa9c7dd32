import gc
import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from genius.errors import UserError
from genius.locks import ReadLock, deletion_lock, manifest_lock, write_lock


def test_a_folder_is_unused_once_the_last_read_lock_is_gone(tmp_path):
    first, second = ReadLock(tmp_path), ReadLock(tmp_path)
    for name in ("first", "second"):
        with deletion_lock(tmp_path) as free:
            assert not free, name
        if name == "first":
            del first
            gc.collect()
    del second
    gc.collect()
    with deletion_lock(tmp_path) as free:
        assert free


def test_a_released_lock_is_gone_although_a_forked_child_has_the_same_open_file(tmp_path):
    lock = ReadLock(tmp_path)
    read_end, write_end = os.pipe()
    if not (child := os.fork()):
        os.close(write_end)
        os.read(read_end, 1)  # until the parent closes its end
        os._exit(0)
    try:
        lock.release()
        with deletion_lock(tmp_path) as free:
            assert free
    finally:
        os.close(write_end)
        os.waitpid(child, 0)
        os.close(read_end)


def test_a_folder_that_is_being_deleted_cannot_be_locked(tmp_path):
    folder = tmp_path / "version"
    folder.mkdir()
    with deletion_lock(folder) as free:
        assert free
        with pytest.raises(FileNotFoundError, match="being deleted"):
            ReadLock(folder)
    shutil.rmtree(folder)
    with pytest.raises(FileNotFoundError):
        ReadLock(folder)


KILLED_WHILE_LOCKED = """
import os, signal, sys
from pathlib import Path
from genius.locks import manifest_lock
with manifest_lock(Path(sys.argv[1])):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_process_holds_no_lock(tmp_path):
    killed = subprocess.run([sys.executable, "-c", KILLED_WHILE_LOCKED, tmp_path], check=False, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    with manifest_lock(tmp_path):
        pass


def test_a_change_of_the_manifest_waits_for_its_turn(tmp_path):
    order = []

    def change() -> None:
        with manifest_lock(tmp_path):
            order.append("second")

    with ThreadPoolExecutor(1) as thread:
        with manifest_lock(tmp_path):
            second = thread.submit(change)
            with pytest.raises(TimeoutError):
                second.result(0.2)
            order.append("first")
        second.result(60)
    assert order == ["first", "second"]


def test_there_is_one_writer_at_a_time(tmp_path):
    with write_lock(tmp_path), pytest.raises(UserError, match="is being changed already"), write_lock(tmp_path):
        pass
    with write_lock(tmp_path):
        pass

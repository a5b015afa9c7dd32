"""genius/files.py, locks.py and errors.py: files are written whole, errors of a disk are
sentences.
"""

import errno
import gc
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from safetensors import SafetensorError

from genius import locks
from genius.errors import UserError, exit_on_user_error
from genius.files import remove_folder, reserve_array, write_array, write_text, written_aside
from genius.locks import ReadLock, deletion_lock, manifest_lock, write_lock
from tests.waiting import forked


@pytest.mark.parametrize("shape", [(5, 3), (0, 4), (7,), (2, 3, 4)])
@pytest.mark.parametrize("dtype", [np.float16, np.uint8, np.bool_])
def test_an_array_that_is_written_by_blocks_is_the_file_that_numpy_writes(tmp_path, shape, dtype):
    array = np.random.default_rng(0).integers(2, size=shape).astype(dtype)
    np.save(tmp_path / "expected.npy", array)
    write_array(
        tmp_path / "found.npy",
        shape,
        dtype,
        (array[first : first + 2] for first in range(0, len(array), 2)),
    )
    assert (tmp_path / "found.npy").read_bytes() == (tmp_path / "expected.npy").read_bytes()


@pytest.mark.parametrize("fallocate", [True, False])
def test_a_reserved_array_is_zeros_that_have_their_space_on_disk(tmp_path, monkeypatch, fallocate):
    def unsupported(*_):
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    if not fallocate:
        monkeypatch.setattr(os, "posix_fallocate", unsupported)
    file = tmp_path / "array.npy"
    reserve_array(file, (1000, 300), np.float16)
    assert not np.load(file).any() and np.load(file).shape == (1000, 300)
    assert file.stat().st_blocks * 512 >= 600_000


def test_an_array_that_does_not_fit_leaves_no_file(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match="No space left"):
        reserve_array(tmp_path / "array.npy", (1000, 300), np.float16)
    assert not list(tmp_path.iterdir())


def test_whoever_has_mapped_an_array_keeps_it_while_it_is_reserved_again(tmp_path):
    np.save(tmp_path / "array.npy", np.ones(5000, np.float16))
    mapped = np.load(tmp_path / "array.npy", mmap_mode="r")
    reserve_array(tmp_path / "array.npy", (10,), np.float16)
    assert mapped.all() and not np.load(tmp_path / "array.npy").any()


@pytest.mark.parametrize("folder", [False, True])
def test_what_a_killed_process_left_of_a_file_is_deleted_by_the_next_one_that_writes_it(
    tmp_path, folder
):
    target = tmp_path / "report.json"

    def killed():
        with written_aside(target, folder=folder):
            os.kill(os.getpid(), signal.SIGKILL)

    assert forked(killed) == -signal.SIGKILL and len(list(tmp_path.iterdir())) == 1
    with written_aside(target):
        assert len(list(tmp_path.iterdir())) == 1
    assert not list(tmp_path.iterdir())


def test_what_another_process_is_writing_stays(tmp_path):
    with written_aside(tmp_path / "report.json") as theirs:
        write_text(tmp_path / "report.json", "ours")
        theirs.write_text("theirs")
        theirs.rename(tmp_path / "report.json")
    assert (tmp_path / "report.json").read_text(encoding="utf-8") == "theirs" and len(
        list(tmp_path.iterdir())
    ) == 1


def test_a_folder_whose_deletion_was_killed_is_gone_and_its_rest_is_deleted_next_time(
    tmp_path, monkeypatch
):
    def killed(*_, **__):
        raise KeyboardInterrupt

    folder = tmp_path / "indexing"
    folder.mkdir()
    (folder / "items.sqlite").write_text("rows")
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("shutil.rmtree", killed)
        remove_folder(folder)
    assert not folder.exists() and len(list(tmp_path.iterdir())) == 1
    remove_folder(folder)
    assert not list(tmp_path.iterdir())


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


def test_on_a_disk_without_locks_nothing_that_may_be_in_use_is_deleted_and_the_log_says_it_once(
    tmp_path, monkeypatch, caplog
):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    locks._say_there_are_no_locks.cache_clear()
    left = tmp_path / f".index.{'a' * 32}"
    left.mkdir()
    for _ in range(2):
        with deletion_lock(tmp_path) as free:
            assert not free
        with written_aside(tmp_path / "index", folder=True) as aside:
            assert aside.exists() and left.exists()
        assert not aside.exists()
        with manifest_lock(tmp_path), write_lock(tmp_path):
            ReadLock(tmp_path).release()
    assert [record.message for record in caplog.records] == [caplog.records[0].message]
    assert caplog.records[0].message.startswith(
        "this disk has no locks (No locks available): change a run on it from"
    )


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


@pytest.mark.parametrize(
    "error, sentence",
    [
        (UserError("name a run"), "error: name a run"),
        (
            OSError(errno.ENOSPC, "No space left on device"),
            r"error: the disk is full \(.*\); finished work is kept: fix this and run the "
            r"command again",
        ),
        (OSError("300 requested and 0 written"), "error: the disk is full"),  # NumPy
        (sqlite3.OperationalError("database or disk is full"), "error: the disk is full"),
        (
            SafetensorError("I/O error: No space left on device (os error 28)"),
            "error: the disk is full",
        ),
        (
            PermissionError(errno.EACCES, "Permission denied", "/run"),
            "error: a file or folder cannot be .*'/run'",
        ),
        (
            FileExistsError(errno.EEXIST, "File exists", "/out"),
            r"error: a file is where a folder should be.*'/out'\)",
        ),
        (
            IsADirectoryError(errno.EISDIR, "Is a directory", "/out/a"),
            ".*or a folder where a file should be",
        ),
    ],
)
def test_a_command_ends_with_a_sentence_on_an_error_of_the_disk(error, sentence, capsys):
    with pytest.raises(SystemExit) as ended, exit_on_user_error():
        raise error
    printed = capsys.readouterr().err
    assert ended.value.code == 2 and printed.count("\n") == 1
    assert re.match(sentence, printed), printed


def test_ctrl_c_ends_a_command_with_a_sentence(capsys):
    with pytest.raises(SystemExit) as ended, exit_on_user_error():
        raise KeyboardInterrupt
    assert ended.value.code == 130
    assert capsys.readouterr().err == "stopped; finished work is kept: run the command again\n"


@pytest.mark.parametrize(
    "error", [ValueError("No space left"), FileNotFoundError(errno.ENOENT, "gone"), KeyError("a")]
)
def test_other_errors_pass(error):
    with pytest.raises(type(error)), exit_on_user_error():
        raise error


def test_a_closed_pipe_ends_a_command_without_a_word(tmp_path):
    (tmp_path / "many.py").write_text(
        "from genius.errors import exit_on_user_error\nwith exit_on_user_error():\n"
        "    print(*range(99999), sep='\\n')\n"
    )
    command = f"{sys.executable} {tmp_path / 'many.py'} | head -1"
    ended = subprocess.run(
        command,
        shell=True,
        capture_output=True,
        text=True,
        cwd=os.path.dirname(os.path.dirname(__file__)),
        env=os.environ | {"PYTHONPATH": "."},
    )
    assert (ended.stdout, ended.stderr) == ("0\n", "")

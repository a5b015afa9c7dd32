import errno
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from genius.files import remove_folder, reserve_array, write_array, write_text, written_aside


@pytest.mark.parametrize("shape", [(5, 3), (0, 4), (7,), (2, 3, 4)])
@pytest.mark.parametrize("dtype", [np.float16, np.uint8, np.bool_])
def test_an_array_that_is_written_by_blocks_is_the_file_that_numpy_writes(tmp_path, shape, dtype):
    array = np.random.default_rng(0).integers(2, size=shape).astype(dtype)
    np.save(tmp_path / "expected.npy", array)
    write_array(tmp_path / "found.npy", shape, dtype, (array[first : first + 2] for first in range(0, len(array), 2)))
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


KILLED = """
import os, signal, sys
from pathlib import Path
from genius.files import written_aside
with written_aside(Path(sys.argv[1]), folder=sys.argv[2] == "folder"):
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_a_killed_process_left_of_a_file_is_deleted_by_the_next_one_that_writes_it(tmp_path, kind):
    target = tmp_path / "report.json"
    ended = subprocess.run([sys.executable, "-c", KILLED, target, kind], check=False, timeout=60)
    assert ended.returncode == -signal.SIGKILL and len(list(tmp_path.iterdir())) == 1
    with written_aside(target):
        assert len(list(tmp_path.iterdir())) == 1
    assert not list(tmp_path.iterdir())


def test_what_another_process_is_writing_stays(tmp_path):
    with written_aside(tmp_path / "report.json") as theirs:
        write_text(tmp_path / "report.json", "ours")
        theirs.write_text("theirs")
        theirs.rename(tmp_path / "report.json")
    assert (tmp_path / "report.json").read_text() == "theirs" and len(list(tmp_path.iterdir())) == 1


def test_a_folder_whose_deletion_was_killed_is_gone_and_its_rest_is_deleted_next_time(tmp_path, monkeypatch):
    class Killed(BaseException):
        pass

    def killed(*_, **__):
        raise Killed

    folder = tmp_path / "indexing"
    folder.mkdir()
    (folder / "items.sqlite").write_text("rows")
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr("shutil.rmtree", killed)
        remove_folder(folder)
    assert not folder.exists() and len(list(tmp_path.iterdir())) == 1
    remove_folder(folder)
    assert not list(tmp_path.iterdir())

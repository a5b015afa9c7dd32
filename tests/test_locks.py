import gc
import shutil

import pytest

from genius.errors import UserError
from genius.locks import ReadLock, unused, write_lock


def test_a_folder_is_unused_once_the_last_lease_is_dropped(tmp_path):
    first, second = ReadLock(tmp_path), ReadLock(tmp_path)
    for lease in ("first", "second"):
        with unused(tmp_path) as free:
            assert not free, lease
        if lease == "first":
            del first
            gc.collect()
    del second
    gc.collect()
    with unused(tmp_path) as free:
        assert free


def test_no_lease_is_given_on_what_is_being_deleted(tmp_path):
    folder = tmp_path / "version"
    folder.mkdir()
    with unused(folder) as free:
        assert free
        with pytest.raises(FileNotFoundError, match="being deleted"):
            ReadLock(folder)
    shutil.rmtree(folder)
    with pytest.raises(FileNotFoundError):
        ReadLock(folder)


def test_there_is_one_writer_at_a_time(tmp_path):
    with write_lock(tmp_path), pytest.raises(UserError, match="is being changed already"), write_lock(tmp_path):
        pass
    with write_lock(tmp_path):
        pass

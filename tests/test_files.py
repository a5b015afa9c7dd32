import errno
import os

import numpy as np
import pytest

from genius.files import reserve_array, write_array


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

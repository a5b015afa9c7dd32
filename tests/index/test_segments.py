import numpy as np
import pytest

from genius.index.segments import ConcatenatedArray

SIZES = (4, 1, 5)
DIM = 3
KEPT = np.array([0, 2, 3, 5, 8, 9], dtype=np.int32)


def parts() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=(size, DIM)).astype(np.float16) for size in SIZES]


@pytest.mark.parametrize("kept", [None, KEPT], ids=["all", "some removed"])
@pytest.mark.parametrize(
    "wanted",
    [
        slice(None),
        slice(-3, None),
        slice(4, 0, -2),
        -1,
        [0, 5, 5, 1],
        [],
        np.array([[0, 1, 2], [5, 4, 3]]),
    ],
    ids=str,
)
def test_rows_of_several_arrays_read_like_one(kept, wanted):
    whole = np.concatenate(parts())[slice(None) if kept is None else kept]
    rows = ConcatenatedArray(parts(), kept)
    expected = whole[np.array(wanted, dtype=int) if isinstance(wanted, list) else wanted]
    assert np.array_equal(rows[wanted], expected) and rows[wanted].dtype == np.float16
    assert (rows.shape, len(rows), rows.dtype) == (whole.shape, len(whole), whole.dtype)
    assert np.array_equal(np.asarray(rows, dtype=np.float32), whole.astype(np.float32))
    assert np.array_equal(rows[whole[:, 0] > 0], whole[whole[:, 0] > 0])


def test_rows_nest_and_refuse_what_is_outside():
    nested = ConcatenatedArray([ConcatenatedArray(parts(), KEPT), parts()[0]])
    assert np.array_equal(nested[[5, 6]], [np.concatenate(parts())[9], parts()[0][0]])
    for outside in (10, -11, [0, 10]):
        with pytest.raises(IndexError, match="has no row"):
            nested[outside]

import numpy as np
import pytest

from genius.index.ids import IDTable, check_packed, pack, packed_bytes, unpack

SIZES = (3, 4096, 7, 1, 65536, 2)


def random_codes(n: int, sizes: tuple[int, ...] = SIZES, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(sizes, size=(n, len(sizes)))


def test_unpacking_gives_back_what_was_packed():
    codes = random_codes(1000)
    assert np.array_equal(unpack(pack(codes, SIZES), SIZES), codes)


def test_the_largest_and_smallest_code_of_every_level_survive_packing():
    codes = np.array([[size - 1 for size in SIZES], [0] * len(SIZES)])
    assert np.array_equal(unpack(pack(codes, SIZES), SIZES), codes)


def test_an_id_of_the_papers_size_takes_98_bits():
    assert packed_bytes((3,) + (4096,) * 8) == 13
    assert packed_bytes((3,)) == 1
    assert packed_bytes((3, 64, 256)) == 2


def test_packed_ids_sort_as_their_codes_do():
    codes = random_codes(500, (3, 5, 9), seed=1)
    packed = pack(codes, (3, 5, 9))
    by_bytes = sorted(range(500), key=lambda i: (packed[i].tobytes(), i))
    by_codes = sorted(range(500), key=lambda i: (tuple(codes[i]), i))
    assert by_bytes == by_codes


@pytest.mark.parametrize("codes, words", [
    ([[3, 0]], "level 0 has codes from 3 to 3; expected 0 to 2"),
    ([[0, -1]], "level 1 has codes from -1"),
    ([[0, 0, 0]], r"shape \(1, 3\); expected \(n, 2\)"),
    ([0, 0], r"shape \(2,\)"),
])
def test_codes_that_cannot_be_are_refused(codes, words):
    with pytest.raises(ValueError, match=words):
        pack(np.array(codes), (3, 10))


@pytest.mark.parametrize("packed, words", [
    (np.zeros((2, 3), np.uint8), r"shape \(n, 1\)"),
    (np.zeros((2, 1), np.int64), "expected uint8"),
    (np.array([[0b11000000]], np.uint8), "code above 2 at level 0"),
    (np.array([[0b00110100]], np.uint8), "code above 9 at level 1"),
    (np.array([[0b00000001]], np.uint8), "bits after its last code"),
])
def test_bytes_that_are_no_ids_are_refused(packed, words):
    check_packed(pack(random_codes(9, (3, 10)), (3, 10)), (3, 10))
    with pytest.raises(ValueError, match=words):
        check_packed(packed, (3, 10))


def test_a_table_lists_every_unique_id_once_in_order_with_all_its_items():
    sizes = (3, 4, 4)
    codes = random_codes(60, sizes, seed=2)
    rows = np.random.default_rng(3).permutation(1000)[:60]
    table = IDTable.build(codes, sizes, rows)

    expected: dict[tuple, list[int]] = {}
    for code, row in zip(codes, rows, strict=True):
        expected.setdefault(tuple(code), []).append(row)
    everything = np.arange(len(table))
    assert [tuple(code) for code in table.codes(everything)] == sorted(expected)
    assert table.buckets(everything).tolist() == [len(expected[key]) for key in sorted(expected)]
    owner, found = table.expand(everything)
    assert found.tolist() == [row for key in sorted(expected) for row in sorted(expected[key])]
    assert owner.tolist() == [i for i, key in enumerate(sorted(expected)) for _ in expected[key]]


def test_expanding_follows_the_order_asked_for_and_allows_repeats_and_nothing():
    table = IDTable.build(np.array([[0, 1], [0, 1], [2, 0], [1, 3]]), (3, 4))
    owner, rows = table.expand(np.array([2, 0, 2]))
    assert owner.tolist() == [0, 1, 1, 2] and rows.tolist() == [2, 0, 1, 2]
    owner, rows = table.expand(np.array([], dtype=np.int64))
    assert len(owner) == len(rows) == 0


def test_expanding_takes_no_more_of_a_bucket_than_asked():
    table = IDTable.build(np.array([[0, 1]] * 5 + [[1, 1]] * 3), (3, 4))
    owner, rows = table.expand(np.array([0, 1, 0]), at_most=np.array([2, 9, 0]))
    assert owner.tolist() == [0, 0, 1, 1, 1] and rows.tolist() == [0, 1, 5, 6, 7]


def test_a_table_of_no_items_is_refused():
    with pytest.raises(ValueError, match="at least one item"):
        IDTable.build(np.zeros((0, 2), int), (3, 4))

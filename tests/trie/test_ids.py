import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from genius.trie.ids import IDTable, check_packed, expand_ranges, fields, pack, packed_bytes, unpack

SIZES = (3, 4096, 7, 1, 65536, 2)


def random_codes(n: int, sizes: tuple[int, ...] = SIZES) -> np.ndarray:
    return np.random.default_rng(0).integers(sizes, size=(n, len(sizes)))


def test_unpacking_gives_back_what_was_packed():
    extremes = [[size - 1 for size in SIZES], [0] * len(SIZES)]
    codes = np.concatenate([random_codes(1000), extremes])
    assert np.array_equal(unpack(pack(codes, SIZES), SIZES), codes)


def test_an_id_of_the_papers_size_takes_98_bits():
    assert packed_bytes((3,) + (4096,) * 8) == 13
    assert packed_bytes((3,)) == 1
    assert packed_bytes((3, 64, 256)) == 2


def test_packed_ids_sort_as_their_codes_do():
    codes = random_codes(500, (3, 5, 9))
    packed = pack(codes, (3, 5, 9))
    by_bytes = sorted(range(500), key=lambda i: packed[i].tobytes())
    assert by_bytes == sorted(range(500), key=lambda i: tuple(codes[i]))


@pytest.mark.parametrize(
    "codes, words",
    [
        ([[3, 0]], "level 0 has codes from 3 to 3; expected 0 to 2"),
        ([[0, -1]], "level 1 has codes from -1"),
        ([[0, 0, 0]], r"shape \(1, 3\); expected \(n, 2\)"),
        ([0, 0], r"shape \(2,\)"),
    ],
)
def test_codes_outside_the_codebook_are_refused(codes, words):
    with pytest.raises(ValueError, match=words):
        pack(np.array(codes), (3, 10))


@pytest.mark.parametrize(
    "use", [fields, packed_bytes, lambda sizes: pack(np.zeros((1, 2), int), sizes)]
)
def test_a_level_with_more_codes_than_16_bits_hold_is_refused(use):
    assert use((3, 65_536)) is not None
    with pytest.raises(ValueError, match="level 1 has 65,537 codes; at most 65,536 are supported"):
        use((3, 65_537))


@pytest.mark.parametrize(
    "packed, words",
    [
        (np.zeros((2, 3), np.uint8), r"shape \(n, 1\)"),
        (np.zeros((2, 1), np.int64), "expected uint8"),
        (np.array([[0b11000000]], np.uint8), "code above 2 at level 0"),
        (np.array([[0b00110100]], np.uint8), "code above 9 at level 1"),
        (np.array([[0b00000001]], np.uint8), "bits after its last code"),
    ],
)
def test_bytes_that_are_not_packed_ids_are_refused(packed, words):
    check_packed(pack(random_codes(9, (3, 10)), (3, 10)), (3, 10))
    with pytest.raises(ValueError, match=words):
        check_packed(packed, (3, 10))


@pytest.mark.parametrize(
    "sizes", [(3, 4, 4), (3,) + (4096,) * 2, (3,) + (4,) * 40], ids=["crowded", "unique", "long"]
)
def test_a_table_sorts_all_items_by_id_then_by_row(sizes):
    codes = random_codes(60, sizes)
    rows = np.random.default_rng(3).permutation(1000)[:60]
    table = IDTable.build(codes, sizes, rows)
    found = zip(table.codes(np.arange(60)).tolist(), table.rows.tolist(), strict=True)
    assert list(found) == sorted(zip(codes.tolist(), rows.tolist(), strict=True))


@pytest.mark.parametrize(
    "codes",
    [random_codes(60, (3, 4)), [[0, 1]], [[0, 1]] * 4, [[0, 1], [2, 3]], [[0, 1], [2, 3], [2, 3]]],
    ids=len,
)
def test_the_number_of_an_id_is_the_position_of_its_first_item(codes):
    keys = sorted(map(tuple, np.array(codes).tolist()))
    table = IDTable.build(np.array(codes), (3, 4))
    assert table.distinct == len(set(keys))
    assert table.ids.tolist() == sorted({keys.index(key) for key in keys})
    assert table.bucket_sizes(table.ids).tolist() == [keys.count(keys[id]) for id in table.ids]
    assert table.ids_of(np.arange(len(keys))).tolist() == [keys.index(key) for key in keys]


def test_expanding_keeps_the_order_of_ranges_and_allows_repeated_ranges_and_none():
    owner, positions = expand_ranges(np.array([4, 0, 2, 4]), np.array([6, 3, 2, 6]))
    assert owner.tolist() == [0, 0, 1, 1, 1, 3, 3] and positions.tolist() == [4, 5, 0, 1, 2, 4, 5]
    owner, positions = expand_ranges(np.array([], dtype=np.int64), np.array([], dtype=np.int64))
    assert len(owner) == len(positions) == 0


def test_expanding_takes_at_most_the_given_number_of_each_range():
    owner, positions = expand_ranges(
        np.array([0, 5, 0]), np.array([5, 8, 5]), at_most=np.array([2, 9, 0])
    )
    assert owner.tolist() == [0, 0, 1, 1, 1] and positions.tolist() == [0, 1, 5, 6, 7]


def test_a_table_without_items_or_with_a_repeated_row_is_refused():
    with pytest.raises(ValueError, match="at least one item"):
        IDTable.build(np.zeros((0, 2), int), (3, 4))
    with pytest.raises(ValueError, match="a row is repeated"):
        IDTable.build(np.array([[0, 1], [0, 2]]), (3, 4), rows=np.array([4, 4]))


def peak_memory(call: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_looking_up_a_few_ids_does_not_copy_the_table():
    n = 400_000
    table = IDTable.build(np.arange(n)[:, None] // 2 % 65536, (65536,))
    few = np.array([0, n // 2, n - 1])
    assert peak_memory(lambda: table.bucket_sizes(table.ids_of(few))) < table.shared.nbytes / 10

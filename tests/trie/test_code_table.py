"""genius/trie/code_table.py against comparing every ID with the pattern, one by one."""

import numpy as np
import pytest

from genius.trie.code_table import CodeTable, trimmed
from genius.trie.ids import IDTable

SIZES = (3, 6, 5, 300)
N = 400


@pytest.fixture(scope="module")
def codes() -> np.ndarray:
    return np.random.default_rng(0).integers(0, SIZES, (N, len(SIZES)))


@pytest.fixture(scope="module")
def table(codes) -> CodeTable:
    return CodeTable(IDTable.build(codes, SIZES))


def matching(codes, pattern):
    return [
        row
        for row, own in enumerate(codes.tolist())
        if all(code is None or code == own[level] for level, code in enumerate(pattern))
    ]


def test_the_empty_pattern_matches_every_item(table):
    assert len(table.match(())) == N == len(table)


def test_matches_are_those_of_comparing_one_by_one(codes, table):
    rng = np.random.default_rng(1)
    for own in codes[rng.integers(0, N, 60)].tolist():
        length = int(rng.integers(1, len(SIZES) + 1))
        pattern = tuple(code if rng.random() < 0.6 else None for code in own[:length])
        found = table.match(pattern)
        assert sorted(found.rows.tolist()) == matching(codes, pattern)
        for level in range(len(SIZES)):
            assert found.codes(level).tolist() == codes[found.rows, level].tolist()


def test_children_are_the_codes_that_follow(codes, table):
    for pattern in ((), (1,), (None, 4), (2, None, 3)):
        used, counts = table.match(pattern).children()
        expected = codes[matching(codes, pattern), len(pattern)]
        assert dict(zip(used.tolist(), counts.tolist(), strict=True)) == {
            int(code): int((expected == code).sum()) for code in np.unique(expected)
        }


def test_a_whole_id_has_no_children_and_an_unused_code_no_items(codes, table):
    whole = table.match(tuple(codes[7].tolist()))
    assert 7 in whole.rows and len(whole.children()[0]) == 0
    unused = next(code for code in range(300) if code not in codes[:, 3])
    nothing = table.match((None, None, None, unused))
    assert len(nothing) == 0 and len(nothing.children()[0]) == 0


def test_a_prefix_is_a_view_of_the_table(table):
    found = table.match((1, 2))
    assert np.shares_memory(found.rows, table.table.rows) and np.shares_memory(
        found.packed, table.table.packed
    )


def test_a_pattern_ends_with_its_last_code():
    assert trimmed((0, 17, None, 5, None, None)) == (0, 17, None, 5)
    assert trimmed((None, None)) == () == trimmed(())

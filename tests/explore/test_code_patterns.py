"""genius/explore/codes.py against comparing every ID with the pattern, one by one."""

import numpy as np
import pytest

from genius.errors import UserError
from genius.explore.code_patterns import CodeTable, at_level, parse_pattern, written
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


@pytest.mark.parametrize("text", ["0 · 5 · * · 17", "0.5.*.17", "0-5-*-17", "0 5 * 17", " (0, 5, *, 17) ", "0·5·*·17"])
def test_a_pattern_is_read_however_it_is_written(text):
    assert parse_pattern(text, SIZES) == (0, 5, None, 17)


@pytest.mark.parametrize("text", ["", "  ", "*", "* · *"])
def test_nothing_and_open_codes_match_everything(text, table):
    pattern = parse_pattern(text, SIZES)
    assert pattern == () and len(table.match(pattern)) == N == len(table)


def test_what_is_written_is_read_again():
    for pattern in ((), (2,), (None, 3), (0, 5, None, 17)):
        for separator in (" · ", "."):
            assert parse_pattern(written(pattern, separator), SIZES) == pattern


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("0 · x", "'x' is no code; write numbers, and * for any code, such as 0 · 17 · * · 5."),
        ("3", "Level 0 has the codes 0 to 2, not 3."),
        ("0 · 5 · 0 · 99999999999", "Level 3 has the codes 0 to 299, not 99999999999."),
        ("0 0 0 0 0", "The pattern has 5 codes; an ID has 4."),
        ("0 ٣", "'٣' is no code; write numbers, and * for any code, such as 0 · 17 · * · 5."),
        ("1" * 201, "A pattern is a text of at most 200 characters, such as 0 · 17 · * · 5."),
        (None, "A pattern is a text of at most 200 characters, such as 0 · 17 · * · 5."),
    ],
)
def test_what_is_no_pattern_gets_one_sentence(text, sentence):
    with pytest.raises(UserError) as caught:
        parse_pattern(text, SIZES)
    assert str(caught.value) == sentence


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
    assert np.shares_memory(found.rows, table.table.rows) and np.shares_memory(found.packed, table.table.packed)


def test_levels_count_each_code(codes, table):
    for level, size in enumerate(SIZES):
        assert table.level(level).tolist() == np.bincount(codes[:, level], minlength=size).tolist()


def test_a_code_at_a_level_leaves_open_what_comes_before():
    assert at_level(2, 4) == (None, None, 4) and at_level(0, 1) == (1,)

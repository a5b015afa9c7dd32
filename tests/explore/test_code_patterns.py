"""Parsing and formatting code patterns."""

import pytest

from genius.errors import UserError
from genius.explore.code_patterns import format_pattern, parse_pattern

SIZES = (3, 6, 5, 300)


@pytest.mark.parametrize(
    "text", ["0 · 5 · * · 17", "0.5.*.17", "0-5-*-17", "0 5 * 17", " (0, 5, *, 17) ", "0·5·*·17"]
)
def test_a_pattern_may_be_written_with_any_separator(text):
    assert parse_pattern(text, SIZES) == (0, 5, None, 17)


@pytest.mark.parametrize("text", ["", "  ", "*", "* · *"])
def test_an_empty_text_and_open_codes_match_everything(text):
    assert parse_pattern(text, SIZES) == ()


def test_a_formatted_pattern_is_parsed_again():
    for pattern in ((), (2,), (None, 3), (0, 5, None, 17)):
        for separator in (" · ", "."):
            assert parse_pattern(format_pattern(pattern, separator), SIZES) == pattern


@pytest.mark.parametrize(
    "text, sentence",
    [
        (
            "0 · x",
            "'x' is not a code; write numbers, and * for any code, for example 0 · 17 · * · 5.",
        ),
        ("3", "Level 0 has codes 0 to 2, not 3."),
        ("0 · 5 · 0 · 99999999999", "Level 3 has codes 0 to 299, not 99999999999."),
        ("0 0 0 0 0", "The pattern has 5 codes; an ID has 4."),
        (
            "0 ٣",
            "'٣' is not a code; write numbers, and * for any code, for example 0 · 17 · * · 5.",
        ),
        ("1" * 201, "A pattern has at most 200 characters, for example 0 · 17 · * · 5."),
        (None, "A pattern has at most 200 characters, for example 0 · 17 · * · 5."),
    ],
)
def test_an_invalid_pattern_gets_one_sentence(text, sentence):
    with pytest.raises(UserError) as caught:
        parse_pattern(text, SIZES)
    assert str(caught.value) == sentence

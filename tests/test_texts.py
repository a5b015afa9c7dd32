"""genius/texts.py: the form in which encoders read texts."""

import pytest

from genius.texts import MAX_TEXT, MAX_WORD, normalize_text, query_text, shorten_text


@pytest.mark.parametrize(
    ("raw", "normal"),
    [
        ("a red dog", "A red dog."),
        ('  "quoted"  ', "Quoted."),
        ("why?", "Why?"),
        ("Done!", "Done!"),
        ("", ""),
        (" \r\n ", ""),
        ('""', ""),
        ("two\r lines", "Two lines."),
    ],
)
def test_texts_are_normalized_as_in_the_published_code(raw, normal):
    assert normalize_text(raw) == normal


def test_only_what_no_encoder_reads_is_cut_from_a_text():
    for text in ("", "a red dog", " ".join(["word"] * 1_999), "x" * MAX_WORD, "two\nlines  and  spaces"):
        assert shorten_text(text) == text
    assert len(shorten_text("word " * 10**6)) == MAX_TEXT
    assert shorten_text(f"a {'x' * 5_000} b") == f"a {'x' * MAX_WORD} b"


def test_the_instruction_comes_before_the_text():
    assert query_text("find a photo.", "a red dog") == "Find a photo. a red dog."
    assert query_text("find a photo", "") == "Find a photo."
    assert query_text("", "a red dog") == "A red dog."


@pytest.mark.parametrize(
    ("instruction", "text", "published"),
    [
        ("find it", "a red car", "Find it. a red car."),
        ("find it?", "a red car", "Find it? a red car."),
        (' "Find it." ', "a red car?", "Find it. a red car?"),
        ("find it", "", "Find it."),
    ],
)
def test_an_instruction_is_a_sentence_of_its_own_as_in_the_published_code(instruction, text, published):
    assert query_text(instruction, text) == published

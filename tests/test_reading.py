"""genius/reading.py: files of unknown origin; genius/texts.py: the form in which encoders read
texts.
"""

import os
from dataclasses import dataclass

import numpy as np
import pytest
from pydantic import with_config

from genius import reading
from genius.reading import EXACT, is_finite, one_line, read_array, read_json
from genius.texts import MAX_TEXT, MAX_WORD, normalize_text, query_text, shorten_text


@with_config(EXACT)
@dataclass
class Settings:
    size: reading.Size = 3
    share: reading.Share = 0.5
    names: tuple[str, ...] = ()


def test_json_is_read_as_the_type_that_is_asked_for(tmp_path):
    file = tmp_path / "a.json"
    file.write_text('{"size": 7, "names": ["a", "b"]}')
    assert read_json(file) == {"size": 7, "names": ["a", "b"]}
    settings = read_json(file, Settings)
    assert (settings.size, settings.share, settings.names) == (7, 0.5, ("a", "b"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "EOF while parsing"),
        ("{}}", "trailing characters"),
        ("[" * 100_000, "recursion limit exceeded"),
        (f'{{"size": 1{"0" * 5000}}}', "number out of range"),
        ('{"share": NaN}', "expected value"),
        ('{"share": 1e999}', "a number out of range"),
        ('{"share": 2}', "share: Input should be less than or equal to 1"),
        ('{"size": 1000000000000}', "size: Input should be less than or equal to 1048576"),
        ('{"size": "7"}', "size: Input should be a valid integer"),
        ('{"names": [1]}', "names.0: Input should be a valid string"),
        ('{"other": 1}', "other: Unexpected keyword argument"),
        ('{"' + 10_000 * "x" + '": 1}', "x …"),
        ("[]", "Input should be"),
    ],
)
def test_other_json_is_refused_in_one_short_line(tmp_path, text, reason):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ValueError) as refused:
        read_json(tmp_path / "a.json", Settings)
    assert (
        reason in str(refused.value)
        and "\n" not in str(refused.value)
        and len(str(refused.value)) < 250
    )


def test_a_huge_json_file_is_not_read(tmp_path):
    with (tmp_path / "a.json").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(ValueError, match="1,099,511,627,776 bytes are too many"):
        read_json(tmp_path / "a.json")


def test_a_pipe_and_a_device_are_refused_without_reading(tmp_path):
    os.mkfifo(tmp_path / "a.json")
    (tmp_path / "b.json").symlink_to("/dev/zero")
    for name in ("a.json", "b.json"):
        with pytest.raises(ValueError, match="not a regular file"):
            read_json(tmp_path / name)


def test_an_array_file_that_is_longer_than_its_array_is_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((3, 2), np.float32))
    with (tmp_path / "a.npy").open("ab") as file:
        file.write(b"more")
    with pytest.raises(ValueError, match="has 156 bytes, its header announces 152"):
        read_array(tmp_path / "a.npy", (None, 2), np.float32)


def test_an_array_of_the_right_type_and_shape_is_read(tmp_path):
    numbers = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save(tmp_path / "a.npy", numbers)
    for mapped in (True, False):
        read = read_array(tmp_path / "a.npy", (2, 3), np.float32, mapped)
        assert (read == numbers).all() and isinstance(read, np.memmap) == mapped
    assert read_array(tmp_path / "a.npy", (None, 3), np.float32).shape == (2, 3)


@pytest.mark.parametrize(
    "numbers",
    [
        np.zeros((3, 2), np.float32),
        np.zeros((2, 3), np.float64),
        np.zeros((2, 3), ">f4"),
        np.asfortranarray(np.zeros((2, 3), np.float32)),
        np.array([[None] * 3] * 2, dtype=object),
    ],
)
def test_other_arrays_are_refused(tmp_path, numbers):
    np.save(tmp_path / "a.npy", numbers, allow_pickle=True)
    with pytest.raises(ValueError):
        read_array(tmp_path / "a.npy", (2, 3), np.float32)


@pytest.mark.parametrize(
    "header", ["(" * 9000, "{'descr': '<f4', 'fortran_order': False, 'shape': (10**15, 3)}", "1"]
)
def test_damaged_headers_are_refused(tmp_path, header):
    (tmp_path / "a.npy").write_bytes(
        b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
    )
    with pytest.raises(ValueError):
        read_array(tmp_path / "a.npy", (2, 3), np.float32)


def test_numbers_that_are_not_finite_are_found_in_every_block_and_in_samples_of_large_arrays(
    monkeypatch,
):
    monkeypatch.setattr(reading, "NUMBERS_AT_ONCE", 10)
    numbers = np.zeros((100, 3), np.float16)
    assert is_finite(numbers)
    for row in (0, 50, 99):
        changed = numbers.copy()
        changed[row, 1] = np.nan
        assert not is_finite(changed)
    monkeypatch.setattr(reading, "LARGE", 100)
    monkeypatch.setattr(reading, "SAMPLED", 3)
    monkeypatch.setattr(reading, "SAMPLES", 5)
    for row, found in ((0, True), (99, True), (1, False)):
        changed = numbers.copy()
        changed[row] = np.inf
        assert is_finite(changed) != found


def test_an_error_without_a_text_is_named_by_its_type():
    assert one_line(KeyError()) == "KeyError" and one_line(ValueError("a\n  b")) == "a b"


@pytest.mark.parametrize(
    ("raw", "normal"),
    [
        ("a red dog", "A red dog."),
        ('  "quoted"  ', "Quoted."),
        ("why?", "Why?"),
        (" \r\n ", ""),
        ('""', ""),
        ("\u200b", ""),
        ("\u2060 \ufeff\u200d", ""),
        ("👩\u200d👧", "👩\u200d👧."),
        ("two\r lines", "Two lines."),
    ],
)
def test_texts_are_normalized_as_in_the_published_code(raw, normal):
    assert normalize_text(raw) == normal


def test_only_what_no_encoder_reads_is_cut_from_a_text():
    for text in (" ".join(["word"] * 1_999), "x" * MAX_WORD, "two\nlines  and  spaces"):
        assert shorten_text(text) == text
    assert len(shorten_text("word " * 10**6)) == MAX_TEXT
    assert shorten_text(f"a {'x' * 5_000} b") == f"a {'x' * MAX_WORD} b"


@pytest.mark.parametrize(
    ("instruction", "text", "published"),
    [
        ("find it", "a red car", "Find it. a red car."),
        ("find it?", "a red car", "Find it? a red car."),
        (' "Find it." ', "a red car?", "Find it. a red car?"),
        ("find it", "", "Find it."),
        ("", "a red dog", "A red dog."),
    ],
)
def test_an_instruction_is_a_sentence_of_its_own_as_in_the_published_code(
    instruction, text, published
):
    assert query_text(instruction, text) == published

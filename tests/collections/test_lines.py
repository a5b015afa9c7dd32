"""Lines and JSON objects; every complaint names file and line."""

import os

import pytest

from genius.collections import lines
from genius.collections.lines import LineError, json_lines, text_lines


@pytest.fixture
def file(tmp_path):
    return tmp_path / "table.jsonl"


def complaint(file, content: bytes) -> str:
    file.write_bytes(content)
    with pytest.raises(LineError) as caught:
        list(json_lines(file))
    assert str(caught.value).startswith(str(file))
    return str(caught.value).removeprefix(str(file))


def test_line_numbers_count_blank_lines(file):
    file.write_bytes("\ufeffone\r\n\r\n  \ntwo \u2028 ü\n".encode())
    assert list(text_lines(file)) == [(1, "one"), (4, "two \u2028 ü")]


@pytest.mark.parametrize(
    "content, says",
    [
        (b'{"a": 1}\n{"a": }\n', ":2: the line is not JSON"),
        (b'{"a": 1}\n[1]\n', ":2: expected a JSON object, found list"),
        (b'{"a": NaN}\n', ":1: the line is not valid JSON (NaN"),
        (b'{"a": 1, "a": 2}\n', ":1: the line is not valid JSON (the key 'a' appears twice"),
        (b'{"a": "\\ud800"}\n', ":1: the text contains an unpaired surrogate"),
        ('{"a": "ü"}\n'.encode("latin-1"), ":1: the line is not UTF-8"),
        ('{"a": 1}\n'.encode("utf-16"), ":1: the file is UTF-16"),
        (b"\n" + b"[" * 100_000, ":2: "),
    ],
)
def test_invalid_lines_are_named_by_number(file, content, says):
    assert complaint(file, content).startswith(says)


def test_a_whole_surrogate_pair_is_a_character(file):
    file.write_text('{"a": "\\ud83d\\ude00"}')
    assert list(json_lines(file)) == [(1, {"a": "😀"})]


def test_an_endless_line_is_refused_without_reading_it_all(file, monkeypatch):
    monkeypatch.setattr(lines, "MAX_LINE", 100)
    assert complaint(file, b'{"a": 1}\n{"a": "' + b"x" * 200).startswith(":2: the line is longer")


def test_a_pipe_or_folder_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "."):
        with pytest.raises(LineError, match="is not a file"):
            list(text_lines(tmp_path / name))
    with pytest.raises(LineError, match="is missing"):
        list(text_lines(tmp_path / "nowhere"))


def test_a_pointer_of_git_lfs_is_one_error_that_says_what_to_do(tmp_path):
    (tmp_path / "x.jsonl").write_text(
        "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n"
    )
    with pytest.raises(LineError, match="git lfs pull"):
        list(json_lines(tmp_path / "x.jsonl"))

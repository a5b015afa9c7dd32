"""Read text files line by line; every error names the file and the line."""

import gzip
import io
import json
import os
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from genius.errors import UserError

MAX_LINE = 16 * 2**20  # bytes; a longer line means a file without line breaks
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
LFS_POINTER = b"version https://git-lfs.github.com/"
POINTER = "is a pointer of Git LFS, not the file itself; fetch it with: git lfs pull"
PACKED = (".csv.gz", ".tsv.gz", ".jsonl.gz")  # tables that are read as what they hold
GZIP = b"\x1f\x8b"  # begins them
MAX_PACKED = 2**29  # bytes of what one holds, all of which are in memory
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


class LineError(UserError):
    """An invalid line. `line` counts from 1; 0 means the whole file."""

    def __init__(self, file: Path, line: int, message: str):
        # a name that is not UTF-8 cannot be printed
        name = os.fsencode(file).decode(errors="backslashreplace")
        super().__init__(f"{name}:{line}: {message}" if line else f"{name}: {message}")
        self.file, self.line, self.message = file, line, message


def text_lines(file: Path) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, text without its line break) for each nonblank line of a UTF-8
    file.

    A byte order mark is dropped. Raises LineError for other encodings and for lines over 16 MB.
    """
    for number, line in enumerate(_raw_lines(file), 1):
        if len(line) > MAX_LINE:
            message = "the line is longer than 16 MB; expected one record per line"
            raise LineError(file, number, message)
        if number == 1:
            if line.startswith(UTF16_MARKS):
                raise LineError(file, 1, "the file is UTF-16; save it as UTF-8")
            if line.startswith(LFS_POINTER):
                raise LineError(file, 0, POINTER)
            line = line.removeprefix(BYTE_ORDER_MARK)
        try:
            text = line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            raise LineError(file, number, "the line is not UTF-8; save the file as UTF-8") from None
        if text and not text.isspace():
            yield number, text


def file_bytes(file: Path) -> bytes:
    """The whole of a small file, of a packed table unpacked. Raises LineError as `text_lines`, but
    for its encoding.
    """
    data = b"".join(_raw_lines(file))
    if data.startswith(LFS_POINTER):
        raise LineError(file, 0, POINTER)
    # programs that download also unpack, and leave the name
    is_packed = file.name.lower().endswith(PACKED) and data.startswith(GZIP)
    return _unpacked(file, data) if is_packed else data


def _unpacked(file: Path, packed: bytes) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(packed)) as stream:
            data = stream.read(MAX_PACKED + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise LineError(file, 0, f"is damaged ({error}); pack the table again") from None
    if len(data) > MAX_PACKED:
        raise LineError(file, 0, f"unpacks to more than {MAX_PACKED // 2**20} MB; split the table")
    return data


def _raw_lines(file: Path) -> Iterator[bytes]:
    """Lines of at most MAX_LINE + 1 bytes. Raises LineError if the file is not a regular one or
    cannot be read.
    """
    try:
        if not file.is_file():  # opening a pipe would block forever
            is_there = os.path.lexists(file)
            message = "is not a file; expected a text file" if is_there else "is missing"
            raise LineError(file, 0, message)
        with file.open("rb") as stream:
            while line := stream.readline(MAX_LINE + 1):
                yield line
    except OSError as error:
        raise LineError(file, 0, f"cannot be read ({error.strerror})") from None


def json_lines(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, object) for each line of a JSONL file. Raises LineError for a line that
    is not an object.
    """
    for number, text in text_lines(file):
        yield number, parse_object(file, number, text)


def parse_object(file: Path, number: int, text: str) -> dict[str, Any]:
    """The JSON object on one line, or in a file (number 0).

    Raises LineError, also for NaN, a repeated key or an unpaired surrogate.
    """
    what = "the line" if number else "the file"
    try:
        record = DECODER.decode(text)
        if "\\u" in text:
            json.dumps(record, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise LineError(
            file, number, "the text contains an unpaired surrogate; remove it"
        ) from None
    except json.JSONDecodeError as error:
        raise LineError(
            file, number, f"{what} is not JSON ({error.msg} at column {error.colno})"
        ) from None
    except RecursionError:
        raise LineError(file, number, f"{what} is nested too deeply") from None
    except ValueError as error:
        raise LineError(file, number, f"{what} is not valid JSON ({error})") from None
    if not isinstance(record, dict):
        raise LineError(file, number, f"expected a JSON object, found {type(record).__name__}")
    return record


def validate(adapter: TypeAdapter, file: Path, number: int, record: dict[str, Any]) -> Any:
    """Validate a record with pydantic. Raises LineError: the field, what was expected, what was
    found.
    """
    try:
        return adapter.validator.validate_python(record)
    except ValidationError as error:
        raise LineError(file, number, _sentence(error)) from None


def _sentence(invalid: ValidationError) -> str:
    """The first validation error as one sentence."""
    error = invalid.errors(include_url=False)[0]
    field = ".".join(map(str, error["loc"]))
    message = error["msg"].removeprefix("Value error, ")
    if error["type"] == "missing":
        return f"the field {field} is missing"
    if error["type"] != "value_error":
        message = f"{message[0].lower()}{message[1:]}, found {_shown(error['input'])}"
    return f"{field}: {message}" if field else message


def _shown(value: Any) -> str:
    try:
        return f"{value!r:.80}"
    except RecursionError:
        return "a deeply nested value"


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON value")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        repeated = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the key {repeated!r:.80} appears twice")
    return record


DECODER = json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=_unique_keys)

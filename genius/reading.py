"""Read the files of a run, which may be damaged, or made by a stranger.

One function for each kind of file. What a file announces is compared with what its reader expects
before memory of that size is taken, and whatever does not fit is an OSError or a ValueError of one
line. Writers are in files.py.
"""

import math
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import DTypeLike
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import from_json

from genius.errors import UserError

MAX_JSON = 2**26  # bytes of a file
MAX_REASON = 200  # characters
# of dataclasses that JSON files hold
EXACT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
LOOSE = EXACT | ConfigDict(extra="allow")  # as EXACT, of what may hold more than is read by name
NUMBERS_AT_ONCE = 2**22  # numbers that are checked together
SAMPLED = 2**17  # numbers of each of SAMPLES blocks of a large array
SAMPLES = 64
# numbers of an array that is only sampled: reading millions of embeddings takes minutes
LARGE = 2**27

Size = Annotated[int, Field(ge=1, le=2**20)]  # of an axis
SizeOrNone = Annotated[int, Field(ge=0, le=2**20)]  # 0: there is no such axis
Depth = Annotated[int, Field(ge=1, le=256)]  # layers, or levels of an ID
Share = Annotated[float, Field(ge=0, le=1)]
Probability = Annotated[float, Field(ge=0, lt=1)]
Positive = Annotated[float, Field(gt=0)]

# Python 3.11 may fail where two threads parse the headers of arrays at once
_PARSING = threading.Lock()


def read_json(file: Path, kind: Any = None) -> Any:
    """Parse a JSON file. kind: the type that it must hold, such as a dataclass configured as EXACT;
    None: any JSON.

    Raises OSError, or ValueError for text that is not JSON (NaN is not), too large, too deep, or of
    another type.
    """
    check_text_size(file)
    text = file.read_bytes()
    value = from_json(text, allow_inf_nan=False)
    if not _all_finite(value):
        raise ValueError("it holds a number out of range")
    if kind is None:
        return value
    try:
        return _adapter(kind).validate_json(text, strict=True)
    except ValidationError as error:
        raise ValueError(first_problem(error)) from None


def size_of(file: Path) -> int:
    """Bytes of a file. Raises OSError, or ValueError for a pipe or a device, which may have no
    end.
    """
    status = file.stat()
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("it is not a regular file")
    return status.st_size


def check_text_size(file: Path) -> None:
    """Raises OSError, or ValueError for what is too large for a JSON file or vocabulary, or no
    file.
    """
    if (size := size_of(file)) > MAX_JSON:
        raise ValueError(f"{size:,} bytes are too many for a text file of a run")


def _all_finite(value: Any) -> bool:
    """Whether parsed JSON holds no infinity, which numbers such as 1e999 become."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(map(_all_finite, value.values()))
    return not isinstance(value, list) or all(map(_all_finite, value))


@cache
def _adapter(kind: Any) -> TypeAdapter:
    return TypeAdapter(kind)


def first_problem(error: ValidationError) -> str:
    """The first thing that does not fit, in one line, with its place in the file."""
    first = error.errors(include_url=False, include_context=False)[0]
    place = ".".join(map(str, first["loc"]))
    return one_line(f"{place}: {first['msg']}" if place else first["msg"])


def one_line(error: object) -> str:
    """The start of an error's text, or its type where it has none."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= MAX_REASON else f"{text[:MAX_REASON]} …"


@contextmanager
def damage_explained(problem: str, remedy: str) -> Iterator[None]:
    """Turn what the readers here raise in the block into a UserError: the problem, its cause, and
    what to do.
    """
    try:
        yield
    except (OSError, ValueError) as error:
        raise UserError(f"{problem} ({one_line(error)}); {remedy}") from None


def read_array(
    file: Path, shape: tuple[int | None, ...], dtype: DTypeLike, mapped: bool = False
) -> np.ndarray:
    """The array in a .npy file, which must have this shape, such as (None, d), type and order of
    axes.

    shape: None for an axis of any length. mapped: return a read-only memory map. Raises OSError, or
    ValueError that says what does not fit.
    """
    try:
        with _PARSING:
            # unlike np.load it opens neither archives nor pickles
            array = np.lib.format.open_memmap(file, mode="r")
    except OSError:
        raise
    except Exception as error:  # numpy reads the header as Python, which raises many types
        raise ValueError(one_line(error)) from None
    expected = np.dtype(dtype)
    if (size := size_of(file)) != array.offset + array.nbytes:
        raise ValueError(
            f"it has {size:,} bytes, its header announces {array.offset + array.nbytes:,}"
        )
    fits = array.ndim == len(shape) and all(
        n in (None, m) for n, m in zip(shape, array.shape, strict=True)
    )
    if not fits or array.dtype != expected or not array.flags.c_contiguous:
        order = "" if array.flags.c_contiguous else " in Fortran order"
        lengths = tuple("any" if n is None else n for n in shape)
        raise ValueError(
            f"it holds {array.dtype} of shape {array.shape}{order}, expected {expected} "
            f"of shape {lengths}"
        )
    return array if mapped else np.array(array)


def is_finite(array: np.ndarray) -> bool:
    """Whether all numbers of an array (n, …) are finite, without a large temporary array.

    Of a LARGE one a sample is read: blocks at equal distances, the first and the last among them.
    """
    numbers = array.reshape(-1)
    starts = np.arange(0, array.size, NUMBERS_AT_ONCE)
    length = NUMBERS_AT_ONCE
    if array.size > LARGE:
        starts = np.linspace(0, array.size - SAMPLED, SAMPLES, dtype=np.int64)
        length = SAMPLED
    return all(np.isfinite(numbers[first : first + length]).all() for first in starts)

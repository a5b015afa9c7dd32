"""Ids as integer keys: 5.6 million ids take 45 MB as an array and, numbered one by one, 3 MB as a
set.
"""

import re
from typing import Self, TypeVar

import numpy as np

MAX_NUMBER = 2**40
# no leading zeros, so that an id has one spelling
ID = re.compile(r"(0|[1-9]\d{0,5}):(0|[1-9]\d{0,11})", re.ASCII)
# a page holds 256 consecutive keys in 32 bytes: of keys far apart, each takes a page of its own
PAGE_BITS = 8

Keys = TypeVar("Keys", int, np.ndarray)


def id_key(name: str) -> int:
    """The id "dataset:number" as an integer below 2^60. Raises ValueError for an invalid id."""
    match = ID.fullmatch(name)
    if match is None:
        raise ValueError(
            f"the id {name[:80]!r} does not have the form dataset:number, for example 9:1234"
        )
    return int(match[1]) * MAX_NUMBER + int(match[2])


def key_id(key: int) -> str:
    """The id of a key."""
    return f"{key // MAX_NUMBER}:{key % MAX_NUMBER}"


def key_dataset(key: Keys) -> Keys:
    """The dataset number of a key, or of each of an array of keys (n,)."""
    return key // MAX_NUMBER


class KeySet:
    """A set of keys stored as a paged bitmap: 0.5 bytes for each of consecutive keys, 104 bytes for
    keys far apart.
    """

    def __init__(self) -> None:
        self._pages: dict[int, int] = {}  # a bit for each key

    def __contains__(self, key: int) -> bool:
        return bool(self._pages.get(key >> PAGE_BITS, 0) >> key % 2**PAGE_BITS & 1)

    def isdisjoint(self, other: Self) -> bool:
        """Whether no key is in both."""
        pages = self._pages.keys() & other._pages.keys()
        return not any(self._pages[page] & other._pages[page] for page in pages)

    def add(self, key: int) -> bool:
        """Add a key. Returns False if it was already present."""
        page, bit = key >> PAGE_BITS, 1 << key % 2**PAGE_BITS
        known = self._pages.get(page, 0)
        self._pages[page] = known | bit
        return not known & bit

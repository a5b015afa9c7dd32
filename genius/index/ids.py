"""IDs in as few bits as they need, and the items that share each of them.

The bits of an ID's codes follow each other, most significant first, padded with zeros to whole bytes (at
the paper's size 2 + 8·12 bits -> 13 bytes). So the order of the bytes is the order of the codes, and a
sorted table of packed IDs is itself a trie: the IDs below a prefix are neighbours.

Axes: n items, u unique IDs, m chosen IDs, M levels, B bytes of a packed ID.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np


@dataclass(frozen=True)
class Field:
    """Where the code of one level lies in a packed ID."""

    first: int    # byte that holds its highest bit
    last: int     # byte that holds its lowest bit
    shift: int    # bits of the last byte that follow it
    mask: int     # its bits, right-aligned


def fields(code_sizes: Sequence[int]) -> list[Field]:
    """One Field per level."""
    widths = [(size - 1).bit_length() for size in code_sizes]
    places = []
    for width, end in zip(widths, accumulate(widths), strict=True):
        last = (max(end, 1) - 1) // 8
        places.append(Field(min((end - width) // 8, last), last, 8 * (last + 1) - end, (1 << width) - 1))
    return places


def packed_bytes(code_sizes: Sequence[int]) -> int:
    """B: bytes of one packed ID."""
    return fields(code_sizes)[-1].last + 1


def pack(codes: np.ndarray, code_sizes: Sequence[int]) -> np.ndarray:
    """Codes (n, M) -> packed IDs (n, B) uint8. Raises ValueError if a code does not exist."""
    codes = np.asarray(codes)
    if codes.ndim != 2 or codes.shape[1] != len(code_sizes):
        raise ValueError(f"codes have shape {codes.shape}; expected (n, {len(code_sizes)})")
    packed = np.zeros((len(codes), packed_bytes(code_sizes)), dtype=np.uint8)
    for level, (field, size) in enumerate(zip(fields(code_sizes), code_sizes, strict=True)):
        column = codes[:, level].astype(np.int64)
        if column.size and not (0 <= column.min() and column.max() < size):
            raise ValueError(f"level {level} has codes from {column.min()} to {column.max()}; "
                             f"expected 0 to {size - 1}")
        column <<= field.shift
        for byte in range(field.last, field.first - 1, -1):
            packed[:, byte] |= (column & 0xFF).astype(np.uint8)
            column >>= 8
    return packed


def read_level(packed: np.ndarray, field: Field) -> np.ndarray:
    """The codes of one level of packed IDs (…, B) -> (…,) int64."""
    value = packed[..., field.first].astype(np.int64)
    for byte in range(field.first + 1, field.last + 1):
        value = value << 8 | packed[..., byte]
    return value >> field.shift & field.mask


def unpack(packed: np.ndarray, code_sizes: Sequence[int]) -> np.ndarray:
    """Packed IDs (…, B) -> codes (…, M) int64."""
    return np.stack([read_level(packed, field) for field in fields(code_sizes)], axis=-1)


def check_packed(packed: np.ndarray, code_sizes: Sequence[int]) -> None:
    """Raise ValueError unless `packed` could have come from `pack` with these code sizes."""
    expected = packed_bytes(code_sizes)
    if packed.ndim != 2 or packed.shape[1] != expected or packed.dtype != np.uint8:
        raise ValueError(f"packed IDs are {packed.dtype} of shape {packed.shape}; "
                         f"expected uint8 of shape (n, {expected})")
    places = fields(code_sizes)
    padding = (1 << places[-1].shift) - 1
    if np.any(packed[:, -1] & padding):
        raise ValueError("a packed ID has bits after its last code")
    for level, (field, size) in enumerate(zip(places, code_sizes, strict=True)):
        if field.mask >= size and np.any(read_level(packed, field) >= size):
            raise ValueError(f"a packed ID has a code above {size - 1} at level {level}")


@dataclass(frozen=True)
class IDTable:
    """The unique IDs in order, and under each the items that share it (its bucket)."""

    packed: np.ndarray             # (u, B) uint8, ascending
    offsets: np.ndarray            # (u + 1,) bucket of ID i is rows[offsets[i]:offsets[i + 1]]
    rows: np.ndarray               # (n,) index rows, ordered by ID, then by row
    code_sizes: tuple[int, ...]

    @classmethod
    def build(cls, codes: np.ndarray, code_sizes: Sequence[int], rows: np.ndarray | None = None) -> IDTable:
        """codes (n, M) of the items at `rows` (n,) of the index; by default rows 0 … n−1."""
        return cls.from_packed(pack(codes, code_sizes), code_sizes, rows)

    @classmethod
    def from_packed(cls, packed: np.ndarray, code_sizes: Sequence[int],
                    rows: np.ndarray | None = None) -> IDTable:
        """packed (n, B) as `pack` gives them; n ≥ 1 and no row twice, or ValueError."""
        if not len(packed):
            raise ValueError("an ID table needs at least one item")
        rows = np.arange(len(packed)) if rows is None else np.asarray(rows)
        words = np.zeros((len(packed), -(-packed.shape[1] // 8) * 8), dtype=np.uint8)
        words[:, :packed.shape[1]] = packed
        words = words.view(">u8").astype(np.uint64).T            # sorting integers beats sorting bytes
        order = np.lexsort((rows, *words[::-1]))
        words, rows = words[:, order], rows[order]
        begins = np.append(True, (words[:, 1:] != words[:, :-1]).any(axis=0))
        offsets = np.append(np.flatnonzero(begins), len(packed))
        index = np.int32 if max(len(packed), rows.max()) < 2**31 else np.int64
        return cls(packed[order[offsets[:-1]]], offsets.astype(index), rows.astype(index), tuple(code_sizes))

    def __len__(self) -> int:
        return len(self.packed)

    @property
    def nbytes(self) -> int:
        return self.packed.nbytes + self.offsets.nbytes + self.rows.nbytes

    def codes(self, ids: np.ndarray) -> np.ndarray:
        """Numbers of unique IDs (…,) -> their codes (…, M)."""
        return unpack(self.packed[ids], self.code_sizes)

    def buckets(self, ids: np.ndarray) -> np.ndarray:
        """Numbers of unique IDs (…,) -> how many items share each (…,)."""
        return self.offsets[np.asarray(ids) + 1] - self.offsets[ids]

    def expand(self, ids: np.ndarray, at_most: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The items of many buckets, in the order of `ids` (m,), then of rows.

        at_most (m,): take no more than these of each bucket. Returns (owner, rows), (items,) each:
        position in `ids`, and row of the index.
        """
        sizes = self.buckets(ids) if at_most is None else np.minimum(self.buckets(ids), at_most)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        within = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return owner, self.rows[self.offsets[ids][owner] + within].astype(np.int64)

"""Packed IDs, and the table of items sorted by ID.

A packed ID holds the bits of its codes one after another, most significant first, padded with zeros
to whole bytes (at the paper's size 2 + 8·12 bits -> 13 bytes). So the order of the bytes is the
order of the codes, and a sorted table of packed IDs is itself a trie: the IDs with a common prefix
are consecutive.

Shapes: n items, u distinct IDs, s IDs that several items share, m items or ranges given, M levels,
B bytes of a packed ID.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Self

import numpy as np

MAX_CODES = 1 << 16  # per level: the trie stores each code in 16 bits


@dataclass(frozen=True)
class Field:
    """The bits of a packed ID that hold the code of one level."""

    first: int  # byte that holds the highest bit
    last: int  # byte that holds the lowest bit
    shift: int  # number of bits of the last byte that follow the code
    mask: int  # the code's bits, right-aligned


def check_code_sizes(code_sizes: Sequence[int]) -> None:
    """Raise ValueError if a level has more codes than fit 16 bits."""
    for level, size in enumerate(code_sizes):
        if size > MAX_CODES:
            raise ValueError(
                f"level {level} has {size:,} codes; at most {MAX_CODES:,} are supported"
            )


def fields(code_sizes: Sequence[int]) -> list[Field]:
    """One Field per level. Raises ValueError if a level has more than MAX_CODES codes."""
    check_code_sizes(code_sizes)
    widths = [(size - 1).bit_length() for size in code_sizes]
    result = []
    for width, end in zip(widths, accumulate(widths), strict=True):
        last = (max(end, 1) - 1) // 8
        result.append(
            Field(min((end - width) // 8, last), last, 8 * (last + 1) - end, (1 << width) - 1)
        )
    return result


def packed_bytes(code_sizes: Sequence[int]) -> int:
    """B: bytes of one packed ID."""
    return fields(code_sizes)[-1].last + 1


def pack(codes: np.ndarray, code_sizes: Sequence[int]) -> np.ndarray:
    """Codes (n, M) -> packed IDs (n, B) uint8. Raises ValueError for another shape, and for a code
    outside its level's codebook.
    """
    codes = np.asarray(codes)
    if codes.ndim != 2 or codes.shape[1] != len(code_sizes):
        raise ValueError(f"codes have shape {codes.shape}; expected (n, {len(code_sizes)})")
    packed = np.zeros((len(codes), packed_bytes(code_sizes)), dtype=np.uint8)
    for level, (field, size) in enumerate(zip(fields(code_sizes), code_sizes, strict=True)):
        column = codes[:, level].astype(np.int64)
        if column.size and not (column.min() >= 0 and column.max() < size):
            raise ValueError(
                f"level {level} has codes from {column.min()} to {column.max()}; expected "
                f"0 to {size - 1}"
            )
        column <<= field.shift
        for byte in range(field.last, field.first - 1, -1):
            packed[:, byte] |= (column & 0xFF).astype(np.uint8)
            column >>= 8
    return packed


def read_level(packed: np.ndarray, field: Field) -> np.ndarray:
    """The codes of one level of packed IDs (…, B) -> (…,) int32."""
    value = packed[..., field.first].astype(np.int32)  # a code of 16 bits lies in at most 3 bytes
    for byte in range(field.first + 1, field.last + 1):
        value = value << 8 | packed[..., byte]
    return value >> field.shift & field.mask


def unpack(packed: np.ndarray, code_sizes: Sequence[int]) -> np.ndarray:
    """Packed IDs (…, B) -> codes (…, M) int64."""
    return np.stack([read_level(packed, field) for field in fields(code_sizes)], axis=-1).astype(
        np.int64
    )


def check_packed(packed: np.ndarray, code_sizes: Sequence[int]) -> None:
    """Raises ValueError unless `packed` (n, B) can be a result of `pack` with these code sizes."""
    expected = packed_bytes(code_sizes)
    if packed.ndim != 2 or packed.shape[1] != expected or packed.dtype != np.uint8:
        raise ValueError(
            f"packed IDs are {packed.dtype} of shape {packed.shape}; expected uint8 of "
            f"shape (n, {expected})"
        )
    levels = fields(code_sizes)
    padding = (1 << levels[-1].shift) - 1
    if np.any(packed[:, -1] & padding):
        raise ValueError("a packed ID has bits after its last code")
    for level, (field, size) in enumerate(zip(levels, code_sizes, strict=True)):
        if field.mask >= size and np.any(read_level(packed, field) >= size):
            raise ValueError(f"a packed ID has a code above {size - 1} at level {level}")


def expand_ranges(
    low: np.ndarray, high: np.ndarray, at_most: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """List the positions in m ranges low … high − 1, given as (m,) each.

    at_most (m,): the largest number of positions to take of each range. Returns (owner, positions),
    (items,) int64 each: the number of the range, and a position in it.
    """
    low = np.asarray(low, dtype=np.int64)
    sizes = high - low if at_most is None else np.minimum(high - low, at_most)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    return owner, np.arange(len(owner)) + (low - (np.cumsum(sizes) - sizes))[owner]


@dataclass(frozen=True)
class IDTable:
    """All items sorted by ID; the items that share an ID (a bucket) are consecutive.

    The items below a prefix are a range of positions, low … high − 1. The number of an ID is the
    position of its first item.
    """

    packed: np.ndarray  # (n, B) uint8, ascending
    rows: np.ndarray  # (n,) int32 rows of the index, ascending where IDs are equal
    shared: np.ndarray  # (s + 1,) int32 numbers of the IDs that two or more items share, then n
    sizes: np.ndarray  # (s + 1,) int32 bucket sizes of these IDs, then 1
    code_sizes: tuple[int, ...]

    @classmethod
    def build(
        cls, codes: np.ndarray, code_sizes: Sequence[int], rows: np.ndarray | None = None
    ) -> Self:
        """Sort items by their codes (n, M). rows (n,): their rows of the index; by default 0 … n −
        1.

        Raises ValueError for an unknown code, for no items, and for a repeated row.
        """
        return cls.from_packed(pack(codes, code_sizes), code_sizes, rows)

    @classmethod
    def from_packed(
        cls, packed: np.ndarray, code_sizes: Sequence[int], rows: np.ndarray | None = None
    ) -> Self:
        """As `build`, from packed IDs (n, B) and rows (n,). Raises ValueError unless 1 ≤ n < 2³¹
        and no row is repeated.
        """
        rows = np.arange(len(packed)) if rows is None else np.asarray(rows)
        if not 0 < len(packed) < 2**31:
            raise ValueError(
                f"{len(packed)} items; an ID table needs at least one item and fewer than 2³¹"
            )
        order = _sorted_order(packed, rows)
        packed, rows = packed[order], rows[order]
        # byte strings, which numpy compares
        ids = np.ascontiguousarray(packed).view(f"S{packed.shape[1]}")[:, 0]
        # positions of items with the ID of the item before
        repeats = np.flatnonzero(ids[1:] == ids[:-1]) + 1
        # where in `repeats` another ID begins
        first = np.flatnonzero(np.diff(repeats, prepend=-1) > 1)
        sizes = np.diff(first, append=len(repeats)) + 1
        return cls(
            packed,
            rows.astype(np.int32),
            np.append(repeats[first] - 1, len(packed)).astype(np.int32),
            np.append(sizes, 1).astype(np.int32),
            tuple(code_sizes),
        )

    def __len__(self) -> int:
        """n."""
        return len(self.packed)

    @property
    def nbytes(self) -> int:
        """Memory of the arrays, in bytes."""
        return sum(array.nbytes for array in (self.packed, self.rows, self.shared, self.sizes))

    @property
    def distinct(self) -> int:
        """u, the number of distinct IDs."""
        return len(self) - int((self.sizes.astype(np.int64) - 1).sum())

    @property
    def ids(self) -> np.ndarray:
        """(u,) the numbers of all IDs, ascending."""
        _, repeats = expand_ranges(self.shared[:-1] + 1, self.shared[:-1] + self.sizes[:-1])
        return np.delete(np.arange(len(self)), repeats)

    def codes(self, positions: np.ndarray) -> np.ndarray:
        """Positions of items or numbers of IDs (…,) -> codes (…, M)."""
        return unpack(self.packed[positions], self.code_sizes)

    def bucket_sizes(self, ids: np.ndarray) -> np.ndarray:
        """Numbers of IDs (…,) -> number of items with each ID (…,)."""
        at = np.searchsorted(self.shared, np.asarray(ids, self.shared.dtype))
        return np.where(self.shared[at] == ids, self.sizes[at], 1)

    def ids_of(self, positions: np.ndarray) -> np.ndarray:
        """Positions of items (…,) -> the numbers of their IDs (…,)."""
        keys = np.asarray(positions, self.shared.dtype)  # of another type, numpy copies the table
        at = np.searchsorted(self.shared, keys, "right") - 1  # −1 is the last entry, n
        first = self.shared[at]
        return np.where(
            (positions >= first) & (positions < first + self.sizes[at]), first, positions
        )


def _sorted_order(packed: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """(n,) positions that sort items by packed ID (n, B), then by row (n,).

    Raises ValueError if a row is repeated.
    """
    ascending = bool((rows[1:] > rows[:-1]).all())  # then a stable sort keeps the order of rows
    if not ascending and len(np.unique(rows)) < len(rows):
        raise ValueError("a row is repeated; an item has one ID")
    words = np.zeros((len(packed), -(-packed.shape[1] // 8) * 8), dtype=np.uint8)
    words[:, : packed.shape[1]] = packed
    # integers sort faster than byte strings
    words = words.view(">u8").T.astype(np.uint64, order="C")
    return np.lexsort(words[::-1] if ascending else (rows, *words[::-1]))

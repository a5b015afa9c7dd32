"""The loop of a scan, compiled by numba for one layout of packed IDs.

A thread scans ranges of the sorted ID table, and keeps the best k of them in a heap. An entry of the heap is a key
(`sort_keys` of scoring.py): score and position in one integer, so that the k largest are the same whatever the order
in which the ranges are scanned, and equal scores are in the order of IDs.

Shapes: n items, B bytes of a packed ID, M levels, k results, q queries, c codewords of all levels.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import uint64

from genius.trie.ids import fields, packed_bytes

WORD = 8  # bytes that are read at once


class Kernels(NamedTuple):
    """Both add the IDs at positions low … high − 1 (r,) to the heaps: packed IDs (n · B,), ‖ẑ‖² (n,)."""

    one: Callable  # (packed, norms, products (c,), low, high, heap (k,))
    several: Callable  # (packed, norms, products (c · q,), low, high, heaps (q, k))


def row_bytes(code_sizes: Sequence[int]) -> int:
    """Bytes of an ID as the kernels read it: B, but at least a word."""
    return max(packed_bytes(code_sizes), WORD)


def build_kernels(code_sizes: tuple[int, ...]) -> Kernels:
    """Compile, or read what was compiled before from numba's cache, for products and norms in float32."""
    width = row_bytes(code_sizes)
    byte, shift, mask = [], [], []  # of each level: its code is read from the word that begins at this byte
    for field in fields(code_sizes):
        byte.append(min(field.first, width - WORD))
        shift.append(8 * (byte[-1] + WORD - field.last - 1) + field.shift)
        mask.append(field.mask)
    first = np.cumsum([0, *code_sizes[:-1]]).tolist()  # number of each level's first codeword
    kernels = _define(tuple(byte), tuple(shift), tuple(mask), tuple(first), width)
    packed, norms, products = np.zeros(width, np.uint8), np.zeros(1, np.float32), np.zeros(sum(code_sizes), np.float32)
    low, high, heaps = np.zeros(1, np.int64), np.ones(1, np.int64), np.zeros((1, 1), np.int64)
    for kernel, heap in zip(kernels, (heaps[0], heaps), strict=True):
        try:
            kernel(packed, norms, products, low, high, heap)
        except OSError:  # the cache could not be written after all; what was compiled is in memory
            kernel(packed, norms, products, low, high, heap)
    return kernels


def _compiled(function: Callable) -> Any:
    """Without the GIL, and from the cache where there is a folder for one."""
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # neither this folder nor the user's can be written
        return numba.njit(nogil=True)(function)


@numba.njit(inline="always")
def _word(packed, at):
    """Eight bytes as one number, highest first; a single instruction."""
    return (
        (uint64(packed[at]) << uint64(56))
        | (uint64(packed[at + uint64(1)]) << uint64(48))
        | (uint64(packed[at + uint64(2)]) << uint64(40))
        | (uint64(packed[at + uint64(3)]) << uint64(32))
        | (uint64(packed[at + uint64(4)]) << uint64(24))
        | (uint64(packed[at + uint64(5)]) << uint64(16))
        | (uint64(packed[at + uint64(6)]) << uint64(8))
        | uint64(packed[at + uint64(7)])
    )


@numba.njit(inline="always")
def _key(score, position):
    """As `sort_keys`."""
    bits = np.int64(np.float32(score + np.float32(0)).view(np.int32))
    return ((bits ^ ((bits >> 31) & 0x7FFFFFFF)) << 32) + (np.int64(0xFFFFFFFF) - np.int64(position))


@numba.njit(inline="always")
def _score(key):
    bits = np.int32(key >> 32)
    return np.int32(bits ^ ((bits >> 31) & 0x7FFFFFFF)).view(np.float32)


@numba.njit(inline="always")
def _replace_least(heap, key):
    """Put a larger key in the place of the least, which is heap[0]."""
    at, end = 0, len(heap)
    while True:
        child = 2 * at + 1
        if child + 1 < end and heap[child + 1] < heap[child]:
            child += 1
        if child >= end or heap[child] >= key:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = key


def _define(byte: tuple, shift: tuple, mask: tuple, first: tuple, width: int) -> Kernels:
    """The layout is constant in the compiled code, so that the loops over levels are unrolled."""
    levels = len(byte)

    def one(packed, norms, products, low, high, heap):
        least = _score(heap[0])
        for part in range(len(low)):
            for i in range(uint64(low[part]), uint64(high[part])):
                score = -norms[i]
                for level in range(levels):
                    word = _word(packed, i * uint64(width) + uint64(byte[level]))
                    score += products[uint64(first[level]) + ((word >> uint64(shift[level])) & uint64(mask[level]))]
                if score >= least and _key(score, i) > heap[0]:
                    _replace_least(heap, _key(score, i))
                    least = _score(heap[0])

    @numba.njit(inline="always")
    def total(norm, products, rows, query):
        score = -norm
        for level in range(levels):
            score += products[rows[level] + query]
        return score

    def several(packed, norms, products, low, high, heaps):
        queries = uint64(len(heaps))
        least, rows = np.empty(queries, np.float32), np.empty(levels, np.uint64)
        for query in range(queries):
            least[query] = _score(heaps[query, 0])
        for part in range(len(low)):
            for i in range(uint64(low[part]), uint64(high[part])):
                for level in range(levels):
                    word = _word(packed, i * uint64(width) + uint64(byte[level]))
                    code = (word >> uint64(shift[level])) & uint64(mask[level])
                    rows[level] = (uint64(first[level]) + code) * queries
                above = False
                for query in range(queries):  # nothing is stored here, so that it becomes vector instructions
                    above |= total(norms[i], products, rows, query) >= least[query]
                if above:
                    for query in range(queries):
                        score = total(norms[i], products, rows, query)
                        if score >= least[query] and _key(score, i) > heaps[query, 0]:
                            _replace_least(heaps[query], _key(score, i))
                            least[query] = _score(heaps[query, 0])

    return Kernels(_compiled(one), _compiled(several))

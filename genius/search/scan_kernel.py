"""The loop of a scan, compiled by numba for one layout of packed IDs.

A thread scans ranges of the sorted ID table, and keeps the best k of them in a heap. An entry of
the heap is a key (`sort_keys` of scoring.py): score and position in one integer, so that the k
largest are the same whatever the order in which the ranges are scanned, and equal scores are in the
order of IDs.

Shapes: n items, B bytes of a packed ID, at least a word, M levels, k results, q queries, c
codewords of all levels.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import uint64

from genius.trie.ids import fields, packed_bytes

WORD = 8  # bytes that are read at once


class Kernels(NamedTuple):
    """Both add the IDs at positions low … high − 1 (r,) to the heaps: words of `id_words`, ‖ẑ‖²
    (n,).
    """

    one: Callable  # (words, norms, products (c,), low, high, heap (k,))
    several: Callable  # (words, norms, products (c · q,), low, high, heaps (q, k))


def id_words(packed: np.ndarray) -> np.ndarray:
    """Packed IDs (n, B) -> (n, B − 7) the words that begin at each byte, lowest byte first.

    They share the memory of `packed`, of which a copy is made only where an ID is shorter than a
    word.
    """
    missing = max(0, WORD - packed.shape[1])
    packed = np.ascontiguousarray(np.pad(packed, ((0, 0), (0, missing))) if missing else packed)
    items, width = packed.shape
    return np.ndarray((items, width - WORD + 1), "<u8", packed, strides=(width, 1))


def build_kernels(code_sizes: tuple[int, ...]) -> Kernels:
    """Compile, or read what was compiled before from numba's cache, for products and norms in
    float32.
    """
    width = max(packed_bytes(code_sizes), WORD)
    # of each level: its code is read from the word that begins at this byte
    byte, shift, mask = [], [], []
    for field in fields(code_sizes):
        byte.append(min(field.first, width - WORD))
        shift.append(8 * (byte[-1] + WORD - field.last - 1) + field.shift)
        mask.append(field.mask)
    first = np.cumsum([0, *code_sizes[:-1]]).tolist()  # number of each level's first codeword
    kernels = _define(tuple(byte), tuple(shift), tuple(mask), tuple(first))
    words = id_words(np.zeros((2, width), np.uint8))
    norms = np.zeros(2, np.float32)
    products = np.zeros(sum(code_sizes), np.float32)
    low = np.zeros(1, np.int64)
    high = np.ones(1, np.int64)
    heaps = np.zeros((1, 1), np.int64)
    for kernel, heap in zip(kernels, (heaps[0], heaps), strict=True):
        try:
            kernel(words, norms, products, low, high, heap)
        except OSError:  # the cache could not be written after all; what was compiled is in memory
            kernel(words, norms, products, low, high, heap)
    return kernels


def _compiled(function: Callable) -> Any:
    """Without the GIL, and from the cache where there is a folder for one."""
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # neither this folder nor the user's can be written
        return numba.njit(nogil=True)(function)


@numba.njit(inline="always")
def _reversed(word: np.uint64) -> np.uint64:
    """The word with its highest byte first, as packed IDs are ordered; so written it is a single
    instruction.
    """
    low, high = uint64(0x00FF00FF00FF00FF), uint64(0x0000FFFF0000FFFF)
    word = ((word >> uint64(8)) & low) | ((word & low) << uint64(8))
    word = ((word >> uint64(16)) & high) | ((word & high) << uint64(16))
    return (word >> uint64(32)) | (word << uint64(32))


@numba.njit(inline="always")
def _key(score: float, position: int) -> np.int64:
    """As `sort_keys`."""
    bits = np.int64(np.float32(score + np.float32(0)).view(np.int32))
    return ((bits ^ ((bits >> 31) & 0x7FFFFFFF)) << 32) + (
        np.int64(0xFFFFFFFF) - np.int64(position)
    )


@numba.njit(inline="always")
def _score(key: np.int64) -> np.float32:
    bits = np.int32(key >> 32)
    return np.int32(bits ^ ((bits >> 31) & 0x7FFFFFFF)).view(np.float32)


@numba.njit(inline="always")
def _replace_least(heap: np.ndarray, key: np.int64) -> None:
    """Put a larger key in the place of the least, which is heap[0]."""
    at = 0
    end = len(heap)
    while True:
        child = 2 * at + 1
        if child + 1 < end and heap[child + 1] < heap[child]:
            child += 1
        if child >= end or heap[child] >= key:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = key


# one function, because numba compiles closures over these constants
def _define(  # noqa: C901
    byte: tuple, shift: tuple, mask: tuple, first: tuple
) -> Kernels:
    """The layout is constant in the compiled code, so that the loops over levels are unrolled."""
    levels = len(byte)

    def one(
        words: np.ndarray,
        norms: np.ndarray,
        products: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
        heap: np.ndarray,
    ) -> None:
        least = _score(heap[0])
        for part in range(len(low)):
            for i in range(uint64(low[part]), uint64(high[part])):
                score = -norms[i]
                for level in range(levels):
                    word = _reversed(words[i, byte[level]])
                    score += products[
                        uint64(first[level])
                        + ((word >> uint64(shift[level])) & uint64(mask[level]))
                    ]
                if score >= least and _key(score, i) > heap[0]:
                    _replace_least(heap, _key(score, i))
                    least = _score(heap[0])

    @numba.njit(inline="always")
    def total(norm: float, products: np.ndarray, rows: np.ndarray, query: int) -> float:
        score = -norm
        for level in range(levels):
            score += products[rows[level] + query]
        return score

    def several(
        words: np.ndarray,
        norms: np.ndarray,
        products: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
        heaps: np.ndarray,
    ) -> None:
        queries = uint64(len(heaps))
        least, rows = np.empty(queries, np.float32), np.empty(levels, np.uint64)
        for query in range(queries):
            least[query] = _score(heaps[query, 0])
        for part in range(len(low)):
            for i in range(uint64(low[part]), uint64(high[part])):
                for level in range(levels):
                    word = _reversed(words[i, byte[level]])
                    code = (word >> uint64(shift[level])) & uint64(mask[level])
                    rows[level] = (uint64(first[level]) + code) * queries
                above = False
                # nothing is stored here, so that it becomes vector instructions
                for query in range(queries):
                    above |= total(norms[i], products, rows, query) >= least[query]
                if above:
                    for query in range(queries):
                        score = total(norms[i], products, rows, query)
                        if score >= least[query] and _key(score, i) > heaps[query, 0]:
                            _replace_least(heaps[query], _key(score, i))
                            least[query] = _score(heaps[query, 0])

    return Kernels(_compiled(one), _compiled(several))

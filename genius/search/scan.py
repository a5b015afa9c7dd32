"""Scan: score every ID by geometry, at the speed of memory.

    score of an ID = 2⟨z, ẑ⟩ − ‖ẑ‖² = ‖z‖² − ‖z − ẑ‖²

2⟨z, ẑ⟩ is a sum of M numbers from a table of 2⟨z, e⟩ for all codewords (asymmetric distance
computation: Jégou et al. 2011, "Product quantization for nearest neighbor search"). ‖ẑ‖² is no such
sum, for the codewords of a residual quantizer are not orthogonal, so it is stored with the index: 4
bytes an item.

IDs that begin alike lie next to each other in the ID table, so a scan of what lies below some
prefixes is a scan of ranges. On a CPU the loop is compiled (scan_kernel.py), in the background:
until that is done, and on a GPU, torch adds the same numbers in the same order, so the result is
the same to the last bit.

Shapes: n items, t of them, b queries, d dim, M levels, k results, r ranges, p prefixes, c codewords
of all levels.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from genius.reading import one_line
from genius.search.scoring import key_scores, sort_keys
from genius.trie.code_table import CodeTable
from genius.trie.ids import expand_ranges
from genius.trie.pool import Pool
from genius.trie.trie import Trie

if TYPE_CHECKING:
    from genius.search.scan_kernel import Kernels

LOG = logging.getLogger(__name__)
ITEMS_IN_MEMORY = 1 << 16  # items that torch scans at once
# parts of a scan that each thread takes, one after another; items of the smallest
SHARE = 16
LEAST = 1 << 13
# queries that are scanned together; fewer than FEW are scanned one after another
TOGETHER, FEW = 32, 6
MANY_ITEMS = 2_000_000  # of a larger pool only what lies below the nearest prefixes is scanned
PADDING = -(0x7F800001 << 32)  # the key of no item: score −∞
# of all items, by the codes of the prefixes that `Scan.near` chooses: 0.99 of a whole scan
SHARES = {2: 0.15, 3: 0.05}
# items on average; with fewer, choosing among prefixes of three codes takes longer than it saves
PER_PREFIX = 300

# low and high (r,): positions low … high − 1 of the ID table, disjoint
Ranges = tuple[np.ndarray, np.ndarray]


class Codewords:
    """The codewords of a quantizer, numbered one level after the other."""

    def __init__(self, codebooks: Sequence[Tensor]):
        """codebooks: of each level, (codes, d) each."""
        self.codebooks = codebooks
        self.offsets = np.cumsum([0, *(len(codebook) for codebook in codebooks[:-1])])  # (M,)

    @cached_property
    def words(self) -> Tensor:
        """(c, d)."""
        return torch.cat([*self.codebooks]).float()

    def numbers(self, trie: Trie, positions: Tensor) -> Tensor:
        """Positions of items (t,) in the ID table -> numbers of their codewords (t, M), read where
        the trie is.
        """
        return trie.codes(positions) + torch.from_numpy(self.offsets).to(positions.device)

    def sums(self, numbers: Tensor) -> Tensor:
        """numbers (t, M) -> quantized vectors (t, d)."""
        return F.embedding_bag(numbers, self.words, mode="sum")

    def products(self, z: Tensor) -> Tensor:
        """2⟨z, e⟩ of all codewords and queries z (b, d): (b, c)."""
        return F.linear(2 * z.float(), self.words)


class Scanned(NamedTuple):
    """The best items of each query, best first; equal scores in the order of the ID table. Padded
    with −1 and −∞.
    """

    positions: Tensor  # (b, k) in the ID table
    scores: Tensor  # (b, k)


class Scan:
    """The items of one pool, to be scanned; any number of threads may share it."""

    def __init__(self, pool: Pool, codewords: Codewords):
        self._table = pool.table
        self._trie = pool.trie
        self._codewords = codewords
        self.norms = squared_norms(pool, codewords)  # (n,) on the trie's device
        self._kernels = compiling(pool.table.code_sizes) if pool.trie.device.type == "cpu" else None

    def best_or_near(
        self, z: Tensor, k: int, prefix: tuple[int, ...] = (), allowed: np.ndarray | None = None
    ) -> Scanned:
        """`near`, of very many items without a prefix, or `best`: z (b, d), allowed (b, first
        codes) bool.
        """
        many = len(self._table) > MANY_ITEMS and not prefix
        return self.near(z, k, allowed) if many else self.best(z, k, prefix, allowed)

    def best(
        self, z: Tensor, k: int, prefix: tuple[int, ...] = (), allowed: np.ndarray | None = None
    ) -> Scanned:
        """The k items whose quantized vectors are nearest to z (b, d), of those whose IDs begin
        with these codes.

        allowed: (b, first codes) bool, of each query the first codes of its results; None: all.
        """
        products = self._codewords.products(z)
        below = CodeTable(self._table).range(prefix)
        if allowed is None or allowed.all():
            return self._scan(products, k, [(np.array([below.start]), np.array([below.stop]))])
        of_first = [CodeTable(self._table).range((code,)) for code in range(allowed.shape[1])]
        low, high = np.array([(part.start, part.stop) for part in of_first]).T
        alike = (allowed == allowed[0]).all()  # then they are scanned together
        return self._scan(
            products, k, [(low[own], high[own]) for own in (allowed[:1] if alike else allowed)]
        )

    def near(self, z: Tensor, k: int, allowed: np.ndarray | None = None) -> Scanned:
        """As `best`, of the items below the prefixes nearest to z (b, d) that hold a share of all
        items. allowed: (b, first codes) bool.
        """
        low, high, codes, norms = self._prefixes
        share = SHARES[codes.shape[1]]
        products = self._codewords.products(z)
        # (b, p)
        order = (
            _total(products, codes, norms)
            .argsort(dim=1, descending=True, stable=True)
            .cpu()
            .numpy()
        )
        ranges = []
        first = codes[:, 0].cpu().numpy()
        for query, best in enumerate(order):
            if allowed is not None:
                best = best[allowed[query][first[best]]]
            enough = np.searchsorted(np.cumsum((high - low)[best]), share * len(self._table)) + 1
            # nearest first: few of the rest are results
            ranges.append((low[best[:enough]], high[best[:enough]]))
        return self._scan(products, k, ranges)

    def _scan(self, products: Tensor, k: int, ranges: Sequence[Ranges]) -> Scanned:
        """products (b, c); ranges: those of all queries, or of each."""
        kernels = self._kernels
        if kernels is not None and kernels.done() and not kernels.exception():
            keys = self._compiled_keys(kernels.result(), products.numpy(), k, ranges)
        elif len(ranges) == 1:
            keys = self._plain_keys(products, k, *ranges[0])
        else:
            keys = torch.cat(
                [self._plain_keys(one, k, *own) for one, own in zip(products.split(1), ranges)]
            )
        scores, positions = key_scores(keys)
        return Scanned(positions.masked_fill_(keys == PADDING, -1), scores)

    def _plain_keys(self, products: Tensor, k: int, low: np.ndarray, high: np.ndarray) -> Tensor:
        """(b, k) the largest keys."""
        best = torch.full((len(products), k), PADDING, device=products.device)
        for part in torch.from_numpy(expand_ranges(low, high)[1]).split(ITEMS_IN_MEMORY):
            at = part.to(products.device)
            scores = _total(products, self._codewords.numbers(self._trie, at), self.norms[at])
            best = torch.cat([best, sort_keys(scores, at)], dim=1).topk(k).values
        return best

    def _compiled_keys(
        self, kernels: Kernels, products: np.ndarray, k: int, ranges: Sequence[Ranges]
    ) -> Tensor:
        """(b, k) the largest keys. Each thread has heaps of its own for the queries that it takes a
        part of.
        """
        size = TOGETHER if len(ranges) == 1 and len(products) >= FEW else 1
        threads = max(1, torch.get_num_threads())
        work = []  # (first query, its or their products, ranges)
        for first in range(0, len(products), size):
            part = np.ascontiguousarray(products[first : first + size].T).ravel()
            work += [
                (first, part, *piece)
                for piece in _split(*ranges[0 if len(ranges) == 1 else first], SHARE * threads)
            ]
        waiting = iter(work)
        words = self._words
        norms = self.norms.numpy()

        def scan() -> np.ndarray:
            heaps = np.full((len(products), k), PADDING)
            for first, part, low, high in waiting:
                if size == 1:
                    kernels.one(words, norms, part, low, high, heaps[first])
                else:
                    kernels.several(words, norms, part, low, high, heaps[first : first + size])
            return heaps

        others = [_threads().submit(scan) for _ in range(min(threads, len(work)) - 1)]
        heaps = [scan(), *(other.result() for other in others)]
        return torch.from_numpy(np.concatenate(heaps, axis=1)).topk(k).values

    @cached_property
    def _words(self) -> np.ndarray:
        """The IDs as the kernels read them."""
        from genius.search.scan_kernel import id_words

        return id_words(self._table.packed)

    @cached_property
    def _prefixes(self) -> tuple[np.ndarray, np.ndarray, Tensor, Tensor]:
        """Of all prefixes of two or, in large pools, three codes l: ranges (p,), codewords (p, l),
        ‖ẑ‖² (p,).
        """
        everything = CodeTable(self._table).match(())
        low = np.zeros(1, dtype=np.int64)
        begins = np.arange(len(self._table)) == 0
        for level in range(min(max(SHARES), len(self._table.code_sizes))):
            column = everything.codes(level)
            begins[1:] |= column[1:] != column[:-1]
            if level + 1 > min(SHARES) and begins.sum() * PER_PREFIX > len(begins):
                break
            low = np.flatnonzero(begins)
            length = level + 1
        numbers = self._codewords.numbers(self._trie, torch.from_numpy(low).to(self.norms.device))[
            :, :length
        ]
        return (
            low,
            np.append(low[1:], len(self._table)),
            numbers,
            self._codewords.sums(numbers).square().sum(1),
        )


def squared_norms(pool: Pool, codewords: Codewords) -> Tensor:
    """‖ẑ‖² of each item's quantized vector, by position in the ID table: (n,) float32 on the trie's
    device.

    Of an index that knows them they are read: 5.6 million are computed in seconds.
    """
    if pool.norms is not None:
        return torch.from_numpy(pool.norms[pool.table.rows]).to(pool.trie.device)
    parts = torch.arange(len(pool.table), device=pool.trie.device).split(ITEMS_IN_MEMORY // 4)
    vectors = (codewords.sums(codewords.numbers(pool.trie, part)) for part in parts)
    return torch.cat([some.double().square().sum(1).float() for some in vectors])


@lru_cache
def compiling(code_sizes: tuple[int, ...]) -> Future[Kernels]:
    """The kernels for these codes, which are compiled in the background, once."""

    def build() -> Kernels:
        try:
            # numba takes half a second to import
            from genius.search.scan_kernel import build_kernels

            return build_kernels(code_sizes)
        except Exception as error:
            LOG.warning(
                "Scanning with torch, which is slower: numba cannot compile here (%s)",
                one_line(error),
            )
            raise

    return ThreadPoolExecutor(1, "compile").submit(build)


@lru_cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(1, torch.get_num_threads() - 1), "scan")


os.register_at_fork(after_in_child=_threads.cache_clear)  # a forked process lacks them


def _total(products: Tensor, numbers: Tensor, norms: Tensor) -> Tensor:
    """(b, t) scores: products (b, c), codewords of the items (t, M), ‖ẑ‖² (t,); summed level by
    level, as compiled.
    """
    scores = -norms.expand(len(products), -1)
    for level in numbers.T:
        scores = scores + products.index_select(1, level)
    return scores


def _split(low: np.ndarray, high: np.ndarray, parts: int) -> list[Ranges]:
    """The same ranges in about so many parts, none much smaller than LEAST items."""
    size = max(LEAST, int((high - low).sum()) // parts)
    owner, start = expand_ranges(np.zeros_like(low), -(-(high - low) // size))
    start = low[owner] + start * size
    end = np.minimum(start + size, high[owner])
    part = (np.cumsum(end - start) - 1) // size
    cuts = np.flatnonzero(np.diff(part)) + 1
    return list(zip(np.split(start, cuts), np.split(end, cuts), strict=True))

"""The codewords of a quantizer as a search uses them: sums of them are quantized vectors.

Shapes: b queries, t items, d dim, M levels, k codes of all levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from genius.models.incremental_decoder import multiply_rows
from genius.trie.ids import IDTable
from genius.trie.trie import Trie


class Codewords:
    """The codewords of all levels, numbered one level after the other."""

    def __init__(self, codebooks: Sequence[Tensor], dtype: torch.dtype = torch.float32):
        """dtype: of the arithmetic of `products`, float32 or bfloat16."""
        self.codebooks, self._dtype = codebooks, dtype
        self.offsets = np.cumsum([0, *(len(codebook) for codebook in codebooks[:-1])])  # (M,)

    @cached_property
    def words(self) -> Tensor:
        """(k, d)."""
        return torch.cat([*self.codebooks]).float()

    @cached_property
    def _rounded_words(self) -> Tensor:
        return self.words.to(self._dtype)

    def numbers(self, table: IDTable, ids: np.ndarray) -> Tensor:
        """Numbers of IDs (t,) -> numbers of their codewords (t, M), on the codebooks' device."""
        return torch.from_numpy(table.codes(ids) + self.offsets).to(self.codebooks[0].device)

    def numbers_at(self, trie: Trie, positions: Tensor) -> Tensor:
        """The same of the items at these positions (t,) of the ID table, read where the trie is."""
        return trie.codes(positions) + torch.from_numpy(self.offsets).to(positions.device)

    def sums(self, numbers: Tensor) -> Tensor:
        """numbers (t, M) -> quantized vectors (t, d)."""
        return F.embedding_bag(numbers, self.words, mode="sum")

    def products(self, z: Tensor) -> Tensor:
        """2⟨z, e⟩ of all codewords and queries z (b, d): (b, k)."""
        doubled = 2 * z.float()
        if self._dtype == torch.float32:
            return multiply_rows(doubled, self.words)
        return F.linear(doubled.to(self._dtype), self._rounded_words).float()


def unknown_norms(items: int) -> np.ndarray:
    """(items,) NaN, for the rows of an index: a search fills in ‖ẑ‖² as it meets them. 4 bytes an item."""
    return np.full(items, np.nan, dtype=np.float32)

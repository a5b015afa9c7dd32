"""The codewords of a quantizer as a search uses them: sums of them are quantized vectors.

Shapes: b queries, t items, d dim, M levels, k codes of all levels.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from genius.trie.trie import Trie


class Codewords:
    """The codewords of all levels, numbered one level after the other."""

    def __init__(self, codebooks: Sequence[Tensor]):
        self.codebooks = codebooks
        self.offsets = np.cumsum([0, *(len(codebook) for codebook in codebooks[:-1])])  # (M,)

    @cached_property
    def words(self) -> Tensor:
        """(k, d)."""
        return torch.cat([*self.codebooks]).float()

    def numbers(self, trie: Trie, positions: Tensor) -> Tensor:
        """Positions of items (t,) in the ID table -> numbers of their codewords (t, M), read where the trie is."""
        return trie.codes(positions) + torch.from_numpy(self.offsets).to(positions.device)

    def sums(self, numbers: Tensor) -> Tensor:
        """numbers (t, M) -> quantized vectors (t, d)."""
        return F.embedding_bag(numbers, self.words, mode="sum")

    def products(self, z: Tensor) -> Tensor:
        """2⟨z, e⟩ of all codewords and queries z (b, d): (b, k)."""
        return F.linear(2 * z.float(), self.words)

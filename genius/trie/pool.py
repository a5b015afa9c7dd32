"""The items that a search can return: an ID table and the trie over it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from genius.trie.ids import IDTable
from genius.trie.trie import Trie


@dataclass(frozen=True, eq=False)
class Pool:
    """An ID table with its trie. Immutable: a changed index has another pool; a running search
    keeps the old one.
    """

    table: IDTable
    trie: Trie
    norms: np.ndarray | None = None  # (rows of the index,) float32 ‖ẑ‖² of each; None: unknown

    @classmethod
    def build(
        cls,
        packed: np.ndarray,
        code_sizes: Sequence[int],
        rows: np.ndarray | None = None,
        device: torch.device | str = "cpu",
        norms: np.ndarray | None = None,
    ) -> "Pool":
        """Build table and trie from packed IDs (n, B) of the items at `rows` (n,), by default 0 … n
        − 1.

        device: where the trie lies. norms: as the field, of all rows of the index. Raises
        ValueError if there are no items or a row is repeated.
        """
        table = IDTable.from_packed(packed, code_sizes, rows)
        return cls(table, Trie(table, device), norms)

    def on(self, device: torch.device | str) -> "Pool":
        """The same table, and the same trie on another device."""
        return Pool(self.table, Trie(self.table, device, self.trie.crowded), self.norms)

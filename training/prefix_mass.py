"""What lies below each prefix, as the target of a decoder (ours).

Instead of one ID, the decoder may learn a distribution over all items, the *teacher*: a softmax of their similarities
to the query's fused feature, of which the labeled item may get a share of its own. The teacher's mass below a prefix is
that of all items whose IDs begin with it, and the target at each level is how the mass of a prefix divides among its
children. So a prefix is worth as much as what it leads to, and items that no query asks for count, too.

The prefixes that are taught are those of an item drawn from the teacher.

Shapes: b batch, d dim, n items, c nodes of the trie, M levels, k codes of a level.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from genius.trie.ids import IDTable
from genius.trie.trie import Trie

NUMBERS = {"cpu": 1 << 25, "cuda": 1 << 27}  # similarities in memory at once; at least 12 bytes each


class Targets(NamedTuple):
    """What a decoder learns from b queries."""

    codes: Tensor  # (b, M) of the item whose prefixes are taught
    shares: list[Tensor]  # M of (b, k): the mass of each child, as a share of the prefix's; empty: the codes have all


class PrefixMass:
    """The teacher over the n items of a collection, and its mass below each prefix of their IDs."""

    def __init__(
        self, features: np.ndarray, codes: np.ndarray, code_sizes: tuple[int, ...], device: torch.device | str
    ):
        """features (n, d), fused, of which a copy in float32 is kept on the device; codes (n, M)."""
        table = IDTable.build(codes, code_sizes)
        self.trie, self.code_sizes = Trie(table, device), code_sizes
        self._features = torch.from_numpy(features[table.rows].astype(np.float32)).to(device)
        self.position = torch.from_numpy(np.argsort(table.rows)).to(device)  # (n,) of each item in the ID table

    def targets(self, z: Tensor, rows: Tensor, draws: Tensor, temperature: float, label_share: float) -> Targets:
        """The targets for fused features z (b, d).

        rows (b,): of the labeled items, which have at least label_share of the teacher's mass. draws (b,): uniform
        numbers in [0, 1), which choose the items whose prefixes are taught.
        """
        size = max(1, NUMBERS.get(z.device.type, NUMBERS["cpu"]) // len(self._features))
        parts = [
            self._targets(*part, temperature, label_share)
            for part in zip(z.split(size), rows.split(size), draws.split(size), strict=True)
        ]
        codes, shares = zip(*parts, strict=True)
        return Targets(torch.cat(codes), [torch.cat(levels) for levels in zip(*shares, strict=True)])

    def similarities(self, z: Tensor) -> Tensor:
        """(b, n) cosines of fused features z (b, d) and those of all items, in the order of the ID table."""
        return F.normalize(z, dim=-1) @ self._features.T

    def cumulative(self, z: Tensor, temperature: float, rows: Tensor | None = None, label_share: float = 0) -> Tensor:
        """(b, n + 1) float64: the teacher's mass of all items before each position of the ID table.

        rows (b,): the labeled items, which get label_share of it.
        """
        teacher = self.similarities(z).div_(temperature).softmax(-1)
        if rows is not None:
            teacher.mul_(1 - label_share)
            teacher[torch.arange(len(z), device=z.device), self.position[rows]] += label_share
        before = torch.zeros(len(z), teacher.shape[1] + 1, dtype=torch.float64, device=z.device)
        torch.cumsum(teacher, -1, dtype=torch.float64, out=before[:, 1:])
        return before

    def masses(self, cumulative: Tensor, query: Tensor, nodes: Tensor) -> Tensor:
        """(c,) the mass below nodes (c,) of the trie, for the query (c,) of each."""
        low, high = self.trie.ranges(nodes)
        return cumulative[query, high] - cumulative[query, low]

    def _targets(self, z: Tensor, rows: Tensor, draws: Tensor, temperature: float, label_share: float) -> Targets:
        cumulative = self.cumulative(z, temperature, rows, label_share)
        drawn = torch.searchsorted(cumulative, draws[:, None].double() * cumulative[:, -1:], right=True)[:, 0] - 1
        drawn.clamp_(max=len(self._features) - 1)
        node, codes, shares = torch.full_like(drawn, self.trie.root), [], []
        for level, size in enumerate(self.code_sizes):
            children = self.trie.children(node, level)
            low, high = self.trie.ranges(children.node)
            taught = (low <= drawn[children.owner]) & (drawn[children.owner] < high)  # one child of each prefix
            node, code = children.node[taught], children.code[taught]
            mass = torch.zeros(len(z), size, dtype=torch.float64, device=z.device)
            mass[children.owner, children.code] = self.masses(cumulative, children.owner, children.node)
            total = mass.sum(-1, keepdim=True)
            shares.append(torch.where(total > 0, mass / total, F.one_hot(code, size)).float())
            codes.append(code)
        return Targets(torch.stack(codes, dim=1), shares)


def soft_cross_entropy(logits: Tensor, shares: list[Tensor], offsets: tuple[int, ...]) -> Tensor:
    """Eq. 10 with a distribution over the codes of each level as target, averaged over levels.

    logits (b, M, V), shares M of (b, k), offsets M: the first token of each level.
    """
    normalizer = logits.logsumexp(-1)  # (b, M)
    losses = [
        normalizer[:, level] - (logits[:, level, offset : offset + share.shape[1]] * share).sum(-1)
        for level, (offset, share) in enumerate(zip(offsets, shares, strict=True))
    ]
    return torch.stack(losses).mean()

"""The valid IDs as a trie on the search device: branching prefixes as CSR arrays, the rest as sorted IDs.

A prefix with two or more IDs below it is an inner node, numbered from 0 (the root), level by level and in
the order of IDs. A prefix with exactly one ID below it needs no node: it is that ID, written ~id, and what
continues it is read from the packed ID. So a large collection costs about one edge (six bytes) per ID.

Axes: p prefixes asked for, c children found, u unique IDs, x inner nodes, e edges, B bytes of a packed ID.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from genius.index.ids import Field, IDTable, fields, read_level


@dataclass(frozen=True)
class Children:
    """The prefixes that continue p prefixes by one code; ordered by owner, then by code."""

    owner: Tensor   # (c,) long, which of the p prefixes
    code: Tensor    # (c,) long
    node: Tensor    # (c,) long


class Trie:
    """Which codes may follow a prefix. Immutable; safe to share between threads."""

    def __init__(self, table: IDTable, device: torch.device | str = "cpu"):
        branches = _branch(table)
        self.levels = len(table.code_sizes)
        self.root = 0 if len(table) > 1 else ~0
        self._none = len(branches.low) - 1             # the node without children
        self._fields = fields(table.code_sizes)
        self._first_edge, self._edge_code, self._edge_node, self._low, self._high = (
            torch.from_numpy(array).to(device) for array in branches)
        self._packed, self._offsets = (
            torch.from_numpy(array).to(device) for array in (table.packed, table.offsets))

    @property
    def nbytes(self) -> int:
        """Bytes of the branching levels; the packed IDs and bucket offsets are the table's."""
        return sum(array.nbytes for array in
                   (self._first_edge, self._edge_code, self._edge_node, self._low, self._high))

    def children(self, nodes: Tensor, level: int) -> Children:
        """Everything that may follow the prefixes `nodes` (p,), which are `level` codes long."""
        single = nodes < 0
        inner = nodes.masked_fill(single, self._none)
        first = self._first_edge[inner].long()
        size = self._first_edge[inner + 1] - first + single
        count = int(size.sum())
        owner = torch.repeat_interleave(size, output_size=count)
        within = torch.arange(count, device=nodes.device) - (size.cumsum(0) - size)[owner]
        edge = first[owner] + within                                   # the dummy where single
        only = _read_level(self._packed[torch.where(single, ~nodes, 0)], self._fields[level])
        code = torch.where(single[owner], only[owner], self._edge_code[edge].long() & 0xFFFF)
        node = torch.where(single[owner], nodes[owner], self._edge_node[edge].long())
        return Children(owner, code, node)

    def lowest(self, nodes: Tensor) -> Tensor:
        """The first ID below each prefix; nodes (…,) -> numbers in the table (…,)."""
        single = nodes < 0
        return torch.where(single, ~nodes, self._low[nodes.masked_fill(single, self._none)].long())

    def ranges(self, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """The IDs below each prefix are numbers low … high−1 of the table; nodes (…,) -> two (…,)."""
        single = nodes < 0
        high = torch.where(single, -nodes, self._high[nodes.masked_fill(single, self._none)].long())
        return self.lowest(nodes), high

    def items(self, nodes: Tensor) -> Tensor:
        """How many items lie below each prefix; nodes (…,) -> (…,)."""
        low, high = self.ranges(nodes)
        return self._offsets[high].long() - self._offsets[low].long()


class _Branches(NamedTuple):
    """The inner nodes and one more, the last, which has no children."""

    first_edge: np.ndarray   # (x + 2,) children of node i are edges first_edge[i] … first_edge[i + 1]−1
    edge_code: np.ndarray    # (e + 1,) uint16 bits as int16, which torch can index; the last is a dummy
    edge_node: np.ndarray    # (e + 1,) inner node, or ~id; the last is a dummy
    low: np.ndarray          # (x + 1,) first ID below each node
    high: np.ndarray         # (x + 1,) one past the last


def _branch(table: IDTable) -> _Branches:
    """One level at a time, all nodes of a level at once."""
    unique = len(table)
    shared = _shared_levels(table)
    active = np.arange(unique if unique > 1 else 0)              # IDs below the inner nodes of this level
    starts = np.zeros(min(len(active), 1), dtype=np.int64)       # where in `active` each of them begins
    first_edge, edge_code, edge_node = [], [], []
    low, high = [starts], [starts + len(active)]
    nodes, edges = len(starts), 0
    for level, field in enumerate(fields(table.code_sizes)):
        begins = np.flatnonzero(shared[active] <= level)         # where in `active` each edge begins
        sizes = np.diff(begins, append=len(active))
        head = active[begins]
        branches = sizes > 1
        first_edge.append(edges + np.searchsorted(begins, starts))
        edge_code.append(read_level(table.packed[head], field).astype(np.uint16).view(np.int16))
        edge_node.append(np.where(branches, nodes - 1 + np.cumsum(branches), ~head))
        low.append(head[branches])
        high.append((head + sizes)[branches])
        edges, nodes = edges + len(head), nodes + int(branches.sum())
        active = active[np.repeat(branches, sizes)]
        starts = (np.cumsum(sizes[branches]) - sizes[branches])
    assert not len(active), "the IDs of a table are unique"
    index = np.int32 if max(edges, unique) < 2**31 else np.int64
    return _Branches(np.concatenate([*first_edge, [edges, edges]]).astype(index),
                     np.concatenate([*edge_code, [0]]).astype(np.int16),
                     np.concatenate([*edge_node, [~0]]).astype(index),
                     np.concatenate([*low, [unique]]).astype(index),
                     np.concatenate([*high, [unique]]).astype(index))


def _shared_levels(table: IDTable) -> np.ndarray:
    """(u,) how many leading codes each ID shares with the one before it."""
    shared = np.zeros(len(table), dtype=np.uint8)
    alike = np.ones(len(table) - 1, dtype=bool)
    for field in fields(table.code_sizes):
        column = read_level(table.packed, field)
        alike &= column[1:] == column[:-1]
        shared[1:] += alike
    return shared


def _read_level(packed: Tensor, field: Field) -> Tensor:
    """`read_level` on the device: (p, B) uint8 -> (p,) long."""
    value = packed[:, field.first].long()
    for byte in range(field.first + 1, field.last + 1):
        value = value << 8 | packed[:, byte]
    return value >> field.shift & field.mask

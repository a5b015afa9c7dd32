"""The valid IDs as a trie on the search device: crowded prefixes as CSR arrays, the rest as sorted IDs.

The items below a prefix are a range of positions in the ID table, and that range is its node:

    low << 32 | high    two or more different IDs lie below
    ~low                exactly one ID lies below, number low, however many items share it

What continues a prefix of at most SCANNED items is read from their packed IDs. Only prefixes with more items
are listed: sorted by position, each with its edges. Below every edge that leads out of the list lies an item of
its own, so there are not many more edges (six bytes) than items, and far fewer prefixes.

Axes: p prefixes asked for, c children found, n items, x listed prefixes, e edges, B bytes of a packed ID,
M levels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from genius.trie.ids import Field, IDTable, fields, read_level

SCANNED = 16  # items of a prefix whose IDs are read rather than listed: more take longer, fewer more memory


@dataclass(frozen=True)
class Children:
    """The prefixes that continue p prefixes by one code; ordered by owner, then by code."""

    owner: Tensor  # (c,) long, which of the p prefixes
    code: Tensor  # (c,) long
    node: Tensor  # (c,) long


class Listed(NamedTuple):
    """The prefixes with more than SCANNED items and two or more IDs, by level, then by position."""

    low: np.ndarray  # (x,) int32 first item below each
    first_edge: np.ndarray  # (x + 1,) int32 its children are edges first_edge[i] … first_edge[i + 1] − 1
    edge_code: np.ndarray  # (e,) uint16 bits as int16, which torch can index
    edge_low: np.ndarray  # (e,) int32 first item below each child, or ~ of it if one ID is left
    levels: np.ndarray  # (M + 1,) int32 those of level l are numbers levels[l] … levels[l + 1] − 1


class Trie:
    """Which codes may follow a prefix. Immutable; safe to share between threads."""

    def __init__(self, table: IDTable, device: torch.device | str = "cpu", listed: Listed | None = None):
        """listed: as `list_prefixes` gives it for this table, if it is at hand."""
        self.listed = list_prefixes(table) if listed is None else listed
        self.levels = len(table.code_sizes)
        self.root = len(table) if table.distinct > 1 else ~0
        self._fields = fields(table.code_sizes)
        self._bounds = self.listed.levels.tolist()
        self._low, self._first_edge, self._edge_code, self._edge_low = (
            torch.from_numpy(array).to(device) for array in self.listed[:4]
        )
        self._packed, self._shared, self._sizes = (
            torch.from_numpy(array).to(device) for array in (table.packed, table.shared, table.sizes)
        )

    @property
    def device(self) -> torch.device:
        return self._packed.device

    @property
    def nbytes(self) -> int:
        """Bytes of the listed prefixes; packed IDs and shared IDs are the table's."""
        return sum(array.nbytes for array in self.listed)

    def children(self, nodes: Tensor, level: int) -> Children:
        """Everything that may follow the prefixes `nodes` (p,), which are `level` codes long."""
        low = self.lowest(nodes)
        sizes = torch.where(nodes < 0, 1, (nodes & 0xFFFFFFFF) - low)  # of one ID the first item will do
        listed = sizes > SCANNED
        count = int(listed.sum())
        if count == 0:
            return self._scan(low, sizes, level)
        if count == len(nodes):
            return self._look_up(low, low + sizes, level)
        return _merged(
            listed,
            self._look_up(low[listed], (low + sizes)[listed], level),
            self._scan(low[~listed], sizes[~listed], level),
        )

    def _look_up(self, low: Tensor, high: Tensor, level: int) -> Children:
        """Children of listed prefixes, from their edges."""
        begin, end = self._bounds[level : level + 2]
        place = begin + torch.searchsorted(self._low[begin:end], low.int())
        first = self._first_edge[place].long()
        sizes = self._first_edge[place + 1] - first
        owner, edge = _spread(first, sizes)
        code = self._edge_code.index_select(0, edge).long().bitwise_and_(0xFFFF)
        at = self._edge_low.index_select(0, edge)
        below = (at ^ at >> 31).long()  # ~at where one ID is left
        above = torch.empty_like(below)
        above[:-1] = below[1:]  # a child ends where the next begins,
        above[sizes.cumsum(0) - 1] = high  # the last one with its parent
        return Children(owner, code, torch.where(at < 0, at, below.bitwise_left_shift_(32).bitwise_or_(above)))

    def _scan(self, low: Tensor, sizes: Tensor, level: int) -> Children:
        """Children of other prefixes, from the IDs of their items."""
        owner, position = _spread(low, sizes)
        code = _read_level(self._packed, position, self._fields[level])
        if len(owner) == len(low):
            return Children(owner, code, ~position)
        begins = torch.ones_like(owner, dtype=torch.bool)
        begins[1:] = (code[1:] != code[:-1]) | (owner[1:] != owner[:-1])
        begin = begins.nonzero()[:, 0]
        items = begin.diff(append=begin.new_tensor([len(owner)]))
        owner, code, first = (values.index_select(0, begin) for values in (owner, code, position))
        return Children(owner, code, self._node(first, items))

    def _node(self, low: Tensor, items: Tensor) -> Tensor:
        """(c,) of prefixes with these items."""
        single = items == 1
        several = (~single).nonzero()[:, 0]
        single[several] = self._bucket(low[several]) == items[several]
        return torch.where(single, ~low, low << 32 | low + items)

    def _bucket(self, ids: Tensor) -> Tensor:
        """`IDTable.buckets` on the device."""
        place = torch.searchsorted(self._shared, ids.int())
        return torch.where(self._shared[place] == ids, self._sizes[place], 1).long()

    def lowest(self, nodes: Tensor) -> Tensor:
        """The first ID below each prefix; nodes (…,) -> its number in the table (…,)."""
        return torch.where(nodes < 0, ~nodes, nodes >> 32)

    def ranges(self, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """The items below each prefix are positions low … high − 1 of the table; nodes (…,) -> two (…,)."""
        low = self.lowest(nodes)
        return low, torch.where(nodes < 0, low + self._bucket(low), nodes & 0xFFFFFFFF)

    def items(self, nodes: Tensor) -> Tensor:
        """How many items lie below each prefix; nodes (…,) -> (…,)."""
        low, high = self.ranges(nodes)
        return high - low


def _spread(first: Tensor, sizes: Tensor) -> tuple[Tensor, Tensor]:
    """The numbers first … first + sizes − 1 of each of p owners (p,) -> (owner, number), (c,) each."""
    ends = sizes.cumsum(0)
    count = int(ends[-1])
    owner = torch.repeat_interleave(sizes, output_size=count)
    return owner, (first - ends + sizes).index_select(0, owner).add_(torch.arange(count, device=first.device))


def _merged(chosen: Tensor, those: Children, others: Children) -> Children:
    """Children of the p prefixes that are chosen (p,) bool, and of the others, in the order of all."""
    ours, theirs = chosen.nonzero()[:, 0][those.owner], (~chosen).nonzero()[:, 0][others.owner]
    place = torch.cat([_place(ours, theirs, len(chosen)), _place(theirs, ours, len(chosen))])
    return Children(
        *(
            torch.empty_like(place).index_copy_(0, place, torch.cat(columns))
            for columns in ((ours, theirs), (those.code, others.code), (those.node, others.node))
        )
    )


def _place(owner: Tensor, others: Tensor, owners: int) -> Tensor:
    """Where each of `owner` comes when `others` are merged in; both ascending, with none in common."""
    before = torch.bincount(others, minlength=owners).cumsum(0)
    return before.index_select(0, owner) + torch.arange(len(owner), device=owner.device)


def list_prefixes(table: IDTable) -> Listed:
    """One level at a time, all prefixes of a level at once, as long as one has more than SCANNED items."""
    low, high = np.array([0]), np.array([len(table)])
    if table.distinct == 1 or len(table) <= SCANNED:
        low = high = low[:0]
    begins = np.zeros(len(table), dtype=bool)  # of items: differs from the one before in a code so far
    begins[0] = True
    lows, first_edges, codes, edge_lows, bounds, edges = [], [], [], [], [0], 0
    for field in fields(table.code_sizes):
        lows.append(low)
        bounds.append(bounds[-1] + len(low))
        if not len(low):
            continue
        column = read_level(table.packed, field)
        begins[1:] |= column[1:] != column[:-1]
        first = np.flatnonzero(begins & _inside(low, high, len(table)))  # item of each edge
        first_edge = np.searchsorted(first, low)
        items = np.append(first[1:], 0)
        items[np.append(first_edge[1:], len(first)) - 1] = high  # the last edge ends with its prefix
        items -= first
        single = items == 1
        several = np.flatnonzero(~single)
        single[several] = table.buckets(first[several]) == items[several]
        first_edges.append(edges + first_edge)
        codes.append(column[first].astype(np.uint16).view(np.int16))
        edge_lows.append(np.where(single, ~first, first))
        edges += len(first)
        crowded = ~single & (items > SCANNED)
        low, high = first[crowded], (first + items)[crowded]
    return Listed(
        *(
            np.concatenate([*parts, last]).astype(kind)
            for parts, last, kind in (
                (lows, [], np.int32),
                (first_edges, [edges], np.int32),
                (codes, [], np.int16),
                (edge_lows, [], np.int32),
                ([], bounds, np.int32),
            )
        )
    )


def _inside(low: np.ndarray, high: np.ndarray, n: int) -> np.ndarray:
    """(n,) bool: lies in one of the ranges low … high − 1, which are sorted and apart."""
    lengths = np.diff(np.stack([low, high], axis=1).ravel(), prepend=0, append=n)  # outside, inside, …, outside
    return np.repeat(np.arange(len(lengths)) % 2 == 1, lengths)


def _read_level(packed: Tensor, positions: Tensor, field: Field) -> Tensor:
    """`read_level` on the device: packed IDs (n, B) uint8 at positions (p,) -> (p,) long."""
    value = packed[:, field.first].index_select(0, positions).long()
    for byte in range(field.first + 1, field.last + 1):
        value = value.bitwise_left_shift_(8).bitwise_or_(packed[:, byte].index_select(0, positions))
    return value.bitwise_right_shift_(field.shift).bitwise_and_(field.mask)

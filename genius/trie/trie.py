"""The valid IDs as a trie on the search device: crowded prefixes as CSR arrays, the others as
sorted IDs.

The items below a prefix are a range of positions in the ID table. A node of the trie is an integer
that holds it:

    low << 32 | high    two or more distinct IDs lie below
    ~low                exactly one ID lies below, number low, however many items share it

A prefix of at most MAX_SCANNED items has no entry: its children are read from the packed IDs of its
items. Prefixes with more items are *crowded*: sorted by position, each with an edge per child.
Every edge to a prefix that is not crowded has an item of its own below it, so there are few more
edges (six bytes each) than items, and far fewer crowded prefixes.

Shapes: p prefixes given, c children found, n items, x crowded prefixes, e edges, B bytes of a
packed ID, M levels.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
import torch
from torch import Tensor

from genius.trie.ids import Field, IDTable, fields, read_level

# items of a prefix without an entry; a larger value takes more time, a smaller one more memory
MAX_SCANNED = 16


@dataclass(frozen=True)
class Children:
    """The prefixes that extend p prefixes by one code; ordered by owner, then by code."""

    owner: Tensor  # (c,) long, number of the prefix that is extended
    code: Tensor  # (c,) long
    node: Tensor  # (c,) long


class CrowdedPrefixes(NamedTuple):
    """The prefixes with more than MAX_SCANNED items and two or more IDs, by level, then by
    position, as CSR.
    """

    low: np.ndarray  # (x,) int32 first item below each
    # (x + 1,) int32 its children are edges first_edge[i] … first_edge[i + 1] − 1
    first_edge: np.ndarray
    edge_code: np.ndarray  # (e,) uint16 stored as int16, which torch can index
    # (e,) int32 first item below each child, or ~first if only one ID lies below
    edge_low: np.ndarray
    # (M + 1,) int32 prefixes of l codes are numbers levels[l] … levels[l + 1] − 1
    levels: np.ndarray


class Trie:
    """The codes that may follow a prefix. Immutable; safe to share between threads."""

    def __init__(
        self,
        table: IDTable,
        device: torch.device | str = "cpu",
        crowded: CrowdedPrefixes | None = None,
    ):
        """crowded: the result of `find_crowded_prefixes` for this table if it is known."""
        self.crowded = find_crowded_prefixes(table) if crowded is None else crowded
        self.levels = len(table.code_sizes)
        self.prefix: tuple[int, ...] = ()  # codes that every ID must begin with
        self.root = len(table) if table.distinct > 1 else ~0
        self.items = len(table)
        self._fields = fields(table.code_sizes)
        self._bounds = self.crowded.levels.tolist()
        self._low = torch.from_numpy(self.crowded.low).to(device)
        self._first_edge = torch.from_numpy(self.crowded.first_edge).to(device)
        self._edge_code = torch.from_numpy(self.crowded.edge_code).to(device)
        self._edge_low = torch.from_numpy(self.crowded.edge_low).to(device)
        self._packed = torch.from_numpy(table.packed).to(device)
        self._shared = torch.from_numpy(table.shared).to(device)
        self._sizes = torch.from_numpy(table.sizes).to(device)

    @property
    def device(self) -> torch.device:
        """Where `children` runs."""
        return self._packed.device

    @property
    def first_codes(self) -> Tensor:
        """(c,) the codes that an ID may begin with, ascending."""
        return (
            self._first_codes if not self.prefix else self._first_codes.new_tensor(self.prefix[:1])
        )

    @cached_property
    def _first_codes(self) -> Tensor:
        """(c,) the same without regard to `prefix`."""
        return self._children(torch.tensor([self.root], device=self.device), 0).code

    @property
    def nbytes(self) -> int:
        """Memory of the crowded prefixes, in bytes; packed and shared IDs belong to the table."""
        return sum(array.nbytes for array in self.crowded)

    def below(self, prefix: Sequence[int]) -> Self:
        """The same trie, in which only IDs with this prefix are valid; shares all arrays.

        The prefix must be one of the trie's. Numbers of IDs and items are those of the whole table.
        """
        restricted = copy.copy(self)
        restricted.prefix = tuple(prefix)
        return restricted

    def children(self, nodes: Tensor, level: int) -> Children:
        """All extensions of the prefixes `nodes` (p,), each `level` codes long, by one code."""
        children = self._children(nodes, level)
        if level >= len(self.prefix):
            return children
        valid = children.code == self.prefix[level]
        return Children(children.owner[valid], children.code[valid], children.node[valid])

    def _children(self, nodes: Tensor, level: int) -> Children:
        """As `children`, without regard to `prefix`."""
        low = self.lowest(nodes)
        # for a single ID its first item is enough
        sizes = torch.where(nodes < 0, 1, (nodes & 0xFFFFFFFF) - low)
        crowded = sizes > MAX_SCANNED
        count = int(crowded.sum())
        if count == 0:
            return self._scan_items(low, sizes, level)
        if count == len(nodes):
            return self._follow_edges(low, low + sizes, level)
        return _merge_children(
            crowded,
            self._follow_edges(low[crowded], (low + sizes)[crowded], level),
            self._scan_items(low[~crowded], sizes[~crowded], level),
        )

    def _follow_edges(self, low: Tensor, high: Tensor, level: int) -> Children:
        """Children of crowded prefixes, the items low … high − 1 (p,)."""
        begin, end = self._bounds[level : level + 2]
        entry = begin + torch.searchsorted(self._low[begin:end], low.int())
        first = self._first_edge[entry].long()
        sizes = self._first_edge[entry + 1] - first
        owner, edge = expand_on_device(first, sizes)
        code = self._edge_code.index_select(0, edge).long().bitwise_and_(0xFFFF)
        edge_low = self._edge_low.index_select(0, edge)
        child_low = (edge_low ^ edge_low >> 31).long()  # ~edge_low where one ID lies below
        child_high = torch.empty_like(child_low)
        child_high[:-1] = child_low[1:]  # a child ends where the next one begins,
        child_high[sizes.cumsum(0) - 1] = high  # the last one with its parent
        ranges = child_low.bitwise_left_shift_(32).bitwise_or_(child_high)
        return Children(owner, code, torch.where(edge_low < 0, edge_low, ranges))

    def _scan_items(self, low: Tensor, sizes: Tensor, level: int) -> Children:
        """Children of prefixes without an entry, from the packed IDs of their items; low, sizes
        (p,).
        """
        owner, position = expand_on_device(low, sizes)
        code = _read_level(self._packed, position, self._fields[level])
        if len(owner) == len(low):
            return Children(owner, code, ~position)
        begins = torch.ones_like(owner, dtype=torch.bool)
        begins[1:] = (code[1:] != code[:-1]) | (owner[1:] != owner[:-1])
        begin = begins.nonzero()[:, 0]
        items = begin.diff(append=begin.new_tensor([len(owner)]))
        node = self._node(position.index_select(0, begin), items)
        return Children(owner.index_select(0, begin), code.index_select(0, begin), node)

    def _node(self, low: Tensor, items: Tensor) -> Tensor:
        """(c,) nodes of the prefixes with `items` (c,) items from position low (c,) on."""
        single = items == 1
        several = (~single).nonzero()[:, 0]
        single[several] = self._bucket_sizes(low[several]) == items[several]
        return torch.where(single, ~low, low << 32 | low + items)

    def _bucket_sizes(self, ids: Tensor) -> Tensor:
        """`IDTable.bucket_sizes` on the device."""
        at = torch.searchsorted(self._shared, ids.int())
        return torch.where(self._shared[at] == ids, self._sizes[at], 1).long()

    def lowest(self, nodes: Tensor) -> Tensor:
        """The first ID below each prefix: nodes (…,) -> its number in the table (…,)."""
        return torch.where(nodes < 0, ~nodes, nodes >> 32)

    def ranges(self, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """The items below each prefix: nodes (…,) -> low, high (…,), positions low … high − 1 of
        the table.
        """
        low = self.lowest(nodes)
        return low, torch.where(nodes < 0, low + self._bucket_sizes(low), nodes & 0xFFFFFFFF)

    def codes(self, positions: Tensor) -> Tensor:
        """Positions of items (p,) -> their codes (p, M) long, as `IDTable.codes` reads them."""
        # (B, p): memory is read once for all levels
        columns = self._packed.index_select(0, positions).T.contiguous()
        return torch.stack(
            [_code([*columns[field.first : field.last + 1]], field) for field in self._fields],
            dim=1,
        )

    def item_counts(self, nodes: Tensor) -> Tensor:
        """The number of items below each prefix: nodes (…,) -> (…,)."""
        low, high = self.ranges(nodes)
        return high - low


def expand_on_device(first: Tensor, sizes: Tensor) -> tuple[Tensor, Tensor]:
    """`expand_ranges` on the device: p ranges, given by their first numbers (p,) and sizes (p,) ->
    (owner, number), (c,) each.
    """
    ends = sizes.cumsum(0)
    count = int(ends[-1])
    owner = torch.repeat_interleave(sizes, output_size=count)
    return owner, (first - ends + sizes).index_select(0, owner).add_(
        torch.arange(count, device=first.device)
    )


def _merge_children(mask: Tensor, first: Children, second: Children) -> Children:
    """Children of p prefixes in order: `first` of those where mask (p,) is true, `second` of the
    others.
    """
    owner = torch.cat([mask.nonzero()[:, 0][first.owner], (~mask).nonzero()[:, 0][second.owner]])
    owner, order = owner.sort(stable=True)
    code, node = torch.cat([first.code, second.code]), torch.cat([first.node, second.node])
    return Children(owner, code[order], node[order])


def find_crowded_prefixes(table: IDTable) -> CrowdedPrefixes:
    """Find the prefixes with more than MAX_SCANNED items, all of one length at a time, the empty
    prefix first.
    """
    low, high = np.array([0]), np.array([len(table)])
    if table.distinct == 1 or len(table) <= MAX_SCANNED:
        low = high = low[:0]
    # whether an item differs from the one before in a code so far
    begins = np.zeros(len(table), dtype=bool)
    begins[0] = True
    lows = []
    first_edges = []
    codes = []
    edge_lows = []
    edges = 0
    for field in fields(table.code_sizes):
        lows.append(low)
        if not len(low):
            continue
        column = read_level(table.packed, field)
        begins[1:] |= column[1:] != column[:-1]
        first = np.flatnonzero(begins & _inside(low, high, len(table)))  # first item of each edge
        first_edge = np.searchsorted(first, low)
        items = np.append(first[1:], 0)
        # the last edge ends with its prefix
        items[np.append(first_edge[1:], len(first)) - 1] = high
        items -= first
        single = items == 1
        several = np.flatnonzero(~single)
        single[several] = table.bucket_sizes(first[several]) == items[several]
        first_edges.append(edges + first_edge)
        codes.append(column[first].astype(np.uint16).view(np.int16))
        edge_lows.append(np.where(single, ~first, first))
        edges += len(first)
        crowded = ~single & (items > MAX_SCANNED)
        low, high = first[crowded], (first + items)[crowded]
    nothing = np.zeros(0, dtype=np.int32)
    return CrowdedPrefixes(
        np.concatenate([*lows, nothing]).astype(np.int32),
        np.concatenate([*first_edges, [edges]]).astype(np.int32),
        np.concatenate([*codes, nothing]).astype(np.int16),
        np.concatenate([*edge_lows, nothing]).astype(np.int32),
        np.cumsum([0, *map(len, lows)]).astype(np.int32),
    )


def _inside(low: np.ndarray, high: np.ndarray, n: int) -> np.ndarray:
    """(n,) bool: whether each position lies in one of the ranges low … high − 1, which are sorted
    and disjoint.
    """
    # outside, inside, …, outside
    lengths = np.diff(np.stack([low, high], axis=1).ravel(), prepend=0, append=n)
    return np.repeat(np.arange(len(lengths)) % 2 == 1, lengths)


def _read_level(packed: Tensor, positions: Tensor, field: Field) -> Tensor:
    """`read_level` on the device: packed IDs (n, B) uint8 at positions (p,) -> (p,) long."""
    return _code(
        [packed[:, byte].index_select(0, positions) for byte in range(field.first, field.last + 1)],
        field,
    )


def _code(columns: Sequence[Tensor], field: Field) -> Tensor:
    """The code (p,) long in these bytes of packed IDs, (p,) uint8 each, highest first."""
    value = columns[0].long()
    for column in columns[1:]:
        value = value.bitwise_left_shift_(8).bitwise_or_(column)
    return value.bitwise_right_shift_(field.shift).bitwise_and_(field.mask)

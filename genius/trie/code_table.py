"""Find the items whose IDs match a pattern of codes.

A pattern fixes the codes of some levels and leaves the others open: (0, 17, None, 5) matches every
ID with these codes at levels 0, 1 and 3. Levels after its last code are open too, so every prefix
is a pattern, and () matches all IDs.

    rows = CodeTable(engine.pool.table).match((0, 17, None, 5)).rows

Shapes: n items, m matching items, M levels, k codes of a level, B bytes of a packed ID, c children.
"""

from dataclasses import dataclass

import numpy as np

from genius.trie.ids import Field, IDTable, fields, pack, read_level

Pattern = tuple[int | None, ...]  # None: any code; the last entry is never None


def trimmed(pattern: Pattern) -> Pattern:
    """The pattern without open levels at its end."""
    while pattern and pattern[-1] is None:
        pattern = pattern[:-1]
    return pattern


@dataclass(frozen=True)
class Matches:
    """The items that match a pattern, in the order of their IDs. For a prefix the arrays are views,
    not copies.
    """

    pattern: Pattern
    rows: np.ndarray  # (m,) int32, index rows
    packed: np.ndarray  # (m, B) packed IDs
    levels: tuple[Field, ...]  # where each level's code lies in a packed ID

    def __len__(self) -> int:
        """m."""
        return len(self.rows)

    def codes(self, level: int) -> np.ndarray:
        """(m,) int32, the code of each item at this level."""
        return read_level(self.packed, self.levels[level])

    def children(self) -> tuple[np.ndarray, np.ndarray]:
        """The next codes (c,), ascending, and the number of items with each (c,); both empty after
        a complete ID.
        """
        if len(self.pattern) == len(self.levels):
            return np.zeros(0, int), np.zeros(0, int)
        counts = np.bincount(self.codes(len(self.pattern)))
        used = np.flatnonzero(counts)
        return used, counts[used]


class CodeTable:
    """Looks up patterns in an ID table. It copies nothing, so creating one is free.

    A prefix takes two binary searches. Other patterns also scan one code per item below their first
    open level.
    """

    def __init__(self, table: IDTable):
        self.table = table
        self.code_sizes = table.code_sizes
        self._fields = tuple(fields(table.code_sizes))

    def __len__(self) -> int:
        """n."""
        return len(self.table)

    def match(self, pattern: Pattern) -> Matches:
        """The items that match a pattern.

        Raises ValueError for a code that does not exist, if all levels before it are given; behind
        an open level it matches nothing.
        """
        pattern = trimmed(pattern)
        prefix = pattern[: pattern.index(None)] if None in pattern else pattern
        below = self.range(prefix)
        rows, packed = self.table.rows[below], self.table.packed[below]
        for level in range(len(prefix), len(pattern)):
            if (code := pattern[level]) is not None:
                chosen = read_level(packed, self._fields[level]) == code
                rows, packed = rows[chosen], packed[chosen]
        return Matches(pattern, rows, packed, self._fields)

    def range(self, prefix: Pattern) -> slice:
        """The table positions of the items below a prefix. Raises ValueError for a code that does
        not exist.
        """
        open_sizes = self.code_sizes[len(prefix) :]
        ends = pack(
            np.array(
                [prefix + (0,) * len(open_sizes), prefix + tuple(size - 1 for size in open_sizes)]
            ),
            self.code_sizes,
        )
        kind = f"S{ends.shape[1]}"
        ids, (first, last) = self.table.packed.view(kind)[:, 0], ends.view(kind)[:, 0]
        return slice(
            int(np.searchsorted(ids, first)), int(np.searchsorted(ids, last, side="right"))
        )

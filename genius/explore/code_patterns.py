"""Which items have which codes.

A pattern names some codes of an ID and leaves the others open: `0 · 17 · * · 5` matches every ID with these codes
at levels 0, 1 and 3. It says nothing of the levels after its last code, so a prefix is a pattern, and () matches all.

    table = CodeTable(engine.pool.table)
    rows = table.match(parse_pattern("0 · 17 · * · 5", table.code_sizes)).rows

Shapes: n items, m items that match, M levels, B bytes of a packed ID, c children.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from genius.errors import UserError
from genius.trie.ids import Field, IDTable, fields, pack, read_level

Pattern = tuple[int | None, ...]  # None: any code; never the last one

ANY = "*"
SEPARATORS = re.compile(r"[\s()\[\]·•⋅∙.,;:/–—-]+")
LONGEST = 200  # characters of a typed pattern


def parse_pattern(text: str, code_sizes: Sequence[int]) -> Pattern:
    """Read `0 · 17 · * · 5`, `0.17.*.5`, `0-17-*-5` or `0 17 * 5`; nothing at all matches everything.

    Raises UserError for what is no code, for a code that the level does not have, and for too many levels.
    """
    if not isinstance(text, str) or len(text) > LONGEST:
        raise UserError(f"A pattern is a text of at most {LONGEST} characters, such as 0 · 17 · * · 5.")
    words = [word for word in SEPARATORS.split(text) if word]
    if len(words) > len(code_sizes):
        raise UserError(f"The pattern has {len(words)} codes; an ID has {len(code_sizes)}.")
    return trimmed(
        tuple(_code(word, level, size) for level, (word, size) in enumerate(zip(words, code_sizes, strict=False)))
    )


def written(pattern: Pattern, separator: str = " · ") -> str:
    """As `parse_pattern` reads it; in a URL the separator is a full stop."""
    return separator.join(ANY if code is None else str(code) for code in pattern)


def trimmed(pattern: Pattern) -> Pattern:
    """Without open codes at its end, which say nothing."""
    while pattern and pattern[-1] is None:
        pattern = pattern[:-1]
    return pattern


def at_level(level: int, code: int) -> Pattern:
    """This code at this level, whatever comes before."""
    return (None,) * level + (code,)


@dataclass(frozen=True)
class Matches:
    """The items that a pattern matches, in the order of their IDs. Views where it is a prefix: nothing is copied."""

    pattern: Pattern
    rows: np.ndarray  # (m,) int32 of the index
    packed: np.ndarray  # (m, B) their IDs
    levels: tuple[Field, ...]  # where each level's code lies in them

    def __len__(self) -> int:
        """m."""
        return len(self.rows)

    def codes(self, level: int) -> np.ndarray:
        """(m,) int32, the code of each item at one level."""
        return read_level(self.packed, self.levels[level])

    def children(self) -> tuple[np.ndarray, np.ndarray]:
        """Codes (c,) that follow the pattern, ascending, and how many items have each (c,); none after whole IDs."""
        if len(self.pattern) == len(self.levels):
            return np.zeros(0, int), np.zeros(0, int)
        counts = np.bincount(self.codes(len(self.pattern)))
        used = np.flatnonzero(counts)
        return used, counts[used]

    def narrowed(self, level: int, code: int) -> Matches:
        """Those with this code at a level after the pattern's last."""
        assert level >= len(self.pattern)
        chosen = self.codes(level) == code
        return Matches(
            (*self.pattern, *at_level(level - len(self.pattern), code)),
            self.rows[chosen],
            self.packed[chosen],
            self.levels,
        )


class CodeTable:
    """The IDs of all items, to be asked by pattern. Holds nothing of its own, so making one costs nothing.

    A prefix is found by bisection; other patterns read the items below their first open code once, a few bytes each.
    """

    def __init__(self, table: IDTable):
        self.table = table
        self.code_sizes = table.code_sizes
        self._fields = tuple(fields(table.code_sizes))

    def __len__(self) -> int:
        """n."""
        return len(self.table)

    def match(self, pattern: Pattern) -> Matches:
        """The items with these codes. Raises ValueError for a code that does not exist."""
        prefix = pattern[: pattern.index(None)] if None in pattern else pattern
        below = self._below(prefix)
        matches = Matches(prefix, self.table.rows[below], self.table.packed[below], self._fields)
        for level, code in enumerate(pattern):
            if level >= len(prefix) and code is not None:
                matches = matches.narrowed(level, code)
        return matches

    def level(self, level: int) -> np.ndarray:
        """(k,) how many items have each code of this level."""
        return np.bincount(read_level(self.table.packed, self._fields[level]), minlength=self.code_sizes[level])

    def _below(self, prefix: Pattern) -> slice:
        """The positions of the items below a prefix."""
        rest = self.code_sizes[len(prefix) :]
        ends = pack(np.array([prefix + (0,) * len(rest), prefix + tuple(size - 1 for size in rest)]), self.code_sizes)
        ids, (first, last) = (packed.view(f"S{packed.shape[1]}")[:, 0] for packed in (self.table.packed, ends))
        return slice(int(np.searchsorted(ids, first)), int(np.searchsorted(ids, last, side="right")))


def _code(word: str, level: int, size: int) -> int | None:
    if word == ANY:
        return None
    if not re.fullmatch(r"[0-9]+", word):
        raise UserError(f"{word!r} is no code; write numbers, and {ANY} for any code, such as 0 · 17 · {ANY} · 5.")
    if len(word) > len(str(size)) or int(word) >= size:
        raise UserError(f"Level {level} has the codes 0 to {size - 1}, not {word}.")
    return int(word)

"""Parse and format code patterns: as users type them, as the page shows them, and as URLs contain
them.
"""

import re
from collections.abc import Sequence

from genius.errors import UserError, quoted
from genius.trie.code_table import Pattern, trimmed

ANY = "*"
SEPARATORS = re.compile(r"[\s()\[\]·•⋅∙.,;:/–—-]+")
MAX_PATTERN_LENGTH = 200  # characters of a typed pattern


def parse_pattern(text: str, code_sizes: Sequence[int]) -> Pattern:
    """Parse `0 · 17 · * · 5`, `0.17.*.5`, `0-17-*-5` or `0 17 * 5`; an empty text is the pattern
    that matches all.

    Raises UserError for a word that is not a code, a code that the level does not have, or too many
    levels.
    """
    if not isinstance(text, str) or len(text) > MAX_PATTERN_LENGTH:
        raise UserError(
            f"A pattern has at most {MAX_PATTERN_LENGTH} characters, for example 0 · 17 · * · 5."
        )
    words = [word for word in SEPARATORS.split(text) if word]
    if len(words) > len(code_sizes):
        raise UserError(f"The pattern has {len(words)} codes; an ID has {len(code_sizes)}.")
    levels = enumerate(zip(words, code_sizes, strict=False))
    return trimmed(tuple(_code(word, level, size) for level, (word, size) in levels))


def format_pattern(pattern: Pattern, separator: str = " · ") -> str:
    """The text that `parse_pattern` reads as this pattern; URLs use a full stop as separator."""
    return separator.join(ANY if code is None else str(code) for code in pattern)


def _code(word: str, level: int, size: int) -> int | None:
    if word == ANY:
        return None
    if not re.fullmatch(r"[0-9]+", word):
        raise UserError(
            f"{quoted(word)} is not a code; write numbers, and {ANY} for any code, for "
            f"example 0 · 17 · {ANY} · 5."
        )
    if len(word) > len(str(size)) or int(word) >= size:
        raise UserError(f"Level {level} has codes 0 to {size - 1}, not {word}.")
    return int(word)

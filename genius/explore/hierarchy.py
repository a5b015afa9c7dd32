"""The codes below a pattern as a tree of two levels, small enough to draw.

Shapes: m matching items, p distinct pairs of codes, c codes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from genius.trie.code_table import Matches, Pattern

MAX_SHOWN = 40  # codes shown per level; the root's children share them in proportion to their items


@dataclass(frozen=True)
class Node:
    """A code, or all codes of a parent that are not shown."""

    pattern: Pattern  # for a node of hidden codes, the pattern of the parent
    items: int
    children: tuple[Self, ...] = ()
    others: int = 0  # number of codes that it stands for, if they are hidden


def hierarchy(matches: Matches) -> Node:
    """The pattern, its next codes and their next codes; largest first, hidden codes last."""
    level, (codes, counts) = len(matches.pattern), matches.children()
    pairs = pair_counts = np.zeros(0, dtype=np.int64)  # (p,) each: a next code and the one after it, and their items
    if level + 1 < len(matches.levels):
        joint = matches.codes(level).astype(np.int64) << 32 | matches.codes(level + 1)  # (m,)
        pairs, pair_counts = np.unique(joint, return_counts=True)

    def child(code: int, items: int) -> Node:
        pattern, of_child = (*matches.pattern, code), pairs >> 32 == code
        below, most = pairs[of_child] & 0xFFFFFFFF, max(1, round(MAX_SHOWN * items / len(matches)))
        return _node(
            pattern, items, below, pair_counts[of_child], most, lambda code, items: Node((*pattern, code), items)
        )

    return _node(matches.pattern, len(matches), codes, counts, MAX_SHOWN, child)


def _node(
    pattern: Pattern, items: int, codes: np.ndarray, counts: np.ndarray, most: int, child: Callable[[int, int], Node]
) -> Node:
    """A node with a child for each of the largest next codes (c,), and one for all others, if there are several."""
    order = np.argsort(-counts, kind="stable")
    shown, hidden = (order[:most], order[most:]) if len(order) > most + 1 else (order, order[:0])
    children = [child(*pair) for pair in zip(codes[shown].tolist(), counts[shown].tolist(), strict=True)]
    if len(hidden):
        children.append(Node(pattern, int(counts[hidden].sum()), others=len(hidden)))
    return Node(pattern, items, tuple(children))

"""The codes below a pattern as a tree of two levels, small enough to draw.

Shapes: m matching items, p distinct pairs of codes, c codes.
"""

from collections.abc import Mapping
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
    codes, counts = matches.children()
    shown = _largest(counts, MAX_SHOWN)
    return _parent(matches.pattern, len(matches), codes, counts, shown, _grandchildren(matches, codes[shown]))


def _grandchildren(matches: Matches, children: np.ndarray) -> dict[int, Node]:
    """A node with its children for each of these codes (c,); empty if IDs end with them."""
    level = len(matches.pattern)
    if level + 1 >= len(matches.levels):
        return {}
    joint = matches.codes(level).astype(np.int64) << 32 | matches.codes(level + 1)  # (m,)
    pairs, counts = np.unique(joint, return_counts=True)  # (p,) each
    below = {}
    for child in children.tolist():
        of_child = pairs >> 32 == child
        items = int(counts[of_child].sum())
        shown = _largest(counts[of_child], max(1, round(MAX_SHOWN * items / len(matches))))
        below[child] = _parent((*matches.pattern, child), items, pairs[of_child] & 0xFFFFFFFF, counts[of_child], shown)
    return below


def _parent(
    pattern: Pattern,
    items: int,
    codes: np.ndarray,
    counts: np.ndarray,
    shown: np.ndarray,
    below: Mapping[int, Node] | None = None,
) -> Node:
    """A node with a child per shown code (c,). below: the children that have children themselves."""
    others = ~shown if (~shown).sum() > 1 else np.zeros_like(shown)  # never hide a single code
    order = np.argsort(-counts, kind="stable")
    order = order[~others[order]]
    children = [
        (below or {}).get(code) or Node((*pattern, code), count)
        for code, count in zip(codes[order].tolist(), counts[order].tolist(), strict=True)
    ]
    if others.any():
        children.append(Node(pattern, int(counts[others].sum()), others=int(others.sum())))
    return Node(pattern, items, tuple(children))


def _largest(counts: np.ndarray, most: int) -> np.ndarray:
    """(c,) bool, true for the `most` largest counts."""
    chosen = np.zeros(len(counts), dtype=bool)
    chosen[np.argsort(-counts, kind="stable")[:most]] = True
    return chosen

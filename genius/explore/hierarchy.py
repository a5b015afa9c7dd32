"""The codes below a pattern as a tree of two levels, small enough to draw.

Shapes: m items that match, p different pairs of codes, c codes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from genius.trie.code_table import Matches, Pattern

MOST = 40  # codes shown of a level, which the children of the root share by their items


@dataclass(frozen=True)
class Node:
    """A code among its siblings, or all of them that are not shown."""

    pattern: Pattern  # of the others: their parent's
    items: int
    children: tuple[Node, ...] = ()
    others: int = 0  # codes that it stands for, if it is the others


def hierarchy(matches: Matches) -> Node:
    """The pattern itself, the codes that follow it and those that follow them; largest first, the others last."""
    codes, counts = matches.children()
    shown = _largest(counts, MOST)
    return _parent(matches.pattern, len(matches), codes, counts, shown, _grandchildren(matches, codes[shown]))


def _grandchildren(matches: Matches, children: np.ndarray) -> dict[int, Node]:
    """A node with what follows it for each of these codes (c,), unless an ID ends with them."""
    level = len(matches.pattern)
    if level + 1 >= len(matches.levels):
        return {}
    joint = matches.codes(level).astype(np.int64) << 32 | matches.codes(level + 1)  # (m,)
    pairs, counts = np.unique(joint, return_counts=True)  # (p,) each
    below = {}
    for child in children.tolist():
        own = pairs >> 32 == child
        items = int(counts[own].sum())
        shown = _largest(counts[own], max(1, round(MOST * items / len(matches))))
        below[child] = _parent((*matches.pattern, child), items, pairs[own] & 0xFFFFFFFF, counts[own], shown)
    return below


def _parent(
    pattern: Pattern,
    items: int,
    codes: np.ndarray,
    counts: np.ndarray,
    shown: np.ndarray,
    below: Mapping[int, Node] | None = None,
) -> Node:
    """A node with one for each code (c,) that is shown; below: those that have children of their own."""
    others = ~shown if (~shown).sum() > 1 else np.zeros_like(shown)  # one alone takes no more room by its name
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
    """(c,) bool."""
    chosen = np.zeros(len(counts), dtype=bool)
    chosen[np.argsort(-counts, kind="stable")[:most]] = True
    return chosen

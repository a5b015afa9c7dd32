"""The tree of prefixes that a beam search considered, built from the search's own trace, and the
path of a hit through it.

Shapes: t prefixes of a tree, M levels, w open beams of a level, n items of the index.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from typing import Self

import numpy as np

from genius.explore.items import EXACT_ITEMS
from genius.schema import Hit, LevelTrace

DEAD_ENDS = 2  # prefixes of each unsuccessful fate that `best` keeps per level


class Fate(IntEnum):
    """The outcome of a prefix."""

    FOUND = 0  # prefix of a generated ID
    ENDED = 1  # it was a beam, but no continuation was
    DROPPED = 2  # it was considered, but did not become a beam


@dataclass(frozen=True)
class BeamTree:
    """Prefixes, level by level and best first; a prefix comes after its parent."""

    level: np.ndarray  # (t,)
    place: np.ndarray  # (t,) rank among the prefixes considered at its level, from 1
    parent: np.ndarray  # (t,) index of the parent prefix; −1 at level 0
    code: np.ndarray  # (t,)
    step: np.ndarray  # (t,) log-probability of the code given the previous codes
    log_prob: np.ndarray  # (t,) summed over the prefix
    score: np.ndarray  # (t,) score that ranks the beams, summed over the prefix
    items: np.ndarray  # (t,) number of items with this prefix
    masked: np.ndarray  # (t,) probability that the trie masked when this code was chosen
    fate: np.ndarray  # (t,) Fate
    # (M,) `masked` averaged over the beams of a level, weighted by their probability
    mass: np.ndarray

    def __len__(self) -> int:
        """t."""
        return len(self.code)

    @property
    def levels(self) -> int:
        """M."""
        return len(self.mass)

    def prefixes(self) -> list[tuple[int, ...]]:
        """The codes of each prefix."""
        known: list[tuple[int, ...]] = []
        for parent, code in zip(self.parent.tolist(), self.code.tolist(), strict=True):
            known.append((*known[parent], code) if parent >= 0 else (code,))
        return known

    def lineage(self, codes: Sequence[int]) -> np.ndarray:
        """(≤ M,) indices of the prefixes of these codes, shortest first, as far as the search
        considered them.
        """
        path = [-1]
        for level, code in enumerate(codes):
            numbers = np.flatnonzero(
                (self.level == level) & (self.parent == path[-1]) & (self.code == code)
            )
            if not len(numbers):
                break
            path.append(int(numbers[0]))
        return np.array(path[1:], dtype=np.int64)

    def best(self, limit: int, codes: Sequence[int] = ()) -> Self:
        """The part of the tree with the `limit` best IDs, these codes, and a few unsuccessful
        prefixes per level.
        """
        drawn = (self.level == self.levels - 1) & (self.fate == Fate.FOUND) & (self.place <= limit)
        drawn[self.lineage(codes)] = True
        drawn = _with_ancestors(drawn, self.parent)
        siblings = ~drawn & np.append(drawn, True)[self.parent]
        for level in range(self.levels):
            for fate in (Fate.ENDED, Fate.DROPPED):
                drawn[
                    np.flatnonzero(siblings & (self.level == level) & (self.fate == fate))[
                        :DEAD_ENDS
                    ]
                ] = True
        # of each prefix in the part, which has its ancestors, too
        number = np.append(np.cumsum(drawn) - 1, -1)
        part = {
            field.name: getattr(self, field.name)[drawn]
            for field in fields(self)
            if field.name != "mass"
        }
        return replace(self, **part | {"parent": number[part["parent"]]})


def beam_tree(trace: Sequence[LevelTrace]) -> BeamTree:
    """Build the tree from the trace of an exact search."""
    columns, mass = [], []
    # (w,) indices and log-probabilities of the open beams
    beams = np.array([-1])
    log_probs = np.zeros(1)
    size = 0
    for depth, level in enumerate(trace):
        log_prob = log_probs[level.parent] + level.step_log_prob
        mass.append(np.average(level.masked, weights=np.exp(log_probs - log_probs.max())))
        columns.append(
            (
                np.full(len(level.code), depth),
                np.arange(len(level.code)) + 1,
                beams[level.parent],
                level.code,
                level.step_log_prob,
                log_prob,
                level.score,
                level.items,
                level.masked[level.parent],
                np.where(level.kept, Fate.ENDED, Fate.DROPPED),
            )
        )
        beams = size + np.flatnonzero(level.kept)
        log_probs = log_prob[level.kept]
        size += len(level.code)
    arrays = [*map(np.concatenate, zip(*columns, strict=True)), np.array(mass)]
    tree = BeamTree(*arrays)
    ids = np.zeros(size, dtype=bool)
    ids[beams] = True
    tree.fate[_with_ancestors(ids, tree.parent)] = Fate.FOUND
    return tree


def _with_ancestors(chosen: np.ndarray, parent: np.ndarray) -> np.ndarray:
    """(t,) bool: these prefixes and all their ancestors."""
    chosen = chosen.copy()
    for number in range(len(chosen) - 1, -1, -1):
        if chosen[number] and parent[number] >= 0:
            chosen[parent[number]] = True
    return chosen


@dataclass(frozen=True)
class Explanation:
    """The path of a hit in an exact beam search, and its rank in dense search."""

    hit: Hit
    path: np.ndarray  # (≤ M,) tree indices of its ID's prefixes that the search considered
    beam: int | None  # rank of its ID among the generated IDs, from 1; None: not generated
    bucket: int | None  # items with its ID; None: the search did not reach it
    best: tuple[int, ...]  # the best generated ID
    shared: int  # length of the common prefix of its ID and the best one
    items: int  # n
    dense_rank: int  # rank among all items, from 1

    @property
    def dense_rank_is_exact(self) -> bool:
        return self.items <= EXACT_ITEMS


def explain(hit: Hit, tree: BeamTree, items: int, dense_rank: int) -> Explanation:
    """Explain a hit. tree: all prefixes that an exact search for its query considered."""
    path = tree.lineage(hit.codes)
    whole = len(path) == tree.levels
    last = path[-1:]
    generated = whole and tree.fate[last[0]] == Fate.FOUND
    best = tree.prefixes()[int(np.flatnonzero(tree.level == tree.levels - 1)[0])]
    differs = np.flatnonzero(np.array(best) != np.array(hit.codes))
    return Explanation(
        hit,
        path,
        int(tree.place[last[0]]) if generated else None,
        int(tree.items[last[0]]) if whole else None,
        best,
        int(differs[0]) if len(differs) else tree.levels,
        items,
        dense_rank,
    )

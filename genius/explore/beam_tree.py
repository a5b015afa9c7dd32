"""The tree of prefixes that a beam search considered, read from the trace that the search itself recorded.

Shapes: t prefixes of a tree, M levels, w open beams of a level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from enum import IntEnum

import numpy as np

from genius.schema import SearchTrace

ASIDE = 2  # prefixes a level of each fate that led nowhere, drawn beside the best lineages


class Fate(IntEnum):
    """What became of a prefix."""

    FOUND = 0  # a generated ID begins with it
    ENDED = 1  # it was a beam, but nothing that continues it stayed one
    DROPPED = 2  # it was considered and did not become a beam


@dataclass(frozen=True)
class BeamTree:
    """Prefixes, level by level, the best of each level first; a prefix comes after the one that it continues."""

    level: np.ndarray  # (t,)
    place: np.ndarray  # (t,) among all that were considered at its level; 1 is best
    parent: np.ndarray  # (t,) number of the prefix that it continues; −1 at level 0
    code: np.ndarray  # (t,)
    step: np.ndarray  # (t,) log-probability of the code given the codes before
    log_prob: np.ndarray  # (t,) summed over the prefix
    score: np.ndarray  # (t,) summed, what the beams are ranked by
    items: np.ndarray  # (t,) that begin with this prefix
    masked: np.ndarray  # (t,) probability of what the trie forbade where this code was chosen
    fate: np.ndarray  # (t,) Fate
    mass: np.ndarray  # (M,) masked over all beams of a level, weighted by their probability

    def __len__(self) -> int:
        """t."""
        return len(self.code)

    @property
    def levels(self) -> int:
        """M."""
        return len(self.mass)

    def prefixes(self) -> list[tuple[int, ...]]:
        """The codes of each."""
        known: list[tuple[int, ...]] = []
        for parent, code in zip(self.parent.tolist(), self.code.tolist(), strict=True):
            known.append((*known[parent], code) if parent >= 0 else (code,))
        return known

    def lineage(self, codes: Sequence[int]) -> np.ndarray:
        """(≤ M,) the prefixes that these codes begin with, shortest first, as far as the search considered them."""
        path = [-1]
        for level, code in enumerate(codes):
            found = np.flatnonzero((self.level == level) & (self.parent == path[-1]) & (self.code == code))
            if not len(found):
                break
            path.append(int(found[0]))
        return np.array(path[1:], dtype=np.int64)

    def best(self, limit: int, codes: Sequence[int] = ()) -> BeamTree:
        """The lineages of the `limit` best IDs and of these codes, and at each level the best that led nowhere."""
        drawn = (self.level == self.levels - 1) & (self.fate == Fate.FOUND) & (self.place <= limit)
        drawn[self.lineage(codes)] = True
        drawn = _with_ancestors(drawn, self.parent)
        beside = ~drawn & np.append(drawn, True)[self.parent]
        for level in range(self.levels):
            for fate in (Fate.ENDED, Fate.DROPPED):
                drawn[np.flatnonzero(beside & (self.level == level) & (self.fate == fate))[:ASIDE]] = True
        return self._of(drawn)

    def _of(self, chosen: np.ndarray) -> BeamTree:
        """chosen (t,) bool: with each prefix those that it continues."""
        number = np.append(np.cumsum(chosen) - 1, -1)
        part = {field.name: getattr(self, field.name)[chosen] for field in fields(self) if field.name != "mass"}
        return replace(self, **part | {"parent": number[part["parent"]]})


def beam_tree(trace: SearchTrace) -> BeamTree:
    """All that the trace of an exact search holds."""
    columns, mass = [], []
    beams, log_probs = np.array([-1]), np.zeros(1)  # (w,) numbers of the open beams, and how probable they are
    size = 0
    for depth, level in enumerate(trace.levels):
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
        beams, log_probs = size + np.flatnonzero(level.kept), log_prob[level.kept]
        size += len(level.code)
    tree = BeamTree(*map(np.concatenate, zip(*columns, strict=True)), np.array(mass))
    ids = np.zeros(size, dtype=bool)
    ids[beams] = True
    tree.fate[_with_ancestors(ids, tree.parent)] = Fate.FOUND
    return tree


def _with_ancestors(chosen: np.ndarray, parent: np.ndarray) -> np.ndarray:
    """(t,) bool: these prefixes and all that they continue."""
    chosen = chosen.copy()
    for number in range(len(chosen) - 1, -1, -1):
        if chosen[number] and parent[number] >= 0:
            chosen[parent[number]] = True
    return chosen

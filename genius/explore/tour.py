"""What a guided tour shows on a run, chosen from its examples and its index; a run that lacks
something skips its step.

Shapes: n items, d embedding dim, M levels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from genius.examples import Example
from genius.explore.map_data import View
from genius.explore.word_fits import directions, spread
from genius.index.store import Index
from genius.schema import Modality
from genius.trie.code_table import Pattern

MAX_SHARED_CODES = 4  # codes that the two items of a tour have in common
MAX_PREFIX_ITEMS = 8  # items that may share these codes; in a larger group two are less alike
MAX_COMPARED = 400  # pairs, or ten times the patterns, whose embeddings are read
MAX_ITEMS = 500_000  # items; of a larger index no pair and no pattern is sought
COPY_COSINE = 0.97  # cosine; above it two items are copies of each other
ALIKE_COSINE = 0.8  # cosine; above it two photographs are hardly told apart at a glance
MIN_PATTERN_ITEMS, MAX_PATTERN_ITEMS = 8, 200  # items of a pattern


class TourStep(StrEnum):
    """The steps, in their order."""

    INSTRUCTIONS = "instructions"  # one picture under several instructions
    STRIP = "strip"  # how an ID is generated
    SHARED = "shared"  # two items whose IDs begin alike
    PATTERN = "pattern"  # the items under a code pattern
    MAP = "map"  # the map before and after quantization
    DENSE = "dense"  # the same question, asked of dense search
    GUESS = "guess"  # a picture to be guessed from its codes


@dataclass(frozen=True)
class Tour:
    """What the steps show; None where the run has nothing for one."""

    several: int | None = None  # place of the example with several instructions
    # of the example whose generation is followed, and which dense search is asked, too
    single: int | None = None
    pair: tuple[int, int] | None = None  # rows of two items
    shared: tuple[int, ...] = ()  # the codes that they share
    pattern: Pattern = ()
    # codes kept on the map before and after quantization; 0: everything
    views: tuple[int, int] | None = None

    @property
    def steps(self) -> list[TourStep]:
        """Those that this run has."""
        present = {
            TourStep.INSTRUCTIONS: self.several is not None,
            TourStep.STRIP: self.single is not None,
            TourStep.SHARED: self.pair is not None,
            TourStep.PATTERN: bool(self.pattern),
            TourStep.MAP: self.views is not None,
            TourStep.DENSE: self.single is not None,
            TourStep.GUESS: self.pair is not None,
        }
        return [step for step in TourStep if present[step]]


def tour_of(index: Index, examples: Sequence[Example], views: Sequence[View]) -> Tour:
    """Choose what to show. The same run gives the same tour."""
    several = [
        at
        for at, example in enumerate(examples)
        if example.picture and len(example.instructions) > 1
    ]
    alone = [at for at, example in enumerate(examples) if len(example.instructions) == 1]
    words = [at for at in alone if examples[at].picture is None]
    pair = most_similar_pair(index)
    return Tour(
        next(iter(several), None),
        next(iter(words or alone), None),
        pair,
        tuple(index.codes(pair[:1])[0, : shared_codes(index)].tolist()) if pair else (),
        coherent_pattern(index),
        before_and_after(views),
    )


def shared_codes(index: Index) -> int:
    """How many codes the two items share: fewer than an ID has."""
    return min(MAX_SHARED_CODES, len(index.code_sizes) - 1)


def most_similar_pair(index: Index) -> tuple[int, int] | None:
    """Rows of two items with pictures that share their first codes but not the next one; None if
    there are none.

    They are the most alike of those that are told apart at a glance, or else the least alike that
    are no copies.
    """
    depth = shared_codes(index)
    if depth < 2 or index.n > MAX_ITEMS:
        return None
    codes = index.codes(np.arange(index.n))
    order = np.lexsort(codes.T[::-1])
    ordered = codes[order]
    together = (ordered[1:, :depth] == ordered[:-1, :depth]).all(1)
    group = np.append(0, np.cumsum(~together))  # (n,) items with the same first codes
    pictured = index.modalities[order] == Modality.IMAGE
    is_pair = together & (ordered[1:, depth] != ordered[:-1, depth]) & pictured[1:] & pictured[:-1]
    is_pair &= np.bincount(group)[group[1:]] <= MAX_PREFIX_ITEMS
    places = spread(np.flatnonzero(is_pair), MAX_COMPARED)
    if not len(places):
        return None
    first, second = order[places], order[places + 1]
    cosines = (unit_embeddings(index, first) * unit_embeddings(index, second)).sum(1)
    worth = np.where(cosines > ALIKE_COSINE, -cosines, cosines)
    worth[(cosines > COPY_COSINE) | (cosines <= 0)] = -np.inf
    best = int(worth.argmax())
    return (int(first[best]), int(second[best])) if np.isfinite(worth[best]) else None


def coherent_pattern(index: Index) -> Pattern:
    """Two codes after any first code, whose items are of several modalities and most alike; () if
    there are none.

    The codes after the first mean the same for every modality, so the pattern holds pictures and
    texts of one kind.
    """
    if len(index.code_sizes) < 3 or index.n > MAX_ITEMS:
        return ()
    codes = index.codes(np.arange(index.n))
    keys, members = np.unique(codes[:, 1:3], axis=0, return_inverse=True)
    members = members.ravel()
    kinds = np.zeros((len(keys), len(Modality)), dtype=np.int64)
    np.add.at(kinds, (members, index.modalities), 1)
    sizes = kinds.sum(1)
    right_size = (sizes >= MIN_PATTERN_ITEMS) & (sizes <= MAX_PATTERN_ITEMS)
    candidates = np.flatnonzero(right_size & ((kinds >= 3).sum(1) >= 2))
    if not len(candidates):
        return ()
    candidates = candidates[np.argsort(-sizes[candidates], kind="stable")][: MAX_COMPARED // 10]
    coherences = [
        coherence(index, np.flatnonzero(members == candidate)) for candidate in candidates
    ]
    return (None, *map(int, keys[candidates[int(np.argmax(coherences))]]))


def coherence(index: Index, rows: np.ndarray) -> float:
    """How alike the items at these rows (m,) are: their mean cosine with the mean of their own
    modality, averaged over modalities. Pictures and texts lie apart in the space of embeddings even
    where they mean the same.
    """
    kinds, vectors = index.modalities[rows], unit_embeddings(index, rows)  # (m,), (m, d)
    means = [vectors[kinds == kind].mean(0) for kind in np.unique(kinds)]
    return float(np.mean([np.linalg.norm(mean) for mean in means]))


def before_and_after(views: Sequence[View]) -> tuple[int, int] | None:
    """The number of codes that the map keeps at first, which is everything, and the largest number
    of codes.
    """
    depths = [view.depth for view in views]
    return (0, max(depths)) if depths and depths[0] == 0 < max(depths) else None


def unit_embeddings(index: Index, rows: np.ndarray) -> np.ndarray:
    """Embeddings (m, d) float32 of rows (m,), with length 1."""
    return directions(np.asarray(index.embeddings[rows], dtype=np.float32))

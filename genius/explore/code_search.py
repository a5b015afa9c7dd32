"""Find codes by what they mean: those whose items lie nearest to a query, or to the items of another code.

A code is a prefix of IDs. Where the first code is the modality it stays open (*.17.5), because items of all kinds share
the codes after it. A code's vector is the mean of its items' embeddings, each from the mean of its kind, which cancels
the modality gap. A name is made from every second item of a code, and tried on the others.

Shapes: n items, m members (items that have a code), u codes, s sampled items, d embedding dim.
"""

import random
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from genius.errors import UserError
from genius.explore.code_names import MIN_ITEMS, MIN_SHARE, SAMPLE, fitting_words
from genius.explore.code_profile import SAMPLE_SIZE, Profiles, spread
from genius.explore.distinctive_words import NEAREST, Vocabulary, directions
from genius.schema import Modality
from genius.trie.code_table import Pattern
from genius.trie.ids import fields, read_level

MOST_CODES = 20_000  # with a vector, those of most items
CHUNK = 65_536  # items whose embeddings are read at once
SHORTLIST = 500  # nearest codes that are looked through for some of different branches
STRIP = 6  # items that stand for a code


@dataclass(frozen=True)
class FoundCode:
    """A code that is near to what was asked for."""

    pattern: Pattern
    similarity: float  # cosine
    items: int
    words: tuple[str, ...]  # its name; empty: its items have no common meaning
    fits: int  # of the items that were not used for the name, those that one of its words fits
    tried: int  # number of these items
    rows: list[int]  # the items nearest to the mean, those with pictures first


class CodeSearch:
    """The vectors of an index's codes. Making one reads all embeddings once. Thread-safe."""

    def __init__(self, profiles: Profiles):
        self.profiles, self.index = profiles, profiles.index
        self.first = int(profiles.engine.first_code_is_modality)  # level of the first code that is searched for
        self.patterns, self.items, member = self._codes()
        kinds, width = len(Modality), self.index.embeddings.shape[1]
        sums, kind_sums, of_kind = np.zeros((len(self.patterns), width)), np.zeros((kinds, width)), 0
        for start in range(0, self.index.n, CHUNK):
            vectors = self.index.embeddings[start : start + CHUNK].astype(np.float32)
            kind = np.eye(kinds, dtype=np.float32)[self.index.modalities[start : start + CHUNK]]
            has = member[start : start + CHUNK].T  # (u, at most CHUNK)
            sums, kind_sums, of_kind = sums + has @ vectors, kind_sums + kind.T @ vectors, of_kind + has @ kind
        counts = np.bincount(self.index.modalities, minlength=kinds)
        self.centers = (kind_sums / np.maximum(counts, 1)[:, None]).astype(np.float32)  # by Modality
        self.vectors = directions(sums - of_kind @ self.centers).astype(np.float32)  # (u, d)
        self._vocabulary = self._read_vocabulary()

    def _codes(self) -> tuple[list[Pattern], np.ndarray, csr_matrix]:
        """The codes with enough items, the number of these (u,), and which items have which code (n, u)."""
        sizes, packed, patterns = self.index.code_sizes, self.index.packed, [(None,) * self.first]
        rows, group = np.arange(self.index.n), np.zeros(self.index.n, np.int64)  # items, and the code that each has
        found, members, counts = [], [], []
        for level, field in list(enumerate(fields(sizes)))[self.first :]:
            joint = group * sizes[level] + read_level(packed[rows], field)
            extended, group, items = np.unique(joint, return_inverse=True, return_counts=True)
            large = items >= MIN_ITEMS
            kept = large[group]
            rows, group = rows[kept], (np.cumsum(large) - 1)[group[kept]]
            patterns = [(*patterns[code // sizes[level]], code % sizes[level]) for code in extended[large].tolist()]
            members.append((rows, group + len(found)))
            counts.append(items[large])
            found += patterns
        rows, codes = (np.concatenate(parts) for parts in zip(*members, strict=True))
        of_code = np.concatenate(counts)
        chosen = np.sort(np.argsort(-of_code, kind="stable")[:MOST_CODES])
        member = csr_matrix((np.ones(len(rows), np.float32), (rows, codes)), shape=(self.index.n, len(found)))
        return [found[place] for place in chosen.tolist()], of_code[chosen], member[:, chosen]

    def _read_vocabulary(self) -> Vocabulary:
        """The words of the collection, compared with items of all kinds."""
        words = self.profiles.vocabulary()
        sample = self.centered(spread(np.arange(self.index.n), SAMPLE_SIZE))
        near = np.quantile(sample @ words.vectors.T, 1 - NEAREST, axis=0)
        return Vocabulary(words.words, words.vectors, np.zeros_like(words.center), near)

    def centered(self, rows: np.ndarray) -> np.ndarray:
        """(s, d) embeddings of rows (s,), ascending, each from the mean of its kind."""
        return self.profiles.embeddings(rows) - self.centers[self.index.modalities[rows]]

    def find(self, embedding: np.ndarray, most: int) -> list[FoundCode]:
        """The codes nearest to a query's embedding (d,), of each branch the nearest one."""
        return self._nearest(embedding, most, [])

    def near(self, pattern: Pattern, most: int) -> list[FoundCode]:
        """The codes nearest to the items that match a pattern, of other branches than its own."""
        rows = self._rows(pattern) if any(code is not None for code in pattern[self.first :]) else np.zeros(0, int)
        return self._nearest(self.centered(rows).mean(0), most, [pattern]) if len(rows) else []

    def by_chance(self) -> Pattern:
        """A code by chance. Raises UserError if there is none."""
        if not self.patterns:
            raise UserError(f"No code has {MIN_ITEMS} items or more.")
        return random.choice(self.patterns)

    def _nearest(self, vector: np.ndarray, most: int, taken: list[Pattern]) -> list[FoundCode]:
        """taken: patterns whose branches are left out."""
        cosines, found = self.vectors @ directions(vector[None])[0], []
        for place in np.argsort(-cosines, kind="stable")[:SHORTLIST].tolist():
            pattern = self.patterns[place]
            if len(found) < most and not any(self._is_same_branch(pattern, other) for other in taken):
                taken = [*taken, pattern]
                found.append(self._described(place, float(cosines[place])))
        return found

    def _is_same_branch(self, pattern: Pattern, other: Pattern) -> bool:
        """Whether one of them begins with the other, whatever the kind of their items."""
        return all(one == two for one, two in zip(pattern[self.first :], other[self.first :], strict=False))

    def _rows(self, pattern: Pattern) -> np.ndarray:
        """Rows of an even sample of the matching items (s,), ascending."""
        table, prefixes = self.profiles.table, [pattern]
        if pattern[: self.first] == (None,):  # of each kind, since a prefix is looked up without a scan
            prefixes = [(kind, *pattern[1:]) for kind in range(table.code_sizes[0])]
        return np.sort(spread(np.concatenate([table.match(prefix).rows for prefix in prefixes]), SAMPLE))

    def _described(self, place: int, similarity: float) -> FoundCode:
        rows = self._rows(self.patterns[place])
        vectors = self.centered(rows)
        pictured = self.index.modalities[rows] != Modality.TEXT
        typical = rows[np.lexsort((-(vectors @ vectors.mean(0)), ~pictured))[:STRIP]]
        (near,) = self._vocabulary.nearest(vectors[::2].mean(0, keepdims=True))
        words, others = fitting_words(self._vocabulary, near, vectors[::2], MIN_SHARE), vectors[1::2]
        fits = int(self._vocabulary.fits(words, others).any(1).sum())
        return FoundCode(
            self.patterns[place], similarity, int(self.items[place]), words, fits, len(others), typical.tolist()
        )

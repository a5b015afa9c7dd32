"""Find codes by what they mean: those whose items fit a query, or that lie nearest to the items of
another code.

A code is a prefix of IDs. Where the first code is the modality it stays open (*.17.5), because
items of all kinds share the codes after it. Embeddings are taken from the mean of their kind, which
cancels the modality gap; and so is a query: a word or two from the mean of all words, a sentence
from that of the collection's texts, a picture from that of its pictures. An item fits a query if it
is among the FITTING of all items that are nearest to it, or if each of the words fits it
(word_fits.py). A code ranks by how many of its items fit, times their share of its items: of two
that fit alike the larger one comes first.

Shapes: n items, m members (items that have a code), u codes, s sampled items, d embedding dim.
"""

import random
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from genius.errors import UserError
from genius.explore.code_profile import Profiles
from genius.explore.playing import typical_rows
from genius.explore.word_fits import MIN_ITEMS, Naming, blocks, directions, spread
from genius.schema import Modality
from genius.trie.code_table import Pattern
from genius.trie.ids import fields, read_level

MOST_CODES = 20_000  # that are searched, those of most items
BLOCK = 65_536  # items whose embeddings are read at once
COMPARED = 200_000  # items that a query is compared with, at even steps
FITTING, LEAST_FITTING = 0.005, 30  # share and number of the items that fit a query
FEW_WORDS = 3  # of a query that is no sentence
SHORTLIST = 500  # best codes that are looked through for some of different branches
SAMPLE = 200  # items of a code that are looked at
STRIP = 6  # items that stand for a code


@dataclass(frozen=True)
class FoundCode:
    """A code that is near to what was asked for."""

    pattern: Pattern
    items: int
    fitting: int | None  # items that fit the query; None: it was not asked for by one
    similarity: float  # cosine with the query, or with the other code
    name: Naming
    rows: list[int]  # the items nearest to the mean, photographs first


class CodeSearch:
    """The codes of an index. Making one reads all embeddings once. Thread-safe."""

    def __init__(self, profiles: Profiles):
        self.profiles = profiles
        self.index = profiles.index
        self.words = profiles.words
        # level of the first code that is searched for
        self.first = int(profiles.engine.first_code_is_modality)
        self.patterns, self.items, self.member = self._codes()
        sums = np.zeros((len(self.patterns), self.index.embeddings.shape[1]))
        for rows in blocks(np.arange(self.index.n), BLOCK):
            sums += self.member[rows].T @ self.words.centered(rows)
        self.vectors = directions(sums).astype(np.float32)  # (u, d)

    def _codes(self) -> tuple[list[Pattern], np.ndarray, csr_matrix]:
        """The codes with enough items, the number of these (u,), and which items have which code
        (n, u).
        """
        sizes, packed = self.index.code_sizes, self.index.packed
        patterns: list[Pattern] = [(None,) * self.first]
        # items, and the code that each has
        rows = np.arange(self.index.n)
        group = np.zeros(self.index.n, np.int64)
        found: list[Pattern] = []
        members, counts = [], []
        for level, field in list(enumerate(fields(sizes)))[self.first :]:
            joint = group * sizes[level] + read_level(packed[rows], field)
            extended, group, items = np.unique(joint, return_inverse=True, return_counts=True)
            large = items >= MIN_ITEMS
            kept = large[group]
            rows, group = rows[kept], (np.cumsum(large) - 1)[group[kept]]
            patterns = [
                (*patterns[code // sizes[level]], code % sizes[level])
                for code in extended[large].tolist()
            ]
            members.append((rows, group + len(found)))
            counts.append(items[large])
            found += patterns
        rows, codes = (np.concatenate(parts) for parts in zip(*members, strict=True))
        of_code = np.concatenate(counts)
        chosen = np.sort(np.argsort(-of_code, kind="stable")[:MOST_CODES])
        member = csr_matrix(
            (np.ones(len(rows), np.float32), (rows, codes)), shape=(self.index.n, len(found))
        )
        return [found[place] for place in chosen.tolist()], of_code[chosen], member[:, chosen]

    def find(
        self, embedding: np.ndarray, text: str, has_picture: bool, most: int
    ) -> list[FoundCode]:
        """The codes whose items fit a query with this embedding (d,) best, of each branch the best
        one.
        """
        vector = directions((embedding - self._center(text, has_picture))[None])[0]
        rows = spread(np.arange(self.index.n), COMPARED)
        nearest = self._nearest(vector, rows)
        if not has_picture:
            nearest = np.union1d(nearest, rows[self.words.fitting(text, rows)])
        fitting = np.asarray(self.member[nearest].sum(0)).ravel() * self.index.n / len(rows)  # (u,)
        return self._best(fitting**2 / self.items, vector, most, [], fitting)

    def rows_for(self, embedding: np.ndarray, text: str) -> np.ndarray:
        """(s,) rows of the items that words fit; if the words are unknown, of those nearest to
        them, by their embedding (d,).
        """
        rows = spread(np.arange(self.index.n), COMPARED)
        fitting = rows[self.words.fitting(text, rows)]
        vector = directions((embedding - self._center(text, False))[None])[0]
        return fitting if len(fitting) else np.sort(self._nearest(vector, rows))

    def _nearest(self, vector: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The rows whose embeddings are nearest to a vector (d,)."""
        parts = [directions(self.words.centered(some)) @ vector for some in blocks(rows, BLOCK)]
        number = min(max(LEAST_FITTING, int(FITTING * len(rows))), len(rows))
        return rows[np.argsort(-np.concatenate(parts), kind="stable")[:number]]

    def _center(self, text: str, has_picture: bool) -> np.ndarray:
        """(d,) the mean of what is like this query."""
        if has_picture:
            return self.words.centers[Modality.PAIR if text else Modality.IMAGE]
        is_sentence = (
            len(text.split()) > FEW_WORDS and (self.index.modalities == Modality.TEXT).any()
        )
        return self.words.centers[Modality.TEXT] if is_sentence else self.words.center

    def near(self, pattern: Pattern, most: int) -> list[FoundCode]:
        """The codes nearest to the items that match a pattern, of other branches than its own."""
        rows = (
            self._rows(pattern)
            if any(code is not None for code in pattern[self.first :])
            else np.zeros(0, int)
        )
        if not len(rows):
            return []
        vector = directions(self.words.centered(rows).mean(0, keepdims=True))[0]
        return self._best(self.vectors @ vector, vector, most, [pattern], None)

    def by_chance(self) -> Pattern:
        """A code by chance. Raises UserError if there is none."""
        if not self.patterns:
            raise UserError(f"No code has {MIN_ITEMS} items or more.")
        return random.choice(self.patterns)

    def _best(
        self,
        ranks: np.ndarray,
        vector: np.ndarray,
        most: int,
        taken: list[Pattern],
        fitting: np.ndarray | None,
    ) -> list[FoundCode]:
        """The codes that rank highest (u,). taken: patterns whose branches are left out."""
        found: list[FoundCode] = []
        for place in np.argsort(-ranks, kind="stable")[:SHORTLIST].tolist():
            pattern = self.patterns[place]
            if ranks[place] <= 0 or len(found) == most:
                break
            if not any(self._is_same_branch(pattern, other) for other in taken):
                taken = [*taken, pattern]
                fits = None if fitting is None else round(float(fitting[place]))
                found.append(self._described(place, float(self.vectors[place] @ vector), fits))
        return found

    def _is_same_branch(self, pattern: Pattern, other: Pattern) -> bool:
        """Whether one of them begins with the other, whatever the kind of their items."""
        return all(
            one == two for one, two in zip(pattern[self.first :], other[self.first :], strict=False)
        )

    def _rows(self, pattern: Pattern) -> np.ndarray:
        """Rows of an even sample of the matching items (s,), ascending."""
        table = self.profiles.table
        prefixes = [pattern]
        # of each kind, since a prefix is looked up without a scan
        if pattern[: self.first] == (None,):
            prefixes = [(kind, *pattern[1:]) for kind in range(table.code_sizes[0])]
        return np.sort(
            spread(np.concatenate([table.match(prefix).rows for prefix in prefixes]), SAMPLE)
        )

    def _described(self, place: int, similarity: float, fitting: int | None) -> FoundCode:
        rows = self._rows(self.patterns[place])
        shown = typical_rows(self.profiles, rows, STRIP)
        naming = self.words.naming(rows)
        return FoundCode(
            self.patterns[place], int(self.items[place]), fitting, similarity, naming, shown
        )

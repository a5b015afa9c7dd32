"""What a code means: how many items it has and of which modality, its words, what is typical of it and what is not.

A code is seen among its siblings: the codes that follow the same pattern. Of many items a sample is read, spread
evenly over their IDs.

Shapes: m items that match, s items sampled, d embedding dim.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from genius.explore.distinctive_words import Vocabulary, Word, distinctive_words
from genius.metrics.code_health import level_usage
from genius.metrics.factor_agreement import characteristic_values
from genius.schema import Modality, Query
from genius.trie.code_table import CodeTable, Matches, Pattern

if TYPE_CHECKING:
    from genius.index.store import Index
    from genius.search.engine import Engine

SAMPLED = 4_000  # items whose embeddings or texts are read
FEWEST = 10  # of each sibling, however many these are
ENCODED = 64  # words at a time, so that searches need not wait for all of them
REMEMBERED = 256  # patterns


@dataclass(frozen=True)
class Overview:
    """What counting says of the items that match."""

    items: int
    siblings: int  # items of the pattern without its last code
    modalities: list[int]  # items of each Modality
    next_level: dict[str, Any] | None  # use of the codes that follow; None after whole IDs


@dataclass(frozen=True)
class Nearness:
    """Items by the cosine of their embedding with the mean embedding of all that match."""

    typical: list[tuple[int, float]]  # (row, cosine), highest first
    borderline: list[tuple[int, float]]  # lowest first, none that is typical
    sampled: int  # items compared


@dataclass(frozen=True)
class Meaning:
    """What the items that match are about."""

    words: list[Word]
    texts: int  # read for the words; 0: they are the encoder's, of pictures
    siblings: int  # codes that they were compared with, this one included
    factors: list[dict[str, Any]]  # see `characteristic_values`; none where items carry no factors


class Profiles:
    """What the codes of one index mean; any number of threads may share it.

    The words of a level are kept for all siblings at once, for whoever looks at one looks at its siblings next.
    """

    def __init__(self, engine: Engine, index: Index):
        """engine: whose encoder made the index's embeddings."""
        self.engine, self.index = engine, index
        self.table = CodeTable(index.pool(device=engine.device).table)
        self.words_below = lru_cache(REMEMBERED)(self._words_below)
        self._vocabulary: Vocabulary | None = None
        self._encoding = threading.Lock()

    def overview(self, matches: Matches) -> Overview:
        pattern = matches.pattern
        whole = len(pattern) == len(matches.levels)
        _, counts = matches.children()
        use = None if whole else level_usage(counts) | {"codes": self.index.code_sizes[len(pattern)]}
        return Overview(
            len(matches),
            len(self.table.match(pattern[:-1])),
            np.bincount(self.index.modalities[matches.rows], minlength=len(Modality)).tolist(),
            use,
        )

    def nearness(self, matches: Matches, top: int = 6) -> Nearness:
        """The items nearest to the middle of those that match, and those farthest from it."""
        rows = np.sort(_spread(matches.rows, SAMPLED))
        if not len(rows):
            return Nearness([], [], 0)
        vectors = self._embeddings(rows)
        mean = vectors.mean(0)
        cosines = vectors @ (mean / max(float(np.linalg.norm(mean)), 1e-9))
        order = np.argsort(-cosines, kind="stable")
        pairs = list(zip(rows[order].tolist(), cosines[order].tolist(), strict=True))
        return Nearness(pairs[:top], pairs[top:][::-1][:top], len(rows))

    def meaning(self, pattern: Pattern) -> Meaning:
        """Words and factors of the items that a pattern of at least one code matches, against those of its siblings."""
        *parent, code = pattern
        siblings = self.words_below(tuple(parent))
        words, texts = siblings.get(code, ([], 0))
        matches, others = self.table.match(pattern), self.table.match(tuple(parent))
        factors = characteristic_values(
            *(self.index.items(_spread(group.rows, SAMPLED // 4)) for group in (matches, others))
        )
        return Meaning(words, texts, len(siblings), factors)

    def _words_below(self, pattern: Pattern) -> dict[int, tuple[list[Word], int]]:
        """Each code that follows a pattern -> its words and how many texts they were read from, 0: from none."""
        matches = self.table.match(pattern)
        codes = matches.codes(len(pattern))
        worded = self.index.modalities[matches.rows] != Modality.IMAGE
        texts = self._texts(_sampled(codes[worded], matches.rows[worded]))
        words = {
            code: (found, len(texts[code]))
            for code, found in zip(texts, distinctive_words(list(texts.values())), strict=True)
        }
        silent = ~worded & ~np.isin(codes, list(texts))
        pictures = _sampled(codes[silent], matches.rows[silent])
        if pictures:
            means = np.stack([self._embeddings(rows).mean(0) for _, rows in pictures])
            words |= {
                code: (found, 0) for (code, _), found in zip(pictures, self.vocabulary().nearest(means), strict=True)
            }
        return words

    def _texts(self, sampled: list[tuple[int, np.ndarray]]) -> dict[int, list[str]]:
        """The texts of each code's rows."""
        items = iter(self.index.items(np.concatenate([rows for _, rows in sampled] or [[]])))
        return {code: [item.text for item in islice(items, len(rows))] for code, rows in sampled}

    def vocabulary(self) -> Vocabulary:
        """The words of this index, encoded when they are first asked for."""
        with self._encoding:
            if self._vocabulary is None:
                modalities = self.index.modalities
                texts, pictures = (
                    np.flatnonzero(kind) for kind in (modalities != Modality.IMAGE, modalities == Modality.IMAGE)
                )
                self._vocabulary = Vocabulary.of(
                    [item.text for item in self.index.items(_spread(texts, SAMPLED))],
                    self._embeddings(_spread(pictures, SAMPLED)),
                    self._encode,
                )
            return self._vocabulary

    def _embeddings(self, rows: np.ndarray) -> np.ndarray:
        """(s, d) float32; read in the order of the file."""
        return self.index.embeddings[np.sort(rows)].astype(np.float32)

    def _encode(self, words: list[str]) -> np.ndarray:
        return np.concatenate(
            [
                self.engine.encode([Query(text=word) for word in words[start : start + ENCODED]])
                .embeddings.cpu()
                .numpy()
                for start in range(0, len(words), ENCODED)
            ]
        )


def _spread(values: np.ndarray, most: int) -> np.ndarray:
    """At most so many of them, evenly spaced; the same ones for arrays of the same length."""
    if len(values) <= most:
        return values
    return values[np.linspace(0, len(values) - 1, most).astype(np.int64)]


def _sampled(codes: np.ndarray, rows: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """Each code and some of the rows (m,) that have it, as many of each code as there are, up to a share."""
    order = np.argsort(codes, kind="stable")
    used, first = np.unique(codes[order], return_index=True)
    share = max(FEWEST, SAMPLED // max(len(used), 1))
    return [(int(code), _spread(own, share)) for code, own in zip(used, np.split(rows[order], first[1:]), strict=False)]

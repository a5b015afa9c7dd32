"""Describe a code: its number of items, their modalities, telling words, typical and borderline
items.

Large groups are sampled evenly over their IDs.

Shapes: m matching items, s sampled items, d embedding dim.
"""

import threading
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from genius.explore.word_fits import FittingWord, WordFits, kind_centers, spread
from genius.index.store import Index
from genius.metrics.code_health import level_usage
from genius.metrics.factor_agreement import characteristic_values
from genius.schema import UNREAD, Modality, Query
from genius.search.engine import Engine
from genius.trie.code_table import CodeTable, Matches, Pattern, trimmed

SAMPLE_SIZE = 4_000  # items whose embeddings or texts are read
ENCODE_BATCH = 64  # words; small, so that searches do not wait long
MOST_WORDS = 12  # of a pattern


@dataclass(frozen=True)
class Overview:
    """Counts of the matching items."""

    items: int
    siblings: int  # items that match the pattern without its last code
    modalities: list[int]  # number of items per Modality
    next_level: dict[str, Any] | None  # use of the next level's codes; None after a complete ID


@dataclass(frozen=True)
class Nearness:
    """Matching items by the cosine of their embedding with the mean embedding."""

    typical: list[tuple[int, float]]  # (row, cosine), highest first
    borderline: list[tuple[int, float]]  # lowest first; never a typical one
    sampled: int  # number of items compared


@dataclass(frozen=True)
class Meaning:
    """Words and factors of the matching items."""

    words: list[FittingWord]
    checked: int  # items that the words were tried on
    factors: list[dict[str, Any]]  # see `characteristic_values`; empty if items have no factors


class Profiles:
    """Describes the codes of one index. Thread-safe."""

    def __init__(self, engine: Engine, index: Index):
        """engine: has the encoder of the index's embeddings."""
        self.engine, self.index = engine, index
        self.table = CodeTable(index.pool(device=engine.device).table)
        self._learning = threading.Lock()

    @property
    def words(self) -> WordFits:
        """Which words fit which items; learned on first use, in some seconds."""
        with self._learning:
            return self._words

    @cached_property
    def _words(self) -> WordFits:
        return WordFits(
            self.index, kind_centers(self.index), self._encode if self.engine.has_encoder else None
        )

    def overview(self, matches: Matches) -> Overview:
        pattern = matches.pattern
        whole = len(pattern) == len(matches.levels)
        _, counts = matches.children()
        use = None if whole else level_usage(counts)
        return Overview(
            len(matches),
            len(self.table.match(pattern[:-1])),
            np.bincount(self.index.modalities[matches.rows], minlength=len(Modality)).tolist(),
            use,
        )

    def nearness(self, matches: Matches, top: int = 10) -> Nearness:
        """The matching items nearest to their mean embedding, and those farthest from it."""
        rows = np.sort(spread(matches.rows, SAMPLE_SIZE))
        if not len(rows):
            return Nearness([], [], 0)
        vectors = self.embeddings(rows)
        mean = vectors.mean(0)
        cosines = vectors @ (mean / max(float(np.linalg.norm(mean)), 1e-9))
        order = np.argsort(-cosines, kind="stable")
        pairs = list(zip(rows[order].tolist(), cosines[order].tolist(), strict=True))
        return Nearness(pairs[:top], pairs[top:][::-1][:top], len(rows))

    def meaning(self, pattern: Pattern) -> Meaning:
        """Words and factors that set the items of a nonempty pattern apart."""
        matches, others = self.table.match(pattern), self.table.match(trimmed(pattern[:-1]))
        rows = spread(matches.rows, SAMPLE_SIZE // 4)
        siblings = spread(others.rows, SAMPLE_SIZE // 4)
        items, rest = self.index.items(rows), self.index.items(siblings)
        words = self.words.telling(rows, MOST_WORDS) if len(rows) else []
        return Meaning(words, len(rows), characteristic_values(items, rest))

    def embeddings(self, rows: np.ndarray) -> np.ndarray:
        """Embeddings (s, d) float32 of rows (s,), in file order."""
        return self.index.embeddings[np.sort(rows)].astype(np.float32)

    def _encode(self, words: list[str]) -> np.ndarray:
        queries = [Query(text=word, reading=UNREAD) for word in words]
        batches = [
            queries[start : start + ENCODE_BATCH] for start in range(0, len(words), ENCODE_BATCH)
        ]
        return np.concatenate(
            [self.engine.encode(batch).embeddings.cpu().numpy() for batch in batches]
        )

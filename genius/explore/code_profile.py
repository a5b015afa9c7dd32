"""Describe a code: its number of items, their modalities, distinctive words, typical and borderline items.

A code is compared with its siblings, the codes that follow the same pattern. Large groups are sampled evenly over
their IDs.

Shapes: m matching items, s sampled items, d embedding dim.
"""

import threading
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np

from genius.explore.distinctive_words import Vocabulary, Word, distinctive_words
from genius.index.store import Index
from genius.metrics.code_health import level_usage
from genius.metrics.factor_agreement import characteristic_values
from genius.schema import UNREAD, Modality, Query
from genius.search.engine import Engine
from genius.trie.code_table import CodeTable, Matches, Pattern

SAMPLE_SIZE = 4_000  # items whose embeddings or texts are read
MIN_PER_CODE = 10  # sampled items of each sibling
ENCODE_BATCH = 64  # words; small, so that searches do not wait long
CACHED_PATTERNS = 256


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

    words: list[Word]
    texts: int  # texts read for the words; 0: the words come from the encoder, for images
    siblings: int  # codes that were compared, including this one
    factors: list[dict[str, Any]]  # see `characteristic_values`; empty if items have no factors


class Profiles:
    """Describes the codes of one index. Thread-safe.

    Words are computed and cached for all siblings at once, because users tend to look at siblings next.
    """

    def __init__(self, engine: Engine, index: Index):
        """engine: has the encoder of the index's embeddings."""
        self.engine, self.index = engine, index
        self.table = CodeTable(index.pool(device=engine.device).table)
        self.words_below = lru_cache(CACHED_PATTERNS)(self._words_below)
        self._vocabulary: Vocabulary | None = None
        self._encoding = threading.Lock()

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
        """Words and factors that set the items of a nonempty pattern apart from its siblings."""
        *parent, code = pattern
        siblings = self.words_below(tuple(parent))
        words, texts = siblings.get(code, ([], 0))
        matches, others = self.table.match(pattern), self.table.match(tuple(parent))
        items = [self.index.items(spread(group.rows, SAMPLE_SIZE // 4)) for group in (matches, others)]
        return Meaning(words, texts, len(siblings), characteristic_values(*items))

    def _words_below(self, pattern: Pattern) -> dict[int, tuple[list[Word], int]]:
        """Next code after a pattern -> (its words, number of texts they come from)."""
        matches = self.table.match(pattern)
        codes = matches.codes(len(pattern))
        worded = self.index.modalities[matches.rows] != Modality.IMAGE
        texts = self._texts(_sampled(codes[worded], matches.rows[worded]))
        words_by_code = zip(texts, distinctive_words(list(texts.values())), strict=True)
        words = {code: (distinctive, len(texts[code])) for code, distinctive in words_by_code}
        silent = ~worded & ~np.isin(codes, list(texts))
        pictures = _sampled(codes[silent], matches.rows[silent])
        if pictures:
            means = np.stack([self.embeddings(rows).mean(0) for _, rows in pictures])
            nearest_words = zip(pictures, self.vocabulary().nearest(means), strict=True)
            words |= {code: (nearest, 0) for (code, _), nearest in nearest_words}
        return words

    def _texts(self, sampled: list[tuple[int, np.ndarray]]) -> dict[int, list[str]]:
        """The texts of each code's rows."""
        items = iter(self.index.items(np.concatenate([rows for _, rows in sampled] or [[]])))
        return {code: [item.text for item in islice(items, len(rows))] for code, rows in sampled}

    def vocabulary(self) -> Vocabulary:
        """The vocabulary of this index, encoded on first use."""
        with self._encoding:
            if self._vocabulary is None and not self.engine.has_encoder:
                self._vocabulary = Vocabulary.empty(self.index.config.dim)
            if self._vocabulary is None:
                is_picture = self.index.modalities == Modality.IMAGE
                texts, pictures = np.flatnonzero(~is_picture), np.flatnonzero(is_picture)
                self._vocabulary = Vocabulary.from_texts(
                    [item.text for item in self.index.items(spread(texts, SAMPLE_SIZE))],
                    self.embeddings(spread(pictures if len(pictures) else texts, SAMPLE_SIZE)),
                    self._encode,
                )
            return self._vocabulary

    def embeddings(self, rows: np.ndarray) -> np.ndarray:
        """(s, d) float32, in file order."""
        return self.index.embeddings[np.sort(rows)].astype(np.float32)

    def _encode(self, words: list[str]) -> np.ndarray:
        queries = [Query(text=word, reading=UNREAD) for word in words]
        batches = [queries[start : start + ENCODE_BATCH] for start in range(0, len(words), ENCODE_BATCH)]
        return np.concatenate([self.engine.encode(batch).embeddings.cpu().numpy() for batch in batches])


def spread(values: np.ndarray, most: int) -> np.ndarray:
    """At most `most` evenly spaced values; the same positions for arrays of the same length."""
    if len(values) <= most:
        return values
    return values[np.linspace(0, len(values) - 1, most).astype(np.int64)]


def _sampled(codes: np.ndarray, rows: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """(code, sampled rows) for each code; codes share the sample equally."""
    order = np.argsort(codes, kind="stable")
    used, first = np.unique(codes[order], return_index=True)
    share = max(MIN_PER_CODE, SAMPLE_SIZE // max(len(used), 1))
    rows_by_code = zip(used, np.split(rows[order], first[1:]), strict=False)
    return [(int(code), spread(of_code, share)) for code, of_code in rows_by_code]

"""What groups of items are about, in words.

Where items have texts: the words that are commoner in a group than in the others, by class-based TF-IDF
(Grootendorst 2022, "BERTopic"): the share of a word among the words of its group, times log(1 + A / f), where A is
the mean number of words in a group and f how often the word comes in all of them. Each word counts once a text.

Where they are pictures only: the words that an encoder of pictures and texts puts nearest to a group's mean. Words
are seen from the mean of all words and pictures from the mean of all pictures, so that the gap between the two cancels.

Shapes: g groups, t texts, p pictures, w words, d embedding dim.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice

import numpy as np
import open_clip
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

MOST_WORDS = 10_000  # of all groups; the commonest ones
VOCABULARY = 600  # words that are encoded
FEWEST_TEXTS = 3  # that a word of the vocabulary comes in
FEWEST_WORDS = 30  # of the collection's own, to describe its pictures by them
LEAST_OFFSET = 0.05  # of embeddings, which have length 1


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a group."""

    word: str
    weight: float  # c-TF-IDF, or the cosine with the group's mean
    share: float | None  # of the group's texts that have it; None: it is the encoder's guess, not a text's word


def distinctive_words(groups: Sequence[Sequence[str]], top: int = 8) -> list[list[Word]]:
    """The words of each group of texts that set it apart from the other groups, heaviest first.

    A single group gets its commonest words.
    """
    counted = count_words([text for texts in groups for text in texts])
    if counted is None:
        return [[] for _ in groups]
    words, has = counted
    sizes = [len(texts) for texts in groups]
    owner = np.repeat(np.arange(len(groups)), sizes)
    counts = (
        csr_matrix((np.ones(len(owner)), (owner, np.arange(len(owner)))), shape=(len(groups), len(owner))) @ has
    ).toarray()  # (g, w)
    in_group, in_all = counts.sum(1, keepdims=True), counts.sum(0)
    weights = counts / np.maximum(in_group, 1) * np.log1p(in_all.sum() / len(groups) / in_all)
    commoner = (counts > 0) & (counts * in_all.sum() >= in_group * in_all)  # here than among all
    return [
        [Word(words[place], float(row[place]), float(count[place] / size)) for place in _largest(row, top)]
        for row, count, size in zip(np.where(commoner, weights, 0), counts, sizes, strict=True)
    ]


def count_words(texts: Sequence[str]) -> tuple[np.ndarray, csr_matrix] | None:
    """Words (w,) without the commonest English ones, and which texts have them (t, w); None if there is no word."""
    counter = CountVectorizer(stop_words="english", binary=True, max_features=MOST_WORDS)
    try:
        has = counter.fit_transform(texts)
    except ValueError:  # scikit-learn's word for an empty vocabulary
        return None
    return counter.get_feature_names_out(), has


@dataclass(frozen=True)
class Vocabulary:
    """Words and what the encoder makes of them, to be compared with pictures."""

    words: Sequence[str]
    vectors: np.ndarray  # (w, d) directions from the mean of all words
    centre: np.ndarray  # (d,) mean embedding of all pictures

    @classmethod
    def of(cls, texts: Sequence[str], pictures: np.ndarray, encode: Callable[[list[str]], np.ndarray]) -> Vocabulary:
        """The commonest words of a collection's texts, or of English if it has hardly any.

        pictures (p, d): embeddings. encode: words -> (w, d) embeddings.
        """
        words = common_words(texts)
        words = words if len(words) >= FEWEST_WORDS else english_words()
        vectors = encode(words)
        return cls(words, _directions(vectors - vectors.mean(0)), pictures.mean(0))

    def nearest(self, means: np.ndarray, top: int = 6) -> list[list[Word]]:
        """The words nearest to the mean embeddings (g, d) of groups of pictures.

        None for a group that is hardly off the mean of all: it is no more about one thing than about another.
        """
        from_centre = means - self.centre
        cosines = _directions(from_centre) @ self.vectors.T  # (g, w)
        cosines[np.linalg.norm(from_centre, axis=1) < LEAST_OFFSET] = 0
        return [[Word(self.words[place], float(row[place]), None) for place in _largest(row, top)] for row in cosines]


def common_words(texts: Sequence[str]) -> list[str]:
    """The words that come in several of these texts, commonest first, without numbers."""
    counted = count_words(texts)
    if counted is None:
        return []
    words, has = counted
    counts = np.asarray(has.sum(0)).ravel()
    return [
        str(words[place])
        for place in np.argsort(-counts, kind="stable")[:VOCABULARY]
        if counts[place] >= FEWEST_TEXTS and words[place].isalpha()
    ]


@cache
def english_words() -> list[str]:
    """The commonest words of CLIP's tokenizer, whose tokens are in the order of their frequency."""
    ends = "</w>"
    words = (token.removesuffix(ends) for token in open_clip.SimpleTokenizer().encoder if token.endswith(ends))
    return list(
        islice(
            (
                word
                for word in words
                if len(word) > 3 and word.isalpha() and word.isascii() and word not in ENGLISH_STOP_WORDS
            ),
            VOCABULARY,
        )
    )


def _directions(vectors: np.ndarray) -> np.ndarray:
    """(g, d) -> (g, d) of length 1; zero stays zero."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def _largest(values: np.ndarray, top: int) -> list[int]:
    """RowMap of the largest values above 0, largest first."""
    best = np.argsort(-values, kind="stable")[:top]
    return [int(place) for place in best if values[place] > 0]

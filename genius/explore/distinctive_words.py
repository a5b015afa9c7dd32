"""Words that describe groups of items.

For items with texts: the words that are more frequent in a group than in the others, by class-based TF-IDF
(Grootendorst 2022, "BERTopic"): the share of a word among the words of its group, times log(1 + A / f), where A is
the mean number of words in a group and f the frequency of the word in all groups. Each word counts once per text.

For images without texts: the words whose embeddings are nearest to a group's mean embedding. The mean of all words is
subtracted from words and the mean of all images from images, which cancels the modality gap.

Shapes: g groups, t texts, p pictures, w words, d embedding dim.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Self

import numpy as np
import open_clip
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

MOST_WORDS = 10_000  # the most frequent words of all groups
VOCABULARY_SIZE = 600  # encoded words
MIN_TEXTS = 3  # texts that contain a word of the vocabulary
MIN_WORDS = 30  # with fewer words of its own, a collection is described with common English words
NEAREST = 0.05  # share of all images that a word fits
MIN_OFFSET = 0.05  # distance of a group's mean from the mean of all; embeddings have length 1


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a group."""

    word: str
    weight: float  # c-TF-IDF, or the cosine with the group's mean
    share: float | None  # share of the group's texts with the word; None: suggested by the encoder


def distinctive_words(groups: Sequence[Sequence[str]], top: int = 8) -> list[list[Word]]:
    """The words that distinguish each group of texts from the others, largest weight first.

    A single group gets its most frequent words.
    """
    counted = count_words([text for texts in groups for text in texts])
    if counted is None:
        return [[] for _ in groups]
    words, has = counted
    sizes = [len(texts) for texts in groups]
    owner = np.repeat(np.arange(len(groups)), sizes)
    member = csr_matrix((np.ones(len(owner)), (owner, np.arange(len(owner)))), shape=(len(groups), len(owner)))
    counts = (member @ has).toarray()  # (g, w)
    in_group, in_all = counts.sum(1, keepdims=True), counts.sum(0)
    weights = counts / np.maximum(in_group, 1) * np.log1p(in_all.sum() / len(groups) / in_all)
    commoner = (counts > 0) & (counts * in_all.sum() >= in_group * in_all)  # here than among all
    return [
        [Word(words[place], float(row[place]), float(count[place] / size)) for place in _largest(row, top)]
        for row, count, size in zip(np.where(commoner, weights, 0), counts, sizes, strict=True)
    ]


def count_words(texts: Sequence[str]) -> tuple[np.ndarray, csr_matrix] | None:
    """Words (w,) without English stop words, and which texts contain them (t, w); None if there are no words."""
    counter = CountVectorizer(stop_words="english", binary=True, max_features=MOST_WORDS)
    try:
        has = counter.fit_transform(texts)
    except ValueError:  # scikit-learn raises it for an empty vocabulary
        return None
    return counter.get_feature_names_out(), has


@dataclass(frozen=True)
class Vocabulary:
    """Words and their embeddings, to be compared with images."""

    words: Sequence[str]
    vectors: np.ndarray  # (w, d) unit vectors from the mean of all words
    center: np.ndarray  # (d,) mean embedding of all images
    near: np.ndarray  # (w,) what the similarity of a word to an image must exceed to be one of its NEAREST

    @classmethod
    def from_texts(cls, texts: Sequence[str], pictures: np.ndarray, encode: Callable[[list[str]], np.ndarray]) -> Self:
        """The most frequent words of a collection's texts, or common English words if it has too few.

        pictures (p, d): embeddings. encode: words -> (w, d) embeddings.
        """
        words = common_words(texts)
        words = words if len(words) >= MIN_WORDS else english_words()
        vectors, center = encode(words), pictures.mean(0)
        vectors = directions(vectors - vectors.mean(0))
        return cls(words, vectors, center, np.quantile((pictures - center) @ vectors.T, 1 - NEAREST, axis=0))

    @classmethod
    def empty(cls, dim: int) -> Self:
        """No words, where no encoder compares them with images."""
        return cls((), np.empty((0, dim)), np.zeros(dim), np.empty(0))

    def fits(self, words: Sequence[str], pictures: np.ndarray) -> np.ndarray:
        """(p, words) whether each of some words is as near to a picture (p, d) as to only NEAREST of all."""
        places = [self.words.index(word) for word in words]
        return (pictures - self.center) @ self.vectors[places].T > self.near[places]

    def nearest(self, means: np.ndarray, top: int = 6) -> list[list[Word]]:
        """The words nearest to the mean embeddings (g, d) of groups of images.

        A group whose mean is close to the mean of all images gets no words.
        """
        offsets = means - self.center
        cosines = directions(offsets) @ self.vectors.T  # (g, w)
        cosines[np.linalg.norm(offsets, axis=1) < MIN_OFFSET] = 0
        return [[Word(self.words[place], float(row[place]), None) for place in _largest(row, top)] for row in cosines]


def common_words(texts: Sequence[str]) -> list[str]:
    """The words that several of these texts contain, most frequent first, without numbers."""
    counted = count_words(texts)
    if counted is None:
        return []
    words, has = counted
    counts = np.asarray(has.sum(0)).ravel()
    return [
        str(words[place])
        for place in np.argsort(-counts, kind="stable")[:VOCABULARY_SIZE]
        if counts[place] >= MIN_TEXTS and words[place].isalpha()
    ]


@cache
def english_words() -> list[str]:
    """The most frequent words of CLIP's tokenizer, whose tokens are ordered by frequency."""
    ends = "</w>"
    words = (token.removesuffix(ends) for token in open_clip.SimpleTokenizer().encoder if token.endswith(ends))
    telling = (word for word in words if len(word) > 3 and word.isalpha() and word not in ENGLISH_STOP_WORDS)
    return list(islice(filter(str.isascii, telling), VOCABULARY_SIZE))


def directions(vectors: np.ndarray) -> np.ndarray:
    """(g, d) -> (g, d) of length 1; zero stays zero."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def _largest(values: np.ndarray, top: int) -> list[int]:
    """Positions of the largest values above 0, largest first."""
    best = np.argsort(-values, kind="stable")[:top]
    return [int(place) for place in best if values[place] > 0]

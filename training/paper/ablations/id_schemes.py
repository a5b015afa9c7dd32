"""Identifiers of other generative retrievers, for the same decoder, trie and search (supplement,
Table 7).

A scheme turns the candidates into codes and the number of codes at each level. None of them is
trained: what follows (decoder, trie, beam search) is that of this project's own IDs, so a
comparison is one of identifiers alone.

    numeric      GRACE: the digits of an arbitrary number
    string       GRACE: the characters of the item's name, its text or else its image's file name
    semantic     GRACE: the words of a caption; an image has that of the training text nearest to it
    structured   GRACE: hierarchical k-means over the embeddings, 30 branches, leaves of up to 30
                 items
    hierarchical DSI and NCI: the same with 10 branches and leaves of up to 100 items
    residual     IRGen: residual k-means over the embeddings, without contrast, modality or
                 augmentation

Shapes: n candidates, d embedding dim, M levels, k codes of a level.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath

import numpy as np
import torch
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from genius.evaluation.speed.workloads import numeric_ids
from genius.models.kmeans import kmeans, nearest_centroids
from genius.schema import Item
from genius.search.dense import flat_search

CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
STRING_LEVELS = 16  # characters of a name
WORD_LEVELS = 6  # words of a caption
WORDS = 4096  # of the vocabulary of captions, the most frequent ones
ITERATIONS = 25  # of k-means
SAMPLE = 256  # candidates for each centroid that k-means clusters


@dataclass(frozen=True)
class SchemeInputs:
    """What schemes read of the n candidates."""

    embeddings: np.ndarray  # (n, d), normalized
    items: Sequence[Item]
    known: np.ndarray  # (n,) bool: a training target, so its text may name others
    levels: int  # M and
    codebook_size: int  # K of this project's own IDs
    seed: int = 0


# codes (n, M) uint16, and how many there are at each level
Identifiers = tuple[np.ndarray, tuple[int, ...]]


def numeric(candidates: SchemeInputs) -> Identifiers:
    """The decimal digits of a number that is drawn for each item."""
    n = len(candidates.items)
    digits, code_sizes = numeric_ids(n)
    order = np.random.default_rng(candidates.seed).permutation(n)
    return digits[order].astype(np.uint16), code_sizes


def string(candidates: SchemeInputs) -> Identifiers:
    """The first STRING_LEVELS letters and digits of each item's name; one code stands for all
    others, one for the end.

    Items of the same name share an ID.
    """
    unknown = len(CHARACTERS)
    end = len(CHARACTERS) + 1
    codes = np.full((len(candidates.items), STRING_LEVELS), end, dtype=np.uint16)
    for row, item in enumerate(candidates.items):
        words = re.findall(r"\w+", item.text or PurePosixPath(item.image or "").stem)
        places = [CHARACTERS.find(letter) for letter in " ".join(words).lower()[:STRING_LEVELS]]
        codes[row, : len(places)] = [unknown if place < 0 else place for place in places]
    return codes, (end + 1,) * STRING_LEVELS


def semantic(candidates: SchemeInputs) -> Identifiers:
    """The first WORD_LEVELS content words of each item's caption; code 0 is the end, 1 any rare
    word.

    The caption of an item without a text is that of the nearest training target that has one, by
    embedding: its own captions may be the queries that a test asks. Items with the same words share
    an ID.
    """
    texts = [item.text for item in candidates.items]
    has_text = np.array(list(map(bool, texts)))
    named, unnamed = np.flatnonzero(candidates.known & has_text), np.flatnonzero(~has_text)
    vectors = candidates.embeddings
    _, nearest = flat_search(vectors, vectors[unnamed], 1, named)  # −1: none is named
    for row, at in zip(unnamed.tolist(), nearest[:, 0].tolist(), strict=True):
        texts[row] = texts[at] if at >= 0 else ""
    words = [content_words(text)[:WORD_LEVELS] for text in texts]
    counts = Counter(word for row in words for word in row)
    vocabulary = {word: 2 + at for at, (word, _) in enumerate(counts.most_common(WORDS - 2))}
    codes = np.zeros((len(texts), WORD_LEVELS), dtype=np.uint16)
    for row, of_item in enumerate(words):
        codes[row, : len(of_item)] = [vocabulary.get(word, 1) for word in of_item]
    return codes, (len(vocabulary) + 2,) * WORD_LEVELS


def residual(candidates: SchemeInputs) -> Identifiers:
    """Residual k-means of the embeddings, with the levels and codes of this project's own IDs."""
    left = torch.from_numpy(np.array(candidates.embeddings, dtype=np.float32))
    codes = []
    for level in range(candidates.levels):
        book = kmeans(left, candidates.codebook_size, ITERATIONS, candidates.seed + level, SAMPLE)
        code = nearest_centroids(left, book)
        left = left - book[code]
        codes.append(code)
    code_sizes = (candidates.codebook_size,) * candidates.levels
    return torch.stack(codes, dim=1).numpy().astype(np.uint16), code_sizes


def hierarchical(candidates: SchemeInputs, branches: int, leaf: int) -> Identifiers:
    """Hierarchical k-means: a cluster of more than `leaf` items is split into `branches`; IDs are
    unique.

    The last code is the item's number within its leaf. IDs of shallow leaves are padded with one
    further code between the path and that number.
    """
    embeddings = candidates.embeddings
    paths: list[tuple[int, ...]] = [()] * len(embeddings)
    numbers = np.zeros(len(embeddings), dtype=np.int64)

    def split(rows: np.ndarray, path: tuple[int, ...]) -> None:
        if len(rows) <= leaf:
            for number, row in enumerate(rows):
                paths[row], numbers[row] = path, number
            return
        points = torch.from_numpy(np.array(embeddings[rows], dtype=np.float32))
        book = kmeans(points, branches, ITERATIONS, candidates.seed, SAMPLE)
        chosen = nearest_centroids(points, book).numpy()
        if (chosen == chosen[0]).all():  # equal points
            chosen = np.arange(len(rows)) % branches
        for code in np.unique(chosen):
            split(rows[chosen == code], (*path, int(code)))

    split(np.arange(len(embeddings)), ())
    depth = max(map(len, paths))
    codes = np.full((len(embeddings), depth + 1), branches, dtype=np.uint16)
    for row, path in enumerate(paths):
        codes[row, : len(path)] = path
    codes[:, -1] = numbers
    return codes, (branches + 1,) * depth + (max(2, leaf),)


SCHEMES: dict[str, Callable[[SchemeInputs], Identifiers]] = {
    "numeric": numeric,
    "string": string,
    "semantic": semantic,
    "structured": partial(hierarchical, branches=30, leaf=30),
    "hierarchical": partial(hierarchical, branches=10, leaf=100),
    "residual": residual,
}


def content_words(text: str) -> list[str]:
    """The words of a text that are not stop words, in lower case, each once."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    return list(dict.fromkeys(word for word in words if word not in ENGLISH_STOP_WORDS))

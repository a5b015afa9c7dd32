"""Which words fit which items: the one measure behind the names of codes and regions and the words
of a selection.

A word fits an item whose text has it, in the singular or plural, or whose embedding is near to it:
nearer than those LOWEST of the texts that have it, and among OFTEN times as many items as texts
have it. From embeddings the mean of their kind is taken, and from words the mean of all words,
which cancels the gap between kinds. Words are those that several texts have; where the texts name
things ("Dog (Canis familiaris): …", "polo shirt"), only those that end such a name.

Shapes: n items, s items looked at, w words, d embedding dim.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import islice

import numpy as np
from scipy.sparse import csr_matrix, vstack

from genius.index.store import Index
from genius.schema import Modality

Encode = Callable[[list[str]], np.ndarray]  # words -> embeddings (w, d)
Words = Sequence[int] | slice  # by their places

SAMPLED = 20_000  # items from which words and limits are learned
WHOLE = 100_000  # items; of a larger index, items are looked at when they are asked for
BLOCK = 8_192  # items looked at at once
MOST_WORDS = 2_000  # the most frequent
MIN_TEXTS = 3  # that have a word
MIN_WORDS = 8  # with fewer of its own, a collection is described with common English words
MIN_NAMES = 30  # words that end a name; with fewer, all words are used
LOWEST = 0.2  # share of the texts with a word that are least similar to it
OFTEN = 3  # pictures show a thing more often than texts name it
MIN_NEAR, MAX_NEAR = 0.003, 0.05  # share of all items that are near to a word, at most
MIN_ITEMS = 3  # that a word of a name fits
MIN_SHARE = 0.5  # of the items that a word of a name fits
MIN_LIFT = 2.0  # times as frequent as among all items
MIN_WEIGHT = 0.5  # of a further word of a name, compared with the first
PART = 0.15  # share that each word fits, where no word fits MIN_SHARE, but several together do
TRIED = 20  # such words
WORDS = 3  # of a name
SAMPLE = 200  # items that words of a name are tried on
MIXED = "mixed"

WORD = re.compile(r"[a-z]{3,}")
HEAD = re.compile(r"[^:(]{1,60}(?=[:(])")  # the name in front of its definition
LONGEST_NAME = 4  # words of a text that is a name
IRREGULAR = {
    "men": "man",
    "women": "woman",
    "children": "child",
    "people": "person",
    "feet": "foot",
    "teeth": "tooth",
    "leaves": "leaf",
    "loaves": "loaf",
    "knives": "knife",
    "wolves": "wolf",
    "calves": "calf",
    "geese": "goose",
    "mice": "mouse",
}
NO_NAMES = """
about above across after against all along also among and another any are around away because been
before behind being below beneath beside between both but can come coming could did does doing
down during each either especially few for from front get gets getting give given goes going had
has have having her here him his how into its itself just kind large least less like little look
looking made make makes making many may might more most much near next not off often one only onto
other others our out over own part pictured resembling same see seen several shall she should
shown shows side small some such than that the their them then there these they this those three
through top toward towards two type under until used uses using usually various very was way were
what when where whether which while who whose will with within without would you your
"""
STOP_WORDS = frozenset(NO_NAMES.split())


def singular(phrase: str) -> str:
    """A noun, or a phrase that ends with one, in lower case, in the singular; other words may lose
    an s, which hurts no comparison."""
    head, space, word = phrase.rpartition(" ")
    if head:
        return head + space + singular(word)
    if word in IRREGULAR:
        return IRREGULAR[word]
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    is_of_us = word.endswith("uses") and not word.endswith(("ouses", "auses"))  # buses
    if is_of_us or word.endswith(("ches", "shes", "sses", "xes", "oes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return word[:-1]
    return word


@dataclass(frozen=True)
class FittingWord:
    """A word and how many of the items looked at it fits."""

    word: str
    fits: int


@dataclass(frozen=True)
class Naming:
    """What items have in common."""

    words: tuple[str, ...]  # most telling first; empty: no two words fit most of the items
    fits: int  # of the items looked at, those that one of the words fits
    checked: int  # items looked at

    @property
    def label(self) -> str:
        """The words as they are shown."""
        return ", ".join(self.words) or MIXED


class WordFits:
    """The words of an index, and which of its items they fit."""

    def __init__(self, index: Index, centers: np.ndarray, encode: Encode | None):
        """centers (kinds, d): mean embeddings. encode: None where no encoder compares words with
        items.
        """
        self.index, self.centers = index, centers
        sample = spread(np.arange(index.n), SAMPLED)
        texts = [item.text for item in index.items(sample)]
        self.words = telling_words(texts) if any(texts) else []
        if len(self.words) < MIN_WORDS and encode:
            self.words = common_words()
        self.number = {singular(word): place for place, word in enumerate(self.words)}
        self.center = np.zeros(index.embeddings.shape[1])
        self.near = None
        if encode and self.words:
            vectors = encode(self.words)
            self.center = vectors.mean(0)
            self.vectors = directions(vectors - self.center).astype(np.float32)
            self.near = self._limits(sample)
        self.frequency = np.asarray(self.of(sample).mean(0)).ravel()

    def _limits(self, rows: np.ndarray) -> np.ndarray:
        """(w,) the similarity above which an item is near to a word."""
        words = []
        values = []
        texts = 0
        for part in blocks(rows, BLOCK):
            having = self._having(part).tocoo()
            words.append(having.col)
            values.append((self.centered(part) @ self.vectors.T)[having.row, having.col])
            texts += int((self.index.modalities[part] != Modality.IMAGE).sum())
        word, value = np.concatenate(words), np.concatenate(values)
        counts = np.bincount(word, minlength=len(self.words))
        some = spread(rows, BLOCK)
        similar = np.sort(self.centered(some) @ self.vectors.T, axis=0)[::-1]
        most = np.clip(OFTEN * counts / max(texts, 1), MIN_NEAR, MAX_NEAR)
        limits = similar[(most * len(some)).astype(int), np.arange(len(counts))]
        known = counts > 0
        lowest = (np.cumsum(counts) - counts + LOWEST * counts).astype(int)[known]
        limits[known] = np.maximum(limits[known], value[np.lexsort((value, word))][lowest])
        return limits

    def centered(self, rows: np.ndarray) -> np.ndarray:
        """(s, d) embeddings of rows (s,), each from the mean of its kind."""
        order = np.argsort(rows)
        vectors = np.empty((len(rows), self.index.embeddings.shape[1]), dtype=np.float32)
        vectors[order] = self.index.embeddings[rows[order]]
        return vectors - self.centers[self.index.modalities[rows]]

    @cached_property
    def _whole(self) -> csr_matrix:
        return self._of(np.arange(self.index.n))

    def of(self, rows: np.ndarray, words: Words = slice(None)) -> csr_matrix:
        """(s, words) 1 where some words, or all, fit an item of rows (s,)."""
        if self.index.n <= WHOLE:
            return self._whole[rows][:, words]
        return self._of(rows, words)

    def _of(self, rows: np.ndarray, words: Words = slice(None)) -> csr_matrix:
        return vstack([self._block(part, words) for part in blocks(rows, BLOCK)], format="csr")

    def _block(self, rows: np.ndarray, words: Words) -> csr_matrix:
        having = self._having(rows)[:, words]
        if self.near is None:
            return having
        near = self.centered(rows) @ self.vectors[words].T > self.near[words]
        return having.maximum(csr_matrix(near.astype(np.float32)))

    def _having(self, rows: np.ndarray) -> csr_matrix:
        """(s, w) 1 where a text has a word."""
        texts = (words_of(item.text) for item in self.index.items(rows))
        found = [{self.number[word] for word in words if word in self.number} for words in texts]
        columns = np.array([word for words in found for word in words], dtype=np.int64)
        ends = np.cumsum([0, *map(len, found)])
        ones = np.ones(len(columns), np.float32)
        return csr_matrix((ones, columns, ends), shape=(len(rows), len(self.words)))

    def naming(self, rows: np.ndarray) -> Naming:
        """The name of the items at these rows (s,), or of a sample of them."""
        rows = spread(rows, SAMPLE)
        fits = self.of(rows)
        few = min(MIN_ITEMS, len(rows))
        counts = np.asarray(fits.sum(0)).ravel()
        least = max(few, MIN_SHARE * len(rows))
        weights = self.weights(counts, len(rows))
        likely = np.where(counts >= least, weights, 0)
        best = [
            place for place in largest(likely, WORDS) if likely[place] >= MIN_WEIGHT * likely.max()
        ]
        if not best:
            parts = largest(np.where(counts >= max(few, PART * len(rows)), weights, 0), TRIED)
            best = together(fits[:, parts].toarray() > 0, parts, least)
        covered = int((fits[:, best].sum(1) > 0).sum()) if best else 0
        return Naming(tuple(self.words[place] for place in best), covered, len(rows))

    def fitting(self, text: str, rows: np.ndarray) -> np.ndarray:
        """(s,) bool: whether all words of a text fit an item of rows (s,); none does if a word is
        unknown.
        """
        texts = words_of(text)
        words = [self.number[word] for word in texts if word in self.number]
        if not words or len(words) < len(texts):
            return np.zeros(len(rows), dtype=bool)
        return np.asarray(self.of(rows, words).sum(1)).ravel() == len(words)

    def weights(self, counts: np.ndarray, items: int | np.ndarray) -> np.ndarray:
        """(…, w) how telling words are that fit so many items: counts (…, w), of so many `items`, a
        number or (…, 1). Their share, times the log of how many times as frequent they are as among
        all; 0 below MIN_LIFT.
        """
        share = counts / np.maximum(items, 1)
        lift = share / np.maximum(self.frequency, 1e-9)
        return np.where(lift >= MIN_LIFT, share * np.log(np.maximum(lift, 1)), 0)

    def telling(self, rows: np.ndarray, most: int) -> list[FittingWord]:
        """The words that set the items at these rows (s,) apart from all, most telling first."""
        counts = np.asarray(self.of(rows).sum(0)).ravel()
        weights = np.where(counts >= min(MIN_ITEMS, len(rows)), self.weights(counts, len(rows)), 0)
        return [
            FittingWord(self.words[place], int(counts[place])) for place in largest(weights, most)
        ]


def together(has: np.ndarray, places: Sequence[int], least: float) -> list[int]:
    """Of words at these places, which fit (s, words) items, at most WORDS that together fit so
    many; else none.
    """
    chosen: list[int] = []
    left = np.ones(len(has), dtype=bool)
    while places and len(chosen) < WORDS and left.sum() > len(has) - least:
        best = int(has[left].sum(0).argmax())
        chosen.append(places[best])
        left &= ~has[:, best]
    return chosen if len(has) - left.sum() >= least else []


def words_of(text: str) -> set[str]:
    """The words of a text in the singular."""
    return {singular(word) for word in WORD.findall(text.lower()) if word not in STOP_WORDS}


def telling_words(texts: Iterable[str]) -> list[str]:
    """The most frequent words of texts, in their most frequent form."""
    forms, counts, heads = Counter[str](), Counter[str](), Counter[str]()
    for text in filter(None, texts):
        lower = text.lower()
        # in their order
        found = dict.fromkeys(word for word in WORD.findall(lower) if word not in STOP_WORDS)
        forms.update([*found])
        counts.update([*dict.fromkeys(map(singular, found))])
        heads.update(words[-1] for name in names_in(lower) if (words := WORD.findall(name)))
    form_of: dict[str, str] = {}
    for form, _ in (*heads.most_common(), *forms.most_common()):
        form_of.setdefault(singular(form), form)
    frequent = [word for word, count in counts.most_common() if count >= MIN_TEXTS]
    naming = [word for word in frequent if form_of[word] in heads]
    kept = (naming if len(naming) >= MIN_NAMES else frequent)[:MOST_WORDS]
    return [form_of[word] for word in kept]


def names_in(text: str) -> list[str]:
    """What a text names: what stands before its definition, or all of a short text."""
    head = HEAD.match(text)
    short = head is None and len(text.split()) <= LONGEST_NAME
    return (head[0] if head else text).split(",") if head or short else []


@cache
def common_words() -> list[str]:
    """The most frequent words of CLIP's tokenizer, whose tokens are ordered by frequency."""
    import open_clip  # here: it takes seconds, and most collections have words of their own

    ends = "</w>"
    words = (
        token.removesuffix(ends)
        for token in open_clip.SimpleTokenizer().encoder
        if token.endswith(ends)
    )
    telling = (
        word for word in words if len(word) > 3 and word.isalpha() and word not in STOP_WORDS
    )
    return list(islice(filter(str.isascii, telling), MOST_WORDS))


def directions(vectors: np.ndarray) -> np.ndarray:
    """(s, d) -> (s, d) of length 1; zero stays zero."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def blocks(rows: np.ndarray, size: int) -> list[np.ndarray]:
    """The rows (s,), so many at a time."""
    return np.split(rows, range(size, len(rows), size))


def spread(values: np.ndarray, most: int) -> np.ndarray:
    """(≤ most,) evenly spaced values (n,); the same positions for arrays of the same length."""
    if len(values) <= most:
        return values
    return values[np.linspace(0, len(values) - 1, most).astype(np.int64)]


def largest(values: np.ndarray, top: int) -> list[int]:
    """Positions of the largest of values (w,) above 0, largest first."""
    best = np.argsort(-values, kind="stable")[:top]
    return [int(place) for place in best if values[place] > 0]


def kind_centers(index: Index) -> np.ndarray:
    """(kinds, d) float32, the mean embedding of each kind; reads all embeddings once."""
    kinds = len(Modality)
    width = index.embeddings.shape[1]
    sums = np.zeros((kinds, width))
    for start in range(0, index.n, BLOCK):
        kind = np.eye(kinds, dtype=np.float32)[index.modalities[start : start + BLOCK]]
        sums += kind.T @ np.asarray(index.embeddings[start : start + BLOCK], dtype=np.float32)
    return (sums / np.maximum(np.bincount(index.modalities, minlength=kinds), 1)[:, None]).astype(
        np.float32
    )

"""genius/explore/word_fits.py over items whose words and pictures are known."""

from types import SimpleNamespace

import numpy as np
import pytest

from genius.explore import word_fits as module
from genius.explore.word_fits import (
    WordFits,
    kind_centers,
    names_in,
    singular,
    telling_words,
    words_of,
)
from genius.schema import Item, Modality

THINGS = ("dog", "cat", *(f"{first}{second}nd" for first in "bdfgklmp" for second in "aeiou"))
EACH = 10  # texts, and pictures, of each thing


class Things:
    """Of each thing, texts that name it and pictures of it; their embeddings lie along its own
    axis.
    """

    def __init__(self):
        thing = np.arange(2 * len(THINGS) * EACH) % len(THINGS)
        self.n = len(thing)
        self.modalities = np.repeat([0, 1], len(thing) // 2).astype(np.uint8)
        kinds = 3 * np.random.default_rng(0).normal(size=(2, len(THINGS)))
        along = np.where(
            self.modalities == 0, 1.2, np.random.default_rng(1).uniform(0.8, 1, self.n)
        )
        vectors = np.eye(len(THINGS))[thing] * along[:, None] + kinds[self.modalities]
        self.embeddings = vectors.astype(np.float16)
        self.config = SimpleNamespace(dim=len(THINGS))
        self.texts = [
            f"Some {THINGS[at]}s" if kind else "" for at, kind in zip(thing, self.modalities)
        ]
        self.thing = thing

    def items(self, rows):
        return [
            Item(f"0:{row}", Modality(int(self.modalities[row])), self.texts[row]) for row in rows
        ]

    def thumbnail(self, row):
        return None


def encode(words):
    return np.array([[float(singular(word) == thing) for thing in THINGS] for word in words]) + 5


@pytest.fixture(scope="module")
def things():
    return Things()


@pytest.fixture(scope="module")
def fits(things):
    return WordFits(things, kind_centers(things), encode)


def test_a_word_fits_what_names_and_what_shows_its_thing(things, fits):
    has = fits.of(np.arange(things.n)).toarray() > 0
    for word in THINGS:
        place = fits.number[word]
        assert (has[:, place] == (things.thing == THINGS.index(word))).all()
    assert fits.fitting("A DOG", np.arange(things.n)).sum() == 2 * EACH
    assert not fits.fitting("a dog of silver", np.arange(things.n)).any()


def test_a_large_index_is_looked_at_piece_by_piece_with_the_same_result(things, fits, monkeypatch):
    rows = np.array([42, 399, 7])
    whole = fits.of(rows).toarray()
    dogs = fits.fitting("dog", rows)
    monkeypatch.setattr(module, "WHOLE", 0)
    monkeypatch.setattr(module, "BLOCK", 2)
    assert (fits.of(rows).toarray() == whole).all()
    assert fits.fitting("dog", rows).tolist() == dogs.tolist()


def test_a_name_says_on_how_many_items_it_was_checked_and_mixed_is_said_only_of_what_is(
    things, fits
):
    dogs, cats = (np.flatnonzero(things.thing == THINGS.index(name)) for name in ("dog", "cat"))
    one = fits.naming(dogs[:12])
    assert (one.words, one.fits, one.checked) == (("dogs",), 12, 12)
    two = fits.naming(np.concatenate([dogs[:6], cats[:6]]))
    assert set(two.words) == {"dogs", "cats"} and two.fits == 12
    all_things = fits.naming(np.arange(len(THINGS) * EACH))
    assert (all_things.words, all_things.fits, all_things.label) == ((), 0, "mixed")


def test_a_word_that_few_of_the_items_have_is_no_name(things, fits):
    dogs = np.flatnonzero(things.thing == 0)
    others = np.array([np.flatnonzero(things.thing == at)[0] for at in range(1, 14)])
    assert fits.naming(np.concatenate([dogs[:6], others])).words == ()
    assert fits.naming(np.concatenate([dogs[:14], others])).words == ("dogs",)


def test_words_of_a_selection_come_with_the_number_of_its_items_that_they_fit(things, fits):
    dogs, cats = (np.flatnonzero(things.thing == THINGS.index(name)) for name in ("dog", "cat"))
    told = fits.telling(np.concatenate([dogs, cats[:7]]), 5)
    assert {(word.word, word.fits) for word in told} == {("dogs", 2 * EACH), ("cats", 7)}


def test_without_an_encoder_only_texts_are_named(things):
    fits = WordFits(things, kind_centers(things), None)
    pictures = np.flatnonzero((things.thing == 0) & (things.modalities == 0))
    assert fits.naming(pictures).words == ()
    assert fits.naming(pictures + things.n // 2).words == ("dogs",)


def test_words_that_end_names_are_preferred_and_plurals_are_one_word(monkeypatch):
    monkeypatch.setattr(module, "MIN_NAMES", 2)
    texts = ["Polo shirts", "polo shirt", "Old dog (Canis familiaris): barks loudly"] * 3
    texts += ["A man in a polo shirt barks loudly at another old dog that he saw."] * 3
    assert telling_words(texts) == ["dog", "shirts"] or telling_words(texts) == ["shirts", "dog"]
    assert (
        names_in("dog, hound (canis): a word") == ["dog", " hound "] and names_in("a b c d e") == []
    )
    assert words_of("The glasses and two women's BUSES") == {"glass", "woman", "bus"}

"""genius/explore/distinctive_words.py against the definition, and against groups whose words are known."""

import numpy as np
import pytest

from genius.explore import distinctive_words as module
from genius.explore.distinctive_words import Vocabulary, distinctive_words

DOGS = ["a brown dog in the park", "a dog runs", "the dog and a ball", "photo of a dog"]
CATS = ["a cat sleeps in the park", "the cat and a ball", "photo of a cat"]


def words(group):
    return [word.word for word in group]


def test_a_word_that_only_one_group_has_comes_first():
    dogs, cats = distinctive_words([DOGS, CATS])
    assert (words(dogs)[0], words(cats)[0]) == ("dog", "cat")
    assert dogs[0].share == 1.0 and "the" not in words(dogs)


def test_a_word_that_is_rarer_here_than_elsewhere_is_not_distinctive():
    dogs, cats = distinctive_words([DOGS, CATS])
    assert "ball" in words(cats) and "ball" not in words(dogs)


def test_weights_agree_with_the_definition():
    dogs, _ = distinctive_words([DOGS, CATS])
    # without stop words: dog 4, brown, park, runs, ball, photo 1 each; cats: cat 3, park, sleeps, ball, photo
    in_dogs, in_all = 9, 9 + 7
    assert dogs[0].weight == pytest.approx(4 / in_dogs * np.log(1 + in_all / 2 / 4))


def test_an_empty_group_among_others_gets_no_words():
    empty, dogs = distinctive_words([[], DOGS])
    assert empty == [] and words(dogs)[0] == "dog"


def encode(chosen):
    """Words on axes of their own, far from pictures."""
    return np.eye(len(chosen), 6, dtype=np.float32) + 5


PICTURES = np.eye(6, dtype=np.float32)[:4] - 3  # that look like the words of VOCABULARY, in their order
VOCABULARY = ["dog house"] * 5 + ["cat tree"] * 4 + ["rare"]


def test_pictures_get_the_words_nearest_to_their_mean_despite_the_modality_gap(monkeypatch):
    monkeypatch.setattr(module, "MIN_WORDS", 4)
    vocabulary = Vocabulary.from_texts(VOCABULARY, PICTURES, encode)
    assert vocabulary.words == ["dog", "house", "cat", "tree"]

    nearest = vocabulary.nearest(PICTURES[[0, 2]], top=1)

    assert [words(group) for group in nearest] == [["dog"], ["cat"]]
    assert nearest[0][0].share is None


def test_pictures_near_the_mean_of_all_get_no_words(monkeypatch):
    monkeypatch.setattr(module, "MIN_WORDS", 4)
    assert Vocabulary.from_texts(VOCABULARY, PICTURES, encode).nearest(PICTURES.mean(0, keepdims=True)) == [[]]

"""genius/explore/words.py against the definition, and against groups whose words are known."""

import numpy as np
import pytest

from genius.explore.words import Vocabulary, distinctive_words

DOGS = ["a brown dog in the park", "a dog runs", "the dog and a ball", "photo of a dog"]
CATS = ["a cat sleeps in the park", "the cat and a ball", "photo of a cat"]


def words(group):
    return [word.word for word in group]


def test_the_word_that_only_one_group_has_comes_first():
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


def test_a_group_alone_gets_its_commonest_words():
    assert words(distinctive_words([DOGS])[0])[0] == "dog"


@pytest.mark.parametrize("groups", [[], [[]], [[], ["the of and"]], [["", ""], []]])
def test_groups_without_words_get_none(groups):
    assert distinctive_words(groups) == [[] for _ in groups]


def test_an_empty_group_beside_others_gets_none():
    empty, dogs = distinctive_words([[], DOGS])
    assert empty == [] and words(dogs)[0] == "dog"


def encode(chosen):
    """Words on axes of their own, far from pictures."""
    return np.eye(len(chosen), 6, dtype=np.float32) + 5


def test_pictures_get_the_words_nearest_to_their_mean_whatever_the_gap():
    texts = ["dog house"] * 5 + ["cat tree"] * 4 + ["rare"]
    vocabulary = Vocabulary.of(texts, encode)
    assert vocabulary.words == ["dog", "house", "cat", "tree"]
    means = np.eye(6, dtype=np.float32)[[0, 2]] - 3      # groups that look like the words dog and cat

    nearest = vocabulary.nearest(means, top=1)

    assert [words(group) for group in nearest] == [["dog"], ["cat"]]
    assert nearest[0][0].share is None


def test_without_texts_there_is_no_vocabulary():
    vocabulary = Vocabulary.of(["", "the"], encode)
    assert len(vocabulary.words) == 0 and vocabulary.nearest(np.ones((2, 3))) == [[], []]

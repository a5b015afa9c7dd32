import pytest

from training.caption_words import is_right, names, singular, words

DOG = "Dog (domestic dog, Canis familiaris): a member of the genus Canis: barks."


def test_an_entry_has_its_name_and_its_synonyms():
    assert names(DOG) == ["Dog", "domestic dog", "Canis familiaris"]
    assert names("Hot dog: a frankfurter on a bun.") == ["Hot dog"]


def test_a_short_text_is_a_name_and_a_long_one_has_none():
    assert names("banana cake with nuts") == ["banana cake with nuts"]
    assert names("Granny Smith is a green apple with firm pulp.") == [] and names("") == []


@pytest.mark.parametrize(
    ("text", "caption", "right"),
    [
        (DOG, "Two dogs play .", True),
        (DOG, "A hotdog stand .", False),
        (DOG, "A man .", False),
        ("Child (kid): a young person.", "Children run .", True),
        ("Child (kid): a young person.", "A kidney .", False),
        ("Hot dog: a frankfurter.", "a dog is hot", False),
        ("Hot dog: a frankfurter.", "He eats hot dogs .", True),
        ("surfboard", "A man with a surfboard .", True),
        ("", "A man .", False),
    ],
)
def test_a_name_is_right_if_a_caption_has_it_word_by_word(text, caption, right):
    assert is_right(text, ["Nothing .", caption]) is right


def test_singular_and_plural_are_the_same_word():
    assert words("Wolves, berries and glasses on buses") == ["wolf", "berry", "and", "glass", "on", "buse"]
    assert words("bus") == ["bus"]


@pytest.mark.parametrize(
    ("plural", "expected"),
    [("mice", "mouse"), ("loaves", "loaf"), ("ladies", "lady"), ("ties", "tie"), ("dresses", "dress")]
    + [("dogs", "dog"), ("glass", "glass"), ("bus", "bus"), ("iris", "iris"), ("gas", "gas")],
)
def test_the_singular_of_a_noun(plural, expected):
    assert singular(plural) == expected

"""The encyclopedia: its entries, and how words and predicted classes find them."""

import re
from collections import Counter

import pytest

from genius.explore.word_fits import singular
from training.demo.benchmarks import caption_words
from training.demo.benchmarks.caption_words import is_right
from training.demo.photos.encyclopedia import TABLE, Encyclopedia


@pytest.fixture(scope="module")
def book():
    return Encyclopedia.read()


def names(entries):
    return [entry.name for entry in entries]


def test_it_has_all_classes_of_imagenet_and_everyday_things_each_once(book):
    assert 2_500 <= len(book.entries) <= 3_500
    assert {class_ for entry in book.entries for class_ in entry.classes} == set(range(1000))
    assert len({entry.text for entry in book.entries}) == len(book.entries)
    assert all(entry.definition and not entry.text.startswith(("(", ":")) for entry in book.entries)


# different things: bird and toy, bird and machine, dog and man, insect and game; glass and glasses,
# person and people
HOMONYMS = {"kite", "crane", "boxer", "cricket", "glass", "person"}


def test_entries_of_one_thing_under_two_names_are_one(book):
    """Neither a meaning nor a name, in singular or plural, with spaces or without, has two
    entries.
    """
    meanings = [line.split("\t")[1] for line in TABLE.read_text(encoding="utf-8").splitlines()[1:]]
    assert len(set(meanings)) == len(meanings)
    counts = Counter(re.sub(r"\W", "", singular(entry.name.lower())) for entry in book.entries)
    assert {name for name, count in counts.items() if count > 1} == HOMONYMS


def test_the_everyday_name_is_the_title_of_a_class_with_an_odd_first_name(book):
    titles = {
        "hand blower": "hair dryer",
        "swab": "mop",
        "lumbermill": "sawmill",
        "cock": "rooster",
    }
    assert {odd: book.by_name[odd].name for odd in titles} == titles


def test_an_entry_reads_as_name_synonyms_and_definition(book):
    assert book.by_name["tench"].text == (
        "Tench (Tinca tinca): freshwater dace-like game fish of Europe and western Asia noted for "
        "ability to survive outside water."
    )
    assert book.by_name["man"].text == "Man: an adult male person."


def test_the_longest_phrase_of_a_text_counts_in_singular_or_plural(book):
    assert names(book.mentioned("Dogs chase tennis balls at a park bench")) == [
        "dog",
        "tennis ball",
        "park bench",
    ]
    assert names(book.mentioned("children and women with knives")) == ["child", "woman", "knife"]
    assert names(book.mentioned("glasses")) == ["glasses"] and names(book.mentioned("a glass")) == [
        "glass"
    ]


def test_words_that_captions_rarely_mean_name_nothing_in_them(book):
    assert book.mentioned("he looks at the camera and can watch it fly") == []
    assert book.named("camera").name == "camera"


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("scarlet macaw", "macaw"),
        ("Casual Shoes", "shoe"),
        ("grilled chicken wings", "chicken wing"),
    ],
)
def test_the_last_words_of_a_name_name_the_thing(book, name, entry):
    assert book.named(name).name == entry
    assert book.named("chicken boats", left_out=("boat",)).name == "chicken"
    assert book.named("xyzzy") is None


def test_breeds_together_are_a_dog_where_no_breed_is_sure(book):
    assert names(book.predicted({207: 0.3, 151: 0.3})) == ["dog"]
    assert names(book.predicted({207: 0.9})) == ["golden retriever", "retriever", "dog"]
    assert book.predicted({207: 0.2, 403: 0.1}) == []


DOG = "Dog (domestic dog, Canis familiaris): a member of the genus Canis: barks."


def test_an_entry_has_its_name_and_its_synonyms():
    assert caption_words.names(DOG) == ["Dog", "domestic dog", "Canis familiaris"]
    assert caption_words.names("Hot dog: a frankfurter on a bun.") == ["Hot dog"]


@pytest.mark.parametrize(
    ("text", "caption", "right"),
    [
        (DOG, "Two dogs play .", True),
        (DOG, "A hotdog stand .", False),
        ("Child (kid): a young person.", "A kidney .", False),
        ("Hot dog: a frankfurter.", "a dog is hot", False),
        ("surfboard", "A man with a surfboard .", True),
        ("", "A man .", False),
    ],
)
def test_a_name_is_right_if_a_caption_has_it_word_by_word(text, caption, right):
    assert is_right(text, ["Nothing .", caption]) is right

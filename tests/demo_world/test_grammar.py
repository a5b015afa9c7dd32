"""Texts of the world: varied, well-formed, and open where a person would leave something open."""

import random
import re

import pytest

from genius.demo_world import grammar, lexicon
from genius.demo_world.datasets import DATASETS, make_entry
from genius.demo_world.paint import COLORS, PATTERNS
from genius.demo_world.picture import Picture
from genius.demo_world.placement import RELATIONS, Figure
from genius.demo_world.scenes import SCENES, TIMES, WEATHERS
from genius.demo_world.things import THINGS
from genius.demo_world.words import WordPicker, content_words, sentence

EVERYTHING = grammar.Mention(1, 1, 1, 1, 1, 1, 1, 1, 1)
CATS = Picture(
    (Figure("cat", "red", "striped", "sitting", "large", 2), Figure("drum", "blue", "plain")),
    "left of",
    "beach",
    "night",
    "rainy",
)


def test_every_factor_has_several_words():
    assert set(lexicon.KINDS) == set(THINGS)
    assert set(lexicon.FAMILIES) == {thing.family for thing in THINGS.values()}
    assert {style for thing in THINGS.values() for style in thing.styles if style} <= set(lexicon.STYLES)
    for words, names in (
        (lexicon.COLORS, COLORS),
        (lexicon.PATTERNS, PATTERNS),
        (lexicon.TIMES, TIMES),
        (lexicon.WEATHERS, WEATHERS),
        (lexicon.RELATIONS, RELATIONS),
        (lexicon.SCENES, (*SCENES, "")),
    ):
        assert set(words) == set(names)
    for table in (lexicon.KINDS, lexicon.COLORS, lexicon.PATTERNS, lexicon.STYLES, lexicon.SCENES):
        assert all(len(set(options)) == len(options) >= 2 for options in table.values())


def test_no_word_names_two_kinds():
    names = [name for options in lexicon.KINDS.values() for name in options]
    assert len(set(names)) == len(names)


def test_query_synonyms_are_not_in_the_grammar():
    spoken = " ".join(" ".join(options) for table in (lexicon.KINDS, lexicon.COLORS) for options in table.values())
    assert not {"kitty", "automobile", "crimson"} & set(re.findall(r"[a-z]+", spoken))


def test_a_caption_with_all_rates_at_one_mentions_every_factor():
    text = grammar.caption(WordPicker(random.Random(0)), CATS, EVERYTHING).lower()
    for options in (
        lexicon.KINDS["cat"],
        lexicon.COLORS["red"],
        lexicon.PATTERNS["striped"],
        lexicon.SCENES["beach"],
        lexicon.TIMES["night"],
        lexicon.WEATHERS["rainy"],
        lexicon.COUNTS[2],
    ):
        assert any(lexicon.noun(option, 2).lower() in text or option in text for option in options)


def test_captions_of_one_picture_differ():
    words = WordPicker(random.Random(0))
    assert len({grammar.caption(words, CATS, grammar.FIRST_GLANCE) for _ in range(200)}) > 190


def test_avoided_words_are_not_picked():
    words = WordPicker(random.Random(0), content_words("A ruby feline"))
    assert {words.pick(("cat", "feline")) for _ in range(50)} == {"cat"}
    assert words.pick(("feline",)) == "feline"  # without a choice there is none


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("a  orange cat ,, asleep", "An orange cat, asleep."),
        ("what is it?", "What is it?"),
        ("a one", "A one."),
        ("there, a owl,.", "There, an owl."),
    ],
)
def test_sentences_are_tidied(raw, clean):
    assert sentence(raw) == clean


def test_texts_are_tidy():
    for dataset_id, dataset in enumerate(DATASETS):
        for number in range(40):
            entry = make_entry(0, dataset_id, number, "test" if dataset.train else "known test")
            for text in [item.text for item, _, _ in entry.candidates] + [query.text for _, query in entry.queries]:
                if text:
                    assert text == sentence(text)
                    assert not re.search(r"[{}]|,,|  | ,|\bNone\b", text), text
                    assert 5 < len(text) < 320, text


def test_an_edit_names_only_what_differs():
    one = Picture((Figure("cat", "red", "plain", "sitting"),), scene="beach")
    other = Picture((Figure("cat", "blue", "plain", "sitting"),), scene="beach")
    for seed in range(20):
        text = grammar.edit(WordPicker(random.Random(seed)), one, other).lower()
        assert any(word in text for word in lexicon.COLORS["blue"])
        assert not any(phrase in text for phrase in lexicon.SCENES["beach"])

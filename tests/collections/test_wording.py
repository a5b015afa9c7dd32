"""The English of a built collection."""

import pytest

from genius.collections.layout import TASKS
from genius.collections.wording import TEMPLATES, attribute_sentence, instructions, keyword_sentence

RULES = sorted(set(TEMPLATES.rule))


@pytest.mark.parametrize("dataset", ["flickr8k", "emoji", "old_cars"])
def test_every_rule_has_four_different_instructions_that_name_the_dataset(dataset):
    name = dataset.replace("_", " ")
    for rule in RULES:
        for task, phrasings in instructions([rule], dataset).items():
            assert task in TASKS and len(set(phrasings)) == len(phrasings) >= 4
            for text in phrasings:
                assert name in text and text[0].isupper() and text[-1] in ".?"
                assert not any(sign in text for sign in "{}\t\n_")


def test_the_article_fits_the_name():
    emoji, cars = (" ".join(instructions(RULES, name)[0]) for name in ("emoji", "cars"))
    assert "an emoji image" in emoji and "a emoji" not in emoji
    assert "a cars image" in cars and "an cars" not in cars


def test_rules_that_share_a_task_combine_their_instructions():
    both = instructions(["iconic", "answers"], "shop")[6]
    assert both == instructions(["iconic"], "shop")[6] + instructions(["answers"], "shop")[6]


def test_every_variant_of_a_sentence_contains_all_values():
    attributes = {
        "articleType": "Running Shoes",
        "base_colour": "Navy Blue",
        "port": "USB",
        "year": "2011",
    }
    sentences = {attribute_sentence(attributes, variant) for variant in range(16)}
    assert len(sentences) == 16
    for sentence in sentences:
        assert sentence.endswith(".") and "_" not in sentence
        for value in ("unning shoes", "avy blue", "USB", "2011"):
            assert value in sentence
    assert any("article type running shoes" in sentence for sentence in sentences)
    assert {keyword_sentence("law, big_cat", variant) for variant in range(4)} == {
        "Something about law, big cat.",
        "Law, big cat.",
        "It has to do with law, big cat.",
        "Anything that stands for law, big cat.",
    }
    assert keyword_sentence("flag of the USA, iPad", 1) == "Flag of the USA, iPad."

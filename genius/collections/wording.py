"""Instructions, attribute sentences and questions for the collections that are built from
folders.
"""

import re
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

WHAT_IS_THIS = (
    "What is this product?",
    "Which product is shown here?",
    "Can you tell what product this is?",
    "What am I looking at?",
    "What kind of product is in the photo?",
    "What is in this picture?",
)

# rule, task and template; {a} becomes "a NAME"
TEMPLATES = pd.read_csv(Path(__file__).with_name("instructions.tsv"), sep="\t")


def instructions(rules: Iterable[str], dataset: str) -> dict[int, list[str]]:
    """task -> at least four instructions that name the dataset, for the rules that applied to
    it.
    """
    name = " ".join(dataset.replace("_", " ").split())
    article = "an" if name[:1].lower() in "aeiou" else "a"
    prompts: dict[int, list[str]] = {}
    for rule in rules:
        for row in TEMPLATES[TEMPLATES.rule == rule].itertuples():
            prompts.setdefault(row.task, []).append(
                row.instruction.format(a=f"{article} {name}", name=name)
            )
    return prompts


def attribute_sentence(attributes: dict[str, str], variant: int) -> str:
    """{"articleType": "Shirts", "baseColour": "Red"} -> a sentence. variant: chooses its form and
    the order.
    """
    pairs = [(_spaced(name), _word(value)) for name, value in attributes.items()]
    turn = variant // 4 % len(pairs)
    pairs = pairs[turn:] + pairs[:turn]
    values = ", ".join(value for _, value in pairs)
    named = ", ".join(f"{name} {value}" for name, value in pairs)
    return (
        f"Something with {named}.",
        f"{values[:1].upper()}{values[1:]}.",
        f"I want this: {named}.",
        f"Anything that is {values}.",
    )[variant % 4]


def keyword_sentence(words: str, variant: int) -> str:
    """ "law, copyright" -> a sentence. variant: chooses one of four forms."""
    words = words.replace("_", " ")
    return (
        f"Something about {words}.",
        f"{words[:1].upper()}{words[1:]}.",
        f"It has to do with {words}.",
        f"Anything that stands for {words}.",
    )[variant % 4]


def _spaced(name: str) -> str:
    """articleType, article_type -> article type"""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).replace("_", " ").lower()


def _word(value: str) -> str:
    """Lower-case words that are only capitalized; keep others (USB, iPad)."""
    return " ".join(word.lower() if word.istitle() else word for word in value.split())

"""Choosing among words that mean the same, away from those that a text already holds."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

SMALL_WORDS = frozenset(
    [
        "a",
        "an",
        "the",
        "of",
        "in",
        "on",
        "at",
        "to",
        "with",
        "and",
        "or",
        "its",
        "is",
        "are",
        "it",
        "this",
        "that",
        "by",
        "from",
        "for",
        "as",
        "while",
        "one",
    ]
)


def content_words(text: str) -> frozenset[str]:
    """The words of a text that carry its meaning, in lower case."""
    return frozenset(re.findall(r"[a-z]+", text.lower())) - SMALL_WORDS


class Words:
    """Picks words at random, but none of `avoid` where there is a choice."""

    def __init__(self, rng: random.Random, avoid: frozenset[str] = frozenset()):
        self.rng = rng
        self.avoid = avoid

    def pick(self, options: Sequence[str]) -> str:
        """One of the options; the plainest is twice as likely as each other."""
        fresh = [option for option in options if not content_words(option) & self.avoid] if self.avoid else options
        chosen = fresh or options
        return self.rng.choices(chosen, [2] + [1] * (len(chosen) - 1))[0]

    def any(self, options: Sequence[str]) -> str:
        return self.rng.choice(options)

    def happens(self, probability: float) -> bool:
        return self.rng.random() < probability


def sentence(text: str) -> str:
    """Single spaces, "an" before a vowel, a capital, an end mark, no two marks in a row."""
    text = " ".join(text.split())
    text = re.sub(r"\b([Aa]) (?=[aeiou])(?!one\b)", r"\1n ", text)
    text = re.sub(r"\s+([,.?!;:])", r"\1", text)
    text = re.sub(r",(?=[,.?!;:])|,$", "", text)
    text = text[:1].upper() + text[1:]
    return text if text[-1] in ".?!" else text + "."

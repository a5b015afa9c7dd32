"""Choose among synonyms, avoiding the words of another text."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

FUNCTION_WORDS = frozenset(
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
    """The lower-case words of a text without function words."""
    return frozenset(re.findall(r"[a-z]+", text.lower())) - FUNCTION_WORDS


class WordPicker:
    """Picks words at random, and words in `avoid` only if there is no other."""

    def __init__(self, rng: random.Random, avoid: frozenset[str] = frozenset()):
        self.rng = rng
        self.avoid = avoid

    def pick(self, options: Sequence[str]) -> str:
        """One of the options; the first, plainest one is twice as likely as each other."""
        fresh = [option for option in options if not content_words(option) & self.avoid] if self.avoid else options
        chosen = fresh or options
        return self.rng.choices(chosen, [2] + [1] * (len(chosen) - 1))[0]

    def any(self, options: Sequence[str]) -> str:
        return self.rng.choice(options)

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability


def sentence(text: str) -> str:
    """Clean up a generated sentence: spaces, "an" before vowels, a capital, one punctuation mark at a time."""
    text = " ".join(text.split())
    text = re.sub(r"\b([Aa]) (?=[aeiou])(?!one\b)", r"\1n ", text)
    text = re.sub(r"\s+([,.?!;:])", r"\1", text)
    text = re.sub(r",(?=[,.?!;:])|,$", "", text)
    text = text[:1].upper() + text[1:]
    return text if text[-1] in ".?!" else text + "."

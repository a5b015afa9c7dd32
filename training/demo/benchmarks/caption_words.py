"""Whether a text names what the captions of a photograph name: a judge for answers to "What is
this?".

A text of the form "Dog (domestic dog, Canis familiaris): a member of …" has three names; a short
text is a name itself. A name is right if it occurs in a caption, word by word; singular and plural
count as the same.
"""

import re
from collections.abc import Iterable

from genius.explore.word_fits import singular

WORD = re.compile(r"[a-z]+")
# of an entry, before its definition
NAMES = re.compile(r"(?P<name>[^():]+)(?:\((?P<others>[^()]*)\))?:\s")
LONGEST_NAME = 4  # words of a text without a definition that is a name


def words(text: str) -> list[str]:
    """The words of a text in lower case and in the singular."""
    return [singular(word) for word in WORD.findall(text.lower())]


def names(text: str) -> list[str]:
    """The names that a text gives to what it is about; none for a long text without a
    definition.
    """
    entry = NAMES.match(text)
    if entry:
        others = (entry["others"] or "").split(",")
        return [name.strip() for name in (entry["name"], *others) if name.strip()]
    return [text] if 0 < len(WORD.findall(text.lower())) <= LONGEST_NAME else []


def is_right(text: str, captions: Iterable[str]) -> bool:
    """Whether a caption has one of the text's names."""
    caption_words = [f" {' '.join(words(caption))} " for caption in captions]
    name_words = [f" {' '.join(words(name))} " for name in names(text)]
    return any(name.strip() and name in caption for name in name_words for caption in caption_words)

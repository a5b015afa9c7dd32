"""An encyclopedia that answers any photograph: names and definitions of what photographs show.

The entries are the 1,000 classes of ImageNet with WordNet's definitions, which timm carries, and the everyday things of
everyday.tsv: words of captions and names of pictures. A row of that table has

    name            of the entry; another one of ImageNet may have it as a synonym
    meaning         a synset of WordNet, for its definition, or a definition of our own
    other words     by which captions call it, separated by commas; "-": captions rarely mean this thing by its name
    ImageNet classes   that are kinds of it: 151-268 are dogs
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from timm.data import ImageNetInfo

from training.caption_words import singular

TABLE = Path(__file__).parent / "everyday.tsv"
NOT_IN_CAPTIONS = "-"
ALL_SYNSETS = "imagenet22k"  # timm's largest table of WordNet's nouns
SYNSET = re.compile(r"n\d{8}")
WORD = re.compile(r"[a-z]+(?:[-'][a-z]+)*")
LONGEST = 3  # words of a phrase
SHOWN_SYNONYMS = 3
ONE_CLASS, KINDS = 0.45, 0.5  # least probability of an entry with one class, and of several kinds together


@dataclass
class EncyclopediaEntry:
    """One entry."""

    name: str
    definition: str
    synset: str = ""  # WordNet's, empty for a definition of our own
    synonyms: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)  # by which captions call it, in addition to the name
    classes: set[int] = field(default_factory=set)  # of ImageNet

    @property
    def text(self) -> str:
        """ "Dog (domestic dog, Canis familiaris): a member of the genus Canis …" """
        others = ", ".join(self.synonyms[:SHOWN_SYNONYMS])
        name = self.name[:1].upper() + self.name[1:]
        return f"{name} ({others}): {self.definition}." if others else f"{name}: {self.definition}."


class Encyclopedia:
    """All entries, found by the words of a text or by the classes that a tower predicts."""

    def __init__(self, entries: list[EncyclopediaEntry]):
        self.entries = entries

    @classmethod
    def read(cls, table: Path = TABLE) -> Encyclopedia:
        """The entries of ImageNet and of the table."""
        classes, synsets = ImageNetInfo(), ImageNetInfo(ALL_SYNSETS)
        by_synset: dict[str, EncyclopediaEntry] = {}
        for number in range(classes.num_classes()):
            synset = classes.index_to_label_name(number)
            name, *synonyms = classes.label_name_to_description(synset, detailed=False).split(", ")
            definition = _definition(classes.label_name_to_description(synset, detailed=True), name, synonyms)
            by_synset[synset] = EncyclopediaEntry(name, definition, synset, synonyms, classes={number})
        own = []
        for line in table.read_text(encoding="utf-8").splitlines()[1:]:
            name, meaning, words, ranges = line.split("\t")
            if SYNSET.fullmatch(meaning):
                lemmas = synsets.label_name_to_description(meaning, detailed=False).split(", ")
                definition = _definition(
                    synsets.label_name_to_description(meaning, detailed=True), lemmas[0], lemmas[1:]
                )
                entry = by_synset.setdefault(meaning, EncyclopediaEntry(name, definition, meaning))
                entry.name = name
                entry.synonyms = [lemma for lemma in lemmas if lemma.lower() != name.lower()]
            else:
                entry = EncyclopediaEntry(name, meaning)
                own.append(entry)
            entry.words += [] if words == NOT_IN_CAPTIONS else [name, *filter(None, words.split(","))]
            entry.classes |= _numbers(ranges)
        return cls(_without_repetitions([*by_synset.values(), *own]))

    @cached_property
    def by_word(self) -> dict[str, EncyclopediaEntry]:
        """Word or phrase in lower case -> entry of the table."""
        found: dict[str, EncyclopediaEntry] = {}
        for entry in self.entries:
            for word in entry.words:
                found.setdefault(word.lower(), entry)
        return found

    @cached_property
    def by_name(self) -> dict[str, EncyclopediaEntry]:
        """Any name or synonym, lower case -> entry; everyday names first."""
        found = dict(self.by_word)
        for entry in self.entries:
            found.setdefault(entry.name.lower(), entry)
        for entry in self.entries:
            for synonym in entry.synonyms:
                found.setdefault(synonym.lower(), entry)
        return found

    @cached_property
    def by_class(self) -> dict[int, list[int]]:
        """Class of ImageNet -> numbers of its entries."""
        found = defaultdict(list)
        for number, entry in enumerate(self.entries):
            for class_ in entry.classes:
                found[class_].append(number)
        return found

    def mentioned(self, text: str) -> list[EncyclopediaEntry]:
        """The entries that a text names, in its order; the longest phrase counts."""
        words = WORD.findall(text.lower())
        found, start = [], 0
        while start < len(words):
            for length in range(LONGEST, 0, -1):
                phrase = " ".join(words[start : start + length])
                entry = self.by_word.get(phrase) or self.by_word.get(_singular(phrase))
                if entry is not None:
                    found.append(entry)
                    start += length - 1
                    break
            start += 1
        return found

    def named(self, name: str, left_out: Container[str] = ()) -> EncyclopediaEntry | None:
        """The entry of the thing that a name names, by its last words: "red apple" is an apple.

        left_out: names of entries that are not meant.
        """
        words = name.lower().split()
        for start in range(len(words)):
            phrase = " ".join(words[start:])
            entry = self.by_name.get(phrase) or self.by_name.get(_singular(phrase))
            if entry is not None and entry.name not in left_out:
                return entry
        return next((entry for entry in reversed(self.mentioned(name)) if entry.name not in left_out), None)

    def captioned(self, captions: Iterable[str], least: int = 2) -> list[EncyclopediaEntry]:
        """The entries that at least this number of the captions name, the most frequent first."""
        counts: dict[str, list] = {}
        for caption in captions:
            for entry in {entry.text: entry for entry in self.mentioned(caption)}.values():
                counts.setdefault(entry.text, [0, entry])[0] += 1
        return [entry for count, entry in sorted(counts.values(), key=lambda pair: -pair[0]) if count >= least]

    def predicted(self, probabilities: dict[int, float]) -> list[EncyclopediaEntry]:
        """The entries that a tower is sure enough of, the most specific first. probabilities: by class of ImageNet."""
        sums: dict[int, float] = defaultdict(float)
        for class_, probability in probabilities.items():
            for number in self.by_class[class_]:
                sums[number] += probability
        sure = []
        for number, total in sums.items():
            entry = self.entries[number]
            if total >= (ONE_CLASS if len(entry.classes) == 1 else KINDS):
                sure.append((len(entry.classes), -total, number))
        return [self.entries[number] for _, _, number in sorted(sure)]


def _without_repetitions(entries: list[EncyclopediaEntry]) -> list[EncyclopediaEntry]:
    """Leave out a class of ImageNet that has the name of another entry and is a kind of it."""
    by_name: dict[str, list[EncyclopediaEntry]] = defaultdict(list)
    for entry in entries:
        by_name[entry.name.lower()].append(entry)
    return [
        entry
        for entry in entries
        if entry.words
        or not any(entry.classes <= other.classes for other in by_name[entry.name.lower()] if other is not entry)
    ]


def _definition(described: str, name: str, synonyms: list[str]) -> str:
    """timm describes a synset as "lemma, lemma: definition"."""
    return described.removeprefix(", ".join((name, *synonyms))).removeprefix(":").strip(" .")


def _numbers(ranges: str) -> set[int]:
    """ "3,7-9" -> {3, 7, 8, 9}"""
    numbers: set[int] = set()
    for part in filter(None, ranges.split(",")):
        first, _, last = part.partition("-")
        numbers.update(range(int(first), int(last or first) + 1))
    return numbers


def _singular(phrase: str) -> str:
    """The singular of the last word of a phrase."""
    head, space, word = phrase.rpartition(" ")
    return head + space + singular(word)

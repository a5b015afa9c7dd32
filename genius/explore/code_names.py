"""Names of codes: the words that set the items of a prefix apart, and the pictures nearest to their mean embedding.

    names.json    the named prefixes with their words and pictures

`python -m training.names RUN` computes them once and stores them as a part of the run. A prefix is named if at least
MIN_ITEMS items have it; its words are those of the Codes tab (distinctive_words.py), of which only those count that
hold for at least MIN_ITEMS and MIN_SHARE of the items: a text contains the word, or a picture is among the twentieth of
all pictures that is nearest to it, and the word is at least MIN_WEIGHT times as similar to the pictures as the most
similar one. Of a word and its plural the first is taken. If no word is left, the items have no common meaning, and the
name says so.

Shapes: s sampled items, w words.
"""

import logging
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import BaseModel, Field

from genius.errors import UserError
from genius.explore.code_patterns import format_pattern
from genius.explore.code_profile import Profiles, spread
from genius.explore.distinctive_words import Vocabulary, Word
from genius.files import write_compact
from genius.reading import EXACT, damage_explained, read_json
from genius.run import Run
from genius.schema import Modality
from genius.search.engine import Engine
from genius.trie.code_table import Matches, Pattern

PART = "names"
COMMAND = "python -m training.names RUN"
FILE = "names.json"
MIN_ITEMS = 3  # of a prefix that is named
MIN_SHARE = 0.5  # of its items that a word must hold for, and never fewer than MIN_ITEMS: two may agree by chance
MIN_WEIGHT = 0.55  # of a picture's word, compared with the best: below it one in seven is a word of the item's title
WORDS, PICTURES = 3, 2  # of a name
NO_COMMON_MEANING = "no common meaning"
SAMPLE = 200  # pictures of a prefix that words are compared with
MOST = 5_000  # prefixes, the shortest first


@dataclass(frozen=True)
class CodeName:
    """What the items of a prefix have in common."""

    words: tuple[str, ...]  # most distinctive first; empty: nothing
    pictures: tuple[str, ...]  # ids of the items whose pictures are nearest to the mean

    @property
    def label(self) -> str:
        """The words as they are shown."""
        return ", ".join(self.words) or NO_COMMON_MEANING


Names = Mapping[Pattern, CodeName]


class NamesFile(BaseModel):
    """names.json, by columns."""

    model_config = EXACT
    prefixes: Annotated[
        list[Annotated[str, Field(pattern=r"^\d{1,5}(\.\d{1,5})*$", max_length=400)]], Field(max_length=MOST)
    ]
    words: list[Annotated[list[Annotated[str, Field(max_length=100)]], Field(max_length=WORDS)]]
    pictures: list[Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=PICTURES)]]


def code_names(profiles: Profiles, forced: bool) -> dict[Pattern, CodeName]:
    """The names of all prefixes with at least MIN_ITEMS items, at most MOST.

    forced: the first code is the modality, which needs no other name; it gets pictures only.
    """
    names: dict[Pattern, CodeName] = {}
    parents = deque[Pattern]([()])  # the shortest first
    while parents and len(names) < MOST:
        parent = parents.popleft()
        codes, counts = profiles.table.match(parent).children()
        large = codes[counts >= MIN_ITEMS].tolist()
        words_by_code = profiles.words_below(parent) if large and (parent or not forced) else {}
        for code in large[: MOST - len(names)]:
            matches = profiles.table.match((*parent, code))
            words = common_words(profiles, matches, *words_by_code.get(code, ([], 0)))
            names[matches.pattern] = CodeName(words, typical_pictures(profiles, matches))
            parents.append(matches.pattern)
    return names


def common_words(profiles: Profiles, matches: Matches, words: Sequence[Word], texts: int) -> tuple[str, ...]:
    """The words that hold for enough of the items. texts: number from which they are; 0: they are for pictures."""
    if not words:
        return ()
    if texts:
        least = least_share(texts)
        return without_plurals(word.word for word in words if word.share >= least)[:WORDS]
    pictures = profiles.embeddings(spread(matches.rows, SAMPLE))
    return fitting_words(profiles.vocabulary(), words, pictures, least_share(len(pictures)))


def least_share(items: int) -> float:
    """The share of so many items that a word must hold for."""
    return max(MIN_ITEMS / items, MIN_SHARE) - 1e-6  # rounding of the share


def fitting_words(vocabulary: Vocabulary, words: Sequence[Word], pictures: np.ndarray, least: float) -> tuple[str, ...]:
    """Of the words nearest to the mean of pictures (s, d), those that are about as near and fit this share of them."""
    likely = [word.word for word in words if word.weight >= MIN_WEIGHT * words[0].weight]
    enough = vocabulary.fits(likely, pictures).mean(0) >= least
    return without_plurals(compress(likely, enough))[:WORDS]


def without_plurals(words: Iterable[str]) -> tuple[str, ...]:
    """The words without those that are another word, which came before, with or without an s."""
    kept: dict[str, str] = {}
    for word in words:
        kept.setdefault(word.removesuffix("s"), word)
    return tuple(kept.values())


def typical_pictures(profiles: Profiles, matches: Matches) -> tuple[str, ...]:
    """Ids of the items whose pictures are nearest to the mean of all; none for texts."""
    modalities = profiles.index.modalities[matches.rows]
    if (modalities == Modality.TEXT).any():
        return ()
    rows = [row for row, _ in profiles.nearness(matches, PICTURES).typical]
    return tuple(item.id for item in profiles.index.items(rows))


def save_names(names: Names, folder: Path) -> None:
    """Write names.json into a folder."""
    columns = {
        "prefixes": [format_pattern(prefix, ".") for prefix in names],
        "words": [list(name.words) for name in names.values()],
        "pictures": [list(name.pictures) for name in names.values()],
    }
    write_compact(folder / FILE, columns)


def load_names(folder: Path) -> dict[Pattern, CodeName]:
    """Read names.json. Raises UserError for a damaged file."""
    with damage_explained(f"the names of codes in {folder} cannot be read", f"make them again: {COMMAND}"):
        columns = read_json(folder / FILE, NamesFile)
        return {
            tuple(map(int, prefix.split("."))): CodeName(tuple(words), tuple(pictures))
            for prefix, words, pictures in zip(columns.prefixes, columns.words, columns.pictures, strict=True)
        }


def read_names(path: Path) -> dict[Pattern, CodeName] | None:
    """The names that are stored with a run, or None. Raises UserError if they are damaged or of another quantizer."""
    run = Run(path)
    return load_names(run.folder(PART)) if run.has(PART) else None


class CodeNamer:
    """The names of an engine's codes: those that are stored with its run, or else that `prepare` makes."""

    def __init__(self, engine: Engine, path: Path):
        """path: the run. Stored names that cannot be read are left out, with a warning in the log."""
        self.engine = engine
        self.forced = engine.first_code_is_modality
        self.names: Names | None = None
        try:
            self.names = read_names(path)
        except UserError as error:
            logging.getLogger(__name__).warning("%s", error)
        self.profiles_of = engine.versions.cached(lambda index: Profiles(engine, index))

    @property
    def profiles(self) -> Profiles:
        """Of the current index."""
        return self.profiles_of(self.engine.index)

    def prepare(self) -> None:
        """Name the codes of a run that has no names in store; some seconds for thousands of items."""
        if self.names is None:
            self.names = code_names(self.profiles, self.forced)

    def name(self, prefix: Pattern) -> CodeName | None:
        """The name of a prefix, if there is one."""
        return (self.names or {}).get(tuple(prefix))

    def label(self, prefix: Pattern) -> str:
        """What the items of a prefix have in common; empty if that is not known or, for a first code
        that is a modality, needs no other name. Where the modality is open, it is what those of one have in common."""
        if self.forced and len(prefix) < 2:
            return ""
        kinds = Modality if self.forced and prefix[0] is None else prefix[:1]
        labels = [name.label for kind in kinds if (name := self.name((kind, *prefix[1:])))]
        return min(labels, key=lambda label: label == NO_COMMON_MEANING, default="")

    def labels(self) -> dict[str, str]:
        """All names by prefix, such as 0.17; the first code by its modality if it is one."""
        modalities = {str(int(modality)): modality.name.capitalize() for modality in Modality}
        given = {format_pattern(prefix, "."): name.label for prefix, name in (self.names or {}).items()}
        return given | (modalities if self.forced else {})

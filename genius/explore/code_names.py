"""Names of codes: the words that fit the items of a prefix, and the pictures nearest to their mean
embedding.

    names.json    the named prefixes with their words and pictures, and on how many items the words
                  were checked

`python -m training.names RUN` computes them once and stores them as a part of the run. A prefix is
named if at least MIN_ITEMS items have it. Its words (word_fits.py) fit at least half of the items
looked at, each or, where no word does, up to three together. If none do, its name is *mixed*.
"""

import logging
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import BaseModel, Field

from genius.errors import UserError
from genius.explore.code_patterns import format_pattern
from genius.explore.code_profile import Profiles
from genius.explore.code_search import CodeSearch
from genius.explore.playing import photographs_first
from genius.explore.word_fits import MIN_ITEMS, MIXED, WORDS, Naming
from genius.files import write_compact
from genius.reading import EXACT, damage_explained, read_json
from genius.run import Run
from genius.schema import Modality
from genius.search.engine import Engine
from genius.trie.code_table import Matches, Pattern

PART = "names"
COMMAND = "python -m training.names RUN"
FILE = "names.json"
PICTURES = 2  # of a name
TYPICAL = 6  # pictures nearest to the mean, of which these are
MOST = 5_000  # prefixes, the shortest first


@dataclass(frozen=True)
class CodeName(Naming):
    """What the items of a prefix have in common."""

    pictures: tuple[str, ...] = ()  # ids of the items whose pictures are nearest to the mean


Names = Mapping[Pattern, CodeName]


class NamesFile(BaseModel):
    """names.json, by columns."""

    model_config = EXACT
    prefixes: Annotated[
        list[Annotated[str, Field(pattern=r"^\d{1,5}(\.\d{1,5})*$", max_length=400)]],
        Field(max_length=MOST),
    ]
    words: list[Annotated[list[Annotated[str, Field(max_length=100)]], Field(max_length=WORDS)]]
    fits: list[Annotated[int, Field(ge=0)]]
    checked: list[Annotated[int, Field(ge=0)]]
    pictures: list[
        Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=PICTURES)]
    ]


def code_names(profiles: Profiles, forced: bool) -> dict[Pattern, CodeName]:
    """The names of all prefixes with at least MIN_ITEMS items, at most MOST.

    forced: the first code is the modality, which needs no other name; it gets pictures only.
    """
    names: dict[Pattern, CodeName] = {}
    parents = deque[Pattern]([()])  # the shortest first
    while parents and len(names) < MOST:
        parent = parents.popleft()
        codes, counts = profiles.table.match(parent).children()
        for code in codes[counts >= MIN_ITEMS][: MOST - len(names)].tolist():
            matches = profiles.table.match((*parent, code))
            needs_name = not forced or parent
            named = profiles.words.naming(matches.rows) if needs_name else Naming((), 0, 0)
            pictures = typical_pictures(profiles, matches)
            names[matches.pattern] = CodeName(named.words, named.fits, named.checked, pictures)
            parents.append(matches.pattern)
    return names


def typical_pictures(profiles: Profiles, matches: Matches) -> tuple[str, ...]:
    """Ids of the items whose pictures are nearest to the mean of all, photographs first; none for
    texts.
    """
    modalities = profiles.index.modalities[matches.rows]
    if (modalities == Modality.TEXT).any():
        return ()
    rows = np.array([row for row, _ in profiles.nearness(matches, TYPICAL).typical])
    shown = photographs_first(profiles, rows, PICTURES)
    return tuple(item.id for item in profiles.index.items(shown))


def save_names(names: Names, folder: Path) -> None:
    """Write names.json into a folder."""
    columns = {
        "prefixes": [format_pattern(prefix, ".") for prefix in names],
        "words": [list(name.words) for name in names.values()],
        "fits": [name.fits for name in names.values()],
        "checked": [name.checked for name in names.values()],
        "pictures": [list(name.pictures) for name in names.values()],
    }
    write_compact(folder / FILE, columns)


def load_names(folder: Path) -> dict[Pattern, CodeName]:
    """Read names.json. Raises UserError for a damaged file."""
    with damage_explained(
        f"the names of codes in {folder} cannot be read", f"make them again: {COMMAND}"
    ):
        columns = read_json(folder / FILE, NamesFile)
        return {
            tuple(map(int, prefix.split("."))): CodeName(
                tuple(words), fits, checked, tuple(pictures)
            )
            for prefix, words, fits, checked, pictures in zip(*dict(columns).values(), strict=True)
        }


def read_names(path: Path) -> dict[Pattern, CodeName] | None:
    """The names that are stored with a run, or None. Raises UserError if they are damaged or of
    another quantizer.
    """
    run = Run(path)
    return load_names(run.folder(PART)) if run.has(PART) else None


class CodeNamer:
    """The names of an engine's codes: those that are stored with its run, or else that `prepare`
    makes.
    """

    def __init__(self, engine: Engine, path: Path):
        """path: the run. Stored names that cannot be read are left out, with a warning in the
        log.
        """
        self.engine = engine
        self.forced = engine.first_code_is_modality
        self.names: Names | None = None
        try:
            self.names = read_names(path)
        except UserError as error:
            logging.getLogger(__name__).warning("%s", error)
        self.profiles_of = engine.snapshots.cached(lambda index: Profiles(engine, index))
        self.search_of = engine.snapshots.cached(lambda index: CodeSearch(self.profiles_of(index)))

    @property
    def profiles(self) -> Profiles:
        """Of the current index."""
        return self.profiles_of(self.engine.index)

    def prepare(self) -> None:
        """Name the codes of a run that has no names in store; some seconds for thousands of
        items.
        """
        if self.names is None:
            self.names = code_names(self.profiles, self.forced)

    def name(self, prefix: Pattern) -> CodeName | None:
        """The name of a prefix, if there is one."""
        return (self.names or {}).get(tuple(prefix))

    def label(self, prefix: Pattern) -> str:
        """What the items of a prefix have in common; empty if that is not known or, for a first
        code that is a modality, needs no other name. Where the modality is open, it is what those
        of one have in common."""
        if self.forced and len(prefix) < 2:
            return ""
        kinds = Modality if self.forced and prefix[0] is None else prefix[:1]
        labels = [name.label for kind in kinds if (name := self.name((kind, *prefix[1:])))]
        return min(labels, key=lambda label: label == MIXED, default="")

    def labels(self) -> dict[str, str]:
        """All names by prefix, such as 0.17; the first code by its modality if it is one."""
        modalities = {str(int(modality)): modality.name.capitalize() for modality in Modality}
        given = {
            format_pattern(prefix, "."): name.label for prefix, name in (self.names or {}).items()
        }
        return given | (modalities if self.forced else {})

"""What one can play with codes: guess a picture from its codes, change one code, change the first
one; and the codes around a pattern.

Shapes: s items shown.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from genius.errors import UserError
from genius.explore.code_profile import Profiles
from genius.explore.word_fits import MIN_ITEMS, Naming, directions, spread
from genius.schema import Item, Modality, source_fields
from genius.search.versions import FURTHER, groups_of
from genius.trie.code_table import CodeTable, Pattern, trimmed

SHOWN = 4  # pictures of a step, or items of a changed code
SAMPLE = 200  # items of a code that are looked at
NEAREST = 2  # codes beside one that are nearest to it
COMPARED = 4_000  # items by which they are found
TRIED = 100  # pictures by chance, of which the first with several steps is to be guessed
MIN_STEPS = 4  # of a picture to be guessed, after nothing is known
DRAWN = "emoji"  # the kind that a drawn picture has in its source


@dataclass(frozen=True)
class Group:
    """The items that begin with some codes."""

    pattern: Pattern
    items: int
    name: Naming
    rows: list[int]  # (≤ s,) items that stand for it


def is_drawn(item: Item) -> bool:
    """Whether the picture of an item is a drawing."""
    return source_fields(item.source).get("kind") == DRAWN


def photographs_first(profiles: Profiles, rows: np.ndarray, most: int) -> list[int]:
    """The first of rows (s,), those with a photograph before those with a drawing, texts last."""
    items = profiles.index.items(rows)
    order = [2 if item.modality == Modality.TEXT else int(is_drawn(item)) for item in items]
    return np.asarray(rows)[np.argsort(order, kind="stable")[:most]].tolist()


def typical_rows(profiles: Profiles, rows: np.ndarray, most: int) -> list[int]:
    """The rows (≤ most,) nearest to their mean, each from the mean of its kind; photographs
    first.
    """
    if not len(rows):
        return []
    vectors = directions(profiles.words.centered(rows))
    nearest = rows[np.argsort(-(vectors @ vectors.mean(0)), kind="stable")]
    return once(profiles, photographs_first(profiles, nearest, most + FURTHER), most)


def once(profiles: Profiles, rows: Sequence[int], most: int) -> list[int]:
    """The first of rows that show different photographs (≤ most,), by embeddings and pixels."""
    index = profiles.index
    embeddings = directions(np.asarray(index.embeddings[np.asarray(rows)], np.float32))
    groups = groups_of(index.items(rows), rows, embeddings, index.thumbnail, most)
    return [rows[group[0]] for group in groups]


def guess(profiles: Profiles, row: int) -> list[Group]:
    """What may still be meant as the codes of a picture are told, one more each time, until one ID
    is left.

    The picture itself is among those shown only when all that are left are shown.
    """
    codes = profiles.index.codes([row])[0].tolist()
    steps: list[Group] = []
    for length in range(len(codes) + 1):
        matches = profiles.table.match(tuple(codes[:length]))
        others = matches.rows[matches.rows != row] if len(matches) > SHOWN else matches.rows
        pictured = others[profiles.index.modalities[others] != Modality.TEXT]
        shown = photographs_first(profiles, spread(pictured, SAMPLE), SAMPLE)
        shown = spread(np.array(shown[: max(SHOWN, len(shown) // 2)]), SHOWN).tolist()
        name = profiles.words.naming(matches.rows)
        steps.append(Group(matches.pattern, len(matches), name, shown))
        if len(matches) == 1 or (length > 1 and steps[-2].items == len(matches) <= SHOWN):
            break
    return steps


def picture_to_guess(profiles: Profiles, seed: int) -> int:
    """The row of a photograph by chance. Raises UserError if no item has a picture."""
    pictured = np.flatnonzero(profiles.index.modalities == Modality.IMAGE)
    if not len(pictured):
        raise UserError("This collection has no pictures to guess.")
    draw = random.Random(seed)
    rows = [int(pictured[draw.randrange(len(pictured))]) for _ in range(TRIED)]
    depth = min(MIN_STEPS, len(profiles.index.code_sizes))

    items = profiles.index.items(rows)
    rows = [row for row, item in zip(rows, items, strict=True) if not is_drawn(item)] or rows
    prefixes = profiles.index.codes(rows)[:, :depth].tolist()
    several = [len(profiles.table.match(tuple(prefix))) > 1 for prefix in prefixes]
    return next(compress(rows, several), rows[0])


def change_code(profiles: Profiles, codes: Sequence[int], level: int, most: int) -> list[Group]:
    """The IDs that differ from the beginning of one at this level, the unchanged one first.

    Behind the changed code the others stay as far as an item has them. The NEAREST codes of this
    place follow, then those of most items, each with another meaning.
    """
    before = tuple(codes[:level])
    after = codes[level + 1 :]
    groups: list[Group] = []
    told: set[str] = set()
    for code in codes_beside(profiles, before, codes[level]):
        group = _group(profiles, longest(profiles.table, (*before, code), after))
        if not groups or not told.intersection(group.name.words):
            groups.append(group)
            told.update(group.name.words)
        if len(groups) == most:
            break
    return groups


def codes_beside(profiles: Profiles, before: Pattern, own: int) -> list[int]:
    """The codes that follow a prefix: the own one, those nearest to it, the others by their
    items.
    """
    matches = profiles.table.match(before)
    found, counts = matches.children()
    largest = found[np.argsort(-counts, kind="stable")].tolist()
    places = spread(np.arange(len(matches)), COMPARED)
    vectors = profiles.words.centered(matches.rows[places])
    group = np.searchsorted(found, matches.codes(len(before))[places])
    sums = np.zeros((len(found), vectors.shape[1]))
    np.add.at(sums, group, vectors)
    means = directions(sums)
    similar = means @ means[np.searchsorted(found, own)] * (counts >= MIN_ITEMS)
    nearest = found[np.argsort(-similar, kind="stable")[: NEAREST + 1]].tolist()
    return list(dict.fromkeys([own, *nearest, *largest]))


def change_first(profiles: Profiles, codes: Sequence[int]) -> list[Group]:
    """The same codes behind each first code that has items with the second one."""
    firsts, _ = profiles.table.match(()).children()
    ends = (longest(profiles.table, (first,), codes[1:]) for first in firsts.tolist())
    return [_group(profiles, pattern) for pattern in ends if len(pattern) > 1 or len(codes) < 2]


def longest(table: CodeTable, start: Pattern, further: Sequence[int]) -> Pattern:
    """The longest beginning of these codes that an item has."""
    for code in further:
        if not len(table.match((*start, code))):
            break
        start = (*start, code)
    return start


def _group(profiles: Profiles, pattern: Pattern) -> Group:
    matches = profiles.table.match(pattern)
    rows = np.sort(spread(matches.rows, SAMPLE))
    shown = typical_rows(profiles, rows, SHOWN)
    return Group(pattern, len(matches), profiles.words.naming(rows), shown)


@dataclass(frozen=True)
class Relatives:
    """The patterns one step away; None where there is none."""

    parent: Pattern | None
    previous: Pattern | None
    following: Pattern | None
    child: Pattern | None  # of most items


def relatives(table: CodeTable, pattern: Pattern) -> Relatives:
    """The codes around a pattern, siblings in the order of their numbers."""
    codes, counts = table.match(pattern).children()
    child = (*pattern, int(codes[counts.argmax()])) if len(codes) else None
    if not pattern:
        return Relatives(None, None, None, child)
    parent, code = pattern[:-1], pattern[-1]
    siblings = np.unique(table.match(trimmed(parent)).codes(len(parent)))
    before, after = siblings[siblings < code].tolist(), siblings[siblings > code].tolist()
    previous = (*parent, before[-1]) if before else None
    following = (*parent, after[0]) if after else None
    return Relatives(trimmed(parent), previous, following, child)

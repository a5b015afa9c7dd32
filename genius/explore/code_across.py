"""The same codes as image, text and pair, and in every dataset: the paper's Figure 3 and supplement Figures 2 to 4."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from genius.collections.keys import id_key, key_dataset
from genius.explore.code_profile import spread
from genius.schema import Modality
from genius.trie.code_table import Matches, Pattern, trimmed

if TYPE_CHECKING:
    from genius.index.store import Index

SAMPLE = 600  # items whose dataset is read
EACH = 6  # items shown of one modality in one dataset


@dataclass(frozen=True)
class SharedCode:
    """The items of one dataset and modality that have the codes of a pattern."""

    dataset: int | None  # number in their ids; None for ids without one
    modality: Modality
    rows: np.ndarray  # (EACH,) of the index at most, evenly spaced
    items: int  # of the sample


def any_modality(pattern: Pattern, forced: bool) -> Pattern:
    """The pattern without its first code where that is the modality; () if nothing else is fixed."""
    return trimmed((None, *pattern[1:])) if forced and pattern else pattern


def across(index: Index, matches: Matches) -> list[SharedCode]:
    """The matching items by dataset and modality, an even sample of them where they are many."""
    rows = np.sort(spread(matches.rows, SAMPLE))
    datasets = [_dataset(item.id) for item in index.items(rows)]
    groups: dict[tuple[int | None, int], list[int]] = {}
    for row, dataset, modality in zip(rows.tolist(), datasets, index.modalities[rows].tolist(), strict=True):
        groups.setdefault((dataset, modality), []).append(row)
    ordered = sorted(groups.items(), key=lambda entry: (entry[0][0] is None, entry[0][0] or 0, entry[0][1]))
    return [
        SharedCode(dataset, Modality(modality), spread(np.array(found), EACH), len(found))
        for (dataset, modality), found in ordered
    ]


def _dataset(name: str) -> int | None:
    try:
        return key_dataset(id_key(name))
    except ValueError:
        return None

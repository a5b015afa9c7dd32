"""How far two IDs of the same content agree, and whether a code means the same in another dataset.

The paper shows examples (Figure 3, supplement Figures 2 to 4): after the first code, which is the modality, an image,
its text and both together have the same codes, and a code stands for one thing in every dataset. Here both are counted.

Shapes: c couples of two IDs, n items, M levels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from genius.metrics.hit_rate import wilson_interval

MIN_ITEMS = 5  # of a code in one dataset, of which it is said what they mostly are


def code_agreement(first: np.ndarray, second: np.ndarray, groups: np.ndarray) -> list[dict[str, Any]]:
    """One entry per level but the first, for the codes (c, M) of c couples and the groups (c,) they belong to.

    same: couples whose codes at this level are equal, with Wilson's 95 % interval. same_so_far: those whose codes are
    equal at every level from the second to this one. by_chance, by_chance_so_far: what is expected of the same if each
    first ID is coupled with a second one of its group at random.
    """
    entries = []
    for level in range(1, first.shape[1]):
        same = first[:, level] == second[:, level]
        so_far = (first[:, 1 : level + 1] == second[:, 1 : level + 1]).all(1)
        entries.append(
            {
                "level": level,
                "same": float(same.mean()),
                "interval": list(wilson_interval(int(same.sum()), len(same))),
                "by_chance": _by_chance(first[:, level : level + 1], second[:, level : level + 1], groups),
                "same_so_far": float(so_far.mean()),
                "by_chance_so_far": _by_chance(first[:, 1 : level + 1], second[:, 1 : level + 1], groups),
            }
        )
    return entries


def _by_chance(first: np.ndarray, second: np.ndarray, groups: np.ndarray) -> float:
    """Expected share of equal rows (c, l) if the second ones are permuted within each group."""
    _, numbers = np.unique(np.concatenate([first, second]), axis=0, return_inverse=True)
    first_numbers, second_numbers = np.split(numbers.reshape(-1), 2)
    equal = 0.0
    for group in np.unique(groups):
        members = groups == group
        counts = [np.bincount(side[members], minlength=numbers.max() + 1) for side in (first_numbers, second_numbers)]
        equal += float(counts[0] @ counts[1]) / members.sum()
    return equal / len(groups)


def meaning_elsewhere(codes: np.ndarray, values: np.ndarray, datasets: np.ndarray) -> list[dict[str, Any]]:
    """One entry per level but the first: whether what a code mostly means in one dataset is right in the others.

    codes (n, M); values (n,) of one factor, −1 where an item has none; datasets (n,). For each two datasets, every
    item of the second whose code has at least MIN_ITEMS items in the first is guessed to have their commonest value.
    right: the share of right guesses over all pairs of datasets, each pair weighing the same; without_codes: of the
    guess that all items have the commonest value of the first dataset. None where no two datasets share such a code.
    """
    known = values >= 0
    codes, values, datasets = codes[known], values[known], datasets[known]
    entries = []
    for level in range(1, codes.shape[1]):
        right, plain = [], []
        tables = {
            name: _counts(codes[datasets == name, level], values[datasets == name]) for name in np.unique(datasets)
        }
        for source, table in tables.items():
            commonest, frequent = table.argmax(1), table.sum(1) >= MIN_ITEMS
            usual = table.sum(0).argmax()
            for target in tables:
                asked = (datasets == target) & (codes[:, level] < len(table))
                asked[asked] = frequent[codes[asked, level]]
                if source != target and asked.any():
                    right.append(float((commonest[codes[asked, level]] == values[asked]).mean()))
                    plain.append(float((values[asked] == usual).mean()))
        entries.append(
            {
                "level": level,
                "right": float(np.mean(right)) if right else None,
                "without_codes": float(np.mean(plain)) if plain else None,
                "pairs": len(right),
            }
        )
    return entries


def _counts(codes: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(largest code + 1, largest value + 1) number of items."""
    table = np.zeros((int(codes.max()) + 1, int(values.max()) + 1), dtype=np.int64)
    np.add.at(table, (codes.astype(np.int64), values), 1)
    return table

"""How much the codes of each level tell about known factors of the items, by mutual information.

The paper shows with examples that codes go from coarse to fine; where the factors of an item are
known (its kind, color, count, …), this can be measured. There are two figures for each level and
factor, both 0 for codes that are independent of the factor and 1 for codes that determine it:

- *alone*: adjusted mutual information of the level's codes and the factor (Vinh et al. 2010,
  "Information theoretic measures for clusterings comparison"); as a baseline, the same with the
  factor shuffled; and the same within each modality, averaged by number of items, since a level may
  use separate codes for images and for texts;
- *given the prefix*: the share of the factor's remaining entropy, given the codes before, that this
  level's code removes. Few items share a long prefix, and among few items any code seems
  informative; so it is relative to the entropy that remains if the factor is shuffled among the
  items that share a prefix.

Shapes: n items, M levels.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from genius.schema import Item, LabeledQuery, source_fields

SHUFFLES = 5
MIN_SHARE, MAX_VALUES = 0.02, 300  # factors that fewer items have, or with more values, are ignored
# so many items or more with another value each: it is an identifier, and no factor
MIN_REPEATING = 30
# if shuffling leaves less of a factor's entropy, "given the prefix" is undefined
MIN_ENTROPY_SHARE = 0.05
ROUNDING = 1e-9  # nats


def read_factors(items: Sequence[Item | LabeledQuery]) -> dict[str, np.ndarray]:
    """Factor name -> the number of its value for each item or query (n,), −1 for those that lack
    it.

    The factors of an item are its source fields. Factors with one value, with more than MAX_VALUES,
    in less than MIN_SHARE of the items, or with another value for each of MIN_REPEATING items or
    more, are ignored.
    """
    records = [_factors(item.source) for item in items]
    table = {}
    for name in dict.fromkeys(name for record in records for name in record):
        values = np.full(len(items), -1)
        known = [number for number, record in enumerate(records) if name in record]
        distinct, values[known] = np.unique(
            [str(records[number][name]) for number in known], return_inverse=True
        )
        most = min(MAX_VALUES, len(known) - (len(known) >= MIN_REPEATING))
        if len(known) >= MIN_SHARE * len(items) and 2 <= len(distinct) <= most:
            table[name] = values
    return table


def factor_table(
    codes: np.ndarray, factors: dict[str, np.ndarray], seed: int = 0
) -> list[dict[str, Any]]:
    """For codes (n, M) and factors (n,), one {"factor", "items", "values", "levels"} per factor,
    ready for JSON.

    levels: one {"level", "alone", "shuffled", "in_modality", "given_prefix"} per level but the
    first, the modality. Each factor is measured on the items that have it; the module's docstring
    defines the figures.
    """
    rng = np.random.default_rng(seed)
    table = []
    for name, values in factors.items():
        known = values >= 0
        levels = [
            {"level": level} | _level_figures(codes[known], values[known], level, rng)
            for level in range(1, codes.shape[1])
        ]
        row = {"factor": name, "items": int(known.sum()), "values": len(np.unique(values[known]))}
        table.append(row | {"levels": levels})
    return table


def characteristic_values(
    items: Sequence[Item], others: Sequence[Item], top: int = 6
) -> list[dict[str, Any]]:
    """Factor values that are more common among items than among others: {"factor", "value",
    "share", "elsewhere"}.

    Shares are among the items that have the factor. Values are ordered by their part of the
    divergence of the two distributions, share · log(share / elsewhere), with at most one value per
    factor and `top` in all.
    """
    shares, other_shares = (
        _shares([_factors(item.source) for item in group]) for group in (items, others)
    )
    best: dict[str, tuple[float, dict[str, Any]]] = {}
    for (factor, value), share in shares.items():
        elsewhere = other_shares.get((factor, value), 0.0)
        entry = {"factor": factor, "value": value, "share": share, "elsewhere": elsewhere}
        weight = share * np.log(share / max(elsewhere, 1 / (len(others) + 1)))
        if share > elsewhere and weight > best.get(factor, (0.0, entry))[0]:
            best[factor] = (weight, entry)
    return [entry for _, entry in sorted(best.values(), key=lambda weighted: -weighted[0])[:top]]


def adjusted_mutual_information(orders: Sequence[np.ndarray], codes: np.ndarray) -> list[float]:
    """Adjusted mutual information of the codes (n,) and each of several permutations of the same
    values (n,).

    The expectation by chance, which takes nearly all the time, is the same for all permutations.
    """
    # the page needs none of it
    from sklearn.metrics.cluster import contingency_matrix, expected_mutual_information

    values = orders[0]
    one_group = np.zeros_like(codes)
    entropy, code_entropy = (conditional_entropy(labels, one_group) for labels in (values, codes))
    expected = expected_mutual_information(
        contingency_matrix(values, codes, sparse=True), len(values)
    )
    largest = (entropy + code_entropy) / 2 - expected
    return [
        0.0
        if abs(largest) < ROUNDING
        else float((entropy - conditional_entropy(order, codes) - expected) / largest)
        for order in orders
    ]


def conditional_entropy(values: np.ndarray, given: np.ndarray) -> float:
    """H(values | given) in nats, of integers: values (n,), given (n,)."""
    _, joint = np.unique(given.astype(np.int64) * (values.max() + 1) + values, return_counts=True)
    _, groups = np.unique(given, return_counts=True)
    return float((groups * np.log(groups)).sum() - (joint * np.log(joint)).sum()) / len(values)


def shuffled_within(values: np.ndarray, groups: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The values (n,), permuted at random within each group (n,)."""
    shuffled = np.empty_like(values)
    shuffled[np.lexsort((np.arange(len(values)), groups))] = values[
        np.lexsort((rng.random(len(values)), groups))
    ]
    return shuffled


def _level_figures(
    codes: np.ndarray, values: np.ndarray, level: int, rng: np.random.Generator
) -> dict[str, float | None]:
    """The figures of one level of codes (n, M) for a factor (n,); draws from rng."""
    level_codes = codes[:, level]
    before = _number_prefixes(codes[:, :level])
    after = _number_prefixes(codes[:, : level + 1])
    by_chance = np.mean(
        [conditional_entropy(shuffled_within(values, before, rng), after) for _ in range(SHUFFLES)]
    )
    alone, *shuffled = adjusted_mutual_information(
        [values, *(rng.permutation(values) for _ in range(SHUFFLES))], level_codes
    )
    in_modality = sum(
        same.sum() * adjusted_mutual_information([values[same]], level_codes[same])[0]
        for same in (codes[:, 0] == first for first in np.unique(codes[:, 0]))
    ) / len(values)
    defined = by_chance > MIN_ENTROPY_SHARE * conditional_entropy(values, np.zeros_like(values))
    return {
        "alone": alone,
        "shuffled": float(np.mean(shuffled)),
        "in_modality": float(in_modality),
        "given_prefix": float(1 - conditional_entropy(values, after) / by_chance)
        if defined
        else None,
    }


def _number_prefixes(prefixes: np.ndarray) -> np.ndarray:
    """Prefixes (n, l) -> (n,), one number per distinct prefix."""
    return np.unique(prefixes, axis=0, return_inverse=True)[1].reshape(-1)


def _shares(records: Sequence[dict[str, Any]]) -> dict[tuple[str, str], float]:
    """(factor, value) -> its share of the records that have the factor."""
    totals = Counter(factor for record in records for factor in record)
    values = Counter((factor, str(value)) for record in records for factor, value in record.items())
    return {(factor, value): count / totals[factor] for (factor, value), count in values.items()}


def _factors(source: str) -> dict[str, Any]:
    return {
        name: value for name, value in source_fields(source).items() if isinstance(value, str | int)
    }

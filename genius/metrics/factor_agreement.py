"""What the codes of each level say: their mutual information with the factors that items were made from.

The paper shows by pictures that codes go from coarse to fine; where an item's factors are known (its kind,
colour, count, …) this can be measured. Two figures for each level and factor, both 0 for codes that have nothing
to do with it and 1 for codes that settle it:

- *alone*: adjusted mutual information of the level's codes and the factor (Vinh et al. 2010, "Information theoretic
  measures for clusterings comparison"); for a baseline, the same with the factor shuffled; and the same among items
  of one modality, averaged by their number, as a level may have codes of its own for pictures and for texts;
- *given the prefix*: of what the codes before leave open of the factor, the share that this level's code settles.
  Long prefixes hold few items, among which any code seems to settle much; so it is relative to the entropy that
  remains if the factor is shuffled among the items that share a prefix.

Shapes: n items, M levels.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics.cluster import contingency_matrix, expected_mutual_information

from genius.schema import Item

SHUFFLES = 5
FEWEST, MOST_VALUES = 0.02, 300  # factors of a smaller share of the items, or of more values, say nothing
LEFT = 0.05  # of a factor's entropy: where chance leaves less open, nothing is left to settle
ROUNDING = 1e-9  # nats


def read_factors(items: Sequence[Item]) -> dict[str, np.ndarray]:
    """Factor -> its value in each item as a number (n,), −1 in items that lack it.

    Items carry factors as a JSON object in their source; a source that is none has no factors.
    Kept are factors with at least two values that a share of the items has.
    """
    records = [_factors(item.source) for item in items]
    table = {}
    for name in dict.fromkeys(name for record in records for name in record):
        values = np.full(len(items), -1)
        known = [number for number, record in enumerate(records) if name in record]
        distinct, values[known] = np.unique([str(records[number][name]) for number in known], return_inverse=True)
        if len(known) >= FEWEST * len(items) and 2 <= len(distinct) <= MOST_VALUES:
            table[name] = values
    return table


def factor_table(codes: np.ndarray, factors: dict[str, np.ndarray], seed: int = 0) -> list[dict[str, Any]]:
    """codes (n, M) -> for each factor {"factor", "items", "values", "levels": [...]}, ready for JSON.

    levels: for each level after the first, which is the modality, {"level", "alone", "shuffled",
    "in_modality", "given_prefix"}.
    Each factor is measured on the items that have it.
    """
    rng, table = np.random.default_rng(seed), []
    for name, values in factors.items():
        known = values >= 0
        table.append(
            {
                "factor": name,
                "items": int(known.sum()),
                "values": len(np.unique(values[known])),
                "levels": [
                    {"level": level} | _measured(codes[known], values[known], level, rng)
                    for level in range(1, codes.shape[1])
                ],
            }
        )
    return table


def reported_factors(run: Path) -> list[dict[str, Any]] | None:
    """The factor table that the evaluation of a run wrote; None if there is none that can be read."""
    try:
        table = json.loads((run / "reports" / "retrieval.json").read_text())["codes"]["factors"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return table if isinstance(table, list) else None


def characteristic_values(items: Sequence[Item], others: Sequence[Item], top: int = 6) -> list[dict[str, Any]]:
    """What these items are made of more often than the others: {"factor", "value", "share", "elsewhere"}.

    A share is among the items that have the factor; values are ordered by what they add to the divergence of both
    distributions, share · log(share / elsewhere), at most one of each factor.
    """
    here, elsewhere = (_shares([_factors(item.source) for item in group]) for group in (items, others))
    best = {}
    for (factor, value), share in here.items():
        beside = elsewhere.get((factor, value), 0.0)
        found = {"factor": factor, "value": value, "share": share, "elsewhere": beside}
        weight = share * np.log(share / max(beside, 1 / (len(others) + 1)))
        if share > beside and weight > best.get(factor, (0.0,))[0]:
            best[factor] = (weight, found)
    return [found for _, found in sorted(best.values(), key=lambda entry: -entry[0])[:top]]


def adjusted_mutual_information(orders: Sequence[np.ndarray], codes: np.ndarray) -> list[float]:
    """Of each of several orders of the same values (n,) and the codes (n,).

    What is expected by chance, which takes nearly all the time, is the same for all of them.
    """
    values, everything = orders[0], np.zeros_like(codes)
    entropy, of_codes = (conditional_entropy(labels, everything) for labels in (values, codes))
    expected = expected_mutual_information(contingency_matrix(values, codes, sparse=True), len(values))
    most = (entropy + of_codes) / 2 - expected
    return [
        0.0 if abs(most) < ROUNDING else float((entropy - conditional_entropy(order, codes) - expected) / most)
        for order in orders
    ]


def conditional_entropy(values: np.ndarray, given: np.ndarray) -> float:
    """H(values | given) in nats, of whole numbers (n,) each."""
    _, joint = np.unique(given.astype(np.int64) * (values.max() + 1) + values, return_counts=True)
    _, groups = np.unique(given, return_counts=True)
    return float((groups * np.log(groups)).sum() - (joint * np.log(joint)).sum()) / len(values)


def shuffled_within(values: np.ndarray, groups: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The values (n,) in random order among the items of each group (n,)."""
    shuffled = np.empty_like(values)
    shuffled[np.lexsort((np.arange(len(values)), groups))] = values[np.lexsort((rng.random(len(values)), groups))]
    return shuffled


def _measured(codes: np.ndarray, values: np.ndarray, level: int, rng: np.random.Generator) -> dict[str, float | None]:
    of_level, prefix, longer = codes[:, level], _numbered(codes[:, :level]), _numbered(codes[:, : level + 1])
    by_chance = np.mean([conditional_entropy(shuffled_within(values, prefix, rng), longer) for _ in range(SHUFFLES)])
    alone, *shuffled = adjusted_mutual_information(
        [values, *(rng.permutation(values) for _ in range(SHUFFLES))], of_level
    )
    in_modality = sum(
        same.sum() * adjusted_mutual_information([values[same]], of_level[same])[0]
        for same in (codes[:, 0] == first for first in np.unique(codes[:, 0]))
    ) / len(values)
    open_by_chance = by_chance > LEFT * conditional_entropy(values, np.zeros_like(values))
    return {
        "alone": alone,
        "shuffled": float(np.mean(shuffled)),
        "in_modality": float(in_modality),
        "given_prefix": float(1 - conditional_entropy(values, longer) / by_chance) if open_by_chance else None,
    }


def _numbered(prefixes: np.ndarray) -> np.ndarray:
    """Prefixes (n, l) -> a number for each different one (n,)."""
    return np.unique(prefixes, axis=0, return_inverse=True)[1].reshape(-1)


def _shares(records: Sequence[dict[str, Any]]) -> dict[tuple[str, str], float]:
    """(factor, value) -> its share of the records that have the factor."""
    having = Counter(factor for record in records for factor in record)
    values = Counter((factor, str(value)) for record in records for factor, value in record.items())
    return {(factor, value): count / having[factor] for (factor, value), count in values.items()}


def _factors(source: str) -> dict[str, Any]:
    try:
        record = json.loads(source)
    except ValueError:
        return {}
    return (
        {name: value for name, value in record.items() if isinstance(value, str | int)}
        if isinstance(record, dict)
        else {}
    )

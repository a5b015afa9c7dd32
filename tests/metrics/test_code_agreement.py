"""genius/metrics/code_agreement.py against counting by hand."""

from itertools import permutations

import numpy as np
import pytest

from genius.metrics.code_agreement import MIN_ITEMS, code_agreement, meaning_elsewhere


def test_codes_are_compared_level_by_level_and_the_first_is_left_out():
    first = np.array([[0, 1, 2], [0, 1, 3], [0, 5, 4], [0, 6, 4]])
    second = np.array([[1, 1, 2], [1, 1, 9], [1, 7, 4], [1, 8, 9]])
    one, two = code_agreement(first, second, np.zeros(4, dtype=int))
    assert [one["level"], two["level"]] == [1, 2]
    assert (one["same"], one["same_so_far"]) == (0.5, 0.5)
    assert (two["same"], two["same_so_far"]) == (0.5, 0.25)  # the third couple agrees at level 2 alone
    low, high = one["interval"]
    assert low == pytest.approx(0.150, abs=1e-3) and high == pytest.approx(0.850, abs=1e-3)  # Wilson's, 2 of 4


def test_chance_is_the_mean_over_all_couplings_within_the_groups():
    rng = np.random.default_rng(0)
    first, second = (rng.integers(0, 3, size=(7, 3)) for _ in range(2))
    groups = np.array([0, 0, 0, 0, 1, 1, 1])
    by_chance = [(entry["by_chance"], entry["by_chance_so_far"]) for entry in code_agreement(first, second, groups)]

    for level in (1, 2):
        alone, so_far = [], []
        for left in permutations(range(4)):
            for right in permutations(range(4, 7)):
                coupled = second[[*left, *right]]
                alone.append((first[:, level] == coupled[:, level]).mean())
                so_far.append((first[:, 1 : level + 1] == coupled[:, 1 : level + 1]).all(1).mean())
        assert by_chance[level - 1] == pytest.approx((np.mean(alone), np.mean(so_far)))


def items(*described: tuple[int, int, int, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(dataset, code, value, number of such items) -> codes, values, datasets."""
    rows = [(dataset, code, value) for dataset, code, value, count in described for _ in range(count)]
    datasets, codes, values = map(np.array, zip(*rows, strict=True))
    return np.stack([np.zeros_like(codes), codes], axis=1), values, datasets


def test_a_code_that_means_the_same_elsewhere_is_guessed_right():
    described = items((0, 0, 7, 6), (0, 1, 8, 9), (1, 0, 7, 8), (1, 1, 8, 5))
    (level,) = meaning_elsewhere(*described)
    assert (level["right"], level["pairs"]) == (1.0, 2)
    # always 8 is right for 5 of 13 items of dataset 1, always 7 for 6 of 15 of dataset 0
    assert level["without_codes"] == pytest.approx((5 / 13 + 6 / 15) / 2)


def test_rare_codes_and_items_without_a_value_are_left_out():
    few = MIN_ITEMS - 1
    codes, values, datasets = items((0, 0, 7, 6), (0, 1, 8, few), (1, 0, 7, 6), (1, 1, 9, few), (1, 3, 9, 2))
    (level,) = meaning_elsewhere(codes, values, datasets)
    assert level["right"] == 1.0  # code 1 is rare in both, and code 3 unknown in the first
    (level,) = meaning_elsewhere(codes, np.where(datasets == 1, -1, values), datasets)
    assert level == {"level": 1, "right": None, "without_codes": None, "pairs": 0}

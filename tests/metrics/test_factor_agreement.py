"""Factor agreement against scikit-learn, and for codes whose meaning is known."""

import json

import numpy as np
import pytest
from sklearn.metrics import adjusted_mutual_info_score

from genius.metrics.factor_agreement import (
    adjusted_mutual_information,
    characteristic_values,
    conditional_entropy,
    factor_table,
    read_factors,
    shuffled_within,
)
from genius.schema import Item, LabeledQuery, Modality

N = 600


def items(records: list) -> list[Item]:
    sources = [one if isinstance(one, str) else json.dumps(one) for one in records]
    return [Item(f"0:{n}", Modality.TEXT, "text", source=one) for n, one in enumerate(sources)]


@pytest.fixture(scope="module")
def coded() -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Level 1 is the kind, level 2 the color, level 3 noise; a third of the items has a count."""
    rng = np.random.default_rng(0)
    kind, color, count = rng.integers(0, 5, N), rng.integers(0, 4, N), rng.integers(0, 3, N)
    codes = np.stack([rng.integers(0, 2, N), kind, color, rng.integers(0, 3, N)], axis=1)
    return codes, {
        "kind": kind,
        "color": color,
        "count": np.where(np.arange(N) % 3 == 0, count, -1),
    }


def levels(table, factor):
    return next(row for row in table if row["factor"] == factor)["levels"]


def test_alone_agrees_with_scikit_learn():
    rng = np.random.default_rng(1)
    values, codes = rng.integers(0, 7, N), rng.integers(0, 9, N)
    codes = np.where(rng.random(N) < 0.5, values, codes)
    orders = [values, rng.permutation(values)]

    assert adjusted_mutual_information(orders, codes) == pytest.approx(
        [adjusted_mutual_info_score(order, codes) for order in orders], abs=1e-9
    )


def test_a_level_that_equals_a_factor_determines_it_and_no_other(coded):
    codes, factors = coded
    table = factor_table(codes, factors)

    for factor, own in (("kind", 1), ("color", 2)):
        for level in levels(table, factor):
            expected = 1.0 if level["level"] == own else 0.0
            assert level["alone"] == pytest.approx(expected, abs=0.02)
            assert level["in_modality"] == pytest.approx(expected, abs=0.02)
            assert level["shuffled"] == pytest.approx(0.0, abs=0.02)


def test_given_the_prefix_a_level_counts_for_the_remaining_entropy(coded):
    codes, factors = coded

    kind, color = (levels(factor_table(codes, factors), name) for name in ("kind", "color"))

    # level 1 left nothing open
    assert [level["given_prefix"] for level in kind[1:]] == [None, None]
    assert color[0]["given_prefix"] == pytest.approx(0.0, abs=0.05)
    assert color[1]["given_prefix"] == pytest.approx(1.0)


def test_noise_after_a_long_prefix_is_not_informative():
    rng = np.random.default_rng(2)
    values = rng.integers(0, 4, N)
    codes = np.stack([np.zeros(N, int), np.arange(N) // 6, rng.integers(0, 4, N)], axis=1)

    (row,) = factor_table(codes, {"noise": values})

    assert row["levels"][1]["given_prefix"] == pytest.approx(0.0, abs=0.1)
    naive = 1 - conditional_entropy(values, codes[:, 1] * 4 + codes[:, 2]) / conditional_entropy(
        values, codes[:, 1]
    )
    assert naive > 0.3  # the unadjusted figure


def test_codes_that_only_one_modality_uses_are_measured_within_it():
    rng = np.random.default_rng(3)
    modality, kind = rng.integers(0, 2, N), rng.integers(0, 5, N)

    (row,) = factor_table(np.stack([modality, 5 * modality + kind], axis=1), {"kind": kind})

    assert row["levels"][0]["in_modality"] == pytest.approx(1.0)
    assert row["levels"][0]["alone"] < 0.9


def test_a_factor_is_measured_on_the_items_that_have_it(coded):
    codes, factors = coded
    spoilt = codes.copy()
    spoilt[np.arange(N) % 3 != 0, 1:] = 0
    spoilt[np.arange(N) % 3 == 0, 3] = factors["count"][::3]

    row = factor_table(spoilt, {"count": factors["count"]})[0]

    assert (row["items"], row["values"]) == (N // 3, 3)
    assert row["levels"][2]["alone"] == pytest.approx(1.0)


def test_conditional_entropy_agrees_with_its_definition():
    rng = np.random.default_rng(4)
    values, given = rng.integers(0, 4, 50), rng.integers(0, 3, 50)
    expected = 0.0
    for group in range(3):
        share = np.bincount(values[given == group]) / (given == group).sum()
        expected -= (given == group).mean() * (share[share > 0] * np.log(share[share > 0])).sum()

    assert conditional_entropy(values, given) == pytest.approx(expected)


def test_shuffling_within_groups_keeps_the_values_of_each_group():
    rng = np.random.default_rng(5)
    values = np.arange(40)
    groups = rng.integers(0, 4, 40)

    shuffled = shuffled_within(values, groups, rng)

    assert (shuffled != values).any()
    for group in range(4):
        assert sorted(shuffled[groups == group]) == values[groups == group].tolist()


def test_factors_are_read_from_sources_and_missing_ones_are_marked():
    records = [
        {"kind": "cat", "count": 2},
        {"kind": "dog", "count": 10},
        "",
        "no JSON",
        "[1]",
        {"kind": "cat"},
    ]

    factors = read_factors(items(records))

    assert list(factors) == ["kind", "count"]
    assert factors["kind"].tolist() == [0, 1, -1, -1, -1, 0]
    assert (factors["count"][[0, 1]] >= 0).all() and factors["count"][0] != factors["count"][1]
    assert factors["count"][2:].tolist() == [-1] * 4


def test_queries_have_factors_like_items():
    queries = [
        LabeledQuery(f"0:{n}", Modality.TEXT, 0, "text", source=json.dumps({"kind": n}))
        for n in range(2)
    ]
    assert read_factors([*queries, *items([{"kind": 0}])])["kind"].tolist() == [0, 1, 0]


def test_credit_license_and_origin_are_no_factors():
    records = [
        {"kind": name, "credit": name, "licence": name, "origin": name} for name in ("cat", "dog")
    ]
    assert list(read_factors(items(records))) == ["kind"]
    assert [
        found["factor"] for found in characteristic_values(items(records[:1]), items(records[1:]))
    ] == ["kind"]


def test_rare_constant_and_unique_factors_are_ignored():
    records = [
        {"same": "here", "name": str(number), "kind": str(number % 2)} for number in range(1200)
    ]
    records[0]["rare"], records[1]["rare"] = "a", "b"

    assert list(read_factors(items(records))) == ["kind"]
    # few enough names, but one for each item
    assert list(read_factors(items(records[2:200]))) == ["kind"]


def test_values_that_are_more_common_than_elsewhere_come_first():
    group = items(
        [{"kind": "cat", "size": "small", "rare": "yes"}] * 8
        + [{"kind": "dog", "size": "large"}] * 2
    )
    others = items(
        [{"kind": "dog", "size": "small"}] * 6 + [{"kind": "cat", "size": "large"}] * 2 + [{}] * 2
    )

    first, *rest = characteristic_values(group, others)

    assert first == {"factor": "rare", "value": "yes", "share": 1.0, "elsewhere": 0.0}
    assert rest == [
        {"factor": "kind", "value": "cat", "share": 0.8, "elsewhere": 0.25},
        {"factor": "size", "value": "small", "share": 0.8, "elsewhere": 0.75},
    ]


def test_items_without_factors_have_no_characteristic_values():
    assert characteristic_values(items(["", "no JSON"]), items([])) == []
    assert characteristic_values([], items([{"kind": "cat"}])) == []

"""Intervals, verdicts and tables on figures made by hand, against slow references."""

import numpy as np
import pytest
from scipy import stats

from training.ablations.report import CLAIMS, Measured, build, decided, difference
from training.ablations.trainer import Result
from training.ablations.variants import TABLES


def measured(*columns: list[float], queries: int = 100) -> Measured:
    """columns: a rate for each seed."""
    return Measured([list(of_seed) for of_seed in zip(*columns, strict=True)], [queries] * len(columns))


def test_the_interval_of_several_seeds_is_students_t():
    mean, low, high = measured([0.2, 0.3, 0.4], [0.6, 0.5, 0.7]).estimate()
    by_seed = [0.4, 0.4, 0.55]
    assert mean == pytest.approx(np.mean(by_seed))
    assert (low, high) == pytest.approx(stats.t.interval(0.95, 2, np.mean(by_seed), stats.sem(by_seed)))


def test_the_interval_of_one_seed_is_wilsons():
    z, n, p = stats.norm.ppf(0.975), 50, 0.3
    center, half = p + z**2 / (2 * n), z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    expected = (p, (center - half) / (1 + z**2 / n), (center + half) / (1 + z**2 / n))
    assert measured([p], queries=n).estimate() == pytest.approx(expected)
    assert measured([0.0]).estimate()[:2] == (0, 0) and measured([0.0]).estimate()[2] > 0.03


@pytest.mark.parametrize(
    ("kind", "better", "worse", "verdict"),
    [
        ("better", [[0.60, 0.61, 0.62]], [[0.20, 0.22, 0.21]], "holds"),
        ("better", [[0.20, 0.22, 0.21]], [[0.60, 0.61, 0.62]], "contradicted"),
        ("better", [[0.3, 0.5, 0.4]], [[0.4, 0.3, 0.5]], "undecided"),
        ("better", [[0.45]], [[0.30]], "holds"),
        ("no worse", [[0.30]], [[0.10]], "holds"),
        ("no worse", [[0.30]], [[0.35]], "holds"),
        ("no worse", [[0.10]], [[0.35]], "contradicted"),
        # one of three columns is better, although the average is not
        ("better", [[0.60, 0.61], [0.3, 0.2], [0.3, 0.2]], [[0.40, 0.41], [0.5, 0.4], [0.5, 0.4]], "contradicted"),
        ("better somewhere", [[0.60, 0.61], [0.3, 0.2]], [[0.40, 0.41], [0.5, 0.4]], "holds"),
        ("better somewhere", [[0.3, 0.2], [0.3, 0.2]], [[0.5, 0.4], [0.5, 0.4]], "contradicted"),
        ("better somewhere", [[0.5, 0.4]], [[0.5, 0.4]], "undecided"),
        # the best of many must be better by more than a single one (Bonferroni)
        ("better somewhere", [[0.45]], [[0.30]], "holds"),
        ("better somewhere", [[0.45], *[[0.3]] * 9], [[0.30], *[[0.3]] * 9], "undecided"),
    ],
)
def test_a_claim_is_decided_by_the_interval_of_the_difference(kind, better, worse, verdict):
    assert decided(kind, measured(*better), measured(*worse))[0] == verdict


def test_a_difference_is_shown_in_points_with_its_interval():
    better, worse = measured([0.60, 0.61, 0.62], [0.3, 0.2, 0.25]), measured([0.40, 0.41, 0.42], [0.5, 0.4, 0.45])
    assert decided("better somewhere", better, worse)[1] == "+20.0 [+20.0, +20.0], best of 2 columns"
    assert decided("better", better, measured([0.55, 0.55, 0.55], [0.2, 0.2, 0.2]))[1] == "+5.5 [-0.2, +11.2]"


def test_the_difference_of_seeds_is_paired():
    mean, half = difference(measured([0.1, 0.5, 0.9]), measured([0.0, 0.4, 0.8]))
    assert mean == pytest.approx(0.1) and half == pytest.approx(0, abs=1e-9)


def test_the_difference_of_one_seed_is_as_wide_as_both_intervals_allow():
    better, worse = measured([0.5], queries=90), measured([0.4], queries=90)
    widths = [(high - low) / 2 for _, low, high in (better.estimate(), worse.estimate())]
    assert difference(better, worse) == pytest.approx((0.1, np.hypot(*widths)))
    twice = difference(measured([0.5], [0.5], queries=90), measured([0.4], [0.4], queries=90))
    assert twice == pytest.approx((0.1, np.hypot(*widths) / np.sqrt(2)))


ROWS = [(0, "mscoco"), (3, "mscoco"), (7, "cirr")]  # the collection has no webqa


def results(table, variant) -> list[list[Result]]:
    """Two seeds; the rate says which variant, column and cut it is of."""
    number = table.variants.index(variant)
    name = table.search(variant).name
    return [
        [
            Result(row, f"toy_{row[1]}", 40, {name: {1: 0.1, 5: 0.2 + number / 100 + at / 10 + seed / 1000, 10: 0.9}})
            for at, row in enumerate(ROWS)
        ]
        for seed in (0, 2)
    ]


def test_a_table_has_our_figures_beside_the_published_ones_and_no_column_without_queries():
    (_, table), (plot,) = build([TABLES["4"]], results)
    assert table.headings()[:4] == [
        "variant",
        "toy_mscoco text → image, %",
        "paper, mscoco text → image, %",
        "toy_mscoco image → text, %",
    ]
    full, *_, no_mse = table.rows
    assert full[0] == "GENIUS" and full[2:7:2] == pytest.approx([0.554, 0.827, 0.205])
    assert [full[at][0] for at in (1, 3, 5, 7)] == pytest.approx([0.201, 0.301, 0.401, 0.301])
    assert full[8] == pytest.approx((0.554 + 0.827 + 0.205) / 3) and no_mse[1][0] == pytest.approx(0.241)
    here, paper = plot.series
    assert here.x == [row[7][0] for row in table.rows] and paper.x == [row[8] for row in table.rows]
    assert here.interval[0] == full[7][1:] and here.y == paper.y == [row[0] for row in table.rows]


def test_of_several_cuts_of_the_same_queries_only_the_usual_one_counts():
    (claims, table), _ = build([TABLES["S7"]], results)
    assert [heading.rpartition("hit@")[2] for heading in table.headings()[1:7:2]] == [
        "1, %",
        "toy_mscoco text → image, %",
        "10, %",
    ]
    full = next(row for row in table.rows if row[0] == "GENIUS")
    assert full[7] == full[3] != full[1] and full[8] == pytest.approx(0.678)
    unpublished = next(row for row in table.rows if row[0].startswith("DSI"))
    assert unpublished[2] is unpublished[8] is None
    assert [row[0] for row in claims.rows] == [claim.text for claim in CLAIMS if claim.table == "S7"]


def test_every_claim_is_about_rows_of_its_table_and_encoders_have_none():
    for claim in CLAIMS:
        assert {claim.better, claim.worse} <= {variant.name for variant in TABLES[claim.table].variants}
    tables, _ = build([TABLES["S9"]], results)
    assert len(tables) == 1

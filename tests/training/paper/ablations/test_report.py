"""Intervals, verdicts and tables on figures made by hand, against slow references."""

import numpy as np
import pytest
from scipy import stats

from training.paper.ablations.report import CLAIMS, build, decided, estimate
from training.paper.ablations.trainer import Result
from training.paper.ablations.variants import TABLES, search_name


def test_the_interval_of_several_seeds_is_students_t_and_one_seed_has_none():
    rates = np.array([0.4, 0.4, 0.55])
    mean, low, high = estimate(rates)
    assert (low, high) == pytest.approx(stats.t.interval(0.95, 2, mean, stats.sem(rates)))
    assert estimate(np.array([0.0, 0.1]))[1] == 0 and estimate(np.array([0.5])) == 0.5


@pytest.mark.parametrize(
    ("kind", "better", "worse", "verdict"),  # rates by column and seed
    [
        ("better", [[0.60, 0.61, 0.62]], [[0.20, 0.22, 0.21]], "holds"),
        ("better", [[0.3, 0.5, 0.4]], [[0.4, 0.3, 0.5]], "undecided"),
        # paired: seeds differ more than variants
        ("better", [[0.1, 0.5, 0.9]], [[0.0, 0.4, 0.79]], "holds"),
        ("no worse", [[0.3, 0.5, 0.4]], [[0.4, 0.3, 0.5]], "holds"),
        ("no worse", [[0.10, 0.12]], [[0.30, 0.31]], "contradicted"),
        # one of two columns is better, although the average is not
        ("better", [[0.60, 0.61], [0.3, 0.2]], [[0.40, 0.41], [0.9, 0.8]], "contradicted"),
        ("better somewhere", [[0.60, 0.61], [0.3, 0.2]], [[0.40, 0.41], [0.9, 0.8]], "holds"),
        ("better somewhere", [[0.3, 0.2], [0.3, 0.2]], [[0.5, 0.4], [0.5, 0.4]], "contradicted"),
        # the best of many must be better by more than a single one (Bonferroni)
        ("better somewhere", [[0.45, 0.46, 0.48]], [[0.40] * 3], "holds"),
        (
            "better somewhere",
            [[0.45, 0.46, 0.48], *[[0.3] * 3] * 9],
            [[0.40] * 3, *[[0.3] * 3] * 9],
            "undecided",
        ),
    ],
)
def test_a_claim_is_decided_by_the_interval_of_the_difference(kind, better, worse, verdict):
    assert decided(kind, np.subtract(better, worse).T)[0] == verdict


def test_a_difference_is_shown_in_points_with_its_interval():
    gains = np.array([[0.1, -0.2], [0.13, -0.2], [0.1, -0.2]])  # three seeds, two columns
    low, high = stats.t.interval(0.95, 2, -0.045, stats.sem(gains.mean(axis=1)))
    assert decided("better", gains)[1] == f"-4.5 [{100 * low:+.1f}, {100 * high:+.1f}]"
    low, high = stats.t.interval(0.975, 2, 0.11, stats.sem(gains[:, 0]))
    assert (
        decided("better somewhere", gains)[1]
        == f"+11.0 [{100 * low:+.1f}, {100 * high:+.1f}], best of 2 columns"
    )


ROWS = [(0, "mscoco"), (3, "mscoco"), (7, "cirr")]  # the collection has no webqa


def results(table, variant) -> list[dict[tuple[int, str], Result]]:
    """Two seeds; the rate says which variant, column and cut it is of."""
    number = table.variants.index(variant)
    name = search_name(table.scope, variant.beams, variant.reranked)
    return [
        {
            row: Result(
                row,
                f"toy_{row[1]}",
                {name: {1: 0.1, 5: 0.2 + number / 100 + at / 10 + seed / 1000, 10: 0.9}},
            )
            for at, row in enumerate(ROWS)
        }
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
    assert full[8] == pytest.approx((0.554 + 0.827 + 0.205) / 3) and no_mse[1][0] == pytest.approx(
        0.241
    )
    here, paper = plot.series
    assert here.x == pytest.approx([row[7][0] for row in table.rows]) and paper.x == [
        row[8] for row in table.rows
    ]
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
    assert [row[0] for row in claims.rows] == [
        claim.text for claim in CLAIMS if claim.table == "S7"
    ]


def test_every_claim_is_about_rows_of_its_table_and_encoders_have_none():
    for claim in CLAIMS:
        assert {claim.better, claim.worse} <= {
            variant.name for variant in TABLES[claim.table].variants
        }
    tables, _ = build([TABLES["S9"]], results)
    assert len(tables) == 1

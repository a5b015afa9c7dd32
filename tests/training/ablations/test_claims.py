"""Verdicts and intervals of the ablations' report against slow references."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from training.ablations.ablation_report import average_extras
from training.ablations.cells import average, cell
from training.ablations.claims import CLAIMS, claims, decided, difference

ASSETS = Path(__file__).parents[3] / "assets"


def row(name: str, *columns: list[float]) -> dict:
    return {"name": name, "cells": [cell(values, 100) for values in columns]}


def table(*rows: dict, number: str = "4", block: str = "paper") -> dict:
    return {"number": number, "blocks": [{"block": block, "rows": list(rows)}]}


def test_the_interval_of_several_seeds_is_students_t():
    values = [0.2, 0.3, 0.35]
    found = cell(values, 100, 55.4)
    low, high = stats.t.interval(0.95, 2, loc=np.mean(values), scale=stats.sem(values))
    assert found["interval"] == pytest.approx([max(low, 0), high]) and found["published"] == pytest.approx(0.554)


def test_the_interval_of_one_seed_is_wilsons():
    z, n, p = stats.norm.ppf(0.975), 50, 0.3
    center, half = p + z**2 / (2 * n), z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    expected = [(center - half) / (1 + z**2 / n), (center + half) / (1 + z**2 / n)]
    assert cell([p], n)["interval"] == pytest.approx(expected)
    low, high = cell([0.0], n)["interval"]
    assert low == 0 and high > 0.05


@pytest.mark.parametrize(
    ("better", "worse", "verdict"),
    [
        ([0.60, 0.61, 0.62], [0.20, 0.22, 0.21], "holds"),
        ([0.20, 0.22, 0.21], [0.60, 0.61, 0.62], "does not hold"),
        ([0.3, 0.5, 0.4], [0.4, 0.3, 0.5], "undecided"),
    ],
)
def test_a_claim_holds_where_the_interval_of_the_difference_lies_above_0(better, worse, verdict):
    found = claims([table(row("GENIUS", better, better), row("w/o L_cl", worse, worse))])
    assert [one["verdict"] for one in found] == [verdict]
    assert found[0]["difference"].startswith(f"{100 * np.mean(np.subtract(better, worse)):+.1f} [")


def test_what_helps_in_some_rows_is_tested_in_each_with_bonferronis_correction():
    """Of three columns one is clearly better, although the average is not."""
    better = [[0.60, 0.61, 0.62], [0.3, 0.2, 0.25], [0.3, 0.2, 0.25]]
    worse = [[0.40, 0.41, 0.42], [0.5, 0.4, 0.45], [0.5, 0.4, 0.45]]
    cells = [[cell(values, 100) for values in row] for row in (better, worse)]
    assert decided("better", *cells)[0] == "does not hold"
    assert decided("better somewhere", *cells) == ("holds", "+20.0 [+20.0, +20.0], best of 3 columns")
    assert decided("better somewhere", *(row[1:] for row in cells))[0] == "does not hold"
    assert decided("better somewhere", cells[0], cells[0])[0] == "undecided"


def test_the_best_of_many_columns_must_be_better_by_more_than_a_single_one():
    better, worse = ([cell([rate], 100)] for rate in (0.45, 0.30))
    assert decided("better somewhere", better, worse)[0] == "holds"
    equal = [cell([0.3], 100)] * 9
    assert decided("better somewhere", better + equal, worse + equal)[0] == "undecided"


def test_what_is_no_worse_holds_unless_the_other_is_significantly_better():
    level, above, below = ([cell([rate], 100)] for rate in (0.30, 0.35, 0.10))
    assert decided("no worse", level, above)[0] == decided("no worse", level, below)[0] == "holds"
    assert decided("no worse", below, above)[0] == "does not hold"


def test_a_claim_without_its_rows_is_left_out():
    assert claims([table(row("GENIUS", [0.5]))]) == []


def test_claims_are_of_one_decoder_each():
    ours = table(row("GENIUS", [0.5]), row("w/o L_mse", [0.4]), block="ours")
    assert [one["block"] for one in claims([ours])] == ["ours"]
    assert claims([table(row("GENIUS", [0.5])), table(row("w/o L_mse", [0.4]), block="ours")]) == []


def test_an_average_is_of_the_columns_of_each_seed():
    columns = [[0.2, 0.3, 0.4], [0.6, 0.5, 0.7]]
    found = average([cell(values, 90, figure) for values, figure in zip(columns, (40, 60), strict=True)])
    by_seed = np.mean(columns, axis=0)
    assert found["values"] == pytest.approx(by_seed) and found["published"] == pytest.approx(0.5)
    assert found["interval"] == pytest.approx(stats.t.interval(0.95, 2, np.mean(by_seed), stats.sem(by_seed)))
    assert average([cell([0.2], 90, 40), cell([0.4], 90)])["published"] is None


def test_the_difference_of_seeds_is_paired():
    better, worse = ([cell([0.1, 0.5, 0.9], 100)], [cell([0.0, 0.4, 0.8], 100)])
    mean, half = difference(better, worse)
    assert mean == pytest.approx(0.1) and half == pytest.approx(0, abs=1e-9)


def test_rows_with_other_numbers_of_seeds_are_compared_by_the_seed_that_both_have():
    """Three seeds that hardly differ do not make the interval of one narrower."""
    of_three, of_one = [cell([0.5, 0.501, 0.502], 90)], [cell([0.4], 90)]
    mean, half = difference(of_three, of_one)
    assert (mean, half) == pytest.approx(difference([cell([0.5], 90)], of_one))
    widths = [np.diff(cell([rate], 90)["interval"])[0] / 2 for rate in (0.5, 0.4)]
    assert half == pytest.approx(np.hypot(*widths)) and mean == pytest.approx(0.1)
    assert difference(of_one, of_three) == pytest.approx((-mean, half))


@pytest.mark.parametrize("run", ["photos", "demo"])
def test_the_shipped_reports_say_what_their_tables_say(run):
    report = json.loads((ASSETS / run / "reports" / "ablations.json").read_text())
    assert report["claims"] == claims(report["tables"])
    for table in report["tables"]:
        for row in table["blocks"][0]["rows"]:
            for one in filter(None, row["cells"]):
                assert one["interval"] == pytest.approx(cell(one["values"], one["queries"])["interval"])
            if "average" in row["extras"]:
                assert row["extras"].items() >= average_extras(row["cells"]).items()


def test_columns_of_the_same_queries_are_not_averaged_as_if_they_were_others():
    """Both pools of S4, and the three cuts of S7, are of the same queries."""
    chosen = {claim.text: claim.columns for claim in CLAIMS if claim.table in ("S4", "S7")}
    assert chosen["More beams help (C.3)"] == (0, 1, 2, 3, 4)
    assert {columns for text, columns in chosen.items() if "beams" not in text} == {(1,)}

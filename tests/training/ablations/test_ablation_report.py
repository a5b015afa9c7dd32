"""What the report says of first codes and of conditions."""

import numpy as np
import pytest

from training.ablations.ablation_report import build, first_code_extras, mutual_information
from training.ablations.cells import cell
from training.ablations.variants import CONDITIONS, TABLES


def test_first_codes_that_do_not_tell_pairs_from_texts_are_not_pure():
    """The counts of the shipped report on photographs."""
    counts = np.array([[0, 0, 20521], [38078, 1643, 33], [8424, 642, 1862]])
    extras = first_code_extras(counts)
    assert extras["purity of the first code"] == "84.6"  # (38078 + 1643 + 20521) / 71203
    assert extras["images, texts and pairs by first code"] == "0, 0, 20,521 / 38,078, 1,643, 33 / 8,424, 642, 1,862"


def test_many_codes_that_tell_nothing_are_purer_than_one_but_have_no_mutual_information():
    counts = np.random.default_rng(0).multinomial(60, np.full((3, 40), 1 / 120).ravel()).reshape(3, 40)
    assert mutual_information(counts) == pytest.approx(0, abs=0.1)
    assert mutual_information(np.diag([5, 7, 2])) == pytest.approx(1)
    extras = first_code_extras(counts)
    assert float(extras["purity of the first code"]) > 60
    assert extras["images, texts and pairs by first code"] == "–"


def column(rates: dict[str, tuple[float, int]]) -> dict:
    """What is measured of a column with these conditions: rate and queries of each."""
    searched = {
        name: {"global": {"30": {"beam": {"hit": {"5": rate}, "per_second": 1.0}}}}
        for name, (rate, _) in rates.items()
        if name != "swapped instruction"
    }
    if "swapped instruction" in rates:
        searched["swapped instruction"] = rates["swapped instruction"][0]
    return {
        "task": 0,
        "dataset": "drawn",
        "paper": [0, "mscoco"],
        "cut": 5,
        "queries": {name: queries for name, (_, queries) in rates.items()},
        "conditions": searched,
        "follows": 1.0,
    }


def test_the_interval_of_a_condition_is_of_the_queries_that_have_it():
    """One column lacks held-out phrasings, and for a part of its queries there is no other instruction."""
    result = {
        "columns": [
            column({"asked": (0.5, 90), "held-out phrasing": (0.4, 90), "swapped instruction": (0.8, 90)}),
            column({"asked": (0.3, 70), "swapped instruction": (0.6, 10)}),
        ]
    }
    (table,) = build([TABLES["R"]], lambda variant, block: [result])["tables"]
    asked, held_out, dropped, swapped, own = table["blocks"][0]["rows"][0]["cells"]
    assert asked == cell([0.4], 160) and held_out == cell([0.4], 90) and dropped is None
    assert swapped == cell([0.7], 100) and own == cell([1.0], 160)
    assert len(table["columns"]) == len(CONDITIONS) + 1

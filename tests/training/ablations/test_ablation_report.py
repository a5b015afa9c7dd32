"""What the report says of first codes."""

import numpy as np
import pytest

from training.ablations.ablation_report import first_code_extras, mutual_information


def test_first_codes_that_do_not_tell_pairs_from_texts_are_not_pure():
    """The counts of the shipped report on photographs."""
    counts = np.array([[0, 0, 20521], [38078, 1643, 33], [8424, 642, 1862]])
    extras = first_code_extras([counts])
    assert extras["purity of the first code"] == "84.6"  # (38078 + 1643 + 20521) / 71203
    assert extras["images, texts and pairs by first code"] == "0, 0, 20,521 / 38,078, 1,643, 33 / 8,424, 642, 1,862"


def test_many_codes_that_tell_nothing_are_purer_than_one_but_have_no_mutual_information():
    counts = np.random.default_rng(0).multinomial(60, np.full((3, 40), 1 / 120).ravel()).reshape(3, 40)
    assert mutual_information(counts) == pytest.approx(0, abs=0.1)
    assert mutual_information(np.diag([5, 7, 2])) == pytest.approx(1)
    extras = first_code_extras([counts])
    assert float(extras["purity of the first code"]) > 60
    assert extras["images, texts and pairs by first code"] == "–"

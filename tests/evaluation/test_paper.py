"""genius/evaluation/paper.py: the figures add up to the averages that the paper gives."""

from statistics import fmean

import pytest

from genius.evaluation.paper import TABLE_2, published


def test_averages_are_those_that_the_paper_prints():
    dense, *generated = (fmean(column) for column in zip(*TABLE_2.values(), strict=True))

    assert generated == pytest.approx([28.8, 38.3], abs=0.06)
    assert dense == pytest.approx(48.9, abs=0.2)     # its rows add up to 49.05
    assert len(TABLE_2) == 16


def test_a_counterpart_has_the_task_and_the_ending_of_the_name():
    assert published(7, "drawn_fashioniq").reranked == 19.2
    assert published(0, "drawn_fashioniq") is None and published(0, "shapes") is None

import numpy as np
import pytest

from genius.metrics.code_health import (
    bucket_histogram,
    format_health,
    level_usage,
    purity,
    table_health,
)
from genius.trie.ids import IDTable

CODES = np.array([[0, 0, 1], [0, 0, 1], [0, 1, 0], [1, 2, 0], [1, 2, 3], [2, 2, 3]])


def code_health(codes, modalities, code_sizes):
    return table_health(IDTable.build(codes, code_sizes), modalities)


def test_each_level_has_its_usage_and_perplexity():
    health = code_health(CODES, np.array([0, 0, 0, 1, 1, 2]), (3, 4, 5))
    assert [level["used"] for level in health["levels"]] == [3, 3, 3]
    assert [level["codes"] for level in health["levels"]] == [3, 4, 5]
    shares = np.array([2, 1, 3]) / 6
    assert health["levels"][1]["perplexity"] == pytest.approx(
        np.exp(-(shares * np.log(shares)).sum())
    )


def test_buckets_are_the_items_that_share_an_id():
    health = code_health(CODES, np.array([0, 0, 0, 1, 1, 2]), (3, 4, 5))
    assert (health["ids"], health["largest_bucket"]) == (5, 2)
    assert health["items_alone"] == pytest.approx(4 / 6)
    assert health["mean_bucket_of_an_item"] == pytest.approx((2 + 2 + 1 + 1 + 1 + 1) / 6)


def test_purity_is_the_share_of_items_of_the_most_common_modality_of_their_first_code():
    for third, expected in ((0, 1.0), (1, 5 / 6)):
        health = code_health(CODES, np.array([0, 0, third, 1, 1, 2]), (3, 4, 5))
        assert health["modality_purity"] == pytest.approx(expected)


def test_a_code_that_all_modalities_share_is_as_pure_as_its_most_common_one():
    modalities = np.array([0, 0, 0, 1, 2, 2])
    health = code_health(np.zeros((6, 2), int), modalities, (3, 4))
    assert health["modality_purity"] == pytest.approx(3 / 6)
    assert health["levels"][0]["perplexity"] == 1.0
    assert purity(np.array([[2, 3, 0], [0, 0, 4]])) == 1.0  # a modality may have several codes


def test_the_text_has_a_line_for_every_level():
    lines = format_health(code_health(CODES, np.zeros(6, int), (3, 4, 5))).splitlines()
    assert len(lines) == 4 and "3 of 4 codes used" in lines[1] and "5 IDs for 6 items" in lines[3]


def test_health_does_not_depend_on_the_order_of_the_items():
    modalities = np.array([0, 0, 1, 1, 1, 2])
    order = np.array([5, 2, 0, 3, 1, 4])
    assert table_health(IDTable.build(CODES[order], (3, 4, 5), order), modalities) == code_health(
        CODES, modalities, (3, 4, 5)
    )


def test_the_bucket_histogram_counts_ids():
    assert bucket_histogram(IDTable.build(CODES, (3, 4, 5))) == [(1, 4), (2, 1)]


def test_a_level_without_items_uses_no_code():
    assert level_usage(np.zeros(4, int))["used"] == 0

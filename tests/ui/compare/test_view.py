"""The Compare tab over a tiny run of real models, and its panel's data."""

from dataclasses import replace

import numpy as np
import pytest

from genius.explore.comparison import FLAT, SYSTEMS, SystemResults, rank_agreement
from genius.schema import Item, Modality
from genius.ui.compare.callbacks import comparison_view

ITEMS = {
    1: Item("0:1", Modality.IMAGE, image="1.png"),
    5: Item("0:5", Modality.TEXT, "A boat."),
    8: Item("1:8", Modality.PAIR, "A tree.", "8.png"),
}


def found(at: int, rows: list[int], **milliseconds: float) -> SystemResults:
    return SystemResults(SYSTEMS[at], np.array(rows), np.linspace(0.5, -0.5, len(rows)), milliseconds)


@pytest.fixture
def shown():
    by_system = [found(0, [5, 1], beam=8, expand=1), found(2, [1], beam=3.5), found(4, [1, 8], search=4.5)]
    agreement = rank_agreement(by_system)
    items = [ITEMS[row] for row in agreement.rows.tolist()]
    return comparison_view(
        "“boat”", {"encode": 38.2, "fuse": 1.06}, by_system, agreement, items, [b"one", None, b"eight"]
    )


def test_the_sentence_counts_what_all_found_and_what_only_one_did(shown):
    assert shown["sentence"] == "For “boat”, the 3 ways found 3 different items: 1 by all of them, 2 by only one."


def test_encoding_is_told_apart(shown):
    assert "encode 38 ms, fuse 1.1 ms" in shown["encoding"]


def test_each_system_has_its_time_by_stage_and_its_share_of_the_slowest(shown):
    first, _second, third = shown["systems"]
    assert first["stages"] == "beam search 8.0 ms, expand buckets 1.0 ms"
    assert (first["time"], first["share"]) == ("9.0 ms", 1)
    assert third["name"] == FLAT.name and third["share"] == pytest.approx(0.5)
    assert [system["only"] for system in shown["systems"]] == [1, 0, 1]


@pytest.mark.parametrize(("weight", "end"), [(None, "exact."), (0.25, "exact. Decoder weight 0.25.")])
def test_a_beam_search_says_the_weight_of_the_decoder(weight, end):
    by_system = [replace(found(4, [1]), weight=weight)]
    one = comparison_view("x", {}, by_system, rank_agreement(by_system), [ITEMS[1]], [None])
    assert one["systems"][0]["how"].endswith(end)


def test_pairs_say_overlap_and_shift_and_a_system_is_not_compared_with_itself(shown):
    assert shown["agreement"][0][0] is None
    assert shown["agreement"][0][1] == {"share": 0.5, "overlap": "50 %", "shift": "±1.0"}


def test_without_common_items_there_is_no_shift():
    by_system = [found(0, [1]), found(4, [5])]
    one = comparison_view("x", {}, by_system, rank_agreement(by_system), [ITEMS[1], ITEMS[5]], [None, None])
    assert one["agreement"][0][1] == {"share": 0, "overlap": "0 %", "shift": "–"}


def test_columns_name_items_by_place_and_items_their_ranks(shown):
    assert shown["reference"] == 2
    assert [[entry["item"] for entry in column] for column in shown["columns"]] == [[1, 0], [0], [0, 2]]
    assert [item["ranks"] for item in shown["items"]] == [[2, 1, 1], [1, 0, 0], [0, 0, 2]]
    assert [item["id"] for item in shown["items"]] == ["0:1", "0:5", "1:8"]
    assert shown["items"][0]["picture"].startswith("data:image/webp;base64,") and shown["items"][1]["picture"] is None
    assert shown["columns"][0][1]["cosine"] == "\N{MINUS SIGN}0.500"

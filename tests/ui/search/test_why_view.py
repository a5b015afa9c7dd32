from dataclasses import replace

import numpy as np
import pytest

from genius.explore.beam_tree import beam_tree
from genius.explore.explanation import explain
from genius.schema import RANKER_PARTS, Hit, Item, LevelTrace, Modality, SearchTrace
from genius.ui.search.why import PART_NAMES, explanation, logarithm, ordinal, prefixes, rank_change, sentences

NAMES = ("Image", "Text", "Pair")


def level(parent, code, step, kept, items, masked) -> LevelTrace:
    step = np.log(step)
    return LevelTrace(
        np.array(parent),
        np.array(code),
        step,
        step - 1,
        np.array(kept, dtype=bool),
        np.array(items),
        np.log(1 - np.array(masked)),
    )


@pytest.fixture
def tree():
    """Of two levels and two beams: 2.7 and 2.9 are found, 0.4 is dropped."""
    return beam_tree(
        SearchTrace(
            [
                level([0, 0], [2, 0], [0.7, 0.2], [True, True], [4, 9], [0.25]),
                level([0, 0, 1], [7, 9, 4], [0.9, 0.05, 0.01], [True, True, False], [3, 1, 9], [0.05, 0.5]),
            ]
        )
    )


def why(tree, codes, rank=1, generated_rank=5, dense_rank=42):
    hit = Hit(8, Item("3:8", Modality.PAIR, "a cup"), codes, rank, generated_rank, -1.0, 0.3124)
    return explain(hit, tree, 12_663, dense_rank)


def test_the_sentences_of_another_beam_than_the_best(tree):
    assert " ".join(sentences(why(tree, (2, 9)), tree, 2, True)) == (
        "Its ID is number 2 of the 2 that the search wrote (score −4.00, log p −3.35). Its ID shares the first of "
        "2 codes with the best one. No other item has this ID. Re-ranking by similarity moved it from rank 5 to 1 "
        "(similarity 0.312). Dense search, which compares the query with all 12,663 items, would rank it 42nd."
    )


def test_what_the_ranker_weighed_is_told_for_each_of_its_parts(tree):
    assert explanation(why(tree, (2, 9)), tree, (2, 3), 2, True, "set", NAMES)["shares"] == []
    shares = (0.5, -1.0, 0.004, 0.0, -0.25, 0.125)
    reason = why(tree, (2, 9))
    reason = replace(reason, hit=replace(reason.hit, shares=shares))

    told = explanation(reason, tree, (2, 3), 2, True, "set", NAMES)

    assert len(PART_NAMES) == len(RANKER_PARTS)
    assert [row["name"] for row in told["shares"]] == [*PART_NAMES, "Kind of item"]
    assert [row["share"] for row in told["shares"]] == ["+0.50", "−1.00", "0.00", "0.00", "−0.25", "+0.12"]
    assert [row["bar"] for row in told["shares"]] == [0.5, -1.0, 0.004, 0.0, -0.25, 0.125]
    assert told["sentences"][1].startswith("The ranker moved it from rank 5 to 1 (similarity 0.312).")


def test_the_sentences_of_the_best_beam(tree):
    assert " ".join(sentences(why(tree, (2, 7), dense_rank=1), tree, 2, False)) == (
        "Its ID is number 1 of the 2 that the search wrote (score −1.11, log p −0.46). 3 items have exactly this ID. "
        "Without re-ranking it is 1st. Dense search, which compares the query with all 12,663 items, would rank it 1st."
    )


@pytest.mark.parametrize("codes, followed", [((0, 4), 2), ((0, 5), 1), ((1, 5), 0)])
def test_the_sentences_of_an_id_that_was_not_generated(tree, codes, followed):
    told = " ".join(sentences(why(tree, codes), tree, 2, True))
    assert told.startswith(
        f"The search, which follows 2 IDs at once, followed this one for {followed} of its 2 codes and then dropped it."
    )


def test_three_ids_stand_together_and_what_they_share_is_marked(tree):
    told = explanation(why(tree, (2, 9)), tree, (2, 3), 2, True, "set", NAMES)
    assert [(row["codes"], row["shared"], row["opens"]) for row in told["ids"]] == [
        ([2, 9], 1, True),
        ([2, 7], 1, True),
        ([2, 3], 1, False),
    ]
    assert told["flags"] == ["42nd by dense search"] and "stopped as soon as they were certain" in told["note"]
    assert {row["name"]: row["figures"] for row in told["steps"]} == {
        "Probability of the code": ["70 %", "5.0 %"],
        "log p so far": ["−0.36", "−3.35"],
        "Rank at its level": ["1", "2"],
        "Items with this beginning": ["4", "1"],
        "Ruled out (masked)": ["25 %", "5.0 %"],
    }
    assert explanation(why(tree, (2, 7)), tree, (2, 3), 2, True, "exact", NAMES)["flags"] == [
        "the best generated ID",
        "shares its ID with 2 others",
        "42nd by dense search",
    ]


def test_the_table_has_a_row_for_each_prefix(tree):
    rows = prefixes(tree)["rows"]
    assert [row["codes"] for row in rows] == [[2], [0], [2, 7], [2, 9], [0, 4]]
    assert rows[3] == {
        "codes": [2, 9],
        "shared": 2,
        "level": 1,
        "place": 2,
        "fate": "leads to a generated ID",
        "step": "5.0 %",
        "log_prob": "−3.35",
        "items": "1",
    }
    fates = [row["fate"] for row in rows if not row["shared"]]
    assert fates == ["followed, but leads to none", "considered and dropped"]


@pytest.mark.parametrize(
    "rank, words",
    [
        (1, "1st"),
        (2, "2nd"),
        (3, "3rd"),
        (4, "4th"),
        (11, "11th"),
        (112, "112th"),
        (21, "21st"),
        (1013, "1,013th"),
        (12_345_672, "12,345,672nd"),
    ],
)
def test_ranks_are_said_as_ordinals(rank, words):
    assert ordinal(rank) == words


def test_movement_is_said_in_words():
    assert (rank_change(3, 3), rank_change(3, 1)) == ("left it at rank 3", "moved it from rank 3 to 1")


def test_what_rounds_to_none_has_no_sign():
    assert [logarithm(value) for value in (-0.0004, 0, -0.006, -3.348)] == ["0.00", "0.00", "−0.01", "−3.35"]


def test_an_estimated_dense_rank_is_marked_as_one(tree):
    large = replace(why(tree, (2, 9)), items=5_600_000)
    assert sentences(large, tree, 2, True)[-1].endswith(
        "compares the query with all 5,600,000 items, would rank it about 42nd."
    )
    assert explanation(large, tree, (2, 3), 2, True, "set", NAMES)["flags"] == ["about 42nd by dense search"]

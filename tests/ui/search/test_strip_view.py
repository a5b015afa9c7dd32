from dataclasses import replace

from genius.explore.narrowing import CodeChoice, CodeStep, Narrowing
from genius.schema import Hit, Item, Modality
from genius.ui.search import strip as strip_view

STEPS = (
    CodeStep(CodeChoice(2, 0.98, 40), (CodeChoice(0, 0.02, 60),), 0.5, False, (1, 2, 3)),
    CodeStep(CodeChoice(17, 0.3, 2), (CodeChoice(5, 0.6, 9), CodeChoice(6, None, 1)), 0.0, False, (1, 2)),
    CodeStep(CodeChoice(9, 1.0, 2), (), 0.999, True, (1, 2)),
    CodeStep(CodeChoice(4, None, 2), (), None, True, (1, 2)),
)
FOUND = Narrowing(100, (0, 1, 2, 3), STEPS, 1)
ITEMS = {row: (Item(f"3:{row}", Modality.PAIR, "a cup " * 90), b"webp") for row in range(4)}


def drawn(found=FOUND, forced=True, levels=4, **more):
    return strip_view.strip(found, ITEMS, forced, levels=levels, **more)


def hit(rank, codes):
    return Hit(1, ITEMS[1][0], codes, rank, 1, -1.0, 0.5)


def test_the_columns_tell_code_probability_and_items():
    start, first, second, third, fourth = drawn()["columns"]
    assert (start["head"], start["code"], start["items"], start["rows"]) == ("Start", None, "100", [0, 1, 2, 3])
    assert (first["head"], second["head"], third["head"], fourth["head"]) == ("Modality", "Level 1", "2", "3")
    assert first["code"] == {
        "level": 0,
        "code": 2,
        "prefix": "2",
        "name": "Pair",
        "probability": "98 %",
        "items": "40 items",
    }
    assert [other["prefix"] for other in second["others"]] == ["2.5", "2.6"]
    assert [(other["code"], other["probability"], other["items"]) for other in second["others"]] == [
        (5, "60 %", "9 items"),
        (6, None, "1 item"),
    ]
    assert second["masked"] == "0 %" and third["masked"] == ">99 %" and fourth["masked"] is None
    assert [column["settled"] for column in drawn()["columns"]] == [False, False, False, True, True]
    assert start["share"] == 1 > first["share"] > second["share"] == fourth["share"] > 0


def test_a_code_is_not_called_certain_while_another_is_possible():
    one, other = CodeChoice(2, 1.0, 40), CodeChoice(0, 1e-9, 60)
    for others, told in (((other,), ">99 %"), ((), "100 %")):
        found = Narrowing(100, (0,), (CodeStep(one, others, 0.0, False, (1,)),), 1)
        assert drawn(found)["columns"][1]["code"]["probability"] == told


def test_an_emergent_first_code_has_no_modality():
    column = drawn(forced=False)["columns"][1]
    assert (column["head"], column["code"]["name"]) == ("Level 0", "")


def test_the_sentence_counts_down_to_the_result():
    assert drawn(hits=[hit(3, (2, 17, 9, 4))])["sentence"] == (
        "The search wrote an ID of 4 codes, one at a time. Items still possible, code by code: 100 → 40 → 2. "
        "The best of them is result 3."
    )
    alone = Narrowing(5, (), (CodeStep(CodeChoice(1, 1.0, 1), (), 0.0, False, (1,)),), 8)
    assert strip_view.sentence(alone, [hit(1, (1,))], 1) == (
        "The search wrote an ID of 1 code, one at a time. Items still possible, code by code: 5 → 1. "
        "That item is result 1. Its ID was number 8 of those that the search kept."
    )

    chosen = replace(alone, place=None)  # in mode fast, from a shortlist
    assert strip_view.sentence(chosen, [hit(1, (1,))], 9) == (
        "The search wrote the first codes of this ID of 9, and chose among the items whose IDs start with them. "
        "Items still possible, code by code: 5 → 1. That item is result 1."
    )


def test_the_end_says_that_the_last_codes_are_certain():
    assert drawn()["ending"] == {
        "rows": [1, 2],
        "note": "One ID is left, so its last 2 codes are certain. 2 items have it.",
    }


def test_an_open_end_is_told():
    assert "stopped here" in " ".join(drawn(levels=5)["meaning"])
    assert "stopped here" not in " ".join(drawn()["meaning"])


def test_a_what_if_names_both_codes():
    told = drawn(replaced=(1, 5), play=3)
    assert told["sentence"] == (
        "With 17 in place of 5 at level 1, the search goes on from there by itself: 100 → 40 → 2."
    )
    assert told["branched"] and told["play"] == 3
    assert "With Pair in place of Text" in drawn(replaced=(0, 1))["sentence"]


def test_long_texts_are_cut_and_pictures_are_inline():
    item = drawn()["items"]["1"]
    assert len(item["text"]) <= 201 and item["picture"].startswith("data:image/webp;base64,")


def test_another_code_has_a_typical_item_if_one_is_known():
    second = drawn(typical={(2, 5): 3})["columns"][2]
    assert [other["row"] for other in second["others"]] == [3, None]

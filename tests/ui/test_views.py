"""What panels are given to draw: each view once, compared with what it was (golden.py), and what
must hold for any.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from genius.examples import Example, TargetedInstruction
from genius.explore.beam_tree import beam_tree, explain
from genius.explore.comparison import SYSTEMS, SystemResults, rank_agreement
from genius.explore.narrowing import BeamRank, CodeChoice, CodeStep, Narrowing
from genius.index.check import Buckets, Dataset, DriftReport
from genius.index.layout import IndexConfig
from genius.index.update import Removed
from genius.schema import (
    GeneratedID,
    Hit,
    Item,
    LevelTrace,
    Modality,
    Query,
    Reading,
    SearchOptions,
    SearchResult,
)
from genius.ui.collection import view as collection_view
from genius.ui.common.context import LastQuery
from genius.ui.common.formatting import number, ordinal
from genius.ui.compare import comparison_view
from genius.ui.search import strip as strip_view
from genius.ui.search import view, why
from genius.ui.search.searches import SearchRequest
from tests.ui.golden import check_golden

# Search

HITS = [
    Hit(
        9,
        Item("5:9", Modality.PAIR, "a mug", "mug.jpg"),
        (0, 4, 1),
        1,
        3,
        0.3149,
        (-0.5, -1.5, -2.256),
    ),
    Hit(2, Item("5:2", Modality.TEXT, "a cup"), (1, 4, 7), 2, 1, -0.02, (-0.5,) * 3),
]
GENERATED = [
    GeneratedID((1, 4, 7), -1.5, -2.5, 3, 1),
    GeneratedID((0, 4, 1), -4.256, -6.0, 3, 1200),
]
EXAMPLE = Example(
    "Changed",
    "in blue",
    Image.new("RGB", (600, 300), "teal"),
    (
        TargetedInstruction("Find it.", Modality.IMAGE),
        TargetedInstruction("Find its page.", Modality.PAIR),
    ),
)


READ = Reading(
    "photo", {"photo": 0.9, "entry": 0.05, "page": 0.04, "paraphrase": 0.01}, "a street", "cars"
)


def result(**changes) -> SearchResult:
    fields = {
        "hits": HITS,
        "generated": GENERATED,
        "embedding": np.ones(4),
        "z": np.ones(4),
        # numbers of numpy become plain ones
        "query_codes": tuple(np.array([0, 4, 7], dtype=np.uint16)),
        "candidates": 1201,
        "first_code_probabilities": np.array([0.3, 0.45, 0.25]),
        "milliseconds": {"rerank": 0.04, "encode": 30.0, "beam": 1200.0},
    }
    return SearchResult(**{**fields, **changes})


def asked(*query, **fields) -> SearchRequest:
    return SearchRequest([Query(*query)], **fields)


def answer(modality=None, weight=1.0, instruction="", **changes) -> LastQuery:
    query = Query("mug", None, instruction)
    options = SearchOptions(modality=modality, decoder_weight=weight)
    return LastQuery("“mug”", query, options, result(**changes), "index-0")


def summary(request=None, modality=None, forced=True, weight=1.0, **changes):
    return view.summary(
        answer(modality, weight, **changes), request or asked("mug"), forced, items=9561
    )


def test_versions_of_a_result_are_counted_by_kind():
    items = [Item(f"0:{kind}", kind, "") for kind in (Modality.PAIR, Modality.TEXT, Modality.TEXT)]
    assert view.versions_view(items) == "also as a pair · 2 captions"
    assert view.versions_view(items[:1]) == "also as a pair" and view.versions_view([]) == ""


def test_the_panels_of_a_search():
    source = json.dumps({"credit": "Ada Example", "licence": "CC BY 2.0"})
    like = asked(
        "",
        Image.new("RGB", (2, 2)),
        "Find a caption.",
        item=Item("9:1", Modality.TEXT, "mug", source=source),
    )
    check_golden(
        "search",
        {
            "summary": summary(asked("red mug", Image.new("RGB", (2, 2))), weight=0.25),
            "like an item": summary(like, Modality.PAIR, weight=1.0),
            "emerged": summary(None, None, False)["aim"],
            "several": view.summaries([result(), result()], EXAMPLE),
            "column": view.column(answer(instruction="Find."), True),
            "nothing": view.column(answer(generated=[], hits=[]), True),
            "cards": view.cards(result(order="score"), query_row=2),
            "generated": view.generated(answer(weight=0.25)),
            "read": summary(reading=READ)["reading"],
            "example": view.example_card(EXAMPLE, 3),
        },
    )


def test_no_code_is_certain_while_another_is_possible_and_a_missing_kind_has_no_probability():
    rounded = view.first_codes(result(first_code_probabilities=np.array([1, 1e-9, 0], np.float32)))
    assert [target["probability"] for target in rounded] == [">99 %", "<0.01 %"]
    assert (
        view.first_codes(result(first_code_probabilities=np.array([0, 1, 0], np.float32)))[0][
            "share"
        ]
        == 1
    )
    likely, other = CodeChoice(2, 1.0, 40), CodeChoice(0, 1e-9, 60)
    for others, told in (((other,), ">99 %"), ((), "100 %")):
        narrowed = Narrowing(100, (0,), (CodeStep(likely, others, 0.0, False, (1,)),), 1, ())
        assert drawn_strip(narrowed)["columns"][1]["code"]["probability"] == told


def test_the_chosen_first_code_is_that_of_the_best_id_and_none_where_no_id_was_generated():
    shown = view.first_codes(result(first_code_probabilities=np.array([0.5, 0.45, 0.05])))
    assert [target["name"] for target in shown if target["chosen"]] == ["Text"]
    assert not any(target["chosen"] for target in view.first_codes(result(generated=[], hits=[])))


def test_a_long_query_is_cut_and_a_word_says_how_well_results_match():
    assert len(summary(asked("word " * 100))["sentence"]) < 160
    assert [summary(match=word)["match"] for word in ("good", "")] == ["good match", ""]


# Strip

STEPS = (
    CodeStep(CodeChoice(2, 0.98, 40), (CodeChoice(0, 0.02, 60),), 0.5, False, (1, 2, 3)),
    CodeStep(
        CodeChoice(17, 0.3, 2), (CodeChoice(5, 0.6, 9), CodeChoice(6, 0.1, 1)), 0.0, False, (1, 2)
    ),
    CodeStep(CodeChoice(9, 1.0, 2), (), 0.999, True, (1, 2)),
    CodeStep(CodeChoice(4, 1.0, 2), (), 0.9, True, (1, 2)),
)
NARROWED = Narrowing(
    100, (0, 1, 2, 3), STEPS, 1, tuple(BeamRank(rank, 50) for rank in (1, 3, 2, 1))
)
ITEMS = {row: Item(f"3:{row}", Modality.PAIR, "a cup " * 90, "cup.jpg") for row in range(4)}


def drawn_strip(narrowed=NARROWED, forced=True, levels=4, items=ITEMS, **more):
    return strip_view.strip(narrowed, items, forced, levels=levels, **more)


def test_the_strip():
    hits = [Hit(1, ITEMS[1], (2, 17, 9, 4), 3, 1, 0.5, (-0.25,) * 4)]
    check_golden("strip", drawn_strip(hits=hits, typical={(2, 5): 3}))
    what_if = drawn_strip(replaced=(1, 5))
    assert (
        what_if["branched"]
        and what_if["play"] == 3
        and all(code in what_if["sentence"] for code in ("17", "5"))
    )
    emerged = drawn_strip(forced=False)["columns"][1]
    assert (emerged["head"], emerged["code"]["name"]) == ("Level 0", "")


def test_the_sentence_of_the_strip_counts_down_to_the_result():
    alone = Narrowing(5, (), (CodeStep(CodeChoice(1, 1.0, 1), (), 0.0, False, (1,)),), 8, ())
    for place, last, told in (
        (8, BeamRank(8, 50), "kept it to the end, as number 8"),
        (None, BeamRank(71, 50), "would have dropped it at level 1: rank 71 of 50"),
        (None, BeamRank(None, 50), "would have dropped it at level 1: beyond the 50"),
        (None, None, "The scan found this ID"),
    ):
        narrowed = replace(alone, place=place, ranks=(BeamRank(2, 3), last) if last else ())
        sentence = strip_view.sentence(narrowed, [replace(HITS[0], codes=(1,))], 9)
        assert "5 → 1" in sentence and "result 1" in sentence and told in sentence


# Why

NAMES = ("Image", "Text", "Pair")


def level(parent, code, step, kept, items, masked) -> LevelTrace:
    step = np.log(step)
    kept = np.array(kept, dtype=bool)
    return LevelTrace(
        np.array(parent),
        np.array(code),
        step,
        step - 1,
        kept,
        np.array(items),
        np.log(1 - np.array(masked)),
    )


TRACE = [  # of two levels and two beams: 2.7 and 2.9 are found, 0.4 is dropped
    level([0, 0], [2, 0], [0.7, 0.2], [True, True], [4, 9], [0.25]),
    level([0, 0, 1], [7, 9, 4], [0.9, 0.05, 0.01], [True, True, False], [3, 1, 9], [0.05, 0.5]),
]
TREE = beam_tree(TRACE)


def reason_for(codes, dense_rank=42, **changes):
    hit = Hit(8, Item("3:8", Modality.PAIR, "a cup"), codes, 1, 5, 0.3124, (-0.25, -0.75))
    return explain(replace(hit, **changes), TREE, 12_663, dense_rank)


def explained(reason, order="cosine"):
    return why.explanation(
        reason, TREE, 2, result(query_codes=(2, 3), order=order, trace=TRACE), NAMES
    )


def test_why():
    check_golden(
        "why",
        {
            "another beam than the best": explained(reason_for((2, 9))),
            "the best beam": explained(reason_for((2, 7), dense_rank=1), "score"),
            "by fused features": explained(reason_for((2, 9), fused=0.8125)),
            "not generated": [explained(reason_for(codes)) for codes in ((0, 4), (0, 5), (1, 5))],
            "of a large index": explained(replace(reason_for((2, 9)), items=5_600_000)),
            "every prefix": why.prefixes(TREE),
        },
    )


def test_ranks_are_said_as_ordinals_and_movements():
    ranks = (1, 2, 3, 4, 11, 112, 21, 1013, 12_345_672)
    ordinals = ["1st", "2nd", "3rd", "4th", "11th", "112th", "21st", "1,013th", "12,345,672nd"]
    assert [ordinal(rank) for rank in ranks] == ordinals
    assert (why.rank_change(3, 3), why.rank_change(3, 1)) == (
        "left it at rank 3",
        "moved it from rank 3 to 1",
    )
    assert [number(value, 2) for value in (-0.0004, 0, -0.006, -3.348)] == [
        "0.00",
        "0.00",
        "−0.01",
        "−3.35",
    ]


# Collection

CONTENTS = (
    IndexConfig(1_002, 8, (3,), (1_000, 2), 1_000),
    [Dataset(3, [1_000, 0, 0], 0), Dataset(9, [0, 0, 2], 2)],
)
GROWN = DriftReport(1_000, 100, 0.25, 0.5, 30, {}, Buckets(1.0, 1), Buckets(1.5, 4))


def test_the_panels_of_the_collection():
    one = IndexConfig(5, 8, (3,), (5,), 5), [Dataset(None, [5, 0, 0], 0)]
    unknown = DriftReport(0, 3, None, None, 0, {}, None, Buckets(1.0, 1))
    check_golden(
        "collection",
        {
            "contents": collection_view.contents_view(*CONTENTS, 3 * 2**20, {3: "photos"}),
            "one dataset": collection_view.contents_view(*one, 2**20, {}),
            "drift": collection_view.drift_view(GROWN),
            "no known errors": collection_view.drift_view(unknown),
            "verdict": [
                collection_view.verdict(GROWN, advice) for advice in ([], ["Train again."])
            ],
            "removed": collection_view.remove_outcome(
                Removed(2, ("x" * 500, *(f"5:{n}" for n in range(12))))
            ),
            "commands": collection_view.read_only(Path("runs/my-run")),
        },
    )
    assert all(
        " my-run" in command
        for command in collection_view.read_only(Path("/elsewhere/my-run"))["commands"]
    )


# Compare


def answers_of(at: int, rows: list[int], weight=None, **milliseconds: float) -> SystemResults:
    return SystemResults(
        SYSTEMS[at], np.array(rows), np.linspace(0.5, -0.5, len(rows)), milliseconds, weight
    )


def test_the_panel_of_compare():
    by_system = [
        answers_of(0, [5, 1], 0.25, beam=8, expand=1),
        answers_of(2, [1], beam=3.5),
        answers_of(4, [1, 8], search=4.5),
    ]
    agreement = rank_agreement(by_system)
    items = [Item("0:1", Modality.IMAGE, image="1.png"), Item("0:5", Modality.TEXT, "A boat.")]
    items.append(Item("1:8", Modality.PAIR, "A tree.", "8.png"))
    check_golden(
        "compare",
        comparison_view("“boat”", {"encode": 38.2, "fuse": 1.06}, by_system, agreement, items),
    )
    apart = [answers_of(0, [1]), answers_of(4, [5])]
    shown = comparison_view("x", {}, apart, rank_agreement(apart), items[:2])
    assert shown["agreement"][0][1] == {"share": 0, "overlap": "0 %", "shift": "–"}

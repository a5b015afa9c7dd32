import base64
import json
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from genius.collections.images import open_image
from genius.examples import Example, TargetedInstruction
from genius.schema import GeneratedID, Hit, Item, Modality, Query, SearchOptions, SearchResult
from genius.ui.search import view
from genius.ui.search.history import SearchRequest

OWN = (0, 4, 7)


def result(**changes):
    hits = [
        Hit(
            row=9,
            item=Item("5:9", Modality.PAIR, "a mug", "mug.jpg"),
            codes=(0, 4, 1),
            rank=1,
            generated_rank=3,
            score=-4.256,
            cosine=0.3149,
        ),
        Hit(
            row=2,
            item=Item("5:2", Modality.TEXT, "a cup"),
            codes=(1, 4, 7),
            rank=2,
            generated_rank=1,
            score=-1.5,
            cosine=-0.02,
        ),
    ]
    generated = [GeneratedID((1, 4, 7), -1.5, -2.5, 3, 1), GeneratedID((0, 4, 1), -4.256, -6.0, 3, 1200)]
    fields = {
        "hits": hits,
        "generated": generated,
        "embedding": np.ones(4),
        "z": np.ones(4),
        "query_codes": OWN,
        "candidates": 1201,
        "first_code_probabilities": np.array([0.3, 0.45, 0.25]),
        "milliseconds": {"rerank": 0.04, "encode": 30.0, "beam": 1200.0},
    }
    return SearchResult(**{**fields, **changes})


def asked(*query) -> SearchRequest:
    return SearchRequest([Query(*query)])


def test_the_target_is_the_first_code_of_the_best_id_even_when_another_is_more_probable():
    probabilities = np.array([0.5, 0.45, 0.05])
    shown = view.first_codes(result(first_code_probabilities=probabilities))
    assert [(target["name"], target["probability"]) for target in shown] == [
        ("Image", "50 %"),
        ("Text", "45 %"),
        ("Pair", "5.0 %"),
    ]
    assert [target["name"] for target in shown if target["chosen"]] == ["Text"]


def test_a_code_is_not_called_certain_while_another_is_possible():
    rounded = view.first_codes(result(first_code_probabilities=np.array([1, 1e-9, 0], np.float32)))
    assert [target["probability"] for target in rounded] == [">99 %", "<0.01 %", "0 %"]
    alone = view.first_codes(result(first_code_probabilities=np.array([0, 1, 0], np.float32)))
    assert alone[0]["probability"] == "100 %"


def test_a_first_code_that_emerged_is_not_called_a_modality():
    aim = view.summary(result(), asked("mug"), forced=False)["aim"]
    assert aim["label"] == "First code"
    assert [target["name"] for target in aim["targets"]] == ["1", "0", "2"]


@pytest.mark.parametrize(
    "only, words", [(None, ""), (Modality.PAIR, "Only pairs were searched; the probabilities are those for any kind.")]
)
def test_a_modality_that_the_visitor_chose_is_named_next_to_the_probabilities(only, words):
    assert view.summary(result(), asked("mug"), only)["aim"]["only"] == words
    column = view.column(result(), Query("mug"), SearchOptions(modality=only), [None] * 2, True)
    assert column["aim"]["only"] == words


def test_no_modality_is_the_target_when_no_id_was_generated():
    assert not any(target["chosen"] for target in view.first_codes(result(generated=[], hits=[])))


def test_the_summary_says_what_was_asked_how_much_was_found_and_how_long_it_took():
    shown = view.summary(result(ranking="cosine"), asked("red mug", Image.new("RGB", (2, 2))), items=9561)
    assert shown["sentence"] == (
        "2 results for “red mug” and the picture, in 1.2 s. 1,201 of 9,561 items were compared closely."
    )
    assert [(stage["name"], stage["time"]) for stage in shown["stages"]] == [
        ("encode", "30 ms"),
        ("beam search", "1.2 s"),
        ("re-rank", "0.0 ms"),
    ]
    assert sum(stage["share"] for stage in shown["stages"]) == pytest.approx(1)


@pytest.mark.parametrize(
    ("weight", "told"),
    [
        (1.0, "IDs by the decoder alone, which predicts code after code."),
        (
            0.25,
            "IDs by the decoder, which predicts codes (weight 0.25), and closeness to the codes’ vectors (geometry).",
        ),
        (0, "IDs by closeness to the codes’ vectors (geometry), alone."),
        (None, ""),
    ],
)
def test_the_summary_says_by_what_the_ids_were_generated(weight, told):
    assert view.summary(result(), asked("mug"), weight=weight)["weighed"] == told


def test_the_summary_names_an_instruction_only_if_the_page_added_it():
    request = asked("", Image.new("RGB", (2, 2)), "Find a caption.")
    assert view.summary(result(), replace(request, adds_instruction=True))["added"] == "Find a caption."
    assert view.summary(result(), request)["added"] == ""


def test_the_summary_has_the_credit_of_the_item_that_is_the_query():
    credit = {"credit": "Ada Example", "licence": "CC BY 2.0"}
    like = replace(asked("mug"), item=Item("9:1", Modality.TEXT, "mug", source=json.dumps(credit)))
    assert view.summary(result(), like)["provenance"] == credit
    assert view.summary(result(), asked("mug"))["provenance"] is None


def test_a_long_query_is_cut_and_one_thing_is_singular():
    shown = view.summary(result(ranking="ranker", candidates=1, milliseconds={}), asked("word " * 100), items=1)
    assert shown["sentence"].endswith("…”, in 0.0 ms. 1 of 1 item was compared closely.")
    assert len(shown["sentence"]) < 130


def test_without_re_ranking_no_item_is_said_to_be_compared():
    assert view.summary(result(), asked("mug"), items=9)["sentence"].endswith(
        " They are ordered by the scores of their IDs."
    )


def test_a_card_carries_both_ranks_only_after_re_ranking():
    after = view.cards(result(), [b"webp", None], True)["cards"]
    before = view.cards(result(), [b"webp", None], False)["cards"]
    assert [(card["rank"], card["generated_rank"]) for card in after] == [(1, 3), (2, 1)]
    assert [(card["rank"], card["generated_rank"]) for card in before] == [(1, None), (2, None)]


def test_a_card_tells_modality_cosine_and_id_with_the_part_that_is_the_querys_own():
    pair, text = view.cards(result(), [b"webp", None], True)["cards"]
    assert (pair["name"], pair["cosine"], pair["codes"], pair["shared"]) == ("Pair", "0.315", [0, 4, 1], 2)
    assert (text["name"], text["cosine"], text["codes"], text["shared"]) == ("Text", "−0.020", [1, 4, 7], 0)
    assert pair["picture"] == "data:image/webp;base64,d2VicA==" and text["picture"] is None


def test_a_card_can_be_told_from_others_and_held_against_a_threshold():
    shown = view.cards(result(), [b"webp", None], True, query_row=2)
    assert [(card["row"], card["likeness"]) for card in shown["cards"]] == [(9, 0.3149), (2, -0.02)]
    assert shown["query_row"] == 2 and view.cards(result(), [None, None], True)["query_row"] is None


@pytest.mark.parametrize("mode, name", [("fast", "prefix score"), ("exact", "ID score")])
def test_a_card_says_what_its_score_is_of(mode, name):
    hints = view.cards(result(mode=mode), [None, None], True)["hints"]
    assert hints["score_name"] == name and ("items whose IDs start with them share it" in hints["score"]) == (
        mode == "fast"
    )


def test_generated_ids_keep_their_order_scores_and_buckets():
    shown = view.generated(result(), 1.0)
    assert shown["columns"] == ["#", "ID", "log p", "score", "items"]
    assert [(row["codes"], row["figures"], row["shared"]) for row in shown["rows"]] == [
        ([1, 4, 7], ["−2.50", "−1.50", "1"], 0),
        ([0, 4, 1], ["−6.00", "−4.26", "1,200"], 2),
    ]
    assert shown["query"] == {"codes": [0, 4, 7], "shared": 3}


@pytest.mark.parametrize(
    "weight, mode, score",
    [
        (1.0, "set", "log p among the codes of all levels alone."),
        (0.0, "set", f"{view.GEOMETRY}, alone."),
        (0.25, "set", f"0.25 × log p among the codes of all levels + 0.75 × {view.GEOMETRY}."),
        (1.0, "fast", "log p alone."),
        (0.0, "fast", f"{view.GEOMETRY}, alone, as a probability at each level."),
        (0.25, "fast", f"0.25 × log p + 0.75 × {view.GEOMETRY}, as a probability at each level."),
    ],
)
def test_the_log_probability_that_is_shown_and_the_score_that_orders_the_ids_are_explained(weight, mode, score):
    shown = view.generated(result(mode=mode), weight)
    (note,) = shown["meaning"]
    assert ("begin in the likeliest ways" in shown["lead"]) == (mode == "fast")
    assert note.startswith("log p: ") and note.endswith(f"Score, which orders the IDs: {score}")


def test_codes_that_were_not_decoded_and_open_ends_are_told_and_explained():
    stopped = [GeneratedID((1, 4, 7), -1.5, -2.5, 2, 1), GeneratedID((0, 4), -4.256, -6.0, 2, 40)]
    whole, leaf = view.generated(result(), 1.0), view.generated(result(generated=stopped[:1]), 1.0)
    both, prefix = (view.generated(result(generated=found), 1.0) for found in (stopped, stopped[1:]))

    assert [(row["decoded"], row["open"]) for row in whole["rows"]] == [(3, False), (3, False)]
    assert [(row["decoded"], row["open"]) for row in both["rows"]] == [(2, False), (2, True)]
    for shown, dashed, ends in ((whole, False, False), (leaf, True, False), (prefix, False, True), (both, True, True)):
        assert ("Dashed codes were not decoded" in " ".join(shown["meaning"])) == dashed
        assert ("An open end (…) stands for every ID that starts this way." in shown["meaning"]) == ends


@pytest.mark.parametrize(
    "certified, words",
    [
        (True, ["Proven: no other existing ID has a higher score."]),
        (False, ["Not proven: an ID that was dropped early may have a higher score than some of these."]),
        (None, []),
    ],
)
def test_a_note_says_whether_the_ids_are_proven_only_where_that_was_checked(certified, words):
    assert view.generated(result(certified=certified), 1.0)["notes"] == words


def test_numpy_numbers_become_plain_ones():
    numpy_codes = tuple(np.array([1, 4, 7], dtype=np.uint16))
    shown = view.generated(result(query_codes=numpy_codes), 1.0)
    assert json.loads(json.dumps(shown["query"]["codes"])) == [1, 4, 7]


@pytest.mark.parametrize("far, note", [(True, view.FAR_FROM_COLLECTION), (False, ""), (None, "")])
def test_a_picture_that_is_far_from_all_is_said_to_be(far, note):
    assert view.summary(result(out_of_distribution=far), asked("mug"))["note"] == note


def test_several_results_are_summed_up_together():
    example = Example(
        "Twice",
        "",
        Image.new("RGB", (2, 2)),
        (TargetedInstruction("Find a caption.", Modality.TEXT), TargetedInstruction("Find a page.", Modality.PAIR)),
    )
    shown = view.summaries([result(), result(out_of_distribution=True)], example)
    assert shown["sentence"] == "The picture, with 2 instructions, in 2.5 s."
    assert (shown["title"], shown["aim"], shown["note"]) == ("Twice", None, view.FAR_FROM_COLLECTION)
    assert [(stage["name"], stage["time"]) for stage in shown["stages"]] == [
        ("encode", "60 ms"),
        ("beam search", "2.4 s"),
        ("re-rank", "0.1 ms"),
    ]


def test_a_text_keeps_its_capitals_in_the_sentence():
    example = Example(
        "Twice", "A Red MUG", None, (TargetedInstruction("a", Modality.TEXT), TargetedInstruction("b", Modality.PAIR))
    )
    assert view.summaries([result(), result()], example)["sentence"].startswith("“A Red MUG”, with 2")


def test_a_column_has_its_instruction_aim_best_id_and_cards():
    asked = Query("mug", instruction="Find a page."), SearchOptions()
    shown = view.column(result(), *asked, [b"webp", None], forced=True)
    assert (shown["instruction"], shown["aim"]["label"]) == ("Find a page.", "Kind of result")
    assert shown["best"] == {"codes": [1, 4, 7], "shared": 0} and len(shown["cards"]) == 2
    assert view.column(result(generated=[], hits=[]), *asked, [], True)["best"] == {"codes": [], "shared": 0}


def test_an_example_tells_what_is_given_and_what_is_wanted():
    picture = Image.new("RGB", (600, 300), "teal")
    (card,) = view.examples_view(
        [
            Example(
                "Changed",
                "in blue",
                picture,
                (TargetedInstruction("Find it.", Modality.IMAGE), TargetedInstruction("Find its page.", Modality.PAIR)),
            )
        ]
    )["cards"]
    assert (card["title"], card["text"], card["given"]) == ("Changed", "in blue", "Pair")
    assert card["instructions"] == ["Find it.", "Find its page."]
    assert card["targets"] == [{"name": "Image", "modality": "image"}, {"name": "Pair", "modality": "pair"}]
    shown = open_image(base64.b64decode(card["picture"].removeprefix("data:image/webp;base64,")))
    assert shown.size == (256, 128) and picture.size == (600, 300)


def test_without_examples_nothing_is_shown():
    assert view.examples_view([]) is None

import json
from dataclasses import replace

import numpy as np
import pytest

from genius.explore.code_profile import Meaning, Nearness, Overview
from genius.explore.distinctive_words import Word
from genius.explore.hierarchy import hierarchy
from genius.metrics.factor_agreement import REPORTED_AS
from genius.reports import Column, Report, Table
from genius.schema import Item, Modality
from genius.trie.code_table import CodeTable
from genius.trie.ids import IDTable
from genius.ui.codes import view
from genius.ui.common.formatting import tile

SIZES = (3, 4, 5)
CODES = np.array([[0, 1, 2], [0, 1, 3], [0, 2, 0], [1, 0, 0], [1, 0, 0]])
OVERVIEW = Overview(2, 3, [2, 0, 0], {"codes": 5, "used": 2, "perplexity": 2.0})


@pytest.fixture(scope="module")
def table() -> CodeTable:
    return CodeTable(IDTable.build(CODES, SIZES))


def item(modality=Modality.PAIR, text="a dog"):
    return Item("0:1", modality, text, "1.png")


def test_the_way_to_a_pattern_is_a_list_of_patterns_that_lead_there():
    crumbs = view.pattern_summary((0, None, 3), OVERVIEW, 10, True)["crumbs"]
    assert [(crumb["name"], crumb["key"]) for crumb in crumbs] == [
        ("all", ""),
        ("0 Image", "0"),
        ("*", "0"),
        ("3", "0.*.3"),
    ]
    assert [crumb["open"] for crumb in crumbs] == [False, False, True, False]


def test_a_first_code_that_emerged_is_not_called_a_modality():
    assert view.pattern_summary((0,), OVERVIEW, 10, False)["crumbs"][1]["name"] == "0"
    assert view.level_name(0, False) == "0"


@pytest.mark.parametrize(
    "pattern, overview, sentence",
    [
        (
            (0, 1),
            OVERVIEW,
            "20 % of all items, 67 % of those that match 0. "
            "At level 2 they have 2 of 5 codes, about as varied as 2 equally frequent ones.",
        ),
        (
            (0,),
            Overview(3, 10, [3, 0, 0], {"codes": 5, "used": 1, "perplexity": 1.0}),
            "30 % of all items. At level 1 they have 1 of 5 codes.",
        ),
        (
            (),
            Overview(10, 10, [10, 0, 0], {"codes": 3, "used": 1, "perplexity": 1.0}),
            "At level 0 they have 1 of 3 codes.",
        ),
        (
            (0, 1, 2),
            Overview(1, 2, [1, 0, 0], None),
            "10 % of all items, 50 % of those that match 0 · 1. This is a complete ID: one item has it.",
        ),
        (
            (0, 2),
            Overview(1, 4, [1, 0, 0], {"codes": 5, "used": 1, "perplexity": 1.0}),
            "10 % of all items, 25 % of those that match 0. At level 2 it has 1 of 5 codes.",
        ),
        (
            (2,),
            Overview(0, 10, [0, 0, 0], {"codes": 5, "used": 0, "perplexity": 1.0}),
            "No item has these codes. Replace one with * to see similar ones.",
        ),
    ],
)
def test_what_is_counted_is_said_in_a_sentence(pattern, overview, sentence):
    assert " ".join(view.sentences(pattern, overview, 10)) == sentence


def test_shares_are_said_as_a_person_would():
    assert [view.percent(share) for share in (0, 0.00001, 0.0123, 0.456, 1)] == [
        "0.0 %",
        "<0.1 %",
        "1.2 %",
        "46 %",
        "100 %",
    ]


def test_the_tree_has_a_key_for_each_code_and_words_for_the_first_level(table):
    words = {1: ([Word("dog", 1.0, 0.5), Word("cat", 0.5, 0.1)], 4)}
    tree = view.icicle_view(hierarchy(table.match((0,))), True, words)
    assert (tree["key"], tree["name"], tree["modality"], tree["items"]) == ("0", "0 Image", "image", 3)
    first, second = tree["children"]
    assert (first["key"], first["pattern"], first["words"]) == ("0.1", "0 · 1", "dog, cat")
    assert (second["words"], second["share"]) == ("", "33 %")
    assert [below["key"] for below in first["children"]] == ["0.1.2", "0.1.3"]


def test_the_summary_of_items_without_a_common_meaning_does_not_say_that_they_have_one():
    for label, nothing in (("boat, sea", False), ("no common meaning", True), ("", False)):
        assert view.pattern_summary((0,), OVERVIEW, 10, True, label)["nothing_common"] == nothing


def test_a_code_that_has_a_name_shows_it_instead_of_words_also_that_nothing_is_common(table):
    names = {(0, 1): "no common meaning", (0, 1, 3): "boat, sea", (0, 3): "cup"}
    words = {1: ([Word("dog", 1.0, 0.5)], 4)}
    drawn = view.icicle_view(hierarchy(table.match((0,))), True, words, lambda prefix: names.get(prefix, ""))
    first = drawn["children"][0]
    assert first["words"] == "no common meaning"
    assert [below["words"] for below in first["children"]] == ["", "boat, sea"]
    label = lambda prefix: names.get(prefix, "")  # noqa: E731
    (listed,) = view.codes_table([1, 2, 3], [3, 2, 1], (0,), True, {2: ([Word("cat", 1, 1)], 2)}, label)["tables"]
    assert [row[3]["text"] for row in listed["rows"]] == ["no common meaning", "cat", "cup"]


def test_others_have_no_key(table, monkeypatch):
    monkeypatch.setattr("genius.explore.hierarchy.MAX_SHOWN", 0)
    (others,) = view.icicle_view(hierarchy(table.match((0,))), True)["children"]
    assert (others["key"], others["name"], others["items"]) == (None, "2 others", 3)


def test_of_nothing_there_is_no_tree_and_no_table(table):
    assert view.icicle_view(hierarchy(table.match((2,))), True) is None
    assert view.codes_table([], [], (2,), True, {}) is None


def test_words_of_texts_come_with_their_share_and_guesses_with_their_cosine():
    words = view.meaning_view(Meaning([Word("dog", 0.7, 0.5)], 4, 3, []))
    assert (words["guess"], words["words"][0]["figure"]) == (False, "50 %")
    assert words["note"] == (
        "From 4 texts: more frequent here than in those of the 2 codes beside it (c-TF-IDF). The percentage "
        "is the share of texts that contain the word."
    )
    guessed = view.meaning_view(Meaning([Word("dog", 0.7, None)], 0, 3, []))
    assert (guessed["guess"], guessed["words"][0]["figure"]) == (True, "0.70") and "most similar" in guessed["note"]


def test_before_a_code_is_chosen_it_says_what_codes_are():
    forced, emerged = (view.introduction_view(9, forced)["paragraphs"][0] for forced in (True, False))
    assert forced == "Every item has an ID of 9 codes, from coarse to fine. The first code is its modality."
    assert "modality" not in emerged


def test_factors_stand_beside_those_of_the_siblings():
    factor = {"factor": "kind", "value": "cat", "share": 0.8, "elsewhere": 0.25}
    assert view.meaning_view(Meaning([], 1, 2, [factor]))["factors"] == [
        {"name": "kind: cat", "figure": "80 %", "share": 0.8, "siblings_figure": "25 %", "siblings_share": 0.25}
    ]


def test_typical_and_borderline_items_come_with_their_cosine():
    tiles = {row: tile(row, item(), None) for row in range(3)}
    drawn = view.nearness_view(Nearness([(0, 0.9), (2, 0.8)], [(1, -0.1)], 3), tiles, 5)
    typical, borderline = drawn["groups"]
    assert [(one["row"], one["figure"]) for one in typical["tiles"]] == [(0, "0.900"), (2, "0.800")]
    assert [(one["row"], one["figure"]) for one in borderline["tiles"]] == [(1, "−0.100")]
    assert borderline["note"].endswith("Based on an even sample of 3 of 5 items.")
    assert view.nearness_view(Nearness([(0, 1.0)], [], 1), tiles, 1) is None


def test_a_page_of_items_says_which_ones_it_shows():
    overview = view.modality_shares(Overview(100, 100, [60, 0, 40], None))
    assert [(one["modality"], one["items"]) for one in overview] == [("image", "60"), ("pair", "40")]
    page = view.items_view([{}] * 24, overview, 100, 60, "image", 1)
    assert page["groups"][0]["note"] == "25 to 48 of 60, in the order of their IDs"
    assert [(one["name"], one["chosen"]) for one in page["filters"]] == [
        ("All", False),
        ("Image", True),
        ("Pair", False),
    ]
    assert (page["pages"], page["page"]) == (3, 1)
    assert view.items_view([{}], overview[:1], 1, 1, "", 0)["filters"] == []


def test_long_texts_are_cut_on_a_tile():
    assert tile(0, item(text="x" * 500), None)["text"] == "x" * 200 + "…"


def test_the_table_of_codes_is_the_largest_first():
    (table,) = view.codes_table([1, 3], [2, 6], (0,), True, {3: ([Word("dog", 1, 1)], 2)})["tables"]
    assert [[cell["text"] for cell in row] for row in table["rows"]] == [
        ["3", "6", "75 %", "dog"],
        ["1", "2", "25 %", ""],
    ]
    assert table["rows"][0][0]["key"] == "0.3"


def test_health_names_dead_codes_and_buckets():
    found = {
        "levels": [{"level": 0, "codes": 3, "used": 2, "perplexity": 1.5}],
        "items": 5,
        "ids": 4,
        "items_alone": 0.6,
        "largest_bucket": 2,
        "modality_purity": 1.0,
    }
    levels, buckets = view.health_view(found, [(1, 3), (2, 1)], True)["tables"]
    assert [cell["text"] for cell in levels["rows"][0]] == ["0: modality", "3", "2", "1", "1.5"]
    assert [cell["text"] for cell in buckets["rows"][1]] == ["2 items", "1", "40 %"]


def test_factors_are_a_table_or_a_sentence():
    columns = [Column("factor"), Column("items"), Column("values"), Column("level 1")]
    tables = [
        Table(REPORTED_AS + figure, columns, [["kind", 90, 4, value]])
        for figure, value in (("alone", 0.4), ("in modality", 0.5), ("given prefix", None))
    ]
    report = Report("", "", "", "", tables)
    alone, given = view.factors_view(report)["tables"]
    assert [cell["text"] for cell in alone["rows"][0]] == ["kind", "0.50"]
    assert [cell["text"] for cell in given["rows"][0]] == ["kind", ""]
    assert (
        view.factors_view(replace(report, tables=[]))["note"]
        == "The collection does not say what its items are made of (their factors), such as kind or color."
    )


def test_everything_is_plain_json(table):
    matches = table.match((1,))
    json.dumps(
        [
            view.icicle_view(hierarchy(matches), True),
            tile(3, item(), b"webp"),
            view.codes_table(*(part.tolist() for part in matches.children()), (1,), True, {}),
        ]
    )

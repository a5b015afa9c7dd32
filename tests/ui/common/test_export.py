import csv
import io
import json

import numpy as np
import pytest

from genius.schema import GeneratedID, Hit, Item, Modality, Query, SearchOptions, SearchResult
from genius.ui.common.context import LastQuery
from genius.ui.common.export import exports, results_csv, results_json

OPTIONS = SearchOptions(beams=7, k=3, modality=Modality.PAIR)


def answer(*texts: str, instruction: str = "Find it.") -> LastQuery:
    """A hit for each text."""
    hits = [
        Hit(row, Item(f"5:{row}", Modality.PAIR, text, "mug.jpg"), (2, 4, row), row + 1, 9 - row, -1.5, 0.25)
        for row, text in enumerate(texts)
    ]
    result = SearchResult(
        hits,
        [GeneratedID((2, 4, 0), -1.5, -2.5, 3, 1)],
        np.ones(4),
        np.ones(4),
        (2, 0, 0),
        np.ones(3) / 3,
        8,
        mode="set",
        ranking="cosine",
    )
    return LastQuery("“a mug”", Query("a mug", None, instruction), OPTIONS, result, "index-0")


def rows(text: str) -> list[dict[str, str]]:
    assert text[0] == "\ufeff", "Excel would not read it as UTF-8"
    return list(csv.DictReader(io.StringIO(text[1:])))


def test_each_result_is_a_line_with_the_query_that_found_it():
    found = rows(results_csv([answer("a cup, blue", "two\nlines “é”"), answer("bowl", instruction="Find a bowl.")]))
    assert [(row["instruction"], row["rank"], row["text"]) for row in found] == [
        ("Find it.", "1", "a cup, blue"),
        ("Find it.", "2", "two\nlines “é”"),
        ("Find a bowl.", "1", "bowl"),
    ]
    assert found[1] == {
        "query": "“a mug”",
        "instruction": "Find it.",
        "rank": "2",
        "generated_rank": "8",
        "item": "5:1",
        "modality": "pair",
        "text": "two\nlines “é”",
        "cosine": "0.25",
        "score": "-1.5",
        "codes": "2 4 1",
    }


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@sum(a1)", "\t=1", "\r=1"])
def test_a_spreadsheet_computes_nothing_of_what_an_item_says(text):
    (row,) = rows(results_csv([answer(text)]))
    assert row["text"] == f"'{text}" and row["score"] == "-1.5"


def test_json_tells_what_was_asked_how_and_what_came():
    read = json.loads(results_json([answer("=1+1")], "my-run"))
    (search,) = read["searches"]
    assert read["run"] == "my-run"
    assert search["query"] == {
        "title": "“a mug”",
        "text": "a mug",
        "instruction": "Find it.",
        "picture": False,
        "codes": [2, 0, 0],
    }
    assert search["options"] == {
        "beams": 7,
        "results": 3,
        "rerank": True,
        "ranking": "cosine",
        "mode": "set",
        "modality": "pair",
    }
    assert search["first_code_probabilities"] == pytest.approx([1 / 3] * 3)
    assert "among all codes of its level" in read["fields"]["log_probability"]
    assert search["generated"] == [{"codes": [2, 4, 0], "score": -1.5, "log_probability": -2.5, "items": 1}]
    assert search["results"] == [
        {
            "rank": 1,
            "generated_rank": 9,
            "item": "5:0",
            "modality": "pair",
            "text": "=1+1",
            "cosine": 0.25,
            "score": -1.5,
            "codes": [2, 4, 0],
        }
    ]


def test_there_is_a_file_of_each_kind_or_none_where_nothing_was_found():
    files = exports([answer("a"), answer()], "my-run")
    assert [(file["label"], file["name"]) for file in files] == [
        ("CSV", "genius-results.csv"),
        ("JSON", "genius-results.json"),
    ]
    assert files[0]["text"] == results_csv([answer("a")]) and files[1]["text"].count('"title"') == 2
    assert exports([answer()], "my-run") == []

"""Files that a browser saves: CSV, JSON, and a search as a page."""

import csv
import io
import json
import re
from dataclasses import replace
from datetime import datetime
from html.parser import HTMLParser

import numpy as np
import pytest
from PIL import Image

from genius.schema import GeneratedID, Hit, Item, Modality, Query, SearchOptions, SearchResult
from genius.ui.common.context import LastQuery
from genius.ui.common.export import results_csv, results_json, saved_page
from genius.ui.common.formatting import data_uri
from genius.ui.search import strip as strip_view
from tests.ui.golden import check_golden
from tests.ui.test_views import ITEMS
from tests.ui.test_views import NARROWED as FOUND

OPTIONS = SearchOptions(beams=7, k=3, modality=Modality.PAIR)


def saved(asked: LastQuery, run: str = "my-run") -> str:
    """The page of a search, whose first result has a picture."""
    return saved_page([asked], [None], run, {0: webp()}, {})


def answer(*texts: str, instruction: str = "Find it.") -> LastQuery:
    """A hit for each text."""
    hits = [
        Hit(
            row,
            Item(f"5:{row}", Modality.PAIR, text, "mug.jpg"),
            (2, 4, row),
            row + 1,
            9 - row,
            0.25,
            (-0.5,) * 3,
        )
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
    )
    return LastQuery("“a mug”", Query("a mug", None, instruction), OPTIONS, result, "index-0")


def rows(text: str) -> list[dict[str, str]]:
    assert text[0] == "\ufeff", "Excel would not read it as UTF-8"
    return list(csv.DictReader(io.StringIO(text[1:])))


def test_each_result_is_a_line_with_the_query_that_found_it():
    found = rows(
        results_csv(
            [answer("a cup, blue", "two\nlines “é”"), answer("bowl", instruction="Find a bowl.")]
        )
    )
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
        "id": "5:1",
        "modality": "pair",
        "text": "two\nlines “é”",
        "cosine": "0.25",
        "log_prob": "-1.5",
        "codes": "2 4 1",
    }


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@sum(a1)", "\t=1", "\r=1"])
def test_a_spreadsheet_computes_nothing_of_what_an_item_says(text):
    (row,) = rows(results_csv([answer(text)]))
    assert row["text"] == f"'{text}" and row["log_prob"] == "-1.5"


def test_json_tells_what_was_asked_how_and_what_came():
    check_golden("export", json.loads(results_json([answer("=1+1")], "my-run")))


HOSTILE = "</title></style><script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{1}}&lt;"
TAGS = {
    *["html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "div", "blockquote"]
} | {*["img", "ol", "li", "strong", "br", "code", "a", "table", "thead", "tbody", "tr", "th", "td"]}


def webp(color: str = "teal") -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (8, 8), color).save(stream, "WEBP")
    return stream.getvalue()


class Reader(HTMLParser):
    """The tags with their attributes, and the text."""

    def __init__(self, page: str):
        super().__init__()
        self.tags = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text += data


def with_items(asked, **fields):
    hits = [replace(hit, item=replace(hit.item, **fields)) for hit in asked.result.hits]
    return replace(asked, result=replace(asked.result, hits=hits))


def test_the_page_tells_query_results_ids_and_credits_and_holds_its_pictures():
    asked = answer("a cup", "a bowl", instruction="Find a cup.")
    asked = replace(
        asked, query=Query("like this", Image.new("RGB", (900, 600), "orange"), "Find a cup.")
    )
    asked = with_items(
        asked, source='{"credit": "Ada", "licence": "CC0", "origin": "https://example.org/a"}'
    )
    read = Reader(saved(asked))
    told = (
        "like this",
        "Find a cup.",
        "a cup",
        "a bowl",
        "5:0",
        "Ada · CC0",
        f"Saved on {datetime.now():%d %B %Y}",
        "pairs only",
    )
    assert all(part in read.text for part in (*told, "from the run “my-run”"))
    sources = [attributes["src"] for tag, attributes in read.tags if tag == "img"]
    assert len(sources) == 2 and sources[1] == data_uri(webp())
    assert [attributes["href"] for tag, attributes in read.tags if tag == "a"] == [
        "https://example.org/a"
    ] * 2


@pytest.mark.parametrize("origin", ["javascript:alert(3)", "data:text/html,x", HOSTILE])
def test_hostile_texts_stay_texts_and_the_file_asks_nothing_of_anyone(origin):
    asked = answer(HOSTILE, instruction=HOSTILE)
    asked = replace(asked, description=HOSTILE, query=Query(HOSTILE, None, HOSTILE))
    source = json.dumps({"credit": HOSTILE, "licence": HOSTILE, "origin": origin})
    asked = with_items(asked, id=HOSTILE, text=HOSTILE, source=source)
    page = saved(asked, HOSTILE)
    read = Reader(page)
    assert {tag for tag, _ in read.tags} <= TAGS
    assert read.text.count(HOSTILE) >= 6
    for tag, attributes in read.tags:
        assert not any(name.startswith("on") for name in attributes)
        assert attributes.get("src", "data:image/webp").startswith("data:image/webp") and tag != "a"
    policy = next(
        attributes["content"] for tag, attributes in read.tags if "http-equiv" in attributes
    )
    assert "default-src 'none'" in policy and "script" not in policy
    assert not re.search(r"url\(|@import", page)


def test_hostile_names_and_items_of_the_strip_stay_texts():
    items = {row: Item(HOSTILE, Modality.TEXT, HOSTILE) for row in ITEMS}
    strip = strip_view.strip(FOUND, items, True, levels=4)
    page = saved_page([answer()], [strip], "my-run", {}, {"2.17": HOSTILE})
    read = Reader(page)
    assert {tag for tag, _ in read.tags}.isdisjoint({"script", "img"}) and read.text.count(
        HOSTILE[:60]
    ) > 1
    assert not re.search(r"<[^>]* on\\w+=", page)

import io
import re
from dataclasses import replace
from datetime import datetime
from html.parser import HTMLParser

import pytest
from PIL import Image

from genius.schema import Item, Modality, Query
from genius.ui.common.formatting import data_uri
from genius.ui.common.saved_page import saved_page
from tests.ui.common.test_export import answer

WHEN = datetime(2026, 1, 2, 3, 4)
HOSTILE = "</title></style><script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{1}}&lt;"
TAGS = {*["html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "div", "blockquote"]} | {
    *["img", "ol", "li", "strong", "br", "code", "a", "table", "thead", "tbody", "tr", "th", "td"]
}


def webp(color: str = "teal") -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (8, 8), color).save(stream, "WEBP")
    return stream.getvalue()


class Reader(HTMLParser):
    """The tags with their attributes, and the text."""

    def __init__(self, page: str):
        super().__init__()
        self.tags, self.text = [], ""
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
    asked = replace(asked, query=Query("like this", Image.new("RGB", (900, 600), "orange"), "Find a cup."))
    asked = with_items(asked, source='{"credit": "Ada", "licence": "CC0", "origin": "https://example.org/a"}')
    read = Reader(saved_page([asked], "my-run", {0: webp()}, WHEN))
    for part in (
        "like this",
        "Find a cup.",
        "a cup",
        "a bowl",
        "5:0",
        "Ada · CC0",
        "02 January 2026",
        "from the run “my-run”",
        "pairs only",
    ):
        assert part in read.text
    sources = [attributes["src"] for tag, attributes in read.tags if tag == "img"]
    assert len(sources) == 2 and sources[1] == data_uri(webp())
    assert [attributes["href"] for tag, attributes in read.tags if tag == "a"] == ["https://example.org/a"] * 2


def test_several_instructions_of_one_picture_show_it_once():
    picture = Image.new("RGB", (40, 30), "orange")
    asked = [replace(answer("a"), query=Query("", picture, words)) for words in ("One.", "Two.")]
    read = Reader(saved_page(asked, "my-run", {}, WHEN))
    assert [tag for tag, _ in read.tags].count("img") == 1 and "One." in read.text and "Two." in read.text


@pytest.mark.parametrize(
    ("ranking", "told"),
    [(None, "in the order of their generated IDs"), ("cosine", "by similarity"), ("ranker", "by the ranker")],
)
def test_the_page_tells_what_the_results_are_ordered_by(ranking, told):
    asked = answer("a cup")
    read = Reader(saved_page([replace(asked, result=replace(asked.result, ranking=ranking))], "my-run", {}, WHEN))
    assert told in read.text


@pytest.mark.parametrize("origin", ["javascript:alert(3)", "data:text/html,x", HOSTILE])
def test_hostile_texts_stay_texts_and_the_file_asks_nothing_of_anyone(origin):
    asked = answer(HOSTILE, instruction=HOSTILE)
    asked = replace(asked, description=HOSTILE, query=Query(HOSTILE, None, HOSTILE))
    source = "{" + f'"credit": {quoted(HOSTILE)}, "licence": {quoted(HOSTILE)}, "origin": {quoted(origin)}' + "}"
    hits = [replace(hit, item=Item(HOSTILE, Modality.PAIR, HOSTILE, "x.jpg", source)) for hit in asked.result.hits]
    asked = replace(asked, result=replace(asked.result, hits=hits))
    page = saved_page([asked], HOSTILE, {0: webp()}, WHEN)
    read = Reader(page)
    assert {tag for tag, _ in read.tags} <= TAGS
    assert read.text.count(HOSTILE) >= 6
    for tag, attributes in read.tags:
        assert not any(name.startswith("on") for name in attributes)
        assert attributes.get("src", "data:image/webp").startswith("data:image/webp") and tag != "a"
    policy = next(attributes["content"] for tag, attributes in read.tags if "http-equiv" in attributes)
    assert "default-src 'none'" in policy and "script" not in policy
    assert not re.search(r"url\(|@import", page)


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

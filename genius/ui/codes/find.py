"""Finding codes: by words or a picture, those nearest to the open one, and one by chance."""

from typing import Any

import gradio as gr

from genius.explore.code_patterns import format_pattern
from genius.explore.code_search import CodeSearch, FoundCode
from genius.schema import UNREAD, Query
from genius.search.checks import MAX_TEXT, check_query
from genius.trie.code_table import Pattern
from genius.ui.common import formatting
from genius.ui.common.components import UploadedImage, open_upload, query_picture
from genius.ui.common.context import Context

FOUND, NEAREST = 12, 6  # codes that are shown
NOTE = (
    "By the similarity (cosine) of the average of a code's items. A name is made from every second item; how many of "
    "the others it fits tells how sure it is."
)


class CodeFinder:
    """Answers which codes mean something. Keeps what follows from the current index."""

    def __init__(self, context: Context):
        self.engine, profiles_of = context.engine, context.namer.profiles_of
        self.search_of = self.engine.versions.cached(lambda index: CodeSearch(profiles_of(index)))

    def on_find(self, text: str, upload: str | None) -> dict[str, Any] | None:
        """The codes for words, a picture or both; nothing for neither."""
        if not text and upload is None:
            return None
        image = open_upload(upload) if upload else None
        query = Query(text=text, image=image, reading=UNREAD)
        check_query(query)
        embedding = self.engine.encode([query]).embeddings[0].cpu().numpy()
        codes = self.search_of(self.engine.index).find(embedding, FOUND)
        return self.view(f"Codes for {formatting.describe_query(query)}", NOTE, codes)

    def on_near(self, pattern: Pattern | None) -> dict[str, Any] | None:
        """The codes nearest to an open pattern."""
        codes = pattern and self.search_of(self.engine.index).near(pattern, NEAREST)
        return self.view("Nearest codes", "of other branches", codes) if codes else None

    def on_random(self) -> str:
        """The pattern of a code by chance, to be opened."""
        return format_pattern(self.search_of(self.engine.index).by_chance(), ".")

    def view(self, title: str, note: str, codes: list[FoundCode]) -> dict[str, Any]:
        """What found.js draws."""
        return {"title": title, "note": note, "codes": [self.code_view(code) for code in codes]}

    def code_view(self, code: FoundCode) -> dict[str, Any]:
        index = self.engine.index
        items = zip(code.rows, index.items(code.rows), strict=True)
        return {
            "key": format_pattern(code.pattern, "."),
            "pattern": format_pattern(code.pattern),
            "words": ", ".join(code.words),
            "level": f"level {len(code.pattern) - 1}",
            "items": formatting.count(code.items, "item"),
            "figure": formatting.number(code.similarity, 2),
            "share": max(code.similarity, 0.0),
            "sure": f"name fits {code.fits} of {code.tried}" if code.words and code.tried else "",
            "strip": [formatting.item_view(item, index.thumbnail(row)) for row, item in items],
        }


def find_form(visible: bool) -> tuple[gr.Textbox, UploadedImage, gr.Button]:
    """The picture, the words and the button that find codes; visible where an encoder reads them."""
    picture = query_picture("codes-picture", visible)
    words = gr.Textbox(
        label="Which codes mean …",
        placeholder="wheel",
        max_length=MAX_TEXT,
        scale=2,
        min_width=200,
        elem_id="codes-words",
        visible=visible,
    )
    go = gr.Button("Find", variant="primary", scale=0, min_width=100, elem_id="codes-go", visible=visible)
    return words, picture, go

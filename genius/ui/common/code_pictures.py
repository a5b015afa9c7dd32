"""The pictures that are nearest to the mean of a code's items, for a code that a visitor points at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradio as gr

from genius.explore.code_names import CodeNamer
from genius.ui.common.components import UNLIMITED, Panel
from genius.ui.common.formatting import data_uri, is_prefix, item_label

if TYPE_CHECKING:
    from genius.index.store import Index


class CodePictures(Panel):
    """Hidden; its event `want` asks for the pictures of a prefix, which the page's script keeps."""

    def __init__(self):
        super().__init__("code-pictures", "common/code_pictures.js", visible="hidden")

    def answer(self, namer: CodeNamer) -> None:
        """Answer with the stored pictures. Not the latest alone: a visitor may point at several codes meanwhile."""

        def on_want(event: gr.EventData) -> dict[str, Any] | None:
            return pictures(namer, namer.engine.index, getattr(event, "prefix", None))

        self.want(on_want, None, self, trigger_mode="multiple", **UNLIMITED)


def pictures(namer: CodeNamer, index: Index, prefix: Any) -> dict[str, Any] | None:
    """The stored pictures of a prefix such as 0.17, with what they show; none if it has none or they were removed.

    None for what is no prefix.
    """
    if not is_prefix(prefix):
        return None
    name = namer.name(tuple(map(int, prefix.split("."))))
    rows = index.rows_of(name.pictures) if name and name.pictures else []
    rows = [int(row) for row in rows if row >= 0]
    return {
        "prefix": prefix,
        "pictures": [
            {"picture": data_uri(picture), "label": item_label(item)}
            for row, item in zip(rows, index.items(rows) if rows else [], strict=True)
            if (picture := index.thumbnail(row))
        ],
    }

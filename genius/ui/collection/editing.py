"""What changes the collection from the page: pictures and texts come in, items go out, segments become one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gradio as gr

from genius.collections.images import SUFFIXES
from genius.errors import UserError
from genius.schema import Query
from genius.search.checks import check_query
from genius.search.editor import Editor
from genius.ui.collection import view
from genius.ui.common.components import Panel, told, uploaded
from genius.ui.common.context import Context
from genius.ui.common.formatting import count
from genius.ui.common.item_card import on_query

MOST = 200  # things at once
PROGRESS = gr.Progress(track_tqdm=True)  # Gradio looks for it among the defaults of a callback
ALONE = {"api_visibility": "private", "concurrency_id": "collection", "concurrency_limit": 1}  # one change at a time
CHANGED = "changed"  # what the signal says is of no account


class UploadedPictures(gr.File):
    """An input of several files that hands over the paths of the uploads, unopened."""

    def get_block_name(self) -> str:
        return "file"  # draw it as Gradio draws gr.File

    def preprocess(self, payload: Any) -> list[str]:
        with told():
            return [uploaded(file.path, file.url, self.GRADIO_CACHE) for file in payload or ()]


class EditingForm:
    """The form, laid out where it is made, and the panel that says what became of a change."""

    def __init__(self, context: Context):
        self.editor, self.changed = Editor(context.served.path, context.engine), context.shared.changed
        pictures = UploadedPictures(
            file_count="multiple",
            file_types=list(SUFFIXES),
            label="Pictures",
            height=180,
            elem_id="collection-pictures",
        )
        lines = gr.Textbox(
            label="Texts, one a line",
            lines=3,
            max_lines=8,
            elem_id="collection-texts",
            info=(
                "With pictures: the caption of each, in their order; an empty line leaves one without. "
                "Alone: every line becomes an item."
            ),
        )
        go = gr.Button("Add to the collection", variant="primary", elem_id="collection-go")
        self.result = Panel(
            "collection-result",
            "collection/result.js",
            view.said("What is added here is found by the next search, by everybody who uses this page."),
        )
        with gr.Accordion("Remove or tidy up", open=False, elem_id="collection-more"):
            ids = gr.Textbox(
                label="Ids of items to remove",
                placeholder="9:1234 9:1235",
                elem_id="collection-ids",
                info="A result, a card or an address names the id of its item.",
            )
            remove = gr.Button("Remove", elem_id="collection-remove")
            compact = gr.Button("Make one segment of all", elem_id="collection-compact")

        self.waiting = {**ALONE, "show_progress_on": self.result}
        go.click(self.on_add, [pictures, lines], [self.result, pictures, lines, self.changed], **self.waiting)
        gr.on([remove.click, ids.submit], self.on_ids, ids, [self.result, ids, self.changed], **self.waiting)
        compact.click(self.on_compact, None, [self.result, self.changed], **self.waiting)

    def remove_from(self, listed: Panel) -> None:
        """An item of a list goes out by its own button."""
        listed.take_out(self.on_take_out, None, [self.result, self.changed], **self.waiting)

    def on_add(self, pictures: list[str], lines: Any, progress: gr.Progress = PROGRESS):
        """The form is emptied when it is done."""
        with told():
            progress(0.0, desc="Encoding")
            result = self.editor.add(things_of(pictures, lines))
            for picture in pictures:  # the run has its own copies
                Path(picture).unlink(missing_ok=True)
            return view.added(result), None, "", CHANGED

    def on_ids(self, text: Any):
        with told():
            ids = text.replace(",", " ").split() if isinstance(text, str) else []
            if not ids:
                raise UserError("Name the items to remove by their ids, such as 9:1234.")
            if len(ids) > MOST:
                raise UserError(f"There are {len(ids):,} ids; remove at most {MOST} at once.")
            return view.removed(self.editor.remove(ids)), "", CHANGED

    def on_take_out(self, picked: gr.EventData):
        with told():
            return view.removed(self.editor.remove([on_query(picked)])), CHANGED

    def on_compact(self):
        with told():
            return view.compacted(self.editor.compact()), CHANGED


def things_of(pictures: Sequence[str], lines: Any) -> list[tuple[str, Path | None]]:
    """(text, picture) of each item that a visitor hands over: captioned pictures, or texts alone.

    Raises UserError if there is nothing, too much, or a text for no picture.
    """
    texts = [line.strip() for line in lines.strip("\r\n").splitlines()] if isinstance(lines, str) else []
    if pictures:
        if len(texts) > len(pictures):
            raise UserError(
                f"There are {len(texts):,} lines for {count(len(pictures), 'picture')}: write one "
                "caption a line, and add texts that belong to no picture by themselves."
            )
        texts += [""] * (len(pictures) - len(texts))
        things = list(zip(texts, map(Path, pictures), strict=True))
    else:
        things = [(text, None) for text in texts if text]
    if not things:
        raise UserError("Choose pictures, write texts, or both.")
    if len(things) > MOST:
        raise UserError(
            f"There are {len(things):,} items; add at most {MOST} at once, or more by "
            "python -m genius.index RUN add FOLDER."
        )
    for text, _ in things:
        if text:
            check_query(Query(text))  # bearable and whole
    return things

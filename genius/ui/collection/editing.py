"""The form of the Collection tab that adds items, removes them and merges segments."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gradio as gr

from genius.collections.folders import other_than_picture
from genius.errors import UserError
from genius.index.update import Added
from genius.schema import Query
from genius.search.checks import check_query
from genius.search.editor import Editor
from genius.ui.collection import view
from genius.ui.common.components import UNQUEUED, Panel
from genius.ui.common.context import Context
from genius.ui.common.formatting import count
from genius.ui.gradio_hooks import upload_path

MAX_ITEMS = 200  # that are added or removed at once
PROGRESS = gr.Progress(track_tqdm=True)  # Gradio looks for it among the defaults of a callback
ONE_AT_A_TIME = {"api_visibility": "private", "concurrency_id": "collection", "concurrency_limit": 1}
REMOVE = "Remove"
PAUSE = 0.6  # seconds after a question in which no answer counts: it is the second click of a double click
CHANGED = "changed"  # any value: the signal carries no data


class UploadedPictures(gr.File):
    """An input of several files that hands over the paths of the uploads, unopened."""

    def get_block_name(self) -> str:
        return "file"  # draw it as Gradio draws gr.File

    def preprocess(self, payload: Any) -> list[str]:
        return [upload_path({"path": file.path, "url": file.url}) for file in payload or ()]


class EditingForm:
    """The form, and the panel that shows the outcome of each change."""

    def __init__(self, context: Context, added: Panel):
        """added: the list of items whose buttons remove them."""
        self.editor, changed = Editor(context.served.path, context.engine), context.shared.changed
        # any files: the outcome says what becomes of those that are no pictures
        pictures = UploadedPictures(file_count="multiple", label="Pictures", height=180, elem_id="collection-pictures")
        lines = gr.Textbox(
            label="One text per line",
            lines=3,
            max_lines=8,
            elem_id="collection-texts",
            info=(
                "With pictures: one caption per line, in the same order; an empty line means no caption. "
                "Without pictures: each line becomes an item."
            ),
        )
        add = gr.Button("Add to the collection", variant="primary", elem_id="collection-go")
        outcome = Panel(
            "collection-outcome",
            "collection/outcome.js",
            view.message("The next search finds what you add, for everyone who uses this page."),
        )
        with gr.Accordion("Remove items, or tidy the index", open=False, elem_id="collection-more"):
            ids = gr.Textbox(
                label="Numbers of the items to remove",
                placeholder="9:1234 9:1235",
                elem_id="collection-ids",
                info="Each result and each card shows the number of its item.",
            )
            asked = gr.Textbox(visible="hidden", elem_id="collection-asked")  # the numbers that a question was about
            asked_at = gr.State(0.0)  # when the last question was asked
            remove = gr.Button(REMOVE, elem_id="collection-remove")
            compact = gr.Button("Merge the parts (segments) of the index", elem_id="collection-compact")

        waiting = {**ONE_AT_A_TIME, "show_progress_on": outcome}
        add.click(self.on_add, [pictures, lines], [outcome, pictures, lines, changed], **waiting)
        outputs = [outcome, ids, asked, asked_at, remove, changed]
        gr.on([remove.click, ids.submit], self.on_ids, [ids, asked, asked_at], outputs, **waiting)
        ids.input(None, None, [asked, remove], js=f"() => ['', {REMOVE!r}]", **UNQUEUED)
        compact.click(self.on_compact, None, [outcome, changed], **waiting)
        added.take_out(self.on_take_out, None, [outcome, changed], **waiting)

    def on_add(self, pictures: list[str], lines: Any, progress: gr.Progress = PROGRESS):
        """Add the items, say what became of each file, and empty the form.

        The uploads are left to expire: an equal picture of another visitor is the same file.
        """
        progress(0.0, desc="Encoding")
        items = parse_items(pictures, lines)
        others = [picture and other_than_picture(picture.parent, picture.name) for _, picture in items]
        found = [item for item, other in zip(items, others, strict=True) if other is None]
        added = self.editor.add(found) if found else Added(0, 0, 0, 0, (), ())
        outcome = view.add_outcome(added, "file" if pictures else "text", list(filter(None, others)))
        return outcome, None, "", CHANGED

    def on_ids(self, text: Any, asked: Any, asked_at: float):
        """Ask first, and remove the items when it is called again with the same text, but not at once: clicks or keys
        that follow each other quickly ask again. asked: the text of the question. asked_at: its time.

        Raises UserError for no numbers or too many.
        """
        ids = text.replace(",", " ").split() if isinstance(text, str) else []
        if not ids:
            raise UserError("Enter the numbers of the items to remove, such as 9:1234.")
        if len(ids) > MAX_ITEMS:
            raise UserError(f"There are {len(ids):,} numbers; remove at most {MAX_ITEMS} at once.")
        now = time.monotonic()
        if text != asked or now - asked_at < PAUSE:
            question = f"Really remove {count(len(ids), 'item')}?"
            how = ["Press Enter or the button once more. Nobody will be able to find them any more."]
            return view.message(question, how), text, text, now, question, None
        return view.remove_outcome(self.editor.remove(ids)), "", "", 0.0, REMOVE, CHANGED

    def on_take_out(self, event: gr.EventData):
        return view.remove_outcome(self.editor.remove([str(getattr(event, "id", ""))])), CHANGED

    def on_compact(self):
        return view.compact_outcome(self.editor.compact()), CHANGED


def parse_items(pictures: Sequence[str], lines: Any) -> list[tuple[str, Path | None]]:
    """(text, picture) of each item in the form: pictures with captions, or texts alone.

    Raises UserError for no item, too many, or more captions than pictures.
    """
    texts = [line.strip() for line in lines.strip("\r\n").splitlines()] if isinstance(lines, str) else []
    if pictures:
        if len(texts) > len(pictures):
            raise UserError(
                f"There are {len(texts):,} lines for {count(len(pictures), 'picture')}: write one "
                "caption per line, and add texts without pictures separately."
            )
        texts += [""] * (len(pictures) - len(texts))
        items = list(zip(texts, map(Path, pictures), strict=True))
    else:
        items = [(text, None) for text in texts if text]
    if not items:
        raise UserError("Choose pictures, write texts, or both.")
    if len(items) > MAX_ITEMS:
        raise UserError(
            f"There are {len(items):,} items; add at most {MAX_ITEMS} at once, or use "
            "python -m genius.index RUN add FOLDER."
        )
    for text, _ in items:
        if text:
            check_query(Query(text))  # not too long, and valid Unicode
    return items

"""The form of the Collection tab that adds items, removes them and merges segments."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gradio as gr

from genius.collections.archives import find_pictures
from genius.errors import UserError
from genius.index.update import Added
from genius.schema import Query
from genius.search.checks import check_query
from genius.search.editor import KEPT, Editor
from genius.ui.collection import view
from genius.ui.common.components import UNLIMITED, UNQUEUED, Panel
from genius.ui.common.context import Context
from genius.ui.common.formatting import count
from genius.ui.gradio_hooks import upload_path
from genius.ui.security import is_passed_on

MAX_ITEMS = 1_000  # that are added or removed at once
ONE_AT_A_TIME = {"api_visibility": "private", "concurrency_id": "collection", "concurrency_limit": 1}
PICTURES = "Pictures, a ZIP or a folder of them"
FOR_EVERYONE = "So does that of everyone who uses this page."
WORKING_COPY = (
    "This page is served to you alone, so the run stays as it is: the changes end with the program, or when you forget "
    "them, unless you keep them as a run."
)
CONFIRM = "collection/confirm.js"  # a button that is pressed twice
TO_THE_BUTTON = "() => document.querySelector('#collection-remove button').focus()"
SEARCH_ADDED = "() => ['added', {__type__: 'update', selected: genius.openTab('search')}]"
CHANGED = "changed"  # any value: the signal carries no data


class UploadedPictures(gr.File):
    """An input of several files that hands over the paths of the uploads, unopened."""

    def get_block_name(self) -> str:
        return "file"  # draw it as Gradio draws gr.File

    def preprocess(self, payload: Any) -> list[str]:
        return [upload_path({"path": file.path, "url": file.url}) for file in payload or ()]


class EditingForm:
    """The form, and the panel that shows the outcome of each change."""

    def __init__(self, context: Context, tab: gr.Tab, added: Panel, newest: Callable[[], dict[str, Any] | None]):
        """added: the list of items whose buttons remove them. newest: its first page."""
        served, shared, changed = context.served, context.shared, context.shared.changed
        self.editor = Editor(served.path, context.engine, served.copies and served.copies / served.name)
        self.newest = newest
        # any files: the outcome says what becomes of those that are no pictures
        pictures = UploadedPictures(file_count="multiple", label=PICTURES, height=180, elem_id="collection-pictures")
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
            view.message("The next search finds what you add.", [WORKING_COPY if served.copies else FOR_EVERYONE]),
        )
        working = Panel("collection-working", "collection/working.js", scripts=(CONFIRM,))
        with gr.Accordion("Remove items, or tidy the index", open=False, elem_id="collection-more"):
            ids = gr.Textbox(
                label="Numbers of the items to remove",
                placeholder="9:1234 9:1235",
                elem_id="collection-ids",
                info="Each result and each card shows the number of its item.",
            )
            remove = Panel("collection-remove", "collection/remove.js", {}, scripts=(CONFIRM,))
            compact = gr.Button("Merge the parts (segments) of the index", elem_id="collection-compact")

        waiting = {**ONE_AT_A_TIME, "show_progress_on": outcome}
        add.click(self.on_add, [pictures, lines], [outcome, added, pictures, lines, changed], **waiting)
        outcome.search_added(None, None, [*context.scopes, shared.tabs], js=SEARCH_ADDED, **UNQUEUED)
        for trigger in (tab.select, changed.sent):
            trigger(self.on_working, None, working, **UNLIMITED)
        working.keep(self.on_keep, None, outcome, **waiting)
        working.forget(self.on_forget, None, [outcome, changed], **waiting)
        remove.take_out(self.on_ids, ids, [outcome, ids, changed], **waiting)
        ids.submit(None, None, None, js=TO_THE_BUTTON, **UNQUEUED)
        compact.click(self.on_compact, None, [outcome, changed], **waiting)
        added.take_out(self.on_take_out, None, [outcome, changed], **waiting)

    def editor_for(self, request: gr.Request) -> Editor:
        """Raises UserError if the page is offered to its owner alone, and the visitor may be another one."""
        if self.editor.copy and is_passed_on(request.headers):
            raise UserError(
                "This page can only be changed on the machine that serves it, at localhost or 127.0.0.1 and without "
                "a proxy; see --editable."
            )
        return self.editor

    def on_add(self, pictures: list[str], lines: Any, request: gr.Request) -> Iterator[tuple[Any, ...]]:
        """Add the items, say how far that is, and then what became of each file, and empty the form.

        The uploads are left to expire: an equal picture of another visitor is the same file.
        """
        editor = self.editor_for(request)
        with TemporaryDirectory() as folder:
            found, others = find_pictures(map(Path, pictures), Path(folder))
            items = parse_items(found, lines) if found or not pictures else []
            total, start = Added(0, 0, 0, 0, (), ()), time.monotonic()
            outcome = partial(view.add_outcome, kind="file" if pictures else "text", others=others)
            yield view.progress(0, len(items)), *[gr.skip()] * 4
            try:
                for added in editor.add(items):
                    total += added
                    left = (time.monotonic() - start) / total.items * (len(items) - total.items)
                    yield view.progress(total.items, len(items), left), self.newest(), *[gr.skip()] * 3
            except UserError:
                yield outcome(total), *[gr.skip()] * 3, CHANGED
                raise
        yield outcome(total), gr.skip(), None, "", CHANGED

    def on_ids(self, text: Any, request: gr.Request):
        """Remove the items. Raises UserError for no numbers or too many."""
        ids = text.replace(",", " ").split() if isinstance(text, str) else []
        if not ids:
            raise UserError("Enter the numbers of the items to remove, such as 9:1234.")
        if len(ids) > MAX_ITEMS:
            raise UserError(f"There are {len(ids):,} numbers; remove at most {MAX_ITEMS:,} at once.")
        return view.remove_outcome(self.editor_for(request).remove(ids)), "", CHANGED

    def on_take_out(self, event: gr.EventData, request: gr.Request):
        return view.remove_outcome(self.editor_for(request).remove([str(getattr(event, "id", ""))])), CHANGED

    def on_compact(self, request: gr.Request):
        return view.compact_outcome(self.editor_for(request).compact()), CHANGED

    def on_working(self) -> dict[str, Any] | None:
        return {"kept": str(KEPT)} if self.editor.has_copy else None

    def on_keep(self, event: gr.EventData, request: gr.Request) -> dict[str, Any]:
        run = self.editor_for(request).keep(str(getattr(event, "name", "")))
        return view.message(f"Kept as {run}.", [f"Open it with: python app.py --run {run}"])

    def on_forget(self, request: gr.Request):
        self.editor_for(request).forget()
        return view.message("All changes are forgotten; the collection is as it was."), CHANGED


def parse_items(pictures: Sequence[Path], lines: Any) -> list[tuple[str, Path | None]]:
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
        items = list(zip(texts, pictures, strict=True))
    else:
        items = [(text, None) for text in texts if text]
    if not items:
        raise UserError("Choose pictures, write texts, or both.")
    if len(items) > MAX_ITEMS:
        raise UserError(
            f"There are {len(items):,} items; add at most {MAX_ITEMS:,} at once, or use "
            "python -m genius.index RUN add FOLDER."
        )
    for text in filter(None, texts):
        check_query(Query(text))  # not too long, and valid Unicode
    return items

"""A search as a visitor asked for it, and the last ones. A browser stores them, so all that comes back is checked."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import gradio as gr
from gradio.events import Dependency

from genius.errors import UserError
from genius.examples import Example
from genius.schema import Item, Query
from genius.search.checks import MAX_TEXT
from genius.ui.common.components import UNQUEUED
from genius.ui.common.formatting import data_uri, describe_query, excerpt, item_label

MAX_ENTRIES = 20
MAX_SHOWN_TEXT = 120  # characters


@dataclass(frozen=True)
class Entry:
    """A search that can be repeated: a text, an example, or an item of the index or its picture."""

    text: str = ""
    instruction: str = ""
    item: str = ""  # id
    picture: bool = False  # a picture was uploaded, too, which is not kept
    pictured: str = ""  # id of the item whose picture was searched with
    example: int | None = None  # place of the run's example that was asked, with its picture and all its instructions


def add_entry(stored: Any, entry: Entry) -> list[dict[str, Any]]:
    """The entries with a new one first, without duplicates, as they are stored."""
    entries = read_entries(stored)
    if entry.text or entry.item or entry.pictured or entry.example is not None:  # else there is nothing to repeat
        entries = list(dict.fromkeys([entry, *entries]))
    return [asdict(entry) for entry in entries[:MAX_ENTRIES]]


def read_entries(stored: Any) -> list[Entry]:
    """The valid entries of what a browser sends, latest first."""
    entries = []
    for record in stored[:MAX_ENTRIES] if isinstance(stored, list) else ():
        if isinstance(record, dict):
            text, instruction, item, pictured = (
                str(record.get(name, ""))[:MAX_TEXT] for name in ("text", "instruction", "item", "pictured")
            )
            example = record["example"] if type(record.get("example")) is int else None
            entries.append(Entry(text, instruction, item, record.get("picture") is True, pictured, example))
    return entries


def entry_at(stored: Any, index: Any) -> Entry:
    """The entry at an index. Raises UserError if there is none."""
    entries = read_entries(stored)
    if type(index) is not int or not 0 <= index < len(entries):
        raise UserError("That search is no longer in the history; reload the page.")
    return entries[index]


def history_view(entries: Sequence[Entry], items: Sequence[tuple[str | None, bytes | None]] = ()) -> dict[str, Any]:
    """What history.js draws. items: label and thumbnail of each entry's item or example, None where it names none or
    one that was removed."""
    return {
        "entries": [
            {
                "title": title(entry, label),
                "thumbnail": data_uri(picture) if picture else None,
                "instruction": entry.instruction,
                "picture": entry.picture and entry.example is None,
            }
            for entry, (label, picture) in zip(entries, items or [(None, None)] * len(entries), strict=True)
        ]
    }


def title(entry: Entry, label: str | None) -> str:
    """What was asked, in words. label: of its item or example."""
    if entry.example is not None:
        return f"Example “{label}”" if label else "An example that was removed"
    if entry.item:
        return f"Like {label or 'an item that was removed'}"
    words = [f"“{excerpt(entry.text, MAX_SHOWN_TEXT)}”"] * bool(entry.text)
    if entry.pictured:
        words.append(f"the picture of {label or 'an item that was removed'}")
    return " and ".join(words)


class OtherTabs(gr.HTML):
    """What tabs of one browser tell each other. Each reads the stored entries only once, when it is opened, so without
    that the tab which searches last would overwrite what the others have stored since.

    Nothing to see; `.heard(…)` is an event when another tab has searched. run: tabs of other runs are not heard.
    """

    def __init__(self, run: str):
        channel = json.dumps(f"genius-history-{run}")
        super().__init__(
            None,
            html_template="<i></i>",
            visible="hidden",
            elem_id="other-tabs",
            js_on_load=f"const tabs = new BroadcastChannel({channel});\n"
            "genius.tellTabs = entries => tabs.postMessage(JSON.stringify(entries));\n"
            "tabs.onmessage = ({data}) => { genius.toldEntries = JSON.parse(data); trigger('heard', {}); };",
        )

    def share(self, searches: Iterable[Dependency], stored: gr.BrowserState) -> Dependency:
        """Tell the others of the history after each search, and put theirs before what only this tab has; the event of
        the latter."""
        merge = (
            "stored => { const told = genius.toldEntries, known = new Set(told.map(entry => JSON.stringify(entry))); "
            "const own = (stored ?? []).filter(entry => !known.has(JSON.stringify(entry))); "
            f"return [[...told, ...own].slice(0, {MAX_ENTRIES})]; }}"
        )
        for search in searches:
            search.success(None, stored, None, js="entries => { genius.tellTabs(entries); }", **UNQUEUED)
        return self.heard(None, stored, stored, js=merge, **UNQUEUED)


@dataclass(frozen=True)
class SearchRequest:
    """What is searched for, and where it came from: the form, an example, an item, or an item's picture."""

    queries: Sequence[Query]  # one, or one for each instruction of an example
    example: Example | None = None
    example_number: int | None = None  # its place among the run's examples
    item: Item | None = None  # that is the query
    row: int | None = None  # of that item in the index
    pictured: str = ""  # id of the item whose picture is searched with
    upload: str = ""  # file of the visitor's own picture
    part: dict[str, float] | None = None  # of the upload, if not all of it is searched

    @property
    def query(self) -> Query:
        """The only query, or the first of several."""
        return self.queries[0]

    def address(self) -> dict[str, Any]:
        """What asks for it again (common/links.py)."""
        if self.item:
            return {"item": self.item.id}
        if self.example_number is not None:
            return {"example": str(self.example_number)}
        asked, origin = self.query, {"picture": self.pictured, "upload": self.upload, "part": self.part}
        fields = {"q": asked.text, "instruction": asked.instruction, **origin}
        return {name: value for name, value in fields.items() if value}

    @property
    def title(self) -> str:
        """What stands above the results of an example, or of an item that is the query; empty for others."""
        if self.example:
            return self.example.title
        return f"Like {describe_query(self.query)}" if self.item else ""

    def describe(self, query: Query) -> str:
        """One of the queries in a few words."""
        if self.item:
            return f"the item {quoted_label(self.item)}"
        return describe_query(query, part=bool(self.part))

    def entry(self) -> Entry:
        """What the history keeps of it."""
        if self.item:
            return Entry(item=self.item.id)
        picture = self.query.image is not None and not self.pictured  # of an example, too
        query = self.query
        return Entry(query.text, query.instruction, "", picture, self.pictured, self.example_number)


def quoted_label(item: Item) -> str:
    """What an item is called, in quotes if that is a text."""
    return f"“{item_label(item)}”" if item.text else item_label(item)

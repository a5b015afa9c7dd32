"""What every tab receives, and how tabs pass values to each other.

A tab is a function `<name>_tab(context, tab)` that lays itself out inside the current gr.Tab and wires its
events. The state of a visitor is kept in gr.State or in the browser, never in a module.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import gradio as gr
from gradio.events import Dependency

from genius.errors import UserError
from genius.examples import Example, read_examples
from genius.explore.code_names import CodeNamer
from genius.explore.map_data import Maps, read_maps
from genius.explore.query_notes import query_notes
from genius.index.store import Index
from genius.run import Run
from genius.schema import Query, SearchOptions, SearchResult
from genius.search.engine import Engine
from genius.search.retrieval import EncodedQueries
from genius.ui.common.about import About, default_instruction
from genius.ui.common.components import Message, Panel
from genius.ui.common.formatting import data_uri, is_prefix, item_label

ONLY_ADDED = "Only what was added since training was searched."


@dataclass(frozen=True)
class ServedRun:
    """Facts about the run that is served."""

    path: Path
    collection: str = ""  # name of the training collection
    examples: tuple[Example, ...] = ()
    editable: bool = False  # visitors may add items and remove them
    copies: Path | None = None  # folder of a working copy that they change; None: they change the run itself
    about: About = field(default_factory=About)
    run_names: tuple[str, ...] = ()  # of all runs that are served, the first one at /

    @property
    def name(self) -> str:
        return self.path.resolve().name

    @classmethod
    def read(
        cls, run: Path, editable: bool = False, run_names: tuple[str, ...] = (), copies: Path | None = None
    ) -> Self:
        """Raises UserError for a run that cannot be read, or cannot be written but is to be edited itself."""
        if editable and not copies and not os.access(run, os.W_OK):
            raise UserError(
                f"{run} cannot be written, so its collection cannot be edited: "
                "serve a copy that you may write, or leave --editable out"
            )
        manifest = Run(run).manifest
        collection = Path(str(manifest.get("collection", ""))).name
        about = About.read(run, manifest)
        return cls(run, collection, read_examples(run), editable, copies, about, run_names)


@dataclass(frozen=True)
class LastQuery:
    """A visitor's last search."""

    description: str  # how to name it, e.g. “a red mug” and the picture
    query: Query  # its picture is a small copy
    options: SearchOptions
    result: SearchResult
    version: str  # of the index whose rows the result names: the name of its folder

    @property
    def encoded(self) -> EncodedQueries:
        """Its query, to be searched again."""
        result = self.result
        again = EncodedQueries.from_vectors(result.embedding[None], result.z[None], readings=[result.reading])
        return replace(again, milliseconds=result.milliseconds)

    def check_version(self, index: Index) -> None:
        """Raise UserError if items were added or removed since, so that a row may be another item."""
        if index.folder.name != self.version:
            raise UserError("The collection has changed; search again.")


class Signal(Message):
    """A value that one part of the page sends to another: an output of a callback, or by `genius.send.NAME(value)` of a
    script. It is received by `.sent(listener, inputs=signal)`.

    sections: elem_ids of accordions and tabs that may listen by `while_open`.
    """

    def __init__(self, name: str, sections: Sequence[str] = (), **layout: Any):
        events = [("true", "sent")]
        for section in sections:
            open_part = f"#{section} .label-wrap.open, #{section}[role=tabpanel]"
            events.append((f"document.querySelector('{open_part}')?.checkVisibility()", _open_event(section)))
        sending = " ".join(f"if ({condition}) trigger('{event}', {{}});" for condition, event in events)
        super().__init__(f"signal-{name}", sending, f"genius.send.{name} = send;", **layout)

    def while_open(self, section: str) -> Callable[..., Dependency]:
        """The event for one of the sections. It is only sent while that is open, which spares the browser a request."""
        return getattr(self, _open_event(section))


def _open_event(section: str) -> str:
    return section.replace("-", "_")


WHY, HISTORY = "why-open", "past"  # elem_ids of sections of Search


def pictures(namer: CodeNamer, index: Index, prefix: Any) -> dict[str, Any] | None:
    """The stored pictures nearest to the mean of the items of a prefix such as 0.17, with what they show; none if it
    has none or they were removed. None for what is no prefix."""
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


class Shared:
    """The components by which tabs pass values, made inside the page's Blocks, before the tabs. The page opens the tab
    of a signal, not the sender."""

    def __init__(self, tabs: gr.Tabs):
        self.tabs = tabs  # ids: those of genius.ui.page.TABS
        self.ask = Signal("ask")  # a search as the address has it (search/history.py): Search runs it
        self.open_code = Signal("open_code")  # a code pattern such as "0.17.*.5": Codes opens there
        self.compare_example = Signal("compare_example")  # place of one of the run's examples: Compare compares it
        self.map_view = Signal("map_view")  # name of a map: Map shows it
        self.changed = Signal("changed")  # any value: items were added or removed, so views of the collection follow
        self.tour = Signal("tour")  # a step such as "2": the tour shows it; "" ends it
        self.address = Signal("address")  # {"search": {…}} or {"codes": "0.17"}: what the page's address is to hold
        # {"0.17": "boat, sea"}: names of codes for the page's script, which keeps all it ever got
        self.code_names = Panel("code-names", "common/code_names.js", visible="hidden")
        # of codes that are pointed at: its event `want` asks for those of a prefix
        self.code_pictures = Panel("code-pictures", "common/code_pictures.js", visible="hidden")
        # True: Search has results, which its sections, if they are open, show
        self.searched = Signal("searched", (WHY, HISTORY, "tab-map", "tab-compare"))
        self.explained_id = gr.State(None)  # of the result of `last_query` that Why explains, or None
        self.last_query = gr.State(None)  # LastQuery or None


@dataclass(frozen=True)
class Context:
    """What every tab receives."""

    engine: Engine
    served: ServedRun
    shared: Shared
    # what to compute before visitors ask for it (Page.prepare)
    precompute: list[Callable[[], object]] = field(default_factory=list)
    targets: list[gr.Radio] = field(default_factory=list)  # choices among the modalities that the index holds
    scopes: list[gr.Radio] = field(default_factory=list)  # of SCOPES, shown where items were added

    @cached_property
    def maps(self) -> Maps | str:
        """The maps of the run, or a sentence that says why there are none."""
        try:
            return read_maps(self.served.path) or "This run has no maps yet."
        except UserError as error:
            return str(error)

    def default_instruction(self, text: Any, image: object | None) -> str:
        """The run's own instruction for a query that came without one; none where the run reads what is asked for."""
        return "" if self.engine.has_reader else default_instruction(self.served.about, text, image)

    def notes(self, query: Query, result: SearchResult, added: bool) -> list[str]:
        """What to know about a search, in sentences, for visitors and programs. added: only items that
        were added since training were searched."""
        about = self.served.about.paragraphs
        english = any("English" in paragraph for paragraph in about)
        held = next(iter(about), "")
        notes = query_notes(self.engine, query, result.match, held, english, result.reading)
        return [ONLY_ADDED] * added + notes

    @cached_property
    def namer(self) -> CodeNamer:
        """The names of codes."""
        return CodeNamer(self.engine, self.served.path)

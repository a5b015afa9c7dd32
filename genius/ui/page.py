"""The page: header, tabs, and the signals between them."""

from __future__ import annotations

import inspect
import json
import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import gradio as gr
import numpy as np
from gradio.exceptions import AppError
from gradio.utils import get_upload_folder
from gradio_client.utils import is_file_obj_with_meta, traverse

from genius.errors import UserError
from genius.schema import Modality
from genius.ui.api.layout import api_tab
from genius.ui.codes.layout import codes_tab
from genius.ui.collection.layout import collection_tab
from genius.ui.common import links
from genius.ui.common.about import about_view
from genius.ui.common.components import UNQUEUED, Panel, present_targets, upload_path
from genius.ui.common.context import TABS, Context, ServedRun, Shared, Signal
from genius.ui.compare.layout import compare_tab
from genius.ui.event_queue import FairQueue, caller_of, current_caller
from genius.ui.failures import ENDPOINT_MISMATCH, PAGE_MISMATCH, error_for_caller
from genius.ui.map.layout import map_tab
from genius.ui.reports.layout import reports_tab
from genius.ui.search.layout import search_tab
from genius.ui.security import UPLOAD_LIFETIME
from genius.ui.tour.layout import tour_panel

if TYPE_CHECKING:
    from genius.index.store import Index
    from genius.search.engine import Engine

# of TABS, in their order
TAB_LAYOUTS = (search_tab, codes_tab, map_tab, compare_tab, reports_tab, collection_tab, api_tab)


class Page(gr.Blocks):
    """Blocks whose clients take turns, and whose callbacks each see one snapshot of the index and know who waits for
    their answer. They answer every failure with a sentence, and never fetch a link: Gradio would download any that a
    forged request passes off as an upload.

    record_call: makes a context around each call, from the name of its callback, and its event if it was queued.

    The hooks are internal to Gradio: requirements.txt pins its minor version, and tests assert that they run.
    """

    def __init__(self, engine: Engine, **layout: Any):
        self.engine = engine
        self.record_call: Callable[[str, str | None], AbstractContextManager[None]] = lambda *_: nullcontext()
        self.precompute: list[Callable[[], object]] = []
        super().__init__(**layout)

    def prepare(self) -> None:
        """Compute what the first visitors will ask for, one thing after the other, in the background. Each keeps its
        result; what cannot be computed now is computed, or refused, when it is asked for."""

        def compute_all() -> None:
            for compute in self.precompute:
                if not self.is_running:
                    return
                try:
                    with self.engine.versions.snapshot():
                        compute()
                except Exception as error:
                    logging.getLogger(__name__).warning("nothing was prepared by %s: %r", compute, error)

        # not a daemon: torch must not be at work while the interpreter ends
        threading.Thread(target=compute_all, name="prepare").start()

    def queue(self, *args: Any, max_size: int = 64, **kwargs: Any) -> Page:
        """max_size: events that may wait; half of them for one client."""
        super().queue(*args, max_size=max_size, **kwargs)
        default_queue = self._queue
        self._queue = FairQueue(
            live_updates=default_queue.live_updates,
            concurrency_count=default_queue.max_thread_count,
            update_intervals=default_queue.update_intervals,
            max_size=max_size,
            blocks=self,
        )
        return self

    async def process_api(
        self,
        block_fn: Any,
        inputs: list[Any],
        *args: Any,
        event_id: str | None = None,
        event_data: Any = None,
        **kwargs: Any,
    ) -> Any:
        if event_data is not None and not isinstance(event_data._data, dict):  # callbacks read it by getattr
            event_data._data = {}
        with self.record_call(block_fn.name, event_id):
            try:
                if block_fn.fn is None:  # the page's script handles it, so only a forged request names it
                    raise UserError(PAGE_MISMATCH)
                check_text([inputs, event_data and event_data._data])
                return await super().process_api(
                    block_fn, inputs, *args, event_id=event_id, event_data=event_data, **kwargs
                )
            except Exception as error:
                raise error_for_caller(error, is_for_programs(block_fn)) from None

    async def call_function(
        self,
        block_fn: Any,
        processed_input: list[Any],
        iterator: Any = None,
        requests: gr.Request | None = None,
        event_id: str | None = None,
        *rest: Any,
        **kwargs: Any,
    ) -> dict[str, Any]:
        if event_id:  # the event waited in the queue, so its client listens to a stream
            current_caller.set(caller_of(requests, event_id))
        with self.engine.versions.snapshot():
            return await super().call_function(block_fn, processed_input, iterator, requests, event_id, *rest, **kwargs)

    async def preprocess_data(self, block_fn: Any, inputs: list[Any], *rest: Any, **kwargs: Any) -> Any:
        if is_for_programs(block_fn):
            inputs = with_defaults(block_fn.fn, inputs)
        try:
            traverse(inputs, _check_upload, is_file_obj_with_meta)
            return await super().preprocess_data(block_fn, inputs, *rest, **kwargs)
        except (AppError, UserError):
            raise
        except Exception as error:  # missing or malformed values: no browser sends them
            raise UserError(ENDPOINT_MISMATCH if is_for_programs(block_fn) else PAGE_MISMATCH) from error


def build(engine: Engine, served: ServedRun) -> Page:
    """The page for one engine."""

    def facts_of(index: Index) -> tuple[dict[str, Any], dict[str, Any] | None, list[tuple[str, str]]]:
        """Header, About and the kinds of result that an index has; milliseconds for millions of items."""
        items = np.bincount(index.modalities, minlength=len(Modality)).tolist()
        return (
            header_view(served, index.n, index.code_sizes, engine.device),
            about_view(served.about, items),
            present_targets(index),
        )

    def refresh(*chosen: str) -> tuple[Any, ...]:
        """What follows from the items: header, About and, for what is chosen in each, the kinds of result."""
        heading, about_collection, choices = facts_of(engine.index)
        present = dict(choices).values()
        radios = [gr.update(choices=choices, **{} if value in present else {"value": "any"}) for value in chosen]
        return heading, about_collection, *radios

    with Page(
        engine, title="GENIUS Explorer", analytics_enabled=False, fill_width=True, delete_cache=(60, UPLOAD_LIFETIME)
    ) as page:
        heading, about_collection, _ = facts_of(engine.index)
        header = Panel("header", "common/header.js", heading)
        about = Panel("about", "common/about.js", about_collection)
        tabs = gr.Tabs(selected="search", elem_id="tabs")
        shared = Shared.create(tabs)
        context = Context(engine, served, shared, page.precompute)
        # before the listeners of the tabs: Gradio waits for each of a signal before it calls the next one
        for signal, opened_tab in (
            (shared.ask, "search"),
            (shared.use_as_query, "search"),
            (shared.run_example, "search"),
            (shared.open_code, "codes"),
            (shared.map_view, "map"),
            (shared.compare_example, "compare"),
        ):
            signal.sent(
                None,
                None,
                tabs,
                **UNQUEUED,
                js=links.SELECT_TAB.format(f"(genius.openTab({opened_tab!r}), {opened_tab!r})"),
            )
        with tabs:
            for (name, label), lay_out in zip(TABS.items(), TAB_LAYOUTS, strict=True):
                with gr.Tab(label, id=name, elem_id=f"tab-{name}") as tab:
                    lay_out(context, tab)
                links.write_tab_when_chosen(tab)
        page.load(context.namer.labels, None, shared.code_names, **UNQUEUED)
        shared.code_pictures.answer(context.namer)
        for trigger in (page.load, shared.changed.sent):
            trigger(refresh, context.targets, [header, about, *context.targets], **UNQUEUED)
        links.restore(page, shared)
        tour_panel(context, header, page)
        _show_progress_once(page, Signal("progress"))
    return page


def _show_progress_once(page: gr.Blocks, idle: Signal) -> None:
    """Let all events that show no progress show it on one hidden component.

    At each step of any event, Gradio's page copies all components that could show the progress of an event that ever
    ran: by default all outputs, with what is inside them.
    """
    for event in page.fns.values():
        if event.show_progress == "hidden" and event.show_progress_on is None:
            event.show_progress_on = [idle]


def _check_upload(file: dict[str, Any]) -> dict[str, Any]:
    """Gradio checks paths too, but fetches links before, and copies any file of the machine if it was not told that
    the page is launched."""
    upload_path(file["path"], None, get_upload_folder())
    return file


def with_defaults(function: Callable, args: Any) -> Any:
    """The arguments of an endpoint with the defaults of those that were left out at the end, so that a program which
    calls it works on when the endpoint gets an optional argument. Unchanged where one without a default is missing."""
    if not isinstance(args, list):
        return args
    defaults = [parameter.default for parameter in inspect.signature(function).parameters.values()][len(args) :]
    return args if inspect.Parameter.empty in defaults else [*args, *defaults]


def is_for_programs(block_fn: Any) -> bool:
    return block_fn.api_visibility == "public"


def check_text(values: list[Any]) -> None:
    """Raise UserError for texts that the answer could not repeat: those with half a surrogate pair."""
    try:
        json.dumps(values, ensure_ascii=False).encode()
    except (UnicodeEncodeError, RecursionError):
        raise UserError("The request contains invalid Unicode or too many nested values.") from None


def header_view(served: ServedRun, items: int, code_sizes: Sequence[int], device: object) -> dict[str, Any]:
    """Facts about the run, and the runs to choose from if there are several."""
    several = len(served.run_names) > 1
    facts = [f"{items:,} items", f"IDs of {len(code_sizes)} codes"]
    if served.collection:
        facts.insert(0, f"collection {served.collection}")
    if not several:
        facts.append(f"run {served.name}")
    return {
        "facts": [*facts, f"computed on {device}"],
        "run": served.name,
        "runs": list(served.run_names) if several else [],
        "tour": bool(served.examples),
    }

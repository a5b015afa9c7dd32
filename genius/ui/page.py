"""The page: header, tabs, and the signals between them."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import gradio as gr
import numpy as np

from genius.index.store import Index
from genius.schema import Modality
from genius.search.engine import Engine
from genius.ui.api.layout import api_tab
from genius.ui.codes.layout import codes_tab
from genius.ui.collection.layout import collection_tab
from genius.ui.common import links
from genius.ui.common.about import About, about_view
from genius.ui.common.components import UNLIMITED, UNQUEUED, Panel, present_targets
from genius.ui.common.context import Context, ServedRun, Shared, Signal, pictures
from genius.ui.compare.layout import compare_tab
from genius.ui.gradio_hooks import Page
from genius.ui.map.layout import map_tab
from genius.ui.reports.layout import reports_tab
from genius.ui.search.layout import search_tab
from genius.ui.security import UPLOAD_LIFETIME
from genius.ui.tour.layout import tour_panel


class TabEntry(NamedTuple):
    """A tab: its label, and the function that lays it out inside the current gr.Tab and wires its events."""

    label: str
    lay_out: Callable[[Context, gr.Tab], None]


TABS = {  # by the name that addresses have, in the order shown
    "search": TabEntry("Search", search_tab),
    "codes": TabEntry("Codes", codes_tab),
    "map": TabEntry("Map", map_tab),
    "compare": TabEntry("Compare", compare_tab),
    "reports": TabEntry("Reports", reports_tab),
    "collection": TabEntry("Collection", collection_tab),
    "api": TabEntry("API", api_tab),
}


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
        """What follows from the items: header, About, for what is chosen in each the kinds of result, and scopes."""
        heading, about_collection, choices = facts_of(engine.index)
        present = dict(choices).values()
        radios = [gr.update(choices=choices, **{} if value in present else {"value": "any"}) for value in chosen]
        scope = {"visible": True} if engine.index.config.grown else {"visible": False, "value": "everything"}
        return heading, about_collection, *radios, *(gr.update(**scope) for _ in context.scopes)

    def on_want(event: gr.EventData) -> dict[str, Any] | None:
        return pictures(context.namer, engine.index, getattr(event, "prefix", None))

    with Page(
        engine, title="GENIUS Explorer", analytics_enabled=False, fill_width=True, delete_cache=(60, UPLOAD_LIFETIME)
    ) as page:
        heading, about_collection, _ = facts_of(engine.index)
        header = Panel("header", "common/header.js", heading)
        about = Panel("about", "common/about.js", about_collection)
        tabs = gr.Tabs(selected="search", elem_id="tabs")
        shared = Shared(tabs)
        context = Context(engine, served, shared, page.precompute)
        context.precompute.append(context.namer.prepare)
        # before the listeners of the tabs: Gradio waits for each of a signal before it calls the next one
        for signal, opened_tab in (
            (shared.ask, "search"),
            (shared.open_code, "codes"),
            (shared.map_view, "map"),
            (shared.compare_example, "compare"),
        ):
            opening = links.SELECT_TAB.format(f"genius.openTab({opened_tab!r}, signal)")
            signal.sent(None, signal, tabs, **UNQUEUED, js=opening)
        with tabs:
            for name, entry in TABS.items():
                with gr.Tab(entry.label, id=name, elem_id=f"tab-{name}") as tab:
                    entry.lay_out(context, tab)
                tab.select(None, None, None, **UNQUEUED, js=f"() => {{ genius.setTab({name!r}); }}")
        page.load(context.namer.labels, None, shared.code_names, **UNQUEUED)
        # not the latest alone: a visitor may point at several codes meanwhile
        shared.code_pictures.want(on_want, None, shared.code_pictures, trigger_mode="multiple", **UNLIMITED)
        for trigger in (page.load, shared.changed.sent):
            trigger(refresh, context.targets, [header, about, *context.targets, *context.scopes], **UNQUEUED)
        links.restore(page, shared)
        tour_panel(context, header)
        page.show_progress_once(Signal("progress"))
    return page


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
        "about": served.about != About(),
    }

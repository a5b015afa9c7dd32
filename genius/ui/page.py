"""The whole page: what is above the tabs, the tabs, and what passes between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import gradio as gr
from gradio_client.utils import is_file_obj_with_meta, traverse

from genius.ui.api.layout import api_tab
from genius.ui.codes.layout import codes_tab
from genius.ui.collection.layout import collection_tab
from genius.ui.common import links
from genius.ui.common.components import REFUSED, SURE, Panel
from genius.ui.common.context import TABS, Context, Served, Shared
from genius.ui.compare.layout import compare_tab
from genius.ui.map.layout import map_tab
from genius.ui.reports.layout import reports_tab
from genius.ui.search.layout import search_tab

if TYPE_CHECKING:
    from genius.search.engine import Engine

CONTENTS = {
    "search": search_tab,
    "codes": codes_tab,
    "map": map_tab,
    "compare": compare_tab,
    "reports": reports_tab,
    "collection": collection_tab,
    "api": api_tab,
}


COMMANDS = (  # a collection of one's own
    "python -m genius.collections FOLDER... my-collection",
    "python -m training my-collection my-run",
    "python app.py --run my-run",
)


class Page(gr.Blocks):
    """Blocks whose callbacks see one version of the index each, and that fetch nothing.

    Gradio would download any link that a forged request passes off as an upload.
    """

    def __init__(self, engine: Engine, **layout: Any):
        self.engine = engine
        super().__init__(**layout)

    async def call_function(self, *given: Any, **named: Any) -> dict[str, Any]:
        with self.engine.snapshot():
            return await super().call_function(*given, **named)

    async def preprocess_data(self, block_fn: Any, inputs: list[Any], *rest: Any, **named: Any) -> Any:
        traverse(inputs, _refuse_link, is_file_obj_with_meta)
        return await super().preprocess_data(block_fn, inputs, *rest, **named)


def build(engine: Engine, served: Served) -> gr.Blocks:
    """The page for one engine."""

    def heading() -> dict[str, Any]:
        index = engine.index
        return header_view(served.name, served.collection, index.n, index.code_sizes, engine.device)

    with Page(
        engine, title="GENIUS Explorer", analytics_enabled=False, fill_width=True, delete_cache=(600, 1800)
    ) as page:  # uploads live half an hour
        header = Panel("header", "common/header.js", heading())
        Panel("about", "common/about.js", about_view(served.world, engine.index.n))
        tabs = gr.Tabs(selected="search", elem_id="tabs")
        shared = Shared.create(tabs)
        context = Context(engine, served, shared)
        with tabs:
            for name, label in TABS.items():
                with gr.Tab(label, id=name, elem_id=f"tab-{name}") as tab:
                    CONTENTS[name](context, tab)
                links.follow_tab(tab)
        for signal, opens in ((shared.ask, "search"), (shared.use_as_query, "search"), (shared.open_code, "codes")):
            signal.sent(
                None,
                None,
                tabs,
                **SURE,  # at once: no way to the server
                js=f"() => [{{__type__: 'update', selected: {opens!r}}}]",
            )
        for trigger in (page.load, shared.changed.sent):
            trigger(heading, None, header, **SURE)
        links.restore(page, shared)
    return page


def _refuse_link(file: dict[str, Any]) -> dict[str, Any]:
    """Raises gr.Error for what lies elsewhere."""
    if str(file["path"]).lower().startswith(("http:", "https:")):
        raise gr.Error(REFUSED, print_exception=False)
    return file


def header_view(name: str, collection: str, items: int, code_sizes: Sequence[int], device: object) -> dict[str, Any]:
    """What is being served. collection: its name, if it is known."""
    named = [f"collection {collection}"] * bool(collection)
    return {"facts": [*named, f"{items:,} items", f"IDs of {len(code_sizes)} codes", f"run {name}", str(device)]}


def about_view(world: Mapping[str, Any] | None, items: int) -> dict[str, Any] | None:
    """What a run of the procedural world says of itself; nothing of other runs."""
    return (
        None
        if world is None
        else {"items": f"{items:,}", "seed": str(world.get("seed", "")), "commands": list(COMMANDS)}
    )

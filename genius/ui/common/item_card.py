"""The card of one item, which several tabs show: the item, its ID and its nearest neighbors."""

from collections.abc import Callable
from typing import Any

import gradio as gr
from gradio.events import Dependency

from genius.errors import UserError
from genius.explore.items import describe_item, row_of
from genius.schema import Item
from genius.search.engine import Engine
from genius.ui.common import formatting
from genius.ui.common.components import LATEST, UNLIMITED, UNQUEUED, Panel
from genius.ui.common.context import Context, Shared

NEIGHBOURS = 8


class ItemCard(Panel):
    """A panel whose value is `item_card_view(engine, id)`, or None for no card.

    Its codes open the Codes tab at that prefix, its neighbors replace the item, its button searches with the item.
    name: the elem_id, unique on the page.
    """

    def __init__(self, name: str, context: Context, **layout: Any):
        super().__init__(name, "common/item_card.js", scripts=("common/prefixes.js",), **layout)
        if not layout.get("render", True):
            return  # Gradio makes a copy for the visitor whose callback skips this panel; its events are wired already

        self.engine = context.engine
        self.show(self.select)
        self.open_code(on_code, None, context.shared.open_code, **UNLIMITED)
        search_with_chosen(self.use_as_query, context.shared)

    def show(self, choice: Callable[..., Dependency]) -> None:
        """Show the item that an event names, the last one where several come."""

        def on_item(event: gr.EventData):
            return item_card_view(self.engine, getattr(event, "id", None))

        choice(on_item, None, self, **LATEST)


def item_card_view(engine: Engine, id: Any) -> dict[str, Any]:
    """The data of the panel. Raises UserError if there is no such item."""
    row = row_of(engine.index, id)
    known = describe_item(engine, row, NEIGHBOURS)

    def view(item: Item, row: int) -> dict[str, Any]:
        return formatting.item_view(item, engine.index.thumbnail(row))

    return {
        **view(known["item"], row),
        **{name: known[name] for name in ("codes", "facts", "exact")},
        "neighbours": [
            {**view(near["item"], near["row"]), "figure": formatting.number(near["cosine"], 3)}
            for near in known["neighbours"]
        ],
    }


def on_code(event: gr.EventData) -> str:
    """The pattern of the prefix that was clicked."""
    codes = getattr(event, "codes", None)
    if not isinstance(codes, list) or not all(type(code) is int for code in codes):
        raise UserError("Invalid ID; reload the page.")
    return ".".join(map(str, codes))


def search_with_chosen(choice: Callable[..., Dependency], shared: Shared) -> None:
    """Let Search take the item of an event as its query, the last one where several come."""
    choice(on_query, None, shared.ask, trigger_mode="always_last", **UNQUEUED)


def on_query(event: gr.EventData) -> dict[str, str]:
    """What asks for the item (search/history.py)."""
    return {"item": str(getattr(event, "id", ""))}

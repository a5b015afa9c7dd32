"""The card of one item, which several tabs show: the item, its ID and its nearest neighbors."""

from collections.abc import Callable
from typing import Any

import gradio as gr
from gradio.events import Dependency

from genius.explore.items import describe_item, row_of
from genius.schema import Item
from genius.search.engine import Engine
from genius.ui.common import formatting
from genius.ui.common.components import LATEST, Panel
from genius.ui.common.context import Context

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

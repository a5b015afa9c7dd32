"""The card of one item, which several tabs show: the item, its ID and its nearest neighbors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradio as gr

from genius.errors import UserError
from genius.explore.items import describe_item, row_of
from genius.schema import Item
from genius.ui.common import formatting
from genius.ui.common.components import LATEST, UNLIMITED, UNQUEUED, Panel
from genius.ui.common.context import Context

if TYPE_CHECKING:
    from genius.search.engine import Engine

NEIGHBOURS = 8


class ItemCard(Panel):
    """A panel whose value is `item_card_view(engine, id)`, or None for no card.

    Its codes open the Codes tab at that prefix, its neighbors replace the item, its button searches with the item.
    name: the elem_id, unique on the page.
    """

    def __init__(self, name: str, context: Context, **layout: Any):
        super().__init__(name, "common/item_card.js", **layout)

        def on_neighbour(event: gr.EventData):
            return item_card_view(context.engine, getattr(event, "id", None))

        self.select(on_neighbour, None, self, **LATEST)
        self.open_code(on_code, None, context.shared.open_code, **UNLIMITED)
        self.use_as_query(on_query, None, context.shared.use_as_query, **UNQUEUED)


def item_card_view(engine: Engine, id: Any) -> dict[str, Any]:
    """The data of the panel. Raises UserError if there is no such item."""
    item = describe_item(engine, row_of(engine.index, id), NEIGHBOURS)
    return {
        **_item_data(engine, item),
        "codes": item["codes"],
        "facts": item["facts"],
        "provenance": formatting.provenance_view(item["provenance"]),
        "exact": item["exact"],
        "neighbours": [
            {**_item_data(engine, other), "cosine": formatting.number(other["cosine"], 3)}
            for other in item["neighbours"]
        ],
    }


def on_code(event: gr.EventData) -> str:
    """The pattern of the prefix that was clicked."""
    codes = getattr(event, "codes", None)
    if not isinstance(codes, list) or not all(type(code) is int for code in codes):
        raise UserError("Invalid ID; reload the page.")
    return ".".join(map(str, codes))


def on_query(event: gr.EventData) -> str:
    """The id of the item."""
    return str(getattr(event, "id", ""))


def _item_data(engine: Engine, item: dict[str, Any]) -> dict[str, Any]:
    picture = engine.index.thumbnail(item["row"])
    return {
        "id": item["id"],
        "name": formatting.MODALITY_NAMES[item["modality"]],
        "modality": item["modality"].name.lower(),
        "text": item["text"],
        "label": formatting.item_label(Item(item["id"], item["modality"], item["text"], source=item["source"])),
        "picture": formatting.data_uri(picture) if picture else None,
    }

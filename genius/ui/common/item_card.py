"""The card of one item: the item, its ID and its nearest neighbors."""

from typing import Any

from genius.explore.items import describe_item, row_of
from genius.search.engine import Engine
from genius.ui.common import formatting

NEIGHBOURS = 8


def item_card_view(engine: Engine, id: Any) -> dict[str, Any]:
    """What the page shows of an item. Raises UserError if there is no such item."""
    known = describe_item(engine, row_of(engine.index, id), NEIGHBOURS)
    return {
        **formatting.item_view(known["item"]),
        **{name: known[name] for name in ("codes", "facts", "exact")},
        "neighbours": [
            formatting.item_view(near["item"])
            | {"figure": formatting.number(near["cosine"], 3), "row": near["row"]}
            for near in known["neighbours"]
        ],
    }

"""An item as a query: what is like it?"""

from __future__ import annotations

from genius.collections.images import open_image
from genius.index.store import Index
from genius.schema import Query
from genius.search.checks import MAX_TEXT


def item_query(index: Index, row: int) -> Query:
    """The picture and the text of an item, without an instruction, as items themselves are encoded.

    The picture is its thumbnail; a text that no query could hold is cut. Raises IndexError if there is no such row.
    """
    (item,) = index.items([row])
    picture = index.thumbnail(row)
    return Query(text=item.text[:MAX_TEXT], image=None if picture is None else open_image(picture))

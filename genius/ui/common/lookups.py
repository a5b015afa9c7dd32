"""Endpoints that read the collection: an item, its neighbours, the items of a code."""

from genius.explore.code_patterns import format_pattern, parse_pattern
from genius.explore.items import describe_item, row_of
from genius.schema import provenance_of
from genius.search.checks import checked_k, whole_number
from genius.search.engine import Engine
from genius.trie.code_table import CodeTable
from genius.ui.common import formatting
from genius.ui.common.export import item_fields

MOST_LISTED = 100  # items of one page of code_items


class Lookups:
    """The public functions, whose docstrings have three paragraphs, which the API tab shows."""

    def __init__(self, engine: Engine):
        self.engine = engine

    def item(self, id: str) -> dict:
        """One item: its modality, text, picture (a small WebP as a data URI), codes and the facts
        of its source.

        Raises an error where there is no such item.

        id: the number of the item in the collection, as hits name it.
        """
        row = row_of(self.engine.index, id)
        known = describe_item(self.engine, row, neighbors=0)
        picture = self.engine.index.thumbnail(row)
        return {
            **item_fields(known["item"]),
            "picture": formatting.data_uri(picture) if picture else None,
            "codes": known["codes"],
            "facts": dict(known["facts"]) | provenance_of(known["item"].source),
        }

    def code_items(self, pattern: str, limit: int = 20, offset: int = 0) -> dict:
        """The items whose IDs match a pattern of codes such as 0.17.*.5, where * is any code.

        Returns their number, and a page of them in the order of their IDs.

        pattern: how the IDs begin. limit: items of the page, at most 100. offset: where the page
        starts.
        """
        index = self.engine.index
        read = parse_pattern(pattern, index.code_sizes)
        first = whole_number("offset", offset, index.n, 0)
        most = whole_number("limit", limit, MOST_LISTED, 0)
        matches = CodeTable(self.engine.pool.table).match(read)
        rows = matches.rows[first : first + most]
        return {
            "pattern": format_pattern(read, "."),
            "count": len(matches),
            "items": [
                {**item_fields(item), "codes": codes}
                for item, codes in zip(index.items(rows), index.codes(rows).tolist(), strict=True)
            ],
        }

    def neighbours(self, id: str, k: int = 10) -> list:
        """The items nearest to an item by embedding, with their cosines.

        Exact over the whole index for up to 200,000 items; in a larger one approximate, among items
        with similar IDs.

        id: the number of the item in the collection. k: how many neighbours.
        """
        near = describe_item(self.engine, row_of(self.engine.index, id), checked_k(k))["neighbours"]
        return [
            {**item_fields(neighbour["item"]), "cosine": neighbour["cosine"]} for neighbour in near
        ]

"""A search as a visitor asked for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from genius.examples import Example
from genius.schema import Item, Query
from genius.ui.common.formatting import describe_query, item_label
from genius.ui.search.history import Entry


@dataclass(frozen=True)
class SearchRequest:
    """What is searched for, and where it came from: the form, an example, an item, or an item's picture."""

    queries: Sequence[Query]  # one, or one for each instruction of an example
    example: Example | None = None
    example_number: int | None = None  # its place among the run's examples
    item: Item | None = None  # that is the query
    row: int | None = None  # of that item in the index
    pictured: str = ""  # id of the item whose picture is searched with
    uploaded: bool = False  # the picture, if there is one, is the visitor's own
    is_part: bool = False  # the picture is a part of what was uploaded
    adds_instruction: bool = False  # the visitor gave none, so the page did

    @property
    def query(self) -> Query:
        """The only query, or the first of several."""
        return self.queries[0]

    @property
    def has_own_picture(self) -> bool:
        return self.uploaded and self.query.image is not None

    @property
    def title(self) -> str:
        """What stands above the results of an example, or of an item that is the query; empty for others."""
        if self.example:
            return self.example.title
        return f"Like {describe_query(self.query)}" if self.item else ""

    def describe(self, query: Query) -> str:
        """One of the queries in a few words."""
        if self.item:
            return f"the item {quoted_label(self.item)}"
        return describe_query(query, part=self.is_part)

    def entry(self) -> Entry:
        """What the history keeps of it."""
        if self.item:
            return Entry(item=self.item.id)
        picture = self.query.image is not None and not self.pictured  # of an example, too
        query = self.query
        return Entry(query.text, query.instruction, "", picture, self.pictured, self.example_number)


def quoted_label(item: Item) -> str:
    """What an item is called, in quotes if that is a text."""
    return f"“{item_label(item)}”" if item.text else item_label(item)

"""A search as a visitor asked for it. Browsers keep it and send it, so all of it is checked."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

from genius.examples import Example
from genius.schema import Item, Query
from genius.search.checks import MAX_TEXT
from genius.search.engine import Engine
from genius.ui.common.formatting import describe_query, item_label, picture_address, picture_of

TEXTS = ("q", "instruction", "item", "picture", "example", "upload", "reading")


def setting_defaults(engine: Engine) -> dict[str, Any]:
    """The run's own values of the settings, by their names in an address."""
    return {
        "beams": 50,
        "results": 10,
        "order": "cosine" if engine.index.fused is None else "fused",
        "by": "both" if engine.has_codewords else "generate",
        "kind": "any",
        "weight": engine.decoder.config.decoder_weight,
        "in": "everything",
    }


@dataclass(frozen=True)
class Asked:
    """What asks for a search: the address of the page and the history have its fields."""

    q: str = ""  # the words
    instruction: str = ""
    item: str = ""  # id of the item that is the query
    picture: str = ""  # id of the item whose picture is searched with
    # place of the run's example that is asked, with its picture and all its instructions
    example: str = ""
    upload: str = ""  # file of the visitor's own picture
    reading: str = ""  # that was chosen in place of the one that was read
    part: Any = None  # of the upload, if not all of it is searched
    settings: tuple[tuple[str, str], ...] = ()  # those that are not the run's own

    @classmethod
    def read(cls, sent: Any, defaults: Mapping[str, Any]) -> Self:
        """Of what a browser sends, texts of bounded length; nothing of what is no search."""
        fields = sent if isinstance(sent, dict) else {}
        texts = {
            name: str(value)[: MAX_TEXT + 1] for name, value in fields.items() if value is not None
        }
        asked = {name: texts[name] for name in TEXTS if name in texts}
        settings = tuple((name, texts[name]) for name in defaults if name in texts)
        return cls(**asked, part=fields.get("part"), settings=settings)

    def setting_values(self, defaults: Mapping[str, Any]) -> dict[str, Any]:
        """The values of the settings. What is no number stays a text, which a search refuses."""
        values = dict(defaults)
        for name, text in self.settings:
            values[name] = text
            with suppress(ValueError):
                values[name] = type(defaults[name])(text)
        return values


@dataclass(frozen=True)
class SearchRequest:
    """The queries of a search, and what they were made from."""

    queries: Sequence[Query]  # one, or one for each instruction of an example
    asked: Asked = Asked()
    example: Example | None = None
    item: Item | None = None  # that is the query
    row: int | None = None  # of that item in the index

    @property
    def query(self) -> Query:
        """The only query, or the first of several."""
        return self.queries[0]

    @property
    def instruction(self) -> str:
        """What the form shows as the instruction: what was typed, or that of an example's only
        query.
        """
        if not self.example:
            return self.asked.instruction
        return self.query.instruction if len(self.queries) == 1 else ""

    @property
    def picture_address(self) -> str:
        """Where the picture of the query is, if it is no upload."""
        if self.example and self.example.picture:
            return f"examples/{self.asked.example}/picture"
        if self.item:
            return picture_address(self.item) or ""
        return self.asked.picture and picture_of(self.asked.picture)

    @property
    def title(self) -> str:
        """What stands above the results of an example, or of an item that is the query."""
        if self.example:
            return self.example.title
        return f"Like {describe_query(self.query)}" if self.item else ""

    def describe(self, query: Query) -> str:
        """One of the queries in a few words."""
        if self.item:
            return f"the item {quoted_label(self.item)}"
        return describe_query(query, part=bool(self.asked.part))


def quoted_label(item: Item) -> str:
    """What an item is called, in quotes if that is a text."""
    return f"“{item_label(item)}”" if item.text else item_label(item)

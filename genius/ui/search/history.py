"""A search as a visitor asked for it, and the last ones. A browser keeps them, so all that comes back is checked."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from genius.examples import Example
from genius.schema import Item, Query
from genius.search.checks import MAX_TEXT
from genius.ui.common.formatting import describe_query, item_label

MAX_ENTRIES = 20  # that are shown
TEXTS = ("q", "instruction", "item", "picture", "example", "upload", "reading")
# In an address, in the order of those of the form
SETTINGS = ("beams", "results", "order", "by", "kind", "weight", "in")


@dataclass(frozen=True)
class Asked:
    """What asks for a search again: in the address of the page (common/links.py), in the history, from other tabs."""

    q: str = ""  # the words
    instruction: str = ""
    item: str = ""  # id of the item that is the query
    picture: str = ""  # id of the item whose picture is searched with
    example: str = ""  # place of the run's example that is asked, with its picture and all its instructions
    upload: str = ""  # file of the visitor's own picture
    reading: str = ""  # that was chosen in place of the one that was read
    part: Any = None  # of the upload, if not all of it is searched
    unkept: bool = False  # the history does not keep the upload
    settings: tuple[tuple[str, str], ...] = ()  # those of SETTINGS that are not the run's own

    @classmethod
    def read(cls, sent: Any) -> Self:
        """Of what a browser sends, texts of bounded length; nothing of what is no search."""
        fields = sent if isinstance(sent, dict) else {}
        texts = {name: str(value)[: MAX_TEXT + 1] for name, value in fields.items() if value is not None}
        asked = {name: texts[name] for name in TEXTS if name in texts}
        settings = tuple((name, texts[name]) for name in SETTINGS if name in texts)
        return cls(**asked, part=fields.get("part"), unkept=fields.get("unkept") is True, settings=settings)

    def fields(self) -> dict[str, Any]:
        """Those that say something, as a browser keeps them."""
        own = {name: value for name, value in asdict(self).items() if value and name != "settings"}
        return own | dict(self.settings)

    def with_settings(self, values: Sequence[Any], defaults: Sequence[Any]) -> Self:
        """values: of SETTINGS in the form. defaults: the run's own."""
        several = zip(SETTINGS, values, defaults, strict=False)
        return replace(self, settings=tuple((name, str(value)) for name, value, own in several if value != own))

    def setting_values(self, defaults: Sequence[Any]) -> list[Any]:
        """Values of SETTINGS in the form. What is no number stays a text, which a search refuses with a sentence."""
        values = [*defaults]
        for name, text in self.settings:
            place = SETTINGS.index(name)
            with suppress(ValueError):
                text = type(defaults[place])(text)
            values[place] = text
        return values


def read_entries(stored: Any) -> list[Asked]:
    """The searches that a browser stored, latest first."""
    records = stored[:MAX_ENTRIES] if isinstance(stored, list) else ()
    return [replace(Asked.read(record), upload="", part=None) for record in records]


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
    def title(self) -> str:
        """What stands above the results of an example, or of an item that is the query; empty for others."""
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

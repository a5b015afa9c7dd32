"""How numbers, IDs, items and queries are written, wherever a tab shows them. No widget, no
markup.
"""

import base64
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote, urlsplit

import numpy as np
from PIL import Image

from genius.errors import UserError
from genius.explore.items import describe_item
from genius.index.store import Index
from genius.schema import Item, Modality, Query, provenance_of, source_fields
from genius.search.engine import Engine

Json = dict[str, Any]  # an object as a script or a program reads it
MODALITY_NAMES = {Modality.IMAGE: "Image", Modality.TEXT: "Text", Modality.PAIR: "Pair"}
MODALITY_PLURALS = {Modality.IMAGE: "images", Modality.TEXT: "texts", Modality.PAIR: "pairs"}
TARGET_ORDER = (Modality.TEXT, Modality.IMAGE, Modality.PAIR)  # of questions about a picture
# of a search, in their order: name, and what the stage does, for people outside the field
STAGES = {
    "read": ("read", "Read what the words ask for, and what they are about"),
    "encode": ("encode", "Turn words and picture into numbers, their embeddings"),
    "fuse": (
        "fuse",
        "Combine the numbers of words and picture into one vector, from which the ID is written",
    ),
    "beam": ("beam search", "Write IDs code by code, always keeping the best beginnings: the beam"),
    "scan": ("scan", "Compare the query with the ID of every item"),
    "rerank": ("re-rank", "Order the items that were found by how well they fit the query"),
    "fetch": ("fetch", "Read texts and pictures of the results, and show each thing once"),
    "explain": ("explain", "See how probable each code of the results is"),
}
QUERY_PICTURE_SIDE = 256  # pixels of a query's picture where it is shown again
LONGEST_FIELD = 300  # characters of a credit, license or origin
LONGEST_EXCERPT = 200  # characters of a text on a tile
LONGEST_NAME = 60  # characters of an item's name
# fields of a source that name an item without a text, the best first
NAMING_FIELDS = ("title", "category", "kind")
NEIGHBOURS = 8  # of an item, on its card
PAGE_SIZE = 24  # items of a page


def number(value: float, digits: int) -> str:
    """A fixed number of decimals, with a real minus sign, but none before zero."""
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "\N{MINUS SIGN}")


def count(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def ordinal(rank: int) -> str:
    """1 -> 1st, 12 -> 12th, 1002 -> 1,002nd."""
    last = {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"{rank:,}{'th' if rank % 100 in (11, 12, 13) else last}"


def cells(*row: str | tuple[str, float]) -> list[Json]:
    """A row of a table as nodes.js draws it: texts, or a text with a bar of a length from 0 to
    1.
    """
    return [
        {"text": cell} if isinstance(cell, str) else {"text": cell[0], "bar": cell[1]}
        for cell in row
    ]


def table(caption: str, columns: Sequence[str], rows: Sequence[list[Json]], note: str = "") -> Json:
    """A table as nodes.js draws it; rows of `cells`."""
    return {"caption": caption, "columns": columns, "rows": rows, "note": note}


def percent(share: float) -> str:
    """A share in percent, with as many digits as are useful."""
    if 0 < share < 0.001:
        return "<0.1 %"
    return f"{100 * share:.{1 if share < 0.1 else 0}f} %"


def milliseconds(spent: float) -> str:
    """A time, in seconds from one second on."""
    if spent >= 999.5:
        return f"{spent / 1000:.1f} s"
    return f"{spent:.1f} ms" if spent < 9.95 else f"{spent:.0f} ms"


def data_uri(webp: bytes) -> str:
    """A picture as part of the answer, without a second request."""
    return "data:image/webp;base64," + base64.b64encode(webp).decode()


def small_copy(picture: Image.Image) -> Image.Image:
    copy = picture.copy()
    copy.thumbnail((QUERY_PICTURE_SIDE, QUERY_PICTURE_SIDE))
    return copy


def small_webp(picture: Image.Image) -> bytes:
    """A small copy as a file."""
    stream = io.BytesIO()
    small_copy(picture).save(stream, "WEBP", quality=85)
    return stream.getvalue()


def shared_prefix(first: Sequence[int], second: Sequence[int]) -> int:
    """How many leading codes two IDs have in common."""
    different = (level for level, (a, b) in enumerate(zip(first, second, strict=False)) if a != b)
    return next(different, min(len(first), len(second)))


def identifier(codes: Sequence[int], query_codes: Sequence[int]) -> Json:
    """An ID and how much of it is the query's own."""
    return {"codes": [int(code) for code in codes], "shared": shared_prefix(codes, query_codes)}


def excerpt(text: str, longest: int) -> str:
    """The beginning of a text, in one line."""
    text = " ".join(text.split())
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def item_label(item: Item) -> str:
    """What an item is called: its text, or for a picture without one what its source says that it
    shows, or the name of its file where that is more than a number.
    """
    if item.text:
        return excerpt(item.text, LONGEST_NAME)
    fields = source_fields(item.source)
    name = next(
        (value for field in NAMING_FIELDS if isinstance(value := fields.get(field), str) and value),
        "",
    )
    file = PurePosixPath(item.image or "")
    if not name and any(map(str.isalpha, file.stem)):
        return excerpt(file.name, LONGEST_NAME)
    modality = MODALITY_NAMES[item.modality]
    return f"{modality}: {excerpt(name, LONGEST_NAME)}" if name else f"{modality} {item.id}"


def picture_address(item: Item) -> str | None:
    """Where the page finds the thumbnail of an item, below the address of the run."""
    return None if item.image is None else picture_of(item.id)


def picture_of(id: str) -> str:
    """As `picture_address`, of an item that has a picture."""
    return f"items/{quote(id, safe='')}/picture"


def item_view(item: Item) -> Json:
    """An item as panels draw it: its id, modality, text, label, picture and provenance."""
    return {
        "id": item.id,
        "name": MODALITY_NAMES[item.modality],
        "label": item_label(item),
        "modality": item.modality.name.lower(),
        # a vector may have neither text nor picture
        "text": item.text or ("" if item.image else item_label(item)),
        "picture": picture_address(item),
        "provenance": provenance_view(provenance_of(item.source)),
    }


def provenance_view(provenance: Mapping[str, str]) -> dict[str, str] | None:
    """Where an item comes from, with `link` if its origin is an address on the web; None if nothing
    is known.
    """
    if not provenance:
        return None
    link = {"link": provenance["origin"]} if is_web_address(provenance.get("origin", "")) else {}
    return {name: value[:LONGEST_FIELD] for name, value in provenance.items()} | link


def is_web_address(text: str) -> bool:
    """Whether a text is an http or https address, and not another scheme, a path or prose."""
    try:
        parts = urlsplit(text)
        return (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and text.isprintable()
            and " " not in text
        )
    except ValueError:
        return False


def tile(item: Item, figure: str = "") -> Json:
    """An item small enough for a grid, its text cut; figure: a number to show with it."""
    view = item_view(item)
    text = view["text"]
    if len(text) > LONGEST_EXCERPT:
        text = text[:LONGEST_EXCERPT].rstrip() + "…"
    return {**view, "text": text, "figure": figure}


def tiles(index: Index, rows: Sequence[int]) -> list[Json]:
    """The tiles of the items at these rows, with their codes."""
    found = zip(index.items(rows), index.codes(rows).tolist(), strict=True)
    return [tile(item) | {"codes": codes} for item, codes in found]


def item_card(engine: Engine, row: int) -> Json:
    """An item with its ID and its nearest neighbours."""
    known = describe_item(engine, row, NEIGHBOURS)
    return {
        **item_view(known["item"]),
        **{name: known[name] for name in ("codes", "facts", "exact")},
        "neighbours": [
            item_view(near["item"]) | {"figure": number(near["cosine"], 3)}
            for near in known["neighbours"]
        ],
    }


def page_of(rows: np.ndarray, page: int) -> tuple[list[int], int, int]:
    """Some of the rows (n,), on which page they are, and how many pages there are: the last one
    where there are fewer. Raises UserError for no page.
    """
    if page < 0:
        raise UserError("There is no such page; reload the page.")
    pages = -(-len(rows) // PAGE_SIZE)
    page = max(0, min(page, pages - 1))
    return rows[page * PAGE_SIZE : (page + 1) * PAGE_SIZE].tolist(), page, pages


def describe_query(query: Query, longest: int = 60, part: bool = False) -> str:
    """The query in a few words, so that results show which query they belong to. part: its picture
    was cut out.
    """
    text = excerpt(query.text, longest)
    words = [f"“{text}”"] if text else []
    picture = "the marked part of the picture" if part else "the picture"
    return " and ".join(words + [picture] * (query.image is not None))


def suggest_instructions(instructions: Iterable[tuple[Modality, Modality, str]]) -> list[str]:
    """All instructions, each once, by what they ask for."""
    ordered = sorted(instructions, key=lambda entry: entry[1])
    return list(dict.fromkeys(text for _, _, text in ordered))


def shortest_instructions(
    instructions: Iterable[tuple[Modality, Modality, str]], query: Modality
) -> list[str]:
    """For each modality of targets, the shortest instruction for queries of a modality."""
    by_target = (
        [text for *kinds, text in instructions if kinds == [query, target]]
        for target in TARGET_ORDER
    )
    return list(dict.fromkeys(min(texts, key=len) for texts in by_target if texts))

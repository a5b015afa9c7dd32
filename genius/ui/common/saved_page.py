"""A search as one HTML file that needs nothing else: pictures are part of it, and it has no scripts.

Its own policy (Content-Security-Policy) forbids scripts and requests of any kind, and the template escapes every text,
so what items or visitors wrote can run nothing.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import zip_longest
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from genius.schema import provenance_of
from genius.ui.common import formatting
from genius.ui.common.context import LastQuery

FILE_NAME = "genius-search.html"
ORDERS = {  # by `SearchResult.order`
    "score": "in the order of their generated IDs",
    "cosine": "re-ranked by similarity",
    "ranker": "re-ranked by the ranker of this collection",
}


def saved_page(
    answers: Sequence[LastQuery],
    run: str,
    pictures: Mapping[int, bytes | None],
    when: datetime,
    strips: Sequence[Mapping[str, Any] | None] = (),
    names: Mapping[str, str] | None = None,
) -> str:
    """The file. pictures: thumbnails (WebP) of the results by row. strips: how the shown ID of each search was
    generated, as the strip shows it. names: of codes by prefix, such as 0.17."""
    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    templates.globals |= {"formatting": formatting, "provenance_of": provenance_of, "orders": ORDERS}
    return templates.get_template("saved_page.html").render(
        searches=list(zip_longest(answers, strips)),
        run=run,
        pictures=pictures,
        when=f"{when:%d %B %Y, %H:%M}",
        names=names or {},
    )

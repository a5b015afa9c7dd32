"""A search as one HTML file that needs nothing else: pictures are part of it, and it has no scripts.

Its own policy (Content-Security-Policy) forbids scripts and requests of any kind, and every text in it is escaped, so
what items or visitors wrote can run nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from html import escape
from itertools import zip_longest
from pathlib import Path
from string import Template
from typing import Any

from genius.schema import Hit, Query, provenance_of
from genius.ui.common.context import LastQuery
from genius.ui.common.formatting import (
    MODALITY_NAMES,
    MODALITY_PLURALS,
    count,
    data_uri,
    is_web_address,
    item_label,
    number,
    shared_prefix,
    small_webp,
)

FILE_NAME = "genius-search.html"
MAX_ALT_TEXT = 120  # characters of a picture's description
SHOWN_IDS = 10  # generated IDs of each search
ORDERS = {  # by `SearchResult.ranking`
    None: "in the order of their generated IDs",
    "cosine": "re-ranked by similarity",
    "ranker": "re-ranked by the ranker of this collection",
}
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
PAGE = Template(Path(__file__).with_name("saved_page.html").read_text(encoding="utf-8"))
LONGEST = 60  # characters of an item's text


def saved_page(
    answers: Sequence[LastQuery],
    run: str,
    pictures: Mapping[int, bytes | None],
    when: datetime,
    strips: Sequence[str] = (),
) -> str:
    """The file. pictures: thumbnails (WebP) of the results by row. strips: how the shown ID of each search was
    generated, as HTML (saved_strip)."""
    searches = (
        _search(answer, pictures, answer is answers[0], strip)
        for answer, strip in zip_longest(answers, strips, fillvalue="")
    )
    return PAGE.substitute(
        policy=POLICY,
        title=escape(f"GENIUS search: {answers[0].description}"),
        when=f"{when:%d %B %Y, %H:%M}",
        run=escape(run),
        searches="".join(searches),
    )


def _search(answer: LastQuery, pictures: Mapping[int, bytes | None], with_picture: bool, strip: str) -> str:
    """One query and its results. with_picture: show the query's picture, which several instructions share. strip: how
    its ID was generated, as HTML."""
    result = answer.result
    ids = "".join(
        f"<tr><td>{place}</td><td>{_codes(beam.codes, result.query_codes)}</td><td>{number(beam.log_prob, 2)}</td>"
        f"<td>{beam.bucket:,}</td></tr>"
        for place, beam in enumerate(result.generated[:SHOWN_IDS], 1)
    )
    cards = "".join(_card(hit, pictures.get(hit.row), result.query_codes) for hit in result.hits)
    return (
        f"<h2>{escape(answer.query.instruction or 'Search')}</h2>\n"
        + _query(answer.query, with_picture)
        + f'<p class="faint">{count(len(result.hits), "result")} out of {count(result.candidates, "candidate")}, '
        f"{_order(answer)}.</p>\n" + strip + f'<ol class="cards">{cards}</ol>\n'
        f"<h3>Generated IDs</h3>\n<p>The query’s own ID: {_codes(result.query_codes, result.query_codes)}</p>\n"
        '<div class="wide"><table><thead><tr><th>#</th><th>ID</th><th>log-probability</th><th>items</th></tr></thead>'
        f"<tbody>{ids}</tbody></table></div>\n"
    )


def _query(query: Query, with_picture: bool) -> str:
    text = f"<blockquote>{escape(query.text)}</blockquote>" if query.text else ""
    picture = _image(small_webp(query.image), "The picture of the query") if query.image and with_picture else ""
    return f'<div class="query">{picture}{text}</div>\n'


def _order(answer: LastQuery) -> str:
    modality = answer.options.modality
    return ORDERS[answer.result.ranking] + ("" if modality is None else f"; {MODALITY_PLURALS[modality]} only")


def _card(hit: Hit, picture: bytes | None, query_codes: Sequence[int]) -> str:
    item = hit.item
    image = _image(picture, item.text[:MAX_ALT_TEXT] or item_label(item)) if picture else ""
    text = f"<p>{escape(item.text)}</p>" if item.text else ""
    return (
        f"<li><strong>{hit.rank}</strong> {MODALITY_NAMES[item.modality]}{image}{text}"
        f'<p class="faint">similarity {number(hit.cosine, 3)}</p><p>{_codes(hit.codes, query_codes)}</p>'
        f'<p class="faint">{_credit(provenance_of(item.source))}item {escape(item.id)}</p></li>\n'
    )


def _credit(provenance: Mapping[str, str]) -> str:
    parts = [escape(provenance[name]) for name in ("credit", "licence") if provenance.get(name)]
    origin = provenance.get("origin", "")
    if is_web_address(origin):
        parts.append(f'<a href="{escape(origin)}" rel="noopener noreferrer">origin</a>')
    return " · ".join(parts) + "<br>" if parts else ""


def _codes(codes: Sequence[int], query_codes: Sequence[int]) -> str:
    shared = shared_prefix(codes, query_codes)
    marks = ("<code class=shared>" if level < shared else "<code>" for level in range(len(codes)))
    return " · ".join(f"{mark}{code}</code>" for mark, code in zip(marks, codes, strict=True))


def _image(webp: bytes, description: str) -> str:
    return f'<img src="{data_uri(webp)}" alt="{escape(description)}">'


def saved_strip(strip: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """The table. strip: as strip_view.strip gives it. names: of codes by prefix such as 0.17."""
    columns, items = strip["columns"], strip["items"]
    rows = (
        ("Code", lambda column: _code(column["code"])),
        ("Meaning", lambda column: "" if column["settled"] else _meaning(column["code"], names)),
        ("Probability", lambda column: "" if column["settled"] else _probability(column["code"])),
        ("Ruled out", lambda column: "" if column["settled"] else escape(column["masked"] or "")),
        ("Items still possible", lambda column: f"<strong>{escape(column['items'])}</strong>"),
        ("Some of them", lambda column: "".join(_item(items[str(row)]) for row in column["rows"])),
        ("Other codes", lambda column: "".join(_other(other) for other in column["others"])),
    )
    heads = "".join(f'<th scope="col">{escape(column["head"])}</th>' for column in columns)
    body = "".join(
        f'<tr><th scope="row">{name}</th>' + "".join(f"<td>{cell(column)}</td>" for column in columns) + "</tr>"
        for name, cell in rows
    )
    ending = strip["ending"]["note"] if any(column["settled"] for column in columns) else ""
    notes = " ".join([ending, strip["note"], *strip["meaning"]])
    return (
        f"<h3>{escape(strip['title'])}</h3>\n<p>{escape(strip['sentence'])}</p>\n"
        f'<div class="wide"><table class="levels"><thead><tr><td></td>{heads}</tr></thead><tbody>{body}</tbody></table>'
        f'</div>\n<p class="faint">{escape(notes.strip())}</p>\n'
    )


def _code(code: Mapping[str, Any] | None) -> str:
    return "" if code is None else f"<code>{escape(' '.join(filter(None, [str(code['code']), code['name']])))}</code>"


def _meaning(code: Mapping[str, Any] | None, names: Mapping[str, str]) -> str:
    return "" if code is None or code["name"] else escape(names.get(code["prefix"], ""))


def _probability(code: Mapping[str, Any] | None) -> str:
    return "" if code is None else escape(code["probability"] or "not decoded")


def _other(code: Mapping[str, Any]) -> str:
    return f'<div class="other">{_code(code)} {escape(code["probability"] or "")}</div>'


def _item(item: Mapping[str, Any]) -> str:
    """A picture, or the first words of a text."""
    label = escape(item["label"])
    if item["picture"]:
        return f'<img src="{escape(item["picture"])}" alt="{label}" title="{label}">'
    return f'<div class="excerpt">{escape(item["text"][:LONGEST])}</div>'

"""The generation strip as a table of HTML without a script, for a search that is saved as a file."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

STYLE = """
.levels { border-spacing: 4px 0; border-collapse: separate; overflow-wrap: normal; }
.levels :is(th, td) { padding: 4px 8px; text-align: center; vertical-align: top; border-inline: 1px solid var(--line); }
.levels th[scope=row] { border: 0; text-align: right; font-size: 13px; font-weight: 400; color: var(--faint); }
.levels img { width: 44px; height: 44px; margin: 1px; object-fit: cover; border-radius: 6px; }
.levels .excerpt { min-width: 96px; max-width: 140px; margin: 2px 0; font-size: 11px;
  line-height: 1.3; text-align: left; }
.levels .other { font-size: 12px; color: var(--faint); white-space: nowrap; }
"""
LONGEST = 60  # characters of an item's text


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

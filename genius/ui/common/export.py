"""Results as files that a browser saves; none is kept on the server.

CSV and JSON are sent with the results. A search as one HTML file needs nothing else: pictures are part of it, and it
has no scripts. Its own policy (Content-Security-Policy) forbids scripts and requests of any kind, and the template
escapes every text, so what items or visitors wrote can run nothing.
"""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import zip_longest
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from genius.schema import Hit, provenance_of
from genius.ui.common import formatting
from genius.ui.common.context import LastQuery

OF_HIT = ("rank", "generated_rank", "item", "modality", "text", "cosine", "log_probability")
COLUMNS = ("query", "instruction", *OF_HIT, "codes")
FIELDS = {  # of the JSON file, where their names do not say enough
    "score": "orders the generated IDs",
    "log_probability": "of an ID by the decoder, natural logarithm; each code among all codes of its level",
    "generated_rank": "before re-ranking; items that only the scan of all IDs found come last",
    "first_code_probabilities": "among the first codes, before any restriction of the modality",
    "cosine": "of the embeddings of query and item; orders the results if order is cosine",
}
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet computes texts that start with these

FILE_NAME = "genius-search.html"
ORDERS = {  # by `SearchResult.order`
    "score": "in the order of their generated IDs",
    "cosine": "re-ranked by similarity",
    "ranker": "re-ranked by the ranker of this collection",
}


def exports(answers: Sequence[LastQuery], run: str) -> list[dict[str, str]]:
    """Files with the results of one or more queries, which the browser can save; none without results."""
    if not any(answer.result.hits for answer in answers):
        return []
    return save_files("genius-results", results_csv(answers), results_json(answers, run))


def save_files(name: str, table: str, record: str) -> list[dict[str, str]]:
    """A CSV and a JSON file, which the browser can save."""
    kinds = (("CSV", "text/csv;charset=utf-8", table), ("JSON", "application/json", record))
    return [
        {"name": f"{name}.{label.lower()}", "label": label, "type": type, "text": text} for label, type, text in kinds
    ]


def results_csv(answers: Sequence[LastQuery]) -> str:
    """A line per result."""
    return csv_text(
        COLUMNS,
        (
            {"query": answer.description, "instruction": answer.query.instruction}
            | _record(hit)
            | {"codes": " ".join(map(str, hit.codes))}
            for answer in answers
            for hit in answer.result.hits
        ),
    )


def csv_text(columns: Sequence[str], records: Iterable[dict[str, Any]]) -> str:
    """A table for spreadsheets: it begins with a byte order mark, or Excel would not read it as UTF-8, and texts that a
    spreadsheet would compute get an apostrophe."""
    stream = io.StringIO()
    stream.write("\ufeff")
    table = csv.DictWriter(stream, columns)
    table.writeheader()
    for record in records:
        table.writerow(
            {
                name: f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value
                for name, value in record.items()
            }
        )
    return stream.getvalue()


def results_json(answers: Sequence[LastQuery], run: str) -> str:
    """The results with the queries, the options and the generated IDs."""
    record = {"run": run, "fields": FIELDS, "searches": [_search(answer) for answer in answers]}
    return json.dumps(record, ensure_ascii=False, indent=1)


def _search(answer: LastQuery) -> dict[str, Any]:
    query, options, result = answer.query, answer.options, answer.result
    return {
        "query": {
            "title": answer.description,
            "text": query.text,
            "instruction": query.instruction,
            "picture": query.image is not None,
            "codes": list(result.query_codes),
        },
        "options": {
            "beams": options.beams,
            "results": options.k,
            "order": result.order,
            "mode": result.mode,
            "modality": options.modality and options.modality.name.lower(),
            "added": options.added,
        },
        "first_code_probabilities": result.first_code_probabilities.tolist(),
        "generated": [
            {"codes": list(beam.codes), "score": beam.score, "log_probability": beam.log_prob, "items": beam.bucket}
            for beam in result.generated
        ],
        "results": [
            _record(hit) | {"codes": list(hit.codes), "log_probabilities": list(hit.log_probs)} for hit in result.hits
        ],
    }


def _record(hit: Hit) -> dict[str, Any]:
    item = hit.item
    of_item = item.id, item.modality.name.lower(), item.text
    return dict(zip(OF_HIT, (hit.rank, hit.generated_rank, *of_item, hit.cosine, hit.log_prob), strict=True))


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

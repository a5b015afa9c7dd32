"""Results as files that a browser saves; none is kept on the server.

CSV and JSON are sent with the results. A search as one HTML file needs nothing else: pictures are
part of it, and it has no scripts. Its own policy (Content-Security-Policy) forbids scripts and
requests of any kind, and the template escapes every text, so what items or visitors wrote can run
nothing.
"""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from genius.index.store import Index
from genius.schema import Item, SearchResult, provenance_of
from genius.ui.common import formatting
from genius.ui.common.context import LastQuery
from genius.ui.common.formatting import Json

OF_ITEM = ("id", "modality", "text")
COLUMNS = (
    "query",
    "instruction",
    "rank",
    "generated_rank",
    *OF_ITEM,
    "cosine",
    "log_prob",
    "codes",
)
FIELDS = {  # of the JSON file, where their names do not say enough
    "score": "orders the generated IDs",
    "log_prob": "of an ID by the decoder, natural logarithm; each code among all of its level",
    "generated_rank": "before re-ranking; items that only the scan of all IDs found come last",
    "first_code_probabilities": "among the first codes, before any restriction of the modality",
    "reading": "what the words ask for; content and left_out are those of the words that say what",
    "versions": "items that show the same photograph",
    "cosine": "of the embeddings of query and item; orders the results if order is cosine",
    "fused": "inner product of the fused features of query and item, if the index keeps these; "
    "orders the results then",
}
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet computes texts that start with these

TYPES = {
    "csv": "text/csv;charset=utf-8",
    "json": "application/json",
    "html": "text/html;charset=utf-8",
}
ORDERS = {  # by `SearchResult.order`
    "score": "in the order of their generated IDs",
    "cosine": "re-ranked by similarity",
    "fused": "re-ranked by the similarity of their features before coding",
}


def saved_file(name: str, form: str, text: str) -> dict[str, str]:
    """What a browser saves as a file."""
    return {"name": f"{name}.{form}", "type": TYPES[form], "text": text}


def results_csv(answers: Sequence[LastQuery]) -> str:
    """A line per result."""
    records = []
    for answer in answers:
        asked = {"query": answer.description, "instruction": answer.query.instruction}
        for hit in search_fields(answer.result)["hits"]:
            records.append(asked | hit | {"log_prob": sum(hit["log_probabilities"])})
    return csv_text(COLUMNS, records)


def csv_text(columns: Sequence[str], records: Iterable[Json]) -> str:
    """A table for spreadsheets: it begins with a byte order mark, or Excel would not read it as
    UTF-8, and texts that a spreadsheet would compute get an apostrophe. Codes are one text; what no
    column names is left out.
    """
    stream = io.StringIO()
    stream.write("\ufeff")
    table = csv.DictWriter(stream, columns, extrasaction="ignore")
    table.writeheader()
    for record in records:
        codes = {"codes": " ".join(map(str, record["codes"]))}
        texts = {name: text for name, text in record.items() if isinstance(text, str)}
        computed = {name: f"'{text}" for name, text in texts.items() if text.startswith(FORMULA)}
        table.writerow(record | computed | codes)
    return stream.getvalue()


def results_json(answers: Sequence[LastQuery], run: str) -> str:
    """The results with the queries, the options and the generated IDs."""
    record = {"run": run, "fields": FIELDS, "searches": [_search(answer) for answer in answers]}
    return json.dumps(record, ensure_ascii=False, indent=1)


def _search(answer: LastQuery) -> Json:
    query, options, result = answer.query, answer.options, answer.result
    return {
        "query": {
            "title": answer.description,
            "text": query.text,
            "instruction": query.instruction,
            "picture": query.image is not None,
        },
        "options": {
            "beams": options.beams,
            "results": options.k,
            "mode": result.mode,
            "modality": options.modality and options.modality.name.lower(),
            "added": options.added,
        },
        **search_fields(result),
    }


def search_fields(result: SearchResult) -> Json:
    """The answer to a query, as the API and the saved JSON have it."""
    return {
        "hits": [
            {
                "rank": hit.rank,
                **item_fields(hit.item),
                "codes": list(hit.codes),
                "cosine": hit.cosine,
                "log_probabilities": list(hit.log_probs),
                "generated_rank": hit.generated_rank,
                "fused": hit.fused,
                "versions": [item.id for item in hit.versions],
            }
            for hit in result.hits
        ],
        "generated": [
            {
                "codes": list(beam.codes),
                "score": beam.score,
                "log_prob": beam.log_prob,
                "items": beam.bucket,
            }
            for beam in result.generated
        ],
        "query_codes": list(result.query_codes),
        "first_code_probabilities": result.first_code_probabilities.tolist(),
        "order": result.order,
        "match": result.match,
        "reading": result.reading and asdict(result.reading),
        "milliseconds": result.milliseconds,
    }


def coded_items(index: Index, rows: np.ndarray) -> list[Json]:
    """The items at these rows, with their codes."""
    found = zip(index.items(rows), index.codes(rows).tolist(), strict=True)
    return [item_fields(item) | {"codes": codes} for item, codes in found]


def item_fields(item: Item) -> dict[str, str]:
    return dict(zip(OF_ITEM, (item.id, item.modality.name.lower(), item.text), strict=True))


def saved_page(
    answers: Sequence[LastQuery],
    strips: Sequence[Mapping[str, Any] | None],
    run: str,
    pictures: Mapping[int, bytes | None],
    names: Mapping[str, str],
) -> str:
    """The file. strips: how the shown ID of each search was generated, as the strip shows it.
    pictures: thumbnails (WebP) of items by row. names: of codes by prefix, such as 0.17.
    """
    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    return templates.get_template("saved_page.html").render(
        searches=list(zip(answers, strips, strict=True)),
        run=run,
        pictures=pictures,
        when=f"{datetime.now():%d %B %Y, %H:%M}",
        names=names,
        formatting=formatting,
        provenance_of=provenance_of,
        orders=ORDERS,
    )

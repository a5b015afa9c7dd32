"""The API tab: four endpoints for programs, documented from their own signatures. All other events are private."""

import inspect
import re
from collections.abc import Callable
from typing import Any, get_type_hints

import gradio as gr

from genius.explore.code_patterns import format_pattern, parse_pattern
from genius.explore.items import describe_item, row_of
from genius.schema import Modality, Query, SearchOptions, SearchResult, provenance_of
from genius.search.checks import checked_k, whole_number
from genius.trie.code_table import CodeTable
from genius.ui.common import formatting
from genius.ui.common.components import SEARCHES, Panel, open_upload, target_of
from genius.ui.common.context import Context
from genius.ui.common.export import item_fields, search_fields
from genius.ui.gradio_hooks import upload_path
from genius.ui.monitoring import record_search

MOST_LISTED = 100  # items of one page of code_items
DEFAULTS = {inspect.Parameter.empty: "required", "": "empty", None: "none", False: "false"}  # how defaults are shown
TYPES = {str: "text", int: "number", bool: "true or false", gr.FileData | None: "file"}
EXAMPLE_CALLS = {  # arguments in the snippets, by endpoint; {id} is the first item of the index
    "search": {"text": "a red mug", "k": 5},
    "item": {"id": "{id}"},
    "code_items": {"pattern": "0.*", "limit": 5},
    "neighbours": {"id": "{id}", "k": 5},
}


def api_tab(context: Context, tab: gr.Tab) -> None:
    """Declare the endpoints and document them."""
    functions = endpoints(context)
    for function in functions:
        limits = SEARCHES if function.__name__ == "search" else {}
        gr.api(function, api_name=function.__name__, **limits)
    (first,) = context.engine.index.items([0])
    Panel("api", "api/api.js", {"endpoints": [endpoint_view(function, first.id) for function in functions]})


def endpoint_view(function: Callable, id: str) -> dict[str, Any]:
    """What api.js draws of an endpoint: its parameters, and calls of it."""
    summary, details, meanings = (" ".join(part.split()) for part in inspect.getdoc(function).split("\n\n"))
    hints, parameters = get_type_hints(function), inspect.signature(function).parameters.values()
    names = "|".join(parameter.name for parameter in parameters)
    parts = re.split(rf"\b({names}): ", meanings)[1:]  # name, meaning, name, meaning …
    meaning = dict(zip(parts[::2], parts[1::2], strict=True))
    arguments = {name: id if value == "{id}" else value for name, value in EXAMPLE_CALLS[function.__name__].items()}
    defaults = {
        parameter.name: None if parameter.default is parameter.empty else parameter.default for parameter in parameters
    }
    return {
        "name": function.__name__,
        "summary": summary,
        "details": details,
        "parameters": [
            {
                "name": parameter.name,
                "type": TYPES[hints[parameter.name]],
                "default": DEFAULTS.get(parameter.default, str(parameter.default)),
                "meaning": meaning[parameter.name].strip(),
            }
            for parameter in parameters
        ],
        "arguments": arguments,
        "in_order": list((defaults | arguments).values()),
    }


def endpoints(context: Context) -> list[Callable]:
    """The functions that programs may call. They raise UserError; the page turns it into an answer.

    Each docstring has three paragraphs, which the API tab shows: what the endpoint does, details, and its parameters.
    """
    engine = context.engine

    def search(
        text: str = "",
        picture: gr.FileData | None = None,
        instruction: str = "",
        k: int = 10,
        beams: int = 50,
        modality: str = "any",
        order: str = "",
        mode: str = "both",
        added: bool = False,
        reading: str = "",
    ) -> dict:
        """Search with words, a picture or both: generate IDs and scan them all, then rank the items.

        Returns hits, best first, with the log-probability of each of their codes and the items that show the same
        photograph, a word for how well they match (good, fair or weak), notes on what was not read as it may be meant,
        generated IDs, the query's own codes, the probability of each first code, times, how the words were read, and
        the instruction that was used.

        text: what is wanted, in your own words: similar, the same in red, a street without cars, what is this. picture:
        a PNG, JPEG or WebP file. instruction: what kind of result is wanted, where the text is to say what is sought
        alone. k: how many results at most. beams: how many
        beginnings of IDs are followed at once. modality: any, image, text or pair. order: fused features, cosine
        of the embeddings, as published, or score of the ID; fused by default where the index has them. mode: both,
        generate or scan. added: only items that were added since training. reading: photo, entry, caption, similar,
        change, answer, paraphrase or page, in place of how the words are read; none to take them as they stand.
        """
        image = open_upload(upload_path(picture)) if picture else None
        options = SearchOptions(beams, k, mode, order or None, target_of(modality), added=added)
        used = instruction or context.default_instruction(text, image)
        query = Query(text, image, used, reading)
        with record_search(query, engine.resolved(options).mode):
            (result,) = engine.search([query], options)
        return search_fields(result) | {
            "modality_probabilities": _modality_probabilities(result),
            "instruction": used,
            "notes": context.notes(query, result, added),
        }

    def item(id: str) -> dict:
        """One item: its modality, text, picture (a small WebP as a data URI), codes and the facts of its source.

        Raises an error where there is no such item.

        id: the number of the item in the collection, as hits name it.
        """
        row = row_of(engine.index, id)
        known, picture = describe_item(engine, row, neighbors=0), engine.index.thumbnail(row)
        return {
            **item_fields(known["item"]),
            "picture": formatting.data_uri(picture) if picture else None,
            "codes": known["codes"],
            "facts": dict(known["facts"]) | provenance_of(known["item"].source),
        }

    def code_items(pattern: str, limit: int = 20, offset: int = 0) -> dict:
        """The items whose IDs match a pattern of codes such as 0.17.*.5, where * is any code.

        Returns their number, and a page of them in the order of their IDs.

        pattern: how the IDs begin. limit: items of the page, at most 100. offset: where the page starts.
        """
        index = engine.index
        read = parse_pattern(pattern, index.code_sizes)
        first, most = whole_number("offset", offset, index.n, 0), whole_number("limit", limit, MOST_LISTED, 0)
        matches = CodeTable(engine.pool.table).match(read)
        rows = matches.rows[first : first + most]
        return {
            "pattern": format_pattern(read, "."),
            "count": len(matches),
            "items": [
                {**item_fields(item), "codes": codes}
                for item, codes in zip(index.items(rows), index.codes(rows).tolist(), strict=True)
            ],
        }

    def neighbours(id: str, k: int = 10) -> list:
        """The items nearest to an item by embedding, with their cosines.

        Exact over the whole index for up to 200,000 items; in a larger one approximate, among items with similar IDs.

        id: the number of the item in the collection. k: how many neighbours.
        """
        near = describe_item(engine, row_of(engine.index, id), checked_k(k))["neighbours"]
        return [{**item_fields(neighbour["item"]), "cosine": neighbour["cosine"]} for neighbour in near]

    return [search, item, code_items, neighbours]


def _modality_probabilities(result: SearchResult) -> dict[str, float] | None:
    """Probabilities of the first code; None where it does not stand for a modality."""
    if result.modality_code != "forced":
        return None
    return {modality.name.lower(): float(result.first_code_probabilities[modality]) for modality in Modality}

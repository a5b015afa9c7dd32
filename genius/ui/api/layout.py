"""The API tab: declares the endpoints and documents them from their own signatures."""

import inspect
import re
from collections.abc import Callable
from typing import Any, get_type_hints

import gradio as gr

from genius.ui.api.endpoints import endpoints
from genius.ui.common.components import SEARCHES, Panel
from genius.ui.common.context import Context

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
    in_order = list((defaults | arguments).values())
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
        "in_order": in_order,
    }

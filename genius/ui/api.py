"""The API tab: what programs may call, documented from its own types and docstrings."""

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any, get_type_hints

import gradio as gr

from genius.ui.common.context import Context, Panel
from genius.ui.common.formatting import Json

DEFAULTS = {inspect.Parameter.empty: "required", "": "empty", None: "none", False: "false"}
TYPES = {
    str: "text",
    int: "number",
    float: "number",
    bool: "true or false",
    dict: "object",
    list: "list",
    gr.FileData | None: "file",
}
# Arguments in the snippets, by endpoint; {id} is the first item of the index
EXAMPLE_CALLS: dict[str, Json] = {
    "search": {"text": "a red mug", "k": 5},
    "item": {"id": "{id}"},
    "code_items": {"pattern": "0.*", "limit": 5},
    "neighbours": {"id": "{id}", "k": 5},
    "find_codes": {"text": "dog"},
    "map_results": {"search": {"q": "a red mug"}},
}


def panel(context: Context, endpoints: Sequence[Callable[..., Any]]) -> Panel:
    def on_api() -> list[Json]:
        """What programs may call."""
        (first,) = context.engine.index.items([0])
        return [endpoint_view(function, first.id) for function in endpoints]

    return Panel({"api": on_api})


def endpoint_view(function: Callable, id: str) -> Json:
    """What api.js draws of an endpoint: its parameters, and calls of it."""
    summary, details, meanings = (
        " ".join(part.split()) for part in (inspect.getdoc(function) or "").split("\n\n")
    )
    hints = get_type_hints(function)
    parameters = inspect.signature(function).parameters.values()
    names = "|".join(parameter.name for parameter in parameters)
    parts = re.split(rf"\b({names}): ", meanings)[1:]  # name, meaning, name, meaning …
    meaning = dict(zip(parts[::2], parts[1::2], strict=True))
    arguments = {
        name: id if value == "{id}" else value
        for name, value in EXAMPLE_CALLS[function.__name__].items()
    }
    defaults = {
        parameter.name: None if parameter.default is parameter.empty else parameter.default
        for parameter in parameters
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

"""Which of a visitor's answers may still be shown, where several are computed at the same time.

Events of one kind wait for each other, those of different kinds do not: an example may end after the words that were
searched later. A gr.State hands the same `Newest` to all events of a visitor, as the last of their inputs.
"""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

import gradio as gr


class Newest:
    """A visitor's searches, each of which is a new object: assigning it needs no lock."""

    def __init__(self):
        self.latest_search: object = None  # the last one that began
        self.shown_search: object = None  # the last one whose results are shown
        self.latest_choice: dict[str, object] = {}  # panel -> the last choice in it that began


def newest_only(search: Callable) -> Callable:
    """The callback of a search. It changes nothing on the page if another search began before it ended.

    One that fails has not begun: the results of an earlier one may still come.
    """

    @wraps(search)
    def wrapper(*args: Any) -> Any:
        *inputs, newest = args
        previous, token = newest.latest_search, object()
        newest.latest_search = token
        try:
            outputs = search(*inputs)
        except Exception:
            if newest.latest_search is token:
                newest.latest_search = previous
            raise
        if newest.latest_search is not token:
            return gr.skip()
        newest.shown_search = token
        return outputs

    return with_newest(wrapper)


def if_still_shown(explain: Callable, panel: str = "") -> Callable:
    """A callback about the results that are shown. It changes nothing on the page if others are shown when it ends.

    panel: where several such callbacks fill one panel, its name: the one that began last counts.
    """

    @wraps(explain)
    def wrapper(*args: Any) -> Any:
        *inputs, newest = args
        shown, choice = newest.shown_search, object()
        if panel:
            newest.latest_choice[panel] = choice
        outputs = explain(*inputs)
        outdated = newest.shown_search is not shown or newest.latest_choice.get(panel, choice) is not choice
        return gr.skip() if outdated else outputs

    return with_newest(wrapper)


def with_newest(wrapper: Callable) -> Callable:
    """Give the wrapper a signature with one parameter more than its callback has: Gradio compares the numbers."""
    signature = inspect.signature(wrapper)
    parameters = [*signature.parameters.values(), inspect.Parameter("newest", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    wrapper.__signature__ = signature.replace(parameters=sorted(parameters, key=lambda parameter: parameter.kind))
    return wrapper

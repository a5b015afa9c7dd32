"""Of one visitor's answers that are computed at the same time, which may still be shown.

Events of one kind wait for each other, those of different kinds do not: an example may end after the words that were
searched later. A gr.State hands the same `Newest` to all events of a visitor, as the last of their inputs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

import gradio as gr


class Newest:
    """A visitor's searches, each of which is a new object: assigning it needs no lock."""

    def __init__(self):
        self.begun: object = None  # the last one that began
        self.shown: object = None  # the last one whose results are shown
        self.chosen: dict[str, object] = {}  # panel -> the last choice in it that began


def newest_only(search: Callable) -> Callable:
    """The callback of a search. It changes nothing on the page if another search began before it ended.

    One that fails has not begun: the results of an earlier one may still come.
    """

    @wraps(search)
    def answered(*given: Any) -> Any:
        *inputs, newest = given
        earlier, own = newest.begun, object()
        newest.begun = own
        try:
            found = search(*inputs)
        except Exception:
            if newest.begun is own:
                newest.begun = earlier
            raise
        if newest.begun is not own:
            return gr.skip()
        newest.shown = own
        return found

    return with_newest(answered)


def if_still_shown(explain: Callable, panel: str = "") -> Callable:
    """A callback about the results that are shown. It changes nothing on the page if others are shown when it ends.

    panel: where several such callbacks fill one panel, its name: the one that began last counts.
    """

    @wraps(explain)
    def answered(*given: Any) -> Any:
        *inputs, newest = given
        before, own = newest.shown, object()
        if panel:
            newest.chosen[panel] = own
        found = explain(*inputs)
        outdated = newest.shown is not before or (panel and newest.chosen[panel] is not own)
        return gr.skip() if outdated else found

    return with_newest(answered)


def with_newest(answered: Callable) -> Callable:
    """Tell Gradio, which compares numbers, of one argument more than the wrapped callback has."""
    own = inspect.signature(answered)
    if not any(one.kind is one.VAR_POSITIONAL for one in own.parameters.values()):
        more = inspect.Parameter("newest", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        answered.__signature__ = own.replace(parameters=[*own.parameters.values(), more])
    return answered

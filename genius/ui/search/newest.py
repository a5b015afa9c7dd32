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

    begun: object = None  # the last one that began
    shown: object = None  # the last one whose results are shown


def newest_only(search: Callable) -> Callable:
    """The callback of a search. It changes nothing on the page if another search began before it ended."""

    @wraps(search)
    def answered(*given: Any) -> Any:
        *inputs, newest = given
        newest.begun = own = object()
        found = search(*inputs)
        if newest.begun is not own:
            return gr.skip()
        newest.shown = own
        return found

    return with_newest(answered)


def about_the_shown(explain: Callable) -> Callable:
    """A callback about the results that are shown. It changes nothing on the page if others are shown when it ends."""

    @wraps(explain)
    def answered(*given: Any) -> Any:
        *inputs, newest = given
        before = newest.shown
        found = explain(*inputs)
        return found if newest.shown is before else gr.skip()

    return with_newest(answered)


def with_newest(answered: Callable) -> Callable:
    """Tell Gradio, which compares numbers, of one argument more than the wrapped callback has."""
    own = inspect.signature(answered)
    if not any(one.kind is one.VAR_POSITIONAL for one in own.parameters.values()):
        more = inspect.Parameter("newest", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        answered.__signature__ = own.replace(parameters=[*own.parameters.values(), more])
    return answered

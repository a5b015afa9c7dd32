"""Callbacks of a page that is not served."""

from __future__ import annotations

from collections.abc import Callable

import gradio as gr

from genius.ui.search.newest import Newest


def callback(page: gr.Blocks, name: str) -> Callable:
    """The function of an event, without the Newest that stands last among the inputs of some."""
    event = next(event for event in page.fns.values() if event.name == name)
    last = [block.value for block in event.inputs[-1:] if isinstance(getattr(block, "value", None), Newest)]
    return lambda *given: event.fn(*given, *last)


def form(text, picture=None, instruction="", beams=5, k=3, mode="set", target="any") -> tuple:
    """The inputs of the event of the Search button, for `ask`."""
    return text, picture, instruction, None, "", [], beams, k, True, mode, target, "cosine", 0.25, None

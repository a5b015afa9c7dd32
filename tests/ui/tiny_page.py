"""Pages that are served, one over a tiny run of real models that were not trained, and the callbacks of a page."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import gradio as gr

from genius.explore.code_names import code_names, save_names
from genius.explore.code_profile import Profiles
from genius.search.engine import Engine
from genius.ui.common.about import About
from genius.ui.common.context import ServedRun
from genius.ui.page import build
from genius.ui.runs import HostedRun
from genius.ui.search.newest import Newest
from genius.ui.serving import Hosting, Server, serve
from tests.search.tiny import publish_tiny_run


@contextmanager
def hosted(page: gr.Blocks, run: Path | str = "made-up", **hosting) -> Iterator[Server]:
    """Serves a page at a free port."""
    server = serve([HostedRun(Path(run), lambda: page)], Hosting(port=0, **hosting))
    yield server
    server.close()


@contextmanager
def serving(
    run: Path,
    editable: bool = False,
    about: About | None = None,
    copies: Path | None = None,
    named: bool = False,
    **hosting,
) -> Iterator[SimpleNamespace]:
    """run, engine, page, url: makes the run, with names of its codes if it is `named`, and serves it."""
    published = publish_tiny_run(run)
    engine = Engine.load(run, "cpu")
    names = code_names(Profiles(engine, engine.index), forced=True) if named else {}
    published.publish("names", partial(save_names, names), ("encoder", "fusion", "quantizer"))
    page = build(engine, ServedRun(run, editable=editable, copies=copies, about=about or About()))
    with hosted(page, run, **hosting) as server:
        yield SimpleNamespace(run=run, engine=engine, page=page, url=server.address)


def callback(page: gr.Blocks, name: str) -> Callable:
    """The function of an event, without the Newest that stands last among the inputs of some."""
    event = next(event for event in page.fns.values() if event.name == name)
    last = [block.value for block in event.inputs[-1:] if isinstance(getattr(block, "value", None), Newest)]
    return lambda *given: event.fn(*given, *last)


def form(text, picture=None, instruction="", beams=5, k=3, mode="both", target="any", scope="everything") -> tuple:
    """The inputs of the event of the Search button, for `ask`."""
    return text, picture, instruction, None, "", beams, k, "cosine", mode, target, 0.25, scope, None

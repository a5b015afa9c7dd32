"""Pages that are served, one over a tiny run of real models that were not trained."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from genius.explore.code_names import code_names, save_names
from genius.explore.code_profile import Profiles
from genius.explore.map_data import PART, Maps
from genius.search.engine import Engine
from genius.ui.common.about import About
from genius.ui.common.context import ServedRun
from genius.ui.page import Page
from genius.ui.runs import HostedRun, Hosting
from genius.ui.serving import Server, serve
from tests.search import tiny
from tests.ui.fake_engine import HOSTILE, FakeEngine
from tests.ui.started import client_at


def page_of(*functions: Callable, engine: object = None) -> Page:
    """A page of these endpoints alone."""
    page = Page(engine or FakeEngine(), ServedRun(Path("made-up")))
    page.public = [*functions]
    page.calls = []
    page.looks = {}
    page.precompute = []
    return page


@contextmanager
def hosted(page: Page, run: Path | str = "made-up", **hosting) -> Iterator[Server]:
    """Serves a page at a free port; its `client` asks it."""
    server = serve([HostedRun(Path(run), lambda: page)], Hosting(port=0, **hosting))
    with client_at(server.address) as server.client:
        yield server
    server.close()


@contextmanager
def serving(
    run: Path,
    editable: bool = False,
    about: About | None = None,
    copies: Path | None = None,
    named: bool = False,
    maps: Maps | None = None,
    **hosting,
) -> Iterator[SimpleNamespace]:
    """run, engine, page, url, client: makes the run, with names of its codes if it is `named`, and
    serves it.
    """
    published = tiny.publish_tiny_run(run)
    if maps:
        published.publish(PART, maps.save, ("fusion", "quantizer", "index"))
    engine = Engine.load(run, "cpu")
    names = code_names(Profiles(engine, engine.index), forced=True) if named else {}
    published.publish("names", partial(save_names, names), ("encoder", "fusion", "quantizer"))
    page = Page(engine, ServedRun(run, editable=editable, copies=copies, about=about or About()))
    with hosted(page, run, **hosting) as server:
        yield SimpleNamespace(
            run=run, engine=engine, page=page, url=server.address, client=server.client
        )


@contextmanager
def serving_hostile(run: Path, **more) -> Iterator[SimpleNamespace]:
    """A page over a run whose captions try to run scripts."""
    with ExitStack() as stack:
        # only until the run is made: other tests make runs, too
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tiny, "WORDS", [HOSTILE, *tiny.WORDS[:4]])
            page = stack.enter_context(serving(run, **more))
        yield page

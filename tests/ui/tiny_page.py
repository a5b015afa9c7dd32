"""A page over a tiny run of real models that were not trained."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

from genius.search.engine import Engine
from genius.ui.common.about import About
from tests.search.tiny import publish_tiny_run


@contextmanager
def serving(run: Path, editable: bool = False, about: About | None = None, **hosting) -> Iterator[SimpleNamespace]:
    """run, engine, page, url: makes the run and serves it."""
    from genius.ui.common.context import ServedRun
    from genius.ui.page import build
    from genius.ui.runs import HostedRun
    from genius.ui.serving import Hosting, serve

    engine = Engine.load(publish_tiny_run(run).path, "cpu")
    page = build(engine, ServedRun(run, editable=editable, about=about or About()))
    server = serve([HostedRun(run, lambda: page)], Hosting(port=0, **hosting))
    yield SimpleNamespace(run=run, engine=engine, page=page, url=server.address)
    server.close()

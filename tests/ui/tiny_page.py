"""A page over a tiny run of real models that were not trained."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

from genius.search.engine import Engine
from tests.search.tiny import publish_tiny_run


@contextmanager
def serving(run: Path, editable: bool = False, **hosting) -> Iterator[SimpleNamespace]:
    """run, engine, page, url: makes the run and serves it."""
    from genius.ui.common.context import ServedRun
    from genius.ui.page import build
    from genius.ui.runs import HostedRun
    from genius.ui.serving import Hosting, serve

    engine = Engine.load(publish_tiny_run(run).path, "cpu")
    page = build(engine, ServedRun(run, editable=editable))
    server = serve([HostedRun(run, lambda: page)], Hosting(port=0, **hosting))
    yield SimpleNamespace(run=run, engine=engine, page=page, url=server.address)
    server.close()

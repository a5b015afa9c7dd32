"""The page of one run: its panels, what they look at, and the endpoints that they call."""

import logging
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.routing import BaseRoute, Mount, Route

from genius.search.engine import Engine
from genius.ui import look
from genius.ui.api import panel as api
from genius.ui.codes.panel import panel as codes
from genius.ui.collection.panel import panel as collection
from genius.ui.common.context import Context, Panel, ServedRun
from genius.ui.common.panel import panel as common
from genius.ui.compare import panel as compare
from genius.ui.endpoints import Endpoints
from genius.ui.gate import Gate
from genius.ui.map.panel import panel as map_
from genius.ui.monitoring import Monitor
from genius.ui.reports import panel as reports
from genius.ui.runs import Hosting
from genius.ui.search.panel import panel as search
from genius.ui.tour import panel as tour

PANELS: tuple[Callable[[Context], Panel], ...] = (
    search,
    common,
    codes,
    map_,
    compare,
    reports,
    collection,
    tour,
)


class Page:
    """What a run shows and answers. Safe to share between threads."""

    endpoints: Endpoints

    def __init__(self, engine: Engine, served: ServedRun):
        self.engine = engine
        self.ended = False
        context = Context(engine, served)
        panels = [panel(context) for panel in PANELS]
        self.public = [function for panel in panels for function in panel.endpoints]
        panels.append(api(context, self.public))
        self.calls = [function for panel in panels for function in panel.calls]
        self.looks: dict[str, Callable[..., Any]] = {}
        for panel in panels:
            self.looks |= panel.looks
        self.precompute = [compute for panel in panels for compute in panel.prepare]

    def prepare(self) -> None:
        """Compute what the first visitors will ask for, one thing after the other, in the
        background. Each keeps its result; what cannot be computed now is computed, or refused, when
        it is asked for.
        """

        def compute_all() -> None:
            for compute in self.precompute:
                if self.ended:
                    return
                try:
                    with self.engine.snapshots.held():
                        compute()
                except Exception as error:
                    logging.getLogger(__name__).warning("%s prepared nothing: %r", compute, error)

        # not a daemon: torch must not be at work while the interpreter ends (Server.wait)
        threading.Thread(target=compute_all, name="prepare").start()

    def application(self, hosting: Hosting, monitor: Monitor, name: str, path: str) -> Starlette:
        """The ASGI application of the run. name: that of the run. path: of the page within the
        site.
        """
        record = partial(monitor.record_call, name)
        self.endpoints = Endpoints(self.public, self.calls, self.engine, record, hosting.max_queue)
        root_path = f"{hosting.root_path.rstrip('/')}{path}"
        gradio = self.endpoints.application(root_path, hosting.policy.editable)
        lives = [gradio.router.lifespan_context(gradio)]  # Starlette starts nothing that is mounted
        routes: list[BaseRoute] = [
            look.look_route(address, function, self.engine)
            for address, function in self.looks.items()
        ]
        if hosting.mcp:
            from genius.ui.agents import Agents  # needs the extra `mcp`

            agents = Agents(self.endpoints)
            lives.append(agents.running())
            routes.append(Route(Agents.PATH, agents, methods=["GET", "POST", "DELETE"]))
        routes.append(Mount("/", Gate(gradio, self.endpoints)))

        @asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncIterator[None]:
            async with AsyncExitStack() as stack:
                for life in lives:
                    await stack.enter_async_context(life)
                yield

        return Starlette(routes=routes, lifespan=lifespan)

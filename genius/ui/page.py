"""The page of one run: its panels, what they look at, and the endpoints that they call."""

import logging
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.routing import BaseRoute, Mount, Route

from genius.search.engine import Engine
from genius.ui import look
from genius.ui.api.panel import panel as api
from genius.ui.codes.panel import panel as codes
from genius.ui.collection.panel import panel as collection
from genius.ui.common.context import Context, Panel, ServedRun
from genius.ui.common.panel import panel as common
from genius.ui.compare.panel import panel as compare
from genius.ui.endpoints import Endpoints
from genius.ui.gate import Gate
from genius.ui.map.panel import panel as map_
from genius.ui.reports.panel import panel as reports
from genius.ui.search.panel import panel as search
from genius.ui.tour.panel import panel as tour

if TYPE_CHECKING:
    from genius.ui.monitoring import Monitor

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
        self.served = served
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

    def application(
        self,
        monitor: "Monitor",
        name: str,
        root_path: str = "",
        editable: bool = False,
        most: int = 64,
        mcp: bool = False,
    ) -> Starlette:
        """The ASGI application of the run. name: that of the run. most: calls that may wait."""

        def record(function: str, call: Any) -> Any:
            return monitor.record_call(name, function, call)

        self.endpoints = Endpoints(self.public, self.calls, self.engine, record, most)
        gradio = self.endpoints.application(root_path, editable)
        routes: list[BaseRoute] = [
            look.look_route(path, function, self.engine) for path, function in self.looks.items()
        ]
        agents: Any = None
        if mcp:
            from genius.ui.agents import Agents  # needs the extra `mcp`

            agents = Agents(self.endpoints)
            routes.append(Route(Agents.PATH, agents, methods=["GET", "POST", "DELETE"]))

        @asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncIterator[None]:
            """Starlette starts nothing of what is mounted."""
            async with AsyncExitStack() as lives:
                await lives.enter_async_context(gradio.router.lifespan_context(gradio))
                if agents is not None:
                    await lives.enter_async_context(agents.running())
                yield

        routes.append(Mount("/", Gate(gradio, self.endpoints)))
        return Starlette(routes=routes, lifespan=lifespan)


def build(engine: Engine, served: ServedRun) -> Page:
    """The page for one engine."""
    return Page(engine, served)

"""Several runs behind one address: the first at / and each at /run/NAME/, loaded when it is first opened.

Every run has a Gradio app of its own, so callbacks know one engine. What concerns all of them, such as the limits of
requests, the health check and other origins, is the business of the server around them (genius.ui.serving); they share
their logins.
"""

from __future__ import annotations

import asyncio
import html
import logging
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING
from urllib.parse import quote

import gradio as gr
from anyio.to_thread import run_sync
from fastapi import FastAPI
from gradio.routes import App
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from genius.errors import UserError
from genius.ui.common.about import credits_file
from genius.ui.common.figures import PLOTLY, PLOTLY_ADDRESS
from genius.ui.gradio_hooks import gradio_app, is_logged_in, knows_password, share_logins
from genius.ui.security import is_agent, json_refusal

if TYPE_CHECKING:
    from genius.ui.monitoring import Monitor

RUN_PATH = re.compile(r"/run/([^/]+)(/.*)?", re.DOTALL)  # the name of a run, and the path within it
REFRESH_SECONDS = 1  # after which the notice that a run is being loaded loads itself again
NOTICE_PAGE = Template(Path(__file__).with_name("notice.html").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class HostedRun:
    """A run to be served, and how to load its page."""

    path: Path
    load: Callable[[], gr.Blocks]

    @property
    def name(self) -> str:
        return self.path.resolve().name


class Runs:
    """An ASGI app that passes each request on to the app of its run.

    mount: makes an app of a page; its second argument is the path of the page within the site. `load_first` loads the
    first run; the others are loaded by a thread when they are first opened. Runs stay in memory.
    """

    def __init__(self, runs: Sequence[HostedRun], mount: Callable[[gr.Blocks, str], FastAPI], monitor: Monitor):
        self.runs, self.mount, self.monitor = {run.name: run for run in runs}, mount, monitor
        self.first: App | None = None  # once it is loaded
        self.mounted: dict[str, FastAPI] = {}
        self.loading: dict[str, asyncio.Task[None]] = {}
        self.loading_lock = asyncio.Lock()  # as Gradio builds pages
        self.lifespans = AsyncExitStack()

    @asynccontextmanager
    async def lifespan(self, _: FastAPI) -> AsyncIterator[None]:
        """From the start of the server to its end."""
        self.loop = asyncio.get_running_loop()
        async with self.lifespans:
            yield

    def load_first(self) -> None:
        """Load the first run on the caller's thread, while the server answers that it is loading."""
        name = next(iter(self.runs))
        app = self._open(name, "")
        asyncio.run_coroutine_threadsafe(self._start(name, app), self.loop).result()
        self.monitor.state = "ready"

    def stop(self) -> None:
        """End the streams of all pages."""
        for app in self.mounted.values():
            gradio_app(app).get_blocks().is_running = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = await self.answer(scope) if scope["type"] == "http" else None
        app = answer or self.first
        if app is not None:  # else it is a web socket, which no page opens
            await app(within_run(scope), receive, send)

    async def answer(self, scope: Scope) -> App | Response | None:
        """The app or response that answers a request; None leaves it to the first run."""
        address = RUN_PATH.fullmatch(scope["path"])
        name, path = address.groups() if address else (next(iter(self.runs)), scope["path"])
        if self.first is None:
            return refusal(scope, 503, "The page is being loaded; it opens by itself.", refresh=True)
        if path == f"/{PLOTLY_ADDRESS}":  # without a login, as Gradio's own scripts
            return FileResponse(PLOTLY, headers={"Cache-Control": "public, max-age=31536000, immutable"})
        request = Request(scope)
        if not is_logged_in(self.first, request.cookies):
            if not is_agent(scope):
                return None  # it asks for the login
            if not knows_password(self.first, request.headers.get("authorization", "")):
                return json_refusal(401, "Send a name and password of this page (basic login).")
        if name not in self.runs:
            return refusal(scope, 404, f"There is no run {name[:100]} on this server.")
        if path is None:
            query = scope["query_string"].decode("latin-1")
            return RedirectResponse(f"./{quote(name, safe='')}/{query and '?'}{query}")
        if path == "/credits":
            return credits_response(self.runs[name].path, scope)
        if name not in self.mounted:
            if name not in self.loading:
                self.loading[name] = asyncio.create_task(self._load(name))
            task = self.loading[name]
            if wants_page(scope) and not task.done():
                return notice_page(scope, 200, f"Loading the run {name}… The page opens by itself.", refresh=True)
            await asyncio.wait([task])
        if name not in self.mounted:
            if self.loading.get(name) is task:  # what failed may pass: the next request tries again
                del self.loading[name]
            return refusal(scope, 503, f"The run {name} cannot be loaded; the server's log says why.")
        return gradio_app(self.mounted[name])

    async def _load(self, name: str) -> None:
        """Load a run. Failures are logged: their sentences may name folders of the server."""
        try:
            async with self.loading_lock:
                app = await run_sync(self._open, name, f"/run/{name}")
                await self._start(name, app)
        except UserError as error:
            logging.getLogger(__name__).error("the run %s cannot be loaded: %s", name, error)
        except Exception:
            logging.getLogger(__name__).exception("the run %s cannot be loaded", name)

    def _open(self, name: str, path: str) -> FastAPI:
        """The app of a run's page, which is at this path within the site."""
        page = self.runs[name].load()
        page.record_call = partial(self.monitor.record_call, name)
        return self.mount(page, path)

    async def _start(self, name: str, app: FastAPI) -> None:
        page = gradio_app(app)
        first = self.first or page
        share_logins(page, first)
        await self.lifespans.enter_async_context(app.router.lifespan_context(app))
        self.first, self.mounted[name], self.monitor.pages[name] = first, app, page.get_blocks()


def within_run(scope: Scope) -> Scope:
    """The request as the app of its run sees it: without the path of the run."""
    address = RUN_PATH.fullmatch(scope["path"])
    if address is None:
        return scope
    path = address[2] or "/"
    return {**scope, "path": path, "raw_path": quote(path).encode()}


def credits_response(run: Path, scope: Scope) -> Response:
    """The list of credits of a run, as plain text."""
    file = credits_file(run)
    if file is None:
        return refusal(scope, 404, "This run has no list of credits.")
    return FileResponse(file, media_type="text/plain; charset=utf-8", headers={"X-Content-Type-Options": "nosniff"})


def wants_page(scope: Scope) -> bool:
    """Whether the request is that of a browser for a page, and not that of a program."""
    return scope["method"] in ("GET", "HEAD") and "text/html" in Request(scope).headers.get("accept", "")


def refusal(scope: Scope, status: int, sentence: str, refresh: bool = False) -> Response:
    """The answer to a request that is refused: a page for a browser, JSON for a program."""
    if wants_page(scope):
        return notice_page(scope, status, sentence, refresh)
    return json_refusal(status, sentence)


def notice_page(scope: Scope, status: int, sentence: str, refresh: bool = False) -> Response:
    """A page with one sentence, and a link to the first run; refresh: it loads itself again after a while instead."""
    refresh_tag = f'<meta http-equiv="refresh" content="{REFRESH_SECONDS}">' if refresh else ""
    home = "../" * (scope["path"].count("/") - 1) or "./"  # relative, as a proxy may serve all this below a path
    link = "" if refresh else f'\n<p><a href="{home}">To the first run</a></p>'
    page = NOTICE_PAGE.substitute(refresh=refresh_tag, sentence=html.escape(sentence), link=link)
    return HTMLResponse(page, status, headers={"Cache-Control": "no-store"})

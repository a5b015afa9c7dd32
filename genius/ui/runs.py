"""Several runs behind one address: the first at / and each at /run/NAME/, loaded when it is first
opened.

Every run has looks and endpoints of its own, so they know one engine. What concerns all of them,
such as the limits of requests, the health check and other origins, is the business of the server
around them (genius.ui.serving); they share their logins and the files of the page.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from genius.errors import UserError
from genius.ui.answers import notice_page, refusal, wants_page
from genius.ui.files import PageFiles
from genius.ui.login import SIGNED_OUT, Login
from genius.ui.security import Logins, Policy, is_agent, json_refusal, posts_to

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from genius.ui.monitoring import Monitor
    from genius.ui.page import Page

RUN_PATH = re.compile(r"/run/([^/]+)(/.*)?", re.DOTALL)  # the name of a run, and the path within it
CREDITS = "CREDITS.md"  # of a run: where its pictures and texts come from
LOADING = "The page is being loaded; it opens by itself."
SIGN_IN = "Send a name and password of this page (basic login)."


@dataclass(frozen=True)
class HostedRun:
    """A run to be served, and how to load its page."""

    path: Path
    load: Callable[[], Page]

    @property
    def name(self) -> str:
        return self.path.resolve().name


@dataclass(frozen=True)
class Hosting:
    """Where the pages are served, and to whom."""

    host: str = "127.0.0.1"
    port: int = 7860  # 0: any free one
    root_path: str = ""  # behind a proxy: the path that visitors know, e.g. /genius
    logins: Logins = field(default_factory=list)  # empty: no login
    policy: Policy = field(default_factory=Policy)
    max_queue: int = 64  # events of one run that may wait
    drain_seconds: float = 20  # after SIGTERM, for answering what was accepted
    mcp: bool = False  # the API is offered to agents, too


class Runs:
    """An ASGI app that passes each request on to its run.

    `load_first` loads the first run; the others are loaded by a thread when they are first opened.
    Runs stay in memory.
    """

    def __init__(self, runs: Sequence[HostedRun], hosting: Hosting, monitor: Monitor):
        self.runs = {run.name: run for run in runs}
        self.first = runs[0].name
        self.hosting = hosting
        self.monitor = monitor
        self.login = Login(hosting.logins, cross_site=bool(hosting.policy.origins))
        self.files = PageFiles()
        self.mounted: dict[str, Starlette] = {}
        self.loading: dict[str, asyncio.Task[None]] = {}
        self.loading_lock = asyncio.Lock()  # as Gradio builds its applications
        self.ending = asyncio.Event()
        self.lives: list[asyncio.Task[None]] = []

    @asynccontextmanager
    async def lifespan(self, _: object) -> AsyncIterator[None]:
        """From the start of the server to its end."""
        self.loop = asyncio.get_running_loop()
        try:
            yield
        finally:
            self.ending.set()
            await asyncio.gather(*self.lives)

    def load_first(self) -> None:
        """Load the first run on the caller's thread, while the server answers that it is
        loading.
        """
        name = self.first
        page = self.runs[name].load()
        app = page.application(self.hosting, self.monitor, name, "")
        asyncio.run_coroutine_threadsafe(self._start(name, page, app), self.loop).result()
        self.monitor.state = "ready"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":  # else it is a web socket, which no page opens
            answer, inner = await self.answer(scope)
            await answer(inner, receive, send)

    def unless_signed_in(self, request: Request, path: str | None) -> ASGIApp | None:
        """What answers whoever signs in or out, or must sign in first."""
        scope = request.scope
        if posts_to(scope, "login") and not is_agent(scope) and self.login.passwords:
            return self.sign_in
        if path == "/logout":
            return self.login.sign_out(request)
        known = self.login.knows_basic(request.headers.get("authorization", ""))
        if self.login.name_of(request.cookies) is not None or known:
            return None
        if is_agent(scope):
            return json_refusal(401, SIGN_IN)
        return self.login.page() if wants_page(scope) else json_refusal(401, SIGNED_OUT)

    async def answer(self, scope: Scope) -> tuple[ASGIApp, Scope]:
        """What answers a request, and the request as that sees it."""
        address = RUN_PATH.fullmatch(scope["path"])
        name, path = address.groups() if address else (self.first, scope["path"])
        if path and path.startswith("/static/"):
            file = self.files.answer(scope, path.removeprefix("/static/"))
            return file or json_refusal(404, "There is no such file."), scope
        if self.first not in self.mounted:
            sentence = f"{LOADING} Loading the run {self.first}…"
            return refusal(scope, 503, sentence, refresh=True), scope
        request = Request(scope)
        if stranger := self.unless_signed_in(request, path):
            return stranger, scope
        if name not in self.runs:
            return refusal(scope, 404, f"There is no run {name[:100]} on this server."), scope
        if path is None:
            query = scope["query_string"].decode("latin-1")
            return RedirectResponse(f"./{quote(name, safe='')}/{query and '?'}{query}"), scope
        if path == "/credits":
            return credits_response(self.runs[name].path, scope), scope
        if name not in self.mounted:
            notice = await self.loaded(name, scope)
            if notice:
                return notice, scope
        if path == "/" and scope["method"] in ("GET", "HEAD"):
            return self.files.page(scope), scope
        return self.mounted[name], {**scope, "path": path, "raw_path": quote(path).encode()}

    async def sign_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = await self.login.sign_in(Request(scope, receive))
        await answer(scope, receive, send)

    async def loaded(self, name: str, scope: Scope) -> Response | None:
        """Load a run, or wait until it is loaded; what to answer where it is not."""
        if name not in self.loading:
            self.loading[name] = asyncio.create_task(self._load(name))
        task = self.loading[name]
        if wants_page(scope) and not task.done():
            return notice_page(
                scope, 200, f"Loading the run {name}… The page opens by itself.", refresh=True
            )
        await asyncio.wait([task])
        if name in self.mounted:
            return None
        if self.loading.get(name) is task:  # what failed may pass: the next request tries again
            del self.loading[name]
        return refusal(scope, 503, f"The run {name} cannot be loaded; the server's log says why.")

    async def _load(self, name: str) -> None:
        """Load a run. Failures are logged: their sentences may name folders of the server."""
        try:
            async with self.loading_lock:
                page = await run_sync(self.runs[name].load)
                app = await run_sync(
                    page.application, self.hosting, self.monitor, name, f"/run/{name}"
                )
                await self._start(name, page, app)
        except UserError as error:
            logging.getLogger(__name__).error("the run %s cannot be loaded: %s", name, error)
        except Exception:
            logging.getLogger(__name__).exception("the run %s cannot be loaded", name)

    async def _start(self, name: str, page: Page, app: Starlette) -> None:
        started = asyncio.Event()
        life = asyncio.create_task(self._live(app, started))
        begun = asyncio.create_task(started.wait())
        await asyncio.wait([life, begun], return_when=asyncio.FIRST_COMPLETED)
        if not started.is_set():
            begun.cancel()
            await life  # which raises
        self.lives.append(life)
        self.mounted[name], self.monitor.pages[name] = app, page
        page.prepare()

    async def _live(self, app: Starlette, started: asyncio.Event) -> None:
        """From the start of a run to the end of the server: a task that begins a life must end
        it.
        """
        async with app.router.lifespan_context(app):
            started.set()
            await self.ending.wait()

    def stop(self) -> None:
        """Prepare nothing more."""
        for page in self.monitor.pages.values():
            page.ended = True


def credits_file(run: Path) -> Path | None:
    """The list of credits of a run; None if there is none. A link is not followed: a run may come
    from anywhere.
    """
    file = run / CREDITS
    return file if file.is_file() and not file.is_symlink() else None


def credits_response(run: Path, scope: Scope) -> Response:
    """The list of credits of a run, as plain text."""
    file = credits_file(run)
    if file is None:
        return refusal(scope, 404, "This run has no list of credits.")
    return FileResponse(
        file, media_type="text/plain; charset=utf-8", headers={"X-Content-Type-Options": "nosniff"}
    )

"""How the page is served: its address, who may open it, how it looks, how it is watched and how it ends."""

import asyncio
import logging
import secrets
import socket
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

import gradio as gr
import prometheus_client
import uvicorn
from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from genius.errors import UserError
from genius.ui import agents
from genius.ui.common.components import UI_FOLDER
from genius.ui.common.figures import PLOTLY_ADDRESS
from genius.ui.failures import on_fault
from genius.ui.gradio_hooks import Listening, Page, prepare_to_serve
from genius.ui.monitoring import HEALTH, METRICS, SERVER_LOG, Monitor, Traffic
from genius.ui.page import TABS
from genius.ui.runs import HostedRun, Runs
from genius.ui.security import MAX_EDITOR_UPLOAD, Guard, Logins, Policy, is_loopback

FONT = ["ui-sans-serif", "system-ui", "sans-serif"]  # the visitor's own: nothing is fetched
MONO = ["ui-monospace", "monospace"]
# Of the page, once; panels bring their own
COMMON_SCRIPTS = ("event_stream", "clone", "nodes", "links", "reveal", "announce", "hint_card")
SCRIPTS = (
    *(f"common/{name}.js" for name in COMMON_SCRIPTS),
    "search/keys.js",
    "search/uploading.js",
    "collection/folders.js",
)
SMALLEST_COMPRESSED = 1_000  # bytes
MAX_FILE = 10 * 2**20  # bytes of a file that is uploaded, which may be a ZIP where visitors add items
DELIVERY_SECONDS = 5  # for clients to fetch the last answers when the server shuts down
MISSING_TRANSLATIONS = {"common.complete": "Done"}  # Gradio tells a screen reader of it, and has no words for it
# names of threads that compute for the first visitors: Page.prepare, scan.compiling, Engine.load
AT_WORK = ("prepare", "compile", "load")
WAKE_SECONDS = 1  # after which the main thread sees a signal that the system gave to another thread


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


class Front:
    """ASGI middleware, before all others: takes the path below which visitors know the site off the address, where a
    proxy leaves it on, and names this server, so that a page notices that another one answers (event_stream.js)."""

    def __init__(self, app: ASGIApp, root_path: str):
        self.app, self.prefix, self.name = app, urlsplit(root_path).path.rstrip("/"), secrets.token_hex(8).encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_named(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), (b"x-server", self.name)]
            await send(message)

        path = scope.get("path", "")
        if self.prefix and f"{path}/".startswith(f"{self.prefix}/"):
            path = path[len(self.prefix) :] or "/"
            scope = {**scope, "path": path, "raw_path": quote(path).encode()}
        await self.app(scope, receive, send_named)


class UvicornServer(uvicorn.Server):
    """Ends the app's lifespan also when it is to end at once; uvicorn lets it be cancelled then, with a traceback."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        if self.force_exit:
            await self.lifespan.shutdown()


def is_fault(record: logging.LogRecord) -> bool:
    """Whether a record of uvicorn tells a fault; that a request is cut off when the server ends is none."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


class Server:
    """The pages, served by a thread of its own."""

    def __init__(self, app: FastAPI, runs: Runs, listener: socket.socket, hosting: Hosting):
        self.runs, self.monitor, self.drain_seconds = runs, runs.monitor, hosting.drain_seconds
        host = hosting.host
        name = "localhost" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
        self.address = f"http://{name}:{listener.getsockname()[1]}"
        logging.getLogger("uvicorn.error").addFilter(is_fault)
        self._server = UvicornServer(
            uvicorn.Config(app, log_level="warning", log_config=None, timeout_graceful_shutdown=DELIVERY_SECONDS)
        )
        self._listener = listener
        self._ended = threading.Event()  # Thread.join does not wait again once a signal has interrupted it

    def start(self) -> None:
        threading.Thread(target=self._run, daemon=True).start()
        while not self._server.started and not self._ended.is_set():
            time.sleep(0.01)

    def _run(self) -> None:
        try:
            self._server.run([self._listener])
        finally:
            self._ended.set()

    def wait(self) -> bool:
        """Return when the server has ended: at once after Ctrl+C, and after SIGTERM when it has answered what it had
        accepted, if the signal raises SystemExit (app.py).

        Returns whether threads still compute, for which the interpreter would wait, or crash.
        """
        unanswered = 0
        try:
            while not self._ended.wait(WAKE_SECONDS):
                pass
        except KeyboardInterrupt:
            unanswered = self.monitor.unanswered()
            self.close()
        except SystemExit:
            unanswered = self.drain()
        return unanswered > 0 or any(thread.name.startswith(AT_WORK) for thread in threading.enumerate())

    def drain(self) -> int:
        """Refuse new requests, answer those that were accepted, for at most `drain_seconds`, and end.

        Returns how many calls were left unanswered.
        """
        self.monitor.state = "draining"
        unanswered = self.monitor.unanswered()
        SERVER_LOG.info("Shutting down; calls to answer first: %d", unanswered, extra={"event": "draining"})
        end = time.monotonic() + self.drain_seconds
        while (unanswered := self.monitor.unanswered()) and time.monotonic() < end:
            time.sleep(0.05)
        if unanswered:
            calls = "call was" if unanswered == 1 else "calls were"
            SERVER_LOG.warning("%d %s left unanswered", unanswered, calls, extra={"event": "cut off"})
        end = time.monotonic() + DELIVERY_SECONDS
        while self.monitor.undelivered() and time.monotonic() < end:
            time.sleep(0.05)
        self.runs.stop()
        self._server.should_exit = True  # it completes the responses that it is sending
        self._ended.wait(DELIVERY_SECONDS + 1)
        self.close()
        return unanswered

    def close(self) -> None:
        """End at once."""
        self.runs.stop()
        self._server.should_exit = self._server.force_exit = True
        self._ended.wait(5)


def serve(runs: Sequence[HostedRun], hosting: Hosting) -> Server:
    """Serve in the background, and return when the first run is loaded.

    Raises UserError if the address is taken, and what loading the run raises.
    """
    monitor = Monitor()
    pages = Runs(runs, lambda page, path: mount(page, path, hosting), monitor)
    listener = listen(hosting.host, hosting.port)
    origins = list(hosting.policy.origins)
    # on other addresses anybody can read the page anyway, under any name
    checks_host = hosting.policy.editable or is_loopback(hosting.host)

    async def health(request: Request) -> Response:
        """200 once the first run is loaded, until the server shuts down or the queue of a run ends."""
        status = monitor.health()
        return JSONResponse({"status": status}, 200 if status == "ready" else 503)

    async def metrics(request: Request) -> Response:
        text = prometheus_client.generate_latest(monitor.registry)
        return Response(text, media_type=prometheus_client.CONTENT_TYPE_LATEST)

    app = FastAPI(
        routes=[Route(HEALTH, health), Route(METRICS, metrics), Mount("/", pages)],
        middleware=[
            Middleware(Front, root_path=hosting.root_path),
            Middleware(Traffic, monitor=monitor),
            Middleware(Guard, policy=hosting.policy, checks_host=checks_host),
            Middleware(Listening),
            Middleware(CORSMiddleware, allow_origins=origins, allow_methods=["*"], allow_credentials=bool(origins)),
            # Gradio leaves its page as it is; streams are of a type that is never compressed
            Middleware(GZipMiddleware, minimum_size=SMALLEST_COMPRESSED, compresslevel=5),
        ],
        exception_handlers={Exception: on_fault},
        lifespan=pages.lifespan,
        openapi_url=None,
    )
    server = Server(app, pages, listener, hosting)
    server.start()
    try:
        pages.load_first()
    except BaseException:
        server.close()
        raise
    return server


def mount(page: gr.Blocks, path: str, hosting: Hosting) -> FastAPI:
    """An app with the page at its root. path: that of the page within the site."""
    # Gradio's own rules for other origins do not apply where there are rules already: those of `serve`
    app = FastAPI(middleware=[Middleware(CORSMiddleware)], openapi_url=None)
    page.queue(max_size=hosting.max_queue, api_open=False)
    if hosting.mcp:
        agents.offer_tools()
    gr.mount_gradio_app(
        app,
        page,
        path="/",
        root_path=f"{hosting.root_path.rstrip('/')}{path}",
        auth=hosting.logins or None,
        theme=theme(),
        head=page_head(),
        footer_links=["settings"],
        run_history=False,
        ssr_mode=False,
        show_error=False,
        enable_monitoring=False,
        pwa=False,
        allowed_paths=[],
        max_file_size=MAX_EDITOR_UPLOAD if hosting.policy.editable else MAX_FILE,
        i18n=gr.I18n(en=MISSING_TRANSLATIONS),
        mcp_server=hosting.mcp,
    )
    if hosting.mcp:
        agents.check_offered(page)
    prepare_to_serve(page, app)
    if isinstance(page, Page):
        page.prepare()
    return app


def listen(host: str, port: int) -> socket.socket:
    """A socket of this address. Raises UserError if there is none.

    asyncio sends small messages at once (TCP_NODELAY) only on sockets whose protocol is named, which `create_server`
    leaves open. Otherwise each message of a stream waits some 40 ms for the acknowledgement of the one before, and the
    end of a stream can reach the page after the answer to its next event, whose own stream it then never opens.
    """
    try:
        listener = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        return socket.socket(listener.family, listener.type, socket.IPPROTO_TCP, fileno=listener.detach())
    except (OSError, OverflowError):
        raise UserError(
            f"{host}:{port} is in use, or is not an address of this machine; choose another --port or --host"
        ) from None


def page_head() -> str:
    """Styles and scripts. Not css=: Gradio would rewrite every selector, and get lists of selectors wrong."""
    common = UI_FOLDER / "common/style.css"
    styles = [common, *sorted(set(UI_FOLDER.glob("*/*.css")) - {common})]
    return (
        "".join(f"<style>{file.read_text(encoding='utf-8')}</style>" for file in styles)
        + f"<script>const TAB_NAMES = {[*TABS]};</script>"
        + "".join(f"<script>{(UI_FOLDER / file).read_text(encoding='utf-8')}</script>" for file in SCRIPTS)
        + f'<link rel="prefetch" as="script" href="{PLOTLY_ADDRESS}">'
    )  # while nothing else is to be done


def theme() -> gr.themes.Base:
    """Calm, with secondary text that keeps a contrast of 4.5 to 1 in light and dark."""
    colors = {"body_background_fill": "*neutral_50", "body_background_fill_dark": "*neutral_950"}
    for name in ("body_text_color_subdued", "block_info_text_color", "input_placeholder_color"):
        colors |= {name: "*neutral_500", f"{name}_dark": "*neutral_400"}
    for name, shade in (("", "*primary_600"), ("_hover", "*primary_700")):
        colors |= dict.fromkeys((f"button_primary_background_fill{name}{dark}" for dark in ("", "_dark")), shade)
    base = gr.themes.Base(primary_hue="indigo", neutral_hue="slate", radius_size="lg", font=FONT, font_mono=MONO)
    return base.set(**colors)

"""How the page is served: its address, who may open it, how it looks, and a health check."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import gradio as gr
import uvicorn
from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route

from genius.errors import UserError
from genius.ui.access import Logins
from genius.ui.common.components import UI
from genius.ui.common.figures import PLOTLY_ADDRESS
from genius.ui.runs import HostedRun, Runs
from genius.ui.security import Guard, Policy

FONT = ["ui-sans-serif", "system-ui", "sans-serif"]  # the visitor's own: nothing is fetched
MONO = ["ui-monospace", "monospace"]
HEALTH = "/healthz"
SCRIPTS = ("common/links.js", "common/reveal.js", "search/keys.js")  # of the page; panels bring their own
SESSIONS = 200  # visitors whose state is kept


@dataclass(frozen=True)
class Hosting:
    """Where the pages are served, and to whom."""

    host: str = "127.0.0.1"
    port: int = 7860  # 0: any free one
    root_path: str = ""  # behind a proxy: the path that visitors know, e.g. /genius
    logins: Logins = field(default_factory=list)  # empty: no login
    policy: Policy = field(default_factory=Policy)
    max_queue: int = 64  # events of one run that may wait


class Server:
    """The pages, served by a thread of its own."""

    def __init__(self, app: FastAPI, runs: Runs, listener: socket.socket, host: str):
        self.runs = runs
        name = "localhost" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
        self.address = f"http://{name}:{listener.getsockname()[1]}"
        self._server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        self._thread = threading.Thread(target=self._server.run, args=([listener],), daemon=True)

    def start(self) -> None:
        self._thread.start()
        while not self._server.started and self._thread.is_alive():
            time.sleep(0.01)

    def wait(self) -> None:
        """Return when the server has ended, or on Ctrl+C."""
        try:
            self._thread.join()
        except KeyboardInterrupt:
            self.close()

    def close(self) -> None:
        self.runs.stop()
        self._server.should_exit = self._server.force_exit = True
        self._thread.join(timeout=5)


def serve(runs: Sequence[HostedRun], hosting: Hosting) -> Server:
    """Load the first run, then serve all in the background. Raises UserError if the address is taken."""
    pages = Runs(runs, lambda page, path: mount(page, path, hosting))
    listener = listen(hosting.host, hosting.port)
    origins = list(hosting.policy.origins)
    app = FastAPI(
        routes=[Route(HEALTH, health), Mount("/", pages)],
        middleware=[
            Middleware(Guard, policy=hosting.policy),
            Middleware(CORSMiddleware, allow_origins=origins, allow_methods=["*"], allow_credentials=bool(origins)),
        ],
        lifespan=pages.lifespan,
        openapi_url=None,
    )
    server = Server(app, pages, listener, hosting.host)
    server.start()
    return server


def mount(page: gr.Blocks, path: str, hosting: Hosting) -> FastAPI:
    """An app with the page at its root. path: that of the page within the site."""
    # Gradio's own rules for other origins do not apply where there are rules already: those of `serve`
    app = FastAPI(middleware=[Middleware(CORSMiddleware)], openapi_url=None)
    page.state_session_capacity = SESSIONS
    page.queue(max_size=hosting.max_queue, api_open=False)
    gr.mount_gradio_app(
        app,
        page,
        path="/",
        root_path=f"{hosting.root_path.rstrip('/')}{path}",
        auth=hosting.logins or None,
        theme=theme(),
        head=head(),
        footer_links=["settings"],
        run_history=False,
        ssr_mode=False,
        show_error=False,
        enable_monitoring=False,
        pwa=False,
        allowed_paths=[],
        max_file_size="10mb",
    )
    page.has_launched = True  # or Gradio would not check the paths of files
    page.is_running = True  # or its streams would send no heartbeats
    return app


def listen(host: str, port: int) -> socket.socket:
    """A socket of this address. Raises UserError if there is none."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, OverflowError):
        raise UserError(
            f"{host}:{port} is in use, or is not an address of this machine; choose another --port or --host"
        ) from None


async def health(request: Request) -> JSONResponse:
    """There is no answer before the run is loaded, so any answer means that it is."""
    return JSONResponse({"status": "ok"})


def head() -> str:
    """Styles and scripts. Not css=: Gradio would rewrite every selector, and get lists of selectors wrong."""
    common = UI / "common/style.css"
    styles = [common, *sorted(set(UI.glob("*/*.css")) - {common})]
    return (
        "".join(f"<style>{file.read_text()}</style>" for file in styles)
        + "".join(f"<script>{(UI / file).read_text()}</script>" for file in SCRIPTS)
        + f'<link rel="prefetch" as="script" href="{PLOTLY_ADDRESS}">'
    )  # while nothing else is to be done


def theme() -> gr.themes.Base:
    """Calm, with secondary text that keeps a contrast of 4.5 to 1 in light and dark."""
    return gr.themes.Base(primary_hue="indigo", neutral_hue="slate", radius_size="lg", font=FONT, font_mono=MONO).set(
        body_background_fill="*neutral_50",
        body_background_fill_dark="*neutral_950",
        body_text_color_subdued="*neutral_500",
        body_text_color_subdued_dark="*neutral_400",
        block_info_text_color="*neutral_500",
        block_info_text_color_dark="*neutral_400",
        input_placeholder_color="*neutral_500",
        input_placeholder_color_dark="*neutral_400",
        button_primary_background_fill="*primary_600",
        button_primary_background_fill_hover="*primary_700",
        button_primary_background_fill_dark="*primary_600",
        button_primary_background_fill_hover_dark="*primary_700",
    )

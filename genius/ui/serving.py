"""How the page is served: its address, who may open it, how it looks, and what says that it is alive."""

from __future__ import annotations

from dataclasses import dataclass, field

import gradio as gr
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from genius.errors import UserError
from genius.ui.access import People
from genius.ui.common.components import UI
from genius.ui.common.figures import PLOTLY_ADDRESS

FONT = ["ui-sans-serif", "system-ui", "sans-serif"]  # the visitor's own: nothing is fetched
MONO = ["ui-monospace", "monospace"]
HEALTH = "/healthz"
SCRIPTS = ("common/links.js", "common/reveal.js", "search/keys.js")  # of the page; those of panels come with them


@dataclass(frozen=True)
class Hosting:
    """Where and for whom."""

    host: str = "127.0.0.1"
    port: int = 7860
    root_path: str = ""  # behind a proxy: the path that visitors know, e.g. /genius
    people: People = field(default_factory=list)  # who may log in; nobody has to if it is empty


def serve(page: gr.Blocks, hosting: Hosting) -> str:
    """Serve the page in the background; returns its address. Raises UserError if that is taken."""
    page.queue(max_size=64)
    try:
        _, address, _ = page.launch(
            server_name=hosting.host,
            server_port=hosting.port,
            root_path=hosting.root_path,
            auth=hosting.people or None,
            prevent_thread_lock=True,
            quiet=True,
            app_kwargs={"routes": [Route(HEALTH, health)]},  # before Gradio's own, which ask for a login
            theme=theme(),
            head=head(),
            footer_links=["settings"],
            run_history=False,
            share=False,
            ssr_mode=False,
            show_error=False,
            enable_monitoring=False,
            pwa=False,
            allowed_paths=[],
            max_file_size="10mb",
            state_session_capacity=200,
        )
    except OSError:  # its own words advise on Gradio's environment variables
        raise UserError(
            f"{hosting.host}:{hosting.port} is in use, or no address of this machine; choose another --port or --host"
        ) from None
    return address


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

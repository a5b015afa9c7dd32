"""The whole page, and how it is served."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

import gradio as gr

from genius.errors import UserError
from genius.ui import links, present
from genius.ui.components import STATIC, Panel
from genius.ui.context import TABS, Context, Served, Shared

if TYPE_CHECKING:
    from genius.search.engine import Engine

FONT = ["ui-sans-serif", "system-ui", "sans-serif"]    # the visitor's own: nothing is fetched
MONO = ["ui-monospace", "monospace"]


def build(engine: Engine, served: Served) -> gr.Blocks:
    """The page for one engine."""
    with gr.Blocks(title="GENIUS Explorer", analytics_enabled=False, fill_width=True,
                   delete_cache=(600, 1800)) as page:      # uploads live half an hour
        index = engine.index
        Panel("header", present.header(served.name, served.collection, index.n, index.code_sizes, engine.device))
        Panel("about", present.about(served.world, index.n))
        tabs = gr.Tabs(selected="search", elem_id="tabs")
        shared = Shared.create(tabs)
        context = Context(engine, served, shared)
        with tabs:
            for name, label in TABS.items():
                with gr.Tab(label, id=name, elem_id=f"tab-{name}") as tab:
                    content(name)(context, tab)
                links.follow_tab(tab)
        for signal, opens in ((shared.ask, "search"), (shared.use_as_query, "search"), (shared.open_code, "codes")):
            signal.sent(partial(gr.Tabs, selected=opens), None, tabs, queue=False, show_progress="hidden",
                        api_visibility="private")
        links.restore(page, shared)
    return page


def content(name: str):
    """The function that lays a tab out."""
    if find_spec(f"genius.ui.{name}") is None:
        return lambda context, tab: gr.Markdown("Not there yet.")
    return getattr(import_module(f"genius.ui.{name}"), f"{name}_tab")


def serve(page: gr.Blocks, host: str, port: int) -> str:
    """Serve the page in the background; returns its address. Raises UserError if that is taken."""
    page.queue(max_size=64)
    try:
        _, address, _ = page.launch(
            server_name=host, server_port=port, prevent_thread_lock=True, quiet=True,
            theme=theme(), head=head(), footer_links=["settings"], run_history=False,
            share=False, ssr_mode=False, show_error=False, enable_monitoring=False, pwa=False,
            allowed_paths=[], max_file_size="10mb", state_session_capacity=200)
    except OSError:    # its own words advise on Gradio's environment variables
        raise UserError(f"{host}:{port} is in use, or no address of this machine; "
                        "choose another --port or --host") from None
    return address


def head() -> str:
    """Styles and scripts. Not css=: Gradio would rewrite every selector, and get lists of selectors wrong."""
    styles = [(STATIC / "style.css"), *sorted(set(STATIC.glob("*.css")) - {STATIC / "style.css"})]
    return ("".join(f"<style>{file.read_text()}</style>" for file in styles)
            + "".join(f"<script>{(STATIC / file).read_text()}</script>" for file in ("links.js", "keys.js")))


def theme() -> gr.themes.Base:
    """Calm, with secondary text that keeps a contrast of 4.5 to 1 in light and dark."""
    return gr.themes.Base(
        primary_hue="indigo", neutral_hue="slate", radius_size="lg", font=FONT, font_mono=MONO,
    ).set(body_background_fill="*neutral_50", body_background_fill_dark="*neutral_950",
          body_text_color_subdued="*neutral_500", body_text_color_subdued_dark="*neutral_400",
          block_info_text_color="*neutral_500", block_info_text_color_dark="*neutral_400",
          input_placeholder_color="*neutral_500", input_placeholder_color_dark="*neutral_400",
          button_primary_background_fill="*primary_600", button_primary_background_fill_hover="*primary_700",
          button_primary_background_fill_dark="*primary_600",
          button_primary_background_fill_hover_dark="*primary_700")

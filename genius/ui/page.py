"""The whole page, and how it is served."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from genius.artifacts import Run
from genius.errors import UserError
from genius.examples import Example, read_examples
from genius.ui import present
from genius.ui.components import STATIC, Panel
from genius.ui.search import search_tab

if TYPE_CHECKING:
    from genius.search.engine import Engine

FONT = ["ui-sans-serif", "system-ui", "sans-serif"]    # the visitor's own: nothing is fetched
MONO = ["ui-monospace", "monospace"]


@dataclass(frozen=True)
class Served:
    """What visitors are told of the run besides what it finds."""

    name: str
    collection: str = ""                         # what it was trained on
    world: Mapping[str, Any] | None = None       # facts of the procedural world, if it was that
    examples: tuple[Example, ...] = ()

    @classmethod
    def read(cls, run: Path) -> Served:
        """Raises UserError for a run that cannot be read."""
        manifest = Run(run).manifest
        world = manifest.get("world")
        return cls(run.resolve().name, Path(str(manifest.get("collection", ""))).name,
                   world if isinstance(world, Mapping) else None, read_examples(run))


def build(engine: Engine, served: Served) -> gr.Blocks:
    """The page for one engine."""
    with gr.Blocks(title="GENIUS Explorer", analytics_enabled=False, fill_width=True,
                   delete_cache=(600, 1800)) as page:      # uploads live half an hour
        index = engine.index
        Panel("header", present.header(served.name, served.collection, index.n, index.code_sizes, engine.device))
        Panel("about", present.about(served.world, index.n))
        search_tab(engine, served.examples)
    return page


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
    """Style and keys. Not css=: Gradio would rewrite every selector, and get lists of selectors wrong."""
    return (f"<style>{(STATIC / 'style.css').read_text()}</style>"
            f"<script>{(STATIC / 'keys.js').read_text()}</script>")


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

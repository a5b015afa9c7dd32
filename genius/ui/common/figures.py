"""Interactive plots: a plotly figure whose points can be clicked and lassoed.

gr.Plot has no such events, bundles another version of plotly.js and loses the zoom at every update; so this
is a separate component that uses the plotly.js of the installed plotly.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gradio as gr
import plotly
from plotly.graph_objects import Figure

from genius.ui.common.components import UI_FOLDER, json_for_browser

PLOTLY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
PLOTLY_ADDRESS = f"plotly-{plotly.__version__}.min.js"  # below the page; genius.ui.runs answers it
PLOTLY_HEAD = f'<script src="{PLOTLY_ADDRESS}"></script>'
PLOT_SCRIPT = "common/plot.js"  # what draws figures in the theme's colors
FIGURE_SCRIPTS = ("common/panel.js", PLOT_SCRIPT, "common/figure.js")
MOST_LASSOED = 2_000  # points that a lasso sends; of more it sends the first ones and their number
MODALITY_COLORS = ("#1f86cc", "#d55e00", "#009e73")  # after Okabe and Ito, by Modality; seen on light and dark
MODALITY_SYMBOLS = ("circle", "square", "diamond")


class PlotlyFigure(gr.HTML):
    """A plotly figure that callbacks return; None draws nothing.

    `.select(listener)`: a click on a point that has customdata (or an id, in an icicle); gr.EventData with `index`
    of the point, `value` its customdata, and `label`.
    `.lasso(listener)`: gr.EventData with `points` [{"index", "value", "label"}], at most MOST_LASSOED, and `total`.

    name: the elem_id, unique on the page. label: a description for screen readers; every plot also has a table. Put
    the id of a point into customdata, and a constant into layout.uirevision to keep the zoom across updates; a ring
    then marks the point that was clicked last. The browser event "dragmode" on the figure's host sets what dragging
    does: one of plotly's modes, or "off", as it is at first for fingers. after_text: the text that comes with the
    figure is shown before it is drawn. opens_codes: a click opens Codes at the prefix in customdata instead. A
    figure without a height fills its host. Colors of text, axes and grid follow the theme by themselves. Data in
    labels, text and hovers goes through `escaped`: plotly reads markup there.
    """

    def __init__(
        self,
        name: str,
        label: str,
        value: Figure | None = None,
        after_text: bool = False,
        opens_codes: bool = False,
        **layout: Any,  # Gradio's own: it makes a component anew for a visitor when a callback updates or skips it
    ):
        super().__init__(
            value,
            html_template='<div class="panel figure-host"></div>',
            alternative=label,
            after_text=after_text,
            opens_codes=opens_codes,
            most_lassoed=MOST_LASSOED,
            js_on_load="\n".join((UI_FOLDER / file).read_text(encoding="utf-8") for file in FIGURE_SCRIPTS),
            apply_default_css=False,
            head=PLOTLY_HEAD,
            elem_id=name,
            **layout,
        )

    def postprocess(self, value: Figure | Mapping[str, Any] | str | None) -> str | None:
        """value: a figure, its to_dict, or its to_json."""
        if isinstance(value, Figure):
            return value.to_json()
        return value if value is None or isinstance(value, str) else json_for_browser(value)


def base_layout(figure: Figure) -> Figure:
    """Make a figure transparent, without plotly's template and margins; all figures here start from this."""
    return figure.update_layout(
        template="none",
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        hovermode="closest",
        dragmode=False,
        margin={"l": 48, "r": 16, "t": 24, "b": 44},
        legend={"orientation": "h", "y": -0.15},
    )


def escaped(text: str) -> str:
    """Escape text that plotly would read as markup, or as the name of a value (%{x}) in a hover."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("%{", "%&#123;")

import json

import plotly.graph_objects as go

from genius.ui.common.figures import PLOTLY, PLOTLY_ADDRESS, PlotlyFigure, base_layout, escaped
from genius.ui.serving import page_head


def test_a_figure_travels_as_json_and_nothing_as_nothing():
    figure = base_layout(go.Figure(go.Scatter(x=[1], y=[2], customdata=[7])))
    sent = json.loads(PlotlyFigure("figure", "one point").postprocess(figure))
    assert sent["data"][0]["customdata"] == [7]
    assert PlotlyFigure("figure", "one point").postprocess(None) is None


def test_the_script_is_that_of_the_installed_plotly():
    assert PLOTLY.is_file() and "/" not in PLOTLY_ADDRESS, "no folder of the server is told"
    assert f'src="{PLOTLY_ADDRESS}"' in PlotlyFigure("figure", "one point").head
    assert f'href="{PLOTLY_ADDRESS}"' in page_head(), "fetched before the first figure is opened"


def test_the_template_holds_no_data():
    figure = PlotlyFigure("figure", "${alert(1)}")
    assert "alert" not in figure.html_template and "alert" not in figure.js_on_load


def test_backgrounds_are_left_to_the_theme():
    layout = base_layout(go.Figure()).layout
    assert layout.paper_bgcolor == layout.plot_bgcolor == "rgba(0,0,0,0)"


def test_markup_in_data_is_shown_as_it_is():
    assert escaped("<b>a & b</b>") == "&lt;b&gt;a &amp; b&lt;/b&gt;"


def test_data_in_a_hover_names_no_value():
    assert escaped("100%{x}") == "100%&#123;x}"

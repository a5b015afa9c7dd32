"""Interactive plots: what all plotly figures of the page have in common."""

from plotly.graph_objects import Figure


def base_layout(figure: Figure) -> Figure:
    """Make a figure transparent, without plotly's template and margins; all figures here start from
    this.
    """
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
    return (
        text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("%{", "%&#123;")
    )

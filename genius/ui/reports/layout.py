"""The Reports tab: results of evaluation, benchmark and training, as plots and tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

import gradio as gr
from plotly.graph_objects import Figure

from genius.explore.report_data import Missing, Report, from_report, report_file
from genius.ui.common.components import UNQUEUED, Panel
from genius.ui.common.context import Context
from genius.ui.common.figures import PlotlyFigure
from genius.ui.reports.sections import SECTIONS, Section

Values = tuple[Any, ...]  # of the components of a section


def reports_tab(context: Context, tab: gr.Tab) -> None:
    """Lay the tab out inside the current gr.Tab. Reports are read when it is opened: they may be written meanwhile."""
    run, outputs_of = context.served.path, []
    for section in SECTIONS:
        head = Panel(f"reports-{section.name}", "reports/report.js")
        with gr.Column(visible=False, elem_id=f"reports-{section.name}-body") as body:
            choice = gr.Radio(
                [], label="Measured with", show_label=False, container=False, elem_id=f"reports-{section.name}-choice"
            )
            figures = []
            with gr.Row():
                for number, plot in enumerate(section.plots):
                    with gr.Column(min_width=320):  # side by side, or below each other on a phone
                        name = f"reports-{section.name}-plot-{number}"
                        figures.append(PlotlyFigure(name, plot.label, height=plot.height))
            with gr.Accordion("As a table" if figures else "Table", open=not figures):
                tables = Panel(f"reports-{section.name}-table", "reports/report.js")
        outputs_of.append([head, body, choice, *figures, tables])
        choice.input(partial(cached_values, choice_values, run, section), choice, [*figures, tables], **UNQUEUED)
        context.precompute.append(partial(cached_values, section_values, run, section))

    def on_sections(sections: Sequence[Section]) -> Values:
        return tuple(value for section in sections for value in cached_values(section_values, run, section))

    # the first section by itself, so that it is seen before the others are drawn
    tab.select(partial(on_sections, SECTIONS[:1]), None, outputs_of[0], **UNQUEUED).then(
        partial(on_sections, SECTIONS[1:]), None, [*chain(*outputs_of[1:])], **UNQUEUED
    )


def section_values(run: Path, section: Section) -> Values:
    """Values of all components of a section, for the first of its choices."""

    def values(report: Report) -> Values:
        choices = section.choices(report)
        first = choices[0] if choices else None
        return (
            {"title": section.title, "lead": section.lead, "note": section.note(report)},
            gr.update(visible=True),
            gr.Radio(choices, value=first, visible=len(choices) > 1),
            *_plots_and_tables(section, report, first),
        )

    result = from_report(run, section.report, values)
    if isinstance(result, Missing):
        return (
            None if section.optional else {"title": section.title, "lead": section.lead, **asdict(result)},
            gr.update(visible=False),
            *[gr.skip()] * (len(section.plots) + 2),
        )
    return result


def choice_values(run: Path, section: Section, choice: str | None) -> Values:
    """Values of the plots and tables of a section, after the visitor's choice."""
    result = from_report(run, section.report, lambda report: _plots_and_tables(section, report, choice))
    return (None,) * (len(section.plots) + 1) if isinstance(result, Missing) else result


def _plots_and_tables(section: Section, report: Report, choice: str | None) -> Values:
    return (
        *(plot.draw(report, choice) for plot in section.plots),
        {"tables": [asdict(table) for table in section.tables(report, choice)]},
    )


def cached_values(compute: Callable[..., Values], run: Path, section: Section, *choice: str | None) -> Values:
    """What section_values or choice_values gives, computed once for each version of the report."""
    try:
        file = report_file(run, section.report).stat()
    except OSError:
        version = None
    else:
        version = file.st_mtime_ns, file.st_size
    return _cached_values(compute, run, section, version, *choice)


@lru_cache(128)
def _cached_values(
    compute: Callable[..., Values], run: Path, section: Section, version: object, *choice: str | None
) -> Values:
    values = compute(run, section, *choice)
    return tuple(value.to_json() if isinstance(value, Figure) else value for value in values)

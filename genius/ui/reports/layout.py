"""The Reports tab: results of evaluation, benchmark and training, as plots and tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

import gradio as gr
from plotly.graph_objects import Figure

from genius.explore.report_tables.report_data import Missing, Report, from_report, report_file
from genius.ui.common.components import UNQUEUED, Panel, introduction
from genius.ui.common.context import Context
from genius.ui.common.figures import PlotlyFigure
from genius.ui.reports.sections import SECTIONS, Section

Values = tuple[Any, ...]  # of the components of a section
Version = tuple[int, int] | None  # when a report was written, and its size; None: there is none
UNSEEN = ()  # no version


def reports_tab(context: Context, tab: gr.Tab) -> None:
    """Lay the tab out inside the current gr.Tab. Reports are read when it is opened, as they may be written meanwhile;
    what the page shows already is not sent again."""
    run, outputs_of, choices = context.served.path, [], []
    shown = gr.State({})  # name of a section -> the version of its report that the page shows
    introduction("reports", "How well and how fast this collection is searched, and how its models learned.")
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
        choices.append(choice)
        choice.input(partial(cached_values, choice_values, run, section), choice, [*figures, tables], **UNQUEUED)
        context.precompute.append(partial(cached_values, section_values, run, section, None))

    def on_sections(sections: Sequence[Section], shown: Mapping[str, Version], *chosen: str | None) -> Any:
        """The sections whose reports changed since the page got them. chosen: of each section, by the visitor."""
        versions = {section.name: version_of(run, section) for section in sections}
        if versions.items() <= shown.items():
            return gr.skip()
        values = [
            [gr.skip()] * (len(section.plots) + 4)
            if shown.get(section.name, UNSEEN) == versions[section.name]
            else cached_values(section_values, run, section, choice)
            for section, choice in zip(sections, chosen, strict=True)
        ]
        return {**shown, **versions}, *chain(*values)

    # the first section by itself, so that it is seen before the others are drawn
    tab.select(partial(on_sections, SECTIONS[:1]), [shown, *choices[:1]], [shown, *outputs_of[0]], **UNQUEUED).then(
        partial(on_sections, SECTIONS[1:]), [shown, *choices[1:]], [shown, *chain(*outputs_of[1:])], **UNQUEUED
    )


def section_values(run: Path, section: Section, choice: str | None) -> Values:
    """Values of all components of a section. choice: the visitor's; the first where there is no such choice."""

    def values(report: Report) -> Values:
        choices = section.choices(report)
        chosen = choice if choice in choices else next(iter(choices), None)
        return (
            {"title": section.title, "lead": section.lead, "note": section.note(report)},
            gr.update(visible=True),
            gr.Radio(choices, value=chosen, visible=len(choices) > 1),
            *_plots_and_tables(section, report, chosen),
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


def version_of(run: Path, section: Section) -> Version:
    """Of the report of a section; None where there is none."""
    try:
        file = report_file(run, section.report).stat()
    except OSError:
        return None
    return file.st_mtime_ns, file.st_size


def cached_values(compute: Callable[..., Values], run: Path, section: Section, choice: str | None) -> Values:
    """What section_values or choice_values gives, computed once for each version of the report."""
    return _cached_values(compute, run, section, version_of(run, section), choice)


@lru_cache(128)
def _cached_values(
    compute: Callable[..., Values], run: Path, section: Section, version: Version, choice: str | None
) -> Values:
    values = compute(run, section, choice)
    return tuple(value.to_json() if isinstance(value, Figure) else value for value in values)

import os
from types import SimpleNamespace

import gradio as gr

from genius.explore.report_tables.report_data import report_file
from genius.ui.common.context import ServedRun
from genius.ui.reports.layout import cached_values, choice_values, reports_tab, section_values
from genius.ui.reports.sections import SECTIONS
from tests.explore.report_tables.sample_reports import write_reports

UPLOADS = next(section for section in SECTIONS if section.name == "uploads")
ABLATIONS = next(section for section in SECTIONS if section.name == "ablations")
HEALTH = next(section for section in SECTIONS if section.name == "health")


def test_a_report_that_few_runs_have_is_shown_only_where_it_is(tmp_path):
    assert section_values(tmp_path, UPLOADS, None)[0] is None
    assert section_values(tmp_path, HEALTH, None)[0]["command"].startswith("python -m training")
    head, *_, tables = section_values(write_reports(tmp_path), UPLOADS, None)
    assert head["title"] == "Uploads" and len(tables["tables"]) == 3


def test_the_ablations_open_on_a_table_with_its_plot_and_tell_what_the_paper_says(tmp_path):
    assert section_values(tmp_path, ABLATIONS, None)[0] is None
    head, _, choice, plot, tables = section_values(write_reports(tmp_path), ABLATIONS, None)
    assert head["title"] == "The paper’s ablations"
    assert [value for _, value in choice.choices] == ["Table 4: Key components", "What the paper says"]
    assert len(plot.data) == 4 and len(tables["tables"]) == 2
    plot, tables = choice_values(tmp_path, ABLATIONS, "What the paper says")
    assert plot is None and tables["tables"][0]["rows"] == [["Modality helps (5.5)", "holds", "+9.0 [+1.0, +17.0]"]]


def test_an_event_without_a_choice_changes_what_a_choice_changes(tmp_path):
    run = write_reports(tmp_path)
    for section in SECTIONS:
        assert len(cached_values(choice_values, run, section, None)) == len(section.plots) + 1


def test_an_opened_tab_is_sent_what_changed_and_keeps_what_was_chosen(tmp_path):
    run = write_reports(tmp_path)
    with gr.Blocks() as page, gr.Tab("Reports") as tab:
        reports_tab(SimpleNamespace(served=ServedRun(run), precompute=[]), tab)
    (first,) = [event.fn for event in page.fns.values() if event.targets[0][1] == "select"]
    shown, _, _, choice, *_ = first({}, None)
    assert choice.value == "Global pool, test items" and first(shown, "Local pool, test items") == gr.skip()
    file = report_file(run, "retrieval")
    os.utime(file, (0, 0))
    shown, _, _, choice, *_ = first(shown, "Local pool, test items")
    assert choice.value == "Local pool, test items" and first(shown, choice.value) == gr.skip()

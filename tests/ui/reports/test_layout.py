from genius.ui.reports.layout import cached_values, choice_values, section_values
from genius.ui.reports.sections import SECTIONS
from tests.explore.sample_reports import write_reports

UPLOADS = next(section for section in SECTIONS if section.name == "uploads")
ABLATIONS = next(section for section in SECTIONS if section.name == "ablations")
HEALTH = next(section for section in SECTIONS if section.name == "health")


def test_a_report_that_few_runs_have_is_shown_only_where_it_is(tmp_path):
    assert section_values(tmp_path, UPLOADS)[0] is None
    assert section_values(tmp_path, HEALTH)[0]["command"].startswith("python -m training")
    head, *_, tables = section_values(write_reports(tmp_path), UPLOADS)
    assert head["title"] == "Uploads" and len(tables["tables"]) == 3


def test_the_ablations_open_on_what_the_paper_says_and_have_a_plot_for_each_table(tmp_path):
    assert section_values(tmp_path, ABLATIONS)[0] is None
    head, _, choice, plot, tables = section_values(write_reports(tmp_path), ABLATIONS)
    assert head["title"] == "The paper’s ablations" and plot is None
    assert [value for _, value in choice.choices] == ["What the paper says", "Table 4: Key components"]
    assert tables["tables"][0]["rows"] == [["Modality helps (5.5)", "holds", "+9.0 [+1.0, +17.0]"]]
    plot, tables = choice_values(tmp_path, ABLATIONS, "Table 4: Key components")
    assert len(plot.data) == 4 and len(tables["tables"]) == 2


def test_an_event_without_a_choice_changes_what_a_choice_changes(tmp_path):
    run = write_reports(tmp_path)
    for section in SECTIONS:
        assert len(cached_values(choice_values, run, section, None)) == len(section.plots) + 1

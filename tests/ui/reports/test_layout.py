from genius.ui.reports.layout import SECTIONS, _opened
from tests.explore.sample_reports import write_reports

UPLOADS = next(section for section in SECTIONS if section.name == "uploads")
HEALTH = next(section for section in SECTIONS if section.name == "health")


def test_a_report_that_few_runs_have_is_shown_only_where_it_is(tmp_path):
    assert _opened(tmp_path, UPLOADS)[0] is None
    assert _opened(tmp_path, HEALTH)[0]["command"].startswith("python -m training")
    head, *_, tables = _opened(write_reports(tmp_path), UPLOADS)
    assert head["title"] == "Uploads" and len(tables["tables"]) == 3

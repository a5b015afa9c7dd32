"""The Reports tab shows whatever reports a run has."""

import os
from types import SimpleNamespace

import pytest

from genius.ui.common.context import ServedRun
from genius.ui.look import NotFound
from genius.ui.reports import panel, section, sections
from tests.ui.sample_reports import HOSTILE, samples, write_reports


def shown(run):
    return {part["name"]: part for part in sections(run)}


def test_a_new_report_appears_without_a_change_of_the_page(tmp_path):
    """Known reports come first, in a fixed order; zebras are not known to any module of the
    page.
    """
    run = write_reports(tmp_path)
    samples()["health"].write(run / "reports" / "aardvarks.json")
    assert list(shown(run)) == ["retrieval", "speed", "training", "health", "aardvarks", "zebras"]
    zebras = shown(run)["zebras"]
    assert (
        zebras["title"] == HOSTILE
        and zebras["lead"] == "How often."
        and zebras["note"] == [HOSTILE]
    )
    (table,) = zebras["tables"]
    assert table["columns"] == ["dataset", "dense, %", "beam, %"] and table["words"] == [
        True,
        False,
        False,
    ]
    assert table["rows"] == [
        [HOSTILE, "50.0 [45.0, 55.0]", "–"],
        ["photos", "30.0 [20.0, 40.0]", "25.0"],
    ]
    assert table["bold"] == [[False, True, False], [False, False, False]]


def test_a_missing_main_report_names_its_command_and_other_missing_ones_are_left_out(tmp_path):
    found = shown(tmp_path)
    assert list(found) == ["retrieval", "speed"]
    assert found["retrieval"]["command"].startswith("python -m genius.evaluation ")
    assert (
        found["retrieval"]["reason"]
        == "This has not been measured for this run yet. The command is:"
    )


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"title": 7}', '{"parts": {}}', "NaN", '{"title": "\\ud800"}']
)
def test_what_is_no_report_is_a_sentence_without_the_path_of_the_server(
    tmp_path, monkeypatch, text
):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "run" / "reports"
    folder.mkdir(parents=True)
    (folder / "health.json").write_text(text)
    part = shown(tmp_path / "run")["health"]
    assert part["title"] == "Health" and "run/reports/health.json is not a report" in part["reason"]
    assert str(tmp_path) not in part["reason"] and "plots" not in part


def test_files_whose_names_are_no_names_of_reports_are_left_alone(tmp_path):
    (write_reports(tmp_path, "health") / "reports" / "<b>.json").write_text("{")
    assert list(shown(tmp_path)) == ["retrieval", "speed", "health"]


def test_only_what_changed_is_read_again(tmp_path):
    run = write_reports(tmp_path)
    on_reports = panel(SimpleNamespace(served=ServedRun(run))).looks["reports"]
    found = on_reports()
    read = section.cache_info().misses
    assert len(found) == 5 and on_reports() == found and section.cache_info().misses == read
    os.utime(run / "reports" / "training.json", (0, 0))
    on_reports()
    assert section.cache_info().misses == read + 1


def test_a_report_is_saved_as_markdown_and_nothing_else_of_the_run_is(tmp_path):
    run = write_reports(tmp_path)
    on_report = panel(SimpleNamespace(served=ServedRun(run))).looks["reports/{name}"]
    saved = on_report("zebras")
    assert saved.name == "zebras.md" and "50.0 [45.0, 55.0]" in saved.content.decode()
    (run / "manifest.json").write_text("{}")
    (run / "reports" / "broken.json").write_text("{")
    for name in ("../manifest", "nothing", "broken", ""):
        with pytest.raises(NotFound):
            on_report(name)

"""genius/reports.py: one form for all that is measured."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from genius import reports
from genius.errors import UserError
from genius.reports import Axis, Column, Plot, Report, Series, Table, program_version, shown

TABLE = Table(
    "Times",
    [
        Column("system"),
        Column("hit rate", "%", best="high"),
        Column("time", "ms", digits=2, best="low"),
        Column("n"),
    ],
    [["a|b", 0.25625, 1.5, 12_345], ["c", (0.5, 0.4, 0.6), None, None], ["d", None, 0.25, 7]],
    "Medians.",
)
PLOT = Plot(
    "Times",
    "lines",
    Axis("items", log=True),
    Axis("time", "ms"),
    [Series("a", [1, 10], [0.5, None])],
)
REPORT = Report(
    "Speed", "How fast.\n\nOn two cores.", "python -m genius", "abc; run", [TABLE], [PLOT]
)


def test_a_report_as_markdown():
    assert REPORT.to_markdown().splitlines() == [
        "# Speed",
        "",
        "`python -m genius`",
        "",
        "Version: abc; run",
        "",
        "How fast.",
        "",
        "On two cores.",
        "",
        "## Times",
        "",
        "Medians.",
        "",
        r"| system   |           hit rate, % |   time, ms |      n |",
        r"|:---------|----------------------:|-----------:|-------:|",
        r"| a\|b     |                  25.6 |       1.50 | 12,345 |",
        r"| c        | **50.0 [40.0, 60.0]** |          – |      – |",
        r"| d        |                     – |   **0.25** |      7 |",
    ]
    empty = replace(REPORT, tables=[Table("None", [Column("a"), Column("b", "%")], [])])
    assert empty.to_markdown().splitlines()[-2:] == ["| a   | b, %   |", "|-----|--------|"]


@pytest.mark.parametrize(
    ("cell", "column", "text"),
    [
        (None, Column("a", "%"), "–"),
        ("x|y", Column("a", "%"), "x|y"),
        (7, Column("a", digits=3), "7"),
        (1, Column("a", "%"), "100.0"),
        (1234.5, Column("a"), "1,234.5"),
        ((-0.01, -0.02, 0.0), Column("a", "%", digits=0), "-1 [-2, 0]"),
    ],
)
def test_cells_as_they_are_shown(cell, column, text):
    assert shown(cell, column) == text


def test_saving_writes_what_loading_reads_at_full_precision(tmp_path):
    exact = replace(REPORT, tables=[replace(TABLE, rows=[["a", 1 / 3, 0.1 + 0.2, 2**60]])])
    exact.save(tmp_path / "reports" / "speed.json")
    assert Report.load(tmp_path / "reports" / "speed.json") == exact
    assert (tmp_path / "reports" / "speed.md").read_text(encoding="utf-8") == exact.to_markdown()


def test_saving_prints_before_it_writes(tmp_path, capsys):
    (tmp_path / "reports").write_text("a file")
    with pytest.raises(UserError, match="the report was printed, but not written"):
        REPORT.save(tmp_path / "reports" / "speed.json")
    assert REPORT.to_markdown() in capsys.readouterr().out


def changed(**changes):
    return asdict(REPORT) | changes


def table(**changes):
    return changed(tables=[asdict(TABLE) | changes])


def plot(**changes):
    return changed(plots=[asdict(PLOT) | changes])


COLUMN, SERIES = asdict(Column("a")), asdict(Series("a", [1.0], [2.0]))


@pytest.mark.parametrize(
    "foreign",
    [
        [],
        {"encoder": [{"epoch": 0, "loss": 1.0}]},
        changed(title=7),
        changed(extra=1),
        table(rows=[["a", 1.0]]),
        table(rows=[["a", True, 1.0, 1]]),
        table(rows=[["a", 10**400, 1.0, 1]]),
        table(columns=[COLUMN | {"digits": 10**9}], rows=[[1.0]]),
        table(columns=[COLUMN | {"best": "middle"}], rows=[[1.0]]),
        plot(kind="pie"),
        plot(series=[SERIES | {"x": [1.0, 2.0]}]),
        plot(series=[SERIES | {"interval": [[0.0, 1.0]] * 2}]),
        plot(series=[SERIES | {"y": ["a"]}]),
        plot(kind="bars", series=[SERIES | {"x": ["a"], "y": ["b"]}]),
    ],
)
def test_a_foreign_file_is_one_sentence(tmp_path, foreign):
    file = tmp_path / "speed.json"
    file.write_text(json.dumps(foreign))
    with pytest.raises(UserError) as refused:
        Report.load(file)
    message = str(refused.value)
    assert (
        message.startswith(f"{file} is not a report of this version (")
        and "\n" not in message
        and len(message) < 500
    )


def test_the_version_names_the_commit_and_the_parts(tmp_path, monkeypatch):
    assert len(program_version()) == 8
    (tmp_path / "run").mkdir()
    assert program_version(tmp_path / "run") == f"{program_version()}; run: no parts yet"
    monkeypatch.setattr(reports, "__file__", str(tmp_path / "genius" / "reports.py"))  # no checkout
    monkeypatch.setattr(reports.metadata, "version", lambda name: {"genius-explorer": "1.2"}[name])
    assert program_version() == "1.2"

    def unknown(name):
        raise reports.metadata.PackageNotFoundError

    monkeypatch.setattr(reports.metadata, "version", unknown)
    assert program_version() == "unknown version"


@pytest.mark.parametrize(
    "file", sorted(Path("assets").glob("[pt]*/reports/*.json")), ids=lambda file: file.stem
)
def test_the_shipped_reports_are_reports_and_their_markdown_shows_them(file):
    report = Report.load(file)
    assert file.with_suffix(".md").read_text(encoding="utf-8") == report.to_markdown()

"""Reports that stand beside the paper's tables and figures, as tables of strings.

RUN/reports/captions.json      python -m genius.evaluation.caption_table RUN
RUN/reports/throughput.json    python -m genius.evaluation.speed.throughput RUN
"""

from __future__ import annotations

from genius.evaluation import shared_codes
from genius.evaluation.caption_table import cells
from genius.evaluation.speed import throughput
from genius.explore.report_tables.report_data import Report, Table


def captions_note(report: Report) -> str:
    """What the rates are of, and how many lines are ours."""
    ours = sum(not line["paper"] for line in report["lines"])
    return f"{report['note']} Ours: {ours} lines. Command: {report['command']}"


def captions_tables(report: Report, choice: str | None = None) -> list[Table]:
    """The paper's Table 3 and its supplement's Table 7, with ours below."""
    lines = [cells(line) for line in report["lines"]]
    columns = [name.capitalize() if name.islower() else name for name in lines[0]]
    return [Table("Recall in percent", tuple(columns), [list(line.values()) for line in lines], words=4)]


def throughput_note(report: Report) -> str:
    """What was measured, on which machine."""
    return f"{throughput.note(report)} Command: {report['command']}"


def throughput_points(report: Report) -> dict[str, dict[int, float]]:
    """System -> number of candidates -> queries per second."""
    points: dict[str, dict[int, float]] = {}
    for cell in report["cells"]:
        points.setdefault(cell["system"], {})[cell["items"]] = cell["per_second"]
    return {system: dict(sorted(found.items())) for system, found in points.items()}


def throughput_tables(report: Report, choice: str | None = None) -> list[Table]:
    """The paper's Figure 4 as a table."""
    rows = throughput.rows(report)
    return [Table("Queries per second by number of candidates", tuple(rows[0]), [list(row.values()) for row in rows])]


def shared_note(report: Report) -> str:
    """What is compared."""
    return f"{report['couples']:,} couples of {report['collection']}. {shared_codes.NOTE} Command: {report['command']}"


def shared_tables(report: Report, choice: str | None = None) -> list[Table]:
    """The paper's Figure 3 and its supplement's Figures 2 to 4, counted."""
    parts = [
        ("The same code at a level, in percent", shared_codes.agreement_rows(report), 2),
        (
            "The same codes at every level from 1 to this one, in percent",
            shared_codes.agreement_rows(report, "same_so_far"),
            2,
        ),
        (
            f"What a code means in another dataset, in percent. {shared_codes.ELSEWHERE}",
            shared_codes.elsewhere_rows(report),
            1,
        ),
    ]
    return [
        Table(title, tuple(name.capitalize() for name in rows[0]), [list(row.values()) for row in rows], words=words)
        for title, rows, words in parts
        if rows
    ]
